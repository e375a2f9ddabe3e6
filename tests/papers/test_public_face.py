"""Papers stand on the public face: a new module of the package is inside until it is named here."""

import pkgutil
import tomllib
from pathlib import Path

import headlight

ALLOWED = {
    "headlight.api", "headlight.catalogue", "headlight.corpora", "headlight.errors",
    "headlight.files", "headlight.findings", "headlight.links", "headlight.papers",
    "headlight.result", "headlight.settings", "headlight.training", "headlight.version",
    "headlight.views", "headlight.vocabulary", "headlight.__main__",
}  # fmt: skip
"""What papers may import; all else is forbidden by a contract, which lists its exceptions."""


def test_every_module_is_of_the_public_face_or_forbidden_to_papers() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    face = next(each for each in contracts if each["name"] == "Papers see the public face")
    there = {f"headlight.{module.name}" for module in pkgutil.iter_modules(headlight.__path__)}
    assert there - {*face["forbidden_modules"]} <= ALLOWED
    assert not ALLOWED & {*face["forbidden_modules"]}
