"""The versions in `requirements` cover pyproject.toml, and nothing else is installed from."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
PYTHONS = ("3.11", "3.12", "3.13")
CORE, *_ = PROJECTS = [
    tomllib.loads((ROOT / name).read_text(encoding="utf-8"))
    for name in (
        "pyproject.toml",
        "packages/words/pyproject.toml",
        "packages/papers/pyproject.toml",
    )
]
OURS = {each["project"]["name"] for each in PROJECTS}


@cache
def entries(name: str) -> tuple[str, ...]:
    """The lines of a file, each with its hashes."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", "")
    return tuple(line for line in text.splitlines() if not line.startswith("#"))


@cache
def pins(name: str, python: str) -> dict[str, str]:
    """The version of each distribution for that Python on Linux."""
    system = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
    environment = {
        **default_environment(), **system,
        "python_version": python, "python_full_version": f"{python}.7",
    }  # fmt: skip
    versions: dict[str, str] = {}
    for entry in entries(name):
        pin = Requirement(entry.partition("--hash")[0].strip())
        if pin.marker is None or pin.marker.evaluate(environment):
            assert pin.name not in versions, f"two versions of {pin.name}"
            versions[canonicalize_name(pin.name)] = str(pin.specifier).removeprefix("==")
    return versions


def group(name: str) -> Iterator[str]:
    for each in CORE["dependency-groups"][name]:
        yield from [each] if isinstance(each, str) else group(each["include-group"])


def needs(project: dict[str, Any]) -> list[str]:
    return [*project["project"]["dependencies"], *project["build-system"]["requires"]]


EXTRAS = [
    each
    for project in PROJECTS
    for rows in project["project"].get("optional-dependencies", {}).values()
    for each in rows
]
GROUPS = [each for name in CORE["dependency-groups"] for each in group(name)]
WANTED = {
    "build": [*group("build"), *(each for row in PROJECTS for each in needs(row)[-1:])],
    "run": [each for row in PROJECTS for each in row["project"]["dependencies"]],
    "dev": [*(each for row in PROJECTS for each in needs(row)), *EXTRAS, *GROUPS],
}
"""What has to be in each file."""


def not_covered(name: str, wanted: list[str], python: str) -> list[str]:
    """Requirements without a version in that file, or in that of torch, that they admit."""
    versions = pins("torch", python) | pins(name, python)
    asked = [Requirement(each) for each in wanted]
    return [
        str(each)
        for each in asked
        if each.name not in OURS
        if not each.specifier.contains(versions.get(canonicalize_name(each.name), "0"))
    ]


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", WANTED)
def test_every_requirement_has_a_version(name: str, python: str) -> None:
    assert len(WANTED[name]) > 2
    assert not_covered(name, WANTED[name], python) == [], "run make lock"
    assert not_covered(name, ["numpy>=99", "nothing>=1"], python) == ["numpy>=99", "nothing>=1"]


@pytest.mark.parametrize("python", PYTHONS)
def test_all_files_name_the_same_versions(python: str) -> None:
    everything = pins("dev", python)
    for name in ("build", "run"):
        assert pins(name, python).items() <= everything.items()
    assert not {*pins("torch", python)} & {*everything}


def test_every_version_has_hashes_but_that_of_torch() -> None:
    for name in ("build", "run", "dev"):
        bare = [each for each in entries(name) if "--hash=sha256:" not in each]
        assert (name, bare) == (name, [])
    assert "torch" in pins("torch", PYTHONS[0])
    assert not any("--hash" in each for each in entries("torch"))
    others = {each for python in PYTHONS for each in pins("torch", python)} - {"torch", "triton"}
    assert all(each.startswith(("cuda-", "nvidia-")) for each in others)


def test_everything_is_installed_from_these_files() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    locked = re.findall(r"^\t\$\(locked\) (.*)", makefile, re.M)
    assert locked == [f"requirements/{name}.txt" for name in ("build", "run", "dev")]
    assert "locked := $(pip) install --quiet --require-hashes --requirement" in makefile
    ours = "--no-deps --no-build-isolation"
    installing = re.findall(r"(?:pip\)|[^v] pip) install (.*?)(?=$|&&)", f"{makefile}{image}", re.M)
    assert installing
    for words in installing:
        torch = words.endswith("torch") or words.endswith("torch ")
        file = "torch.txt" if torch else "--require-hashes"
        assert file in words or ours in words, words
    assert not list(ROOT.glob("constraints*.txt"))
