"""Refuse to publish what is not ready: version, tag, changelog, addresses, a clean tree."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml

import headlight

ROOT = Path(__file__).resolve().parent.parent


def problems() -> list[str]:
    """What keeps this state from being published, a sentence each."""
    version = headlight.__version__
    core, papers = (_project(ROOT / folder) for folder in ("", "packages/papers"))
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    found = {
        f"CITATION.cff names version {cited}, and the package is {version}": cited != version,
        f"CHANGELOG.md has no section '## {version}'": f"\n## {version}" not in _changelog(),
        f"the commit has no tag v{version}": f"v{version}" not in _git("tag", "--points-at"),
        "the working tree has changes that are not committed": bool(_git("status", "--porcelain")),
        "a pyproject.toml names no address of the repository; add [project.urls]": (
            "urls" not in core or "urls" not in papers
        ),
        f"headlight-papers has version {papers['version']}, and the package is {version}": (
            papers["version"] != version
        ),
        f"headlight-papers does not depend on headlight-attention=={version}": (
            f"headlight-attention=={version}" not in papers["dependencies"]
        ),
        f"the extra papers is not headlight-papers=={version}": (
            core["optional-dependencies"]["papers"] != [f"headlight-papers=={version}"]
        ),
    }
    return [sentence for sentence, holds in found.items() if holds]


def _project(folder: Path) -> dict[str, Any]:
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def _changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def _git(*arguments: str) -> list[str]:
    asked = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return asked.stdout.splitlines()


if __name__ == "__main__":
    found = problems()
    for sentence in found:
        print(f"not ready: {sentence}.", file=sys.stderr)
    sys.exit(bool(found))
