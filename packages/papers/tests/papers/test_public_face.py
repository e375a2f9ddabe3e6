"""Papers stand on the public face: a new module of the package is inside until it is named here."""

import pkgutil
import re
import tomllib
from pathlib import Path
from typing import Any

import headlight

ROOT = Path(__file__).parents[4]
ALLOWED = {
    "headlight.api", "headlight.catalogue", "headlight.corpora", "headlight.errors",
    "headlight.files", "headlight.findings", "headlight_words.links",
    "headlight.result", "headlight.settings", "headlight.version",
    "headlight.chats", "headlight.views", "headlight.vocabulary", "headlight.__main__",
}  # fmt: skip
"""What papers may import; all else is forbidden by a contract, which lists its exceptions."""


def contract() -> Any:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    return next(each for each in contracts if each["name"] == "Papers see the public face")


def test_every_module_is_of_the_public_face_or_forbidden_to_papers() -> None:
    forbidden = {*contract()["forbidden_modules"]}
    there = {f"headlight.{module.name}" for module in pkgutil.iter_modules(headlight.__path__)}
    assert there - forbidden <= ALLOWED
    assert not ALLOWED & forbidden


def test_the_documentation_names_what_papers_take_from_packages_inside() -> None:
    pairs = [each.split(" -> ") for each in contract()["ignore_imports"]]
    assert {source for source, _ in pairs} == {"headlight_papers.papers.**"}  # no paper has its own
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## The public face")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?`) \|", table, flags=re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(.+?)`", row)]
    taken = [target.rpartition(".")[2] for _, target in pairs]
    assert sorted(Path(name).stem for name in named) == sorted(taken)
