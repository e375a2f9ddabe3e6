"""Look for links of a built site that lead nowhere, or that only a server at its root would follow.

    python scripts/check_links.py build/site

Every link and picture of every page has to be relative, and lead to a file of the site and, in a
page of the documentation, to a place that is there: so the site works in any folder, and from disk.
Addresses of the web are left out.  Prints what is wrong, and ends with 1 if anything is.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

NOT_CHECKED = ("404.html",)
"""Pages that a server shows at any address, so that their links begin at its root."""


class Page(HTMLParser):
    """What a page leads to, and the places that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link, a picture, a script or a place."""
        for name, value in attrs:
            if name in ("href", "src") and value and tag != "base":
                self.targets.add(value)
            if name in ("id", "name") and value:
                self.places.add(value)


def problems(site: Path) -> Iterator[str]:
    """Yield a sentence for each link that does not work from disk."""
    paths = [path for path in sorted(site.rglob("*.html")) if path.name not in NOT_CHECKED]
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in paths}
    for path, page in pages.items():
        for target in sorted(page.targets):
            if wrong := problem(target, path, pages):
                yield f"{path.relative_to(site.resolve())}: {target} {wrong}"


def problem(target: str, path: Path, pages: dict[Path, Page]) -> str:
    """Return what is wrong with a link of a page, or nothing."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return ""
    if parts.path.startswith("/"):
        return "begins at the root of a server"
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if file.is_dir():
        return "is a folder, which from disk is a list of files" if parts.path != "." else ""
    if not file.is_file():
        return "leads nowhere"
    is_page = file in pages and "examples" not in file.parts  # whose scripts read their address
    if is_page and parts.fragment and unquote(parts.fragment) not in pages[file].places:
        return "leads to a place that is not there"
    return ""


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1])))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
