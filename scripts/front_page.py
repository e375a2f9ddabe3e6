"""Write the first screen of README.md into docs/index.md, with the links of the site.

    python scripts/front_page.py

It stands between ``<!-- first screen of README.md -->`` and ``<!-- end -->``: the title, the
picture, the lines that draw it, and the six doors.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "index.md"
README = ROOT / "README.md"
PLACE = re.compile(r"(<!-- first screen of README\.md -->\n).*?(<!-- end -->)", re.DOTALL)
TARGET = re.compile(r'(\]\(|<img src=")([^)"]+)')
"""What a link or a picture leads to."""
ELSEWHERE = {"CONTRIBUTING.md": "contributing.md"}
"""Pages of the site that have another name in the repository."""


def first_screen(readme: str) -> str:
    """Return what stands above the first section, with links as the pages of the site have them."""
    screen = readme.partition("\n## ")[0]
    return TARGET.sub(lambda match: match[1] + address(match[2]), screen).rstrip() + "\n"


def address(target: str) -> str:
    """Return where the site has what a link of README.md leads to."""
    name, mark, anchor = ELSEWHERE.get(target, target).partition("#")
    name = re.sub(r"\.ipynb$", ".md", name.removeprefix("docs/"))
    return f"{name}{mark}{anchor}"


def filled(page: str, readme: str) -> str:
    """Return the page with the first screen as it is now."""
    return PLACE.sub(lambda match: f"{match[1]}{first_screen(readme)}{match[2]}", page)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(filled(text, README.read_text(encoding="utf-8")), encoding="utf-8")
