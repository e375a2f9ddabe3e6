"""Packages of docs/extending.md, as an installer leaves them."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    page = PAGE.read_text(encoding="utf-8")
    return page.partition(f"## {title}\n")[2].partition("\n## ")[0]


def install(folder: Path, package: str, title: str, also: Mapping[str, str] | None = None) -> None:
    """Write the files of a section, and what an installer writes of them.

    Args:
        folder: where it is installed.
        package: its name.
        title: of the section.
        also: more entry points of the same group.
    """
    text = section(title)
    for path, code in re.findall(r"^```python\n# (\S+)\n(.*?)^```", text, re.M | re.S):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(code, encoding="utf-8")
    declared = tomllib.loads(re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S)[0])
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = []
    for group, entries in declared["project"]["entry-points"].items():
        every = {**entries, **(also or {})}
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in every.items())]
    (about / "entry_points.txt").write_text("\n".join([*lines, ""]))
