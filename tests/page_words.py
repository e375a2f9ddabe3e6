"""Words that a page shows when it opens, which is what limits of words are about."""

from html.parser import HTMLParser

_SILENT = {"script", "style", "title", "noscript", "svg", "template"}


class _Open(HTMLParser):
    """Reader that passes over what is folded, hidden, or no text."""

    VOID = frozenset({"meta", "br", "img", "input", "hr", "link", "source", "col", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.stack: list[tuple[str, bool]] = []  # names of elements, and whether each hides

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.VOID:
            return
        names = dict(attrs)
        hides = tag in _SILENT or "hidden" in names
        # Of what is folded the summary is seen.
        within = self.stack[-1] if self.stack else ("", False)
        if within[0] == "closed" and tag != "summary":
            hides = True
        folded = tag == "details" and "open" not in names
        self.stack.append(("closed" if folded else tag, hides or (within[1] and tag != "closed")))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID and self.stack:
            self.stack.pop()

    def handle_data(self, data: str) -> None:
        folded = bool(self.stack) and self.stack[-1][0] == "closed"
        if not folded and not any(hides for _, hides in self.stack):
            self.words += data.split()


def words_when_open(page: str) -> list[str]:
    """Return the words of a page that one sees without unfolding anything."""
    reader = _Open()
    reader.feed(page)
    return reader.words
