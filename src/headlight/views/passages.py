"""Passages of texts as pages draw them, and the pages of the texts that they are from."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from markupsafe import Markup

from headlight.files import printable
from headlight.findings import Attended, Passage
from headlight.views.colours import level
from headlight.views.html_elements import element
from headlight.views.number_formats import percent_text

Shown = tuple[str, float]
"""A text that a passage is from: the kind of attention, and the passage's rank."""

PassagePages = Mapping[Shown, str]
"""The address of the page of a text, as seen from a report."""

NO_PAGES: PassagePages = MappingProxyType({})

_SOMETHING = 0.05
"""Share of the highest weight below which a token is shown only beside others."""


def drawn_passage(passage: Passage, *, self_attention: bool) -> Markup:
    """Draw the line: weights as colours and tips of tokens, gaps as dots, the query in a frame.

    Colours follow the root of the weight, up to 1 in all passages, so that they can be compared.

    Args:
        passage: Passage of a survey.
        self_attention: Whether the attending token is one of the attended text.
    """
    marked = any(token.shown.mark == " " for token in passage.tokens)
    parts: list[Markup] = []
    before, high = -1, max(token.weight for token in passage.tokens)
    for token in _worth_showing(passage.tokens, high):
        if token.place > before + 1:
            parts.append(Markup(" … "))
        elif parts and token.shown.mark == (" " if marked else ""):
            parts.append(Markup(" "))
        asking = self_attention and token.place == passage.place
        parts.append(
            element(
                "span",
                printable(token.shown.text),
                class_=f"q{level(math.sqrt(max(token.weight, 0.0)), 0.0, 1.0)}"
                + (" asking" if asking else ""),
                title=f"{printable(token.piece)} {percent_text(token.weight)}",
            )
        )
        before = token.place
    if before < passage.length - 1:
        parts.append(Markup(" …"))
    return element("span", *parts, class_="passage scale-blue", dir="auto")


def strongest(passage: Passage) -> str:
    """Return the caption of a line: who attends most to what, and by how much."""
    best = max(passage.tokens, key=lambda token: token.weight)
    names = (printable(shown.text) for shown in (passage.query, best.shown))
    return f"{' → '.join(names)} {percent_text(best.weight)}"


def _worth_showing(tokens: list[Attended], high: float) -> list[Attended]:
    """Return all but tokens that stand alone and get next to nothing."""
    places = {token.place for token in tokens}
    return [
        token
        for token in tokens
        if {token.place - 1, token.place + 1} & places or token.weight >= _SOMETHING * high
    ]
