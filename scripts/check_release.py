"""Refuse to publish what is not ready: version, tag, changelog, addresses, a clean tree."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml

import headlight

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDERS = ("https://example.org/headlight", "account-of-a-maintainer")
"""The address of the repository, and the maintainer of the recipes, until there are any."""
PROJECTS = ("pyproject.toml", "packages/words/pyproject.toml", "packages/papers/pyproject.toml")
CITATION = "CITATION.cff"
RECIPES = tuple(
    f"packaging/conda-forge/{name}/recipe.yaml"
    for name in ("headlight-attention", "headlight-words", "headlight-papers")
)
FILLED_IN = (*PROJECTS, CITATION, *RECIPES)
"""Files in which placeholders stand."""


def problems(root: Path = ROOT) -> list[str]:
    """Return what keeps the state of a repository from being published, a sentence each."""
    version = headlight.__version__
    date = release_date(root)
    cited = str(_read_yaml(root, CITATION).get("date-released"))
    sentences = {
        f"CHANGELOG.md has no section '## {version} - ' with a date": date is None,
        f"{CITATION} has not the date-released {date} of CHANGELOG.md": date not in (None, cited),
        f"the commit has no tag v{version}": (
            f"v{version}" not in _git(root, "tag", "--points-at").split()
        ),
        "the working tree has changes that are not committed": bool(
            _git(root, "status", "--porcelain")
        ),
    }
    return [
        *disagreements(root),
        *_placeholders(root),
        *(each for each, holds in sentences.items() if holds),
    ]


def disagreements(root: Path = ROOT) -> list[str]:
    """Return in what files differ that repeat each other, a sentence each."""
    version = headlight.__version__
    core, words, papers = (_read_project(root, name) for name in PROJECTS)
    address, authors = core["urls"]["Repository"], core["authors"]
    citation = _read_yaml(root, CITATION)
    recipes = {name: _read_yaml(root, name) for name in RECIPES}
    repeated = {
        f"version of {CITATION}": (citation["version"], version),
        f"repository-code of {CITATION}": (citation["repository-code"], address),
        f"authors of {CITATION}": (citation["authors"], authors),
    }
    below = [f"headlight-attention=={version}"]
    for project in (words, papers):  # each stands on those before it
        name, extra = project["name"], project["name"].removeprefix("headlight-")
        pinned = f"{name}=={version}"
        repeated |= {
            f"version of {name}": (project["version"], version),
            f"urls of {name}": (project["urls"], core["urls"]),
            f"authors of {name}": (project["authors"], authors),
            f"dependencies of {name}": (project["dependencies"], below),
            f"extra {extra}": (core["optional-dependencies"][extra], [pinned]),
        }
        below = [*below, pinned]
    aligners = f"headlight-words[align]=={version}"
    repeated["extra align"] = (core["optional-dependencies"]["align"], [aligners])
    for name, recipe in recipes.items():
        about = recipe["about"]
        repeated[f"version of {name}"] = (recipe["context"]["version"], version)
        repeated[f"homepage of {name}"] = (about["homepage"], address)
        repeated[f"repository of {name}"] = (about["repository"], address)
    return [
        f"{name} is {has}, and must be {wanted}"
        for name, (has, wanted) in repeated.items()
        if has != wanted
    ]


def _placeholders(root: Path) -> list[str]:
    files = {name: (root / name).read_text(encoding="utf-8") for name in FILLED_IN}
    places = {
        placeholder: [name for name, text in files.items() if placeholder in text]
        for placeholder in PLACEHOLDERS
    }
    return [
        f"{placeholder} is a placeholder; write what is real into {', '.join(names)}"
        for placeholder, names in places.items()
        if names
    ]


def release_date(root: Path = ROOT) -> str | None:
    """Return the date of the section of this version in the changelog; None without one."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## {re.escape(headlight.__version__)} - (\d{{4}}-\d\d-\d\d)$"
    section = re.search(heading, changelog, re.MULTILINE)
    return section and section[1]


def _read_project(root: Path, name: str) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((root / name).read_text(encoding="utf-8"))["project"]
    return project


def _read_yaml(root: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((root / name).read_text(encoding="utf-8"))
    return content


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sentences = problems()
    for sentence in sentences:
        print(f"not ready: {sentence}.", file=sys.stderr)
    sys.exit(bool(sentences))
