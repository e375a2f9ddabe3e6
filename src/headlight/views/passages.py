"""A passage of the corpus as a line of text, coloured by what each token gets."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from markupsafe import Markup

from headlight.files import printable
from headlight.findings import Attended, Passage, PieceText
from headlight.views.colour import level
from headlight.views.markup import element
from headlight.views.numbers import percent_text

Shown = tuple[str, float]
"""A text that a passage is from: the kind of attention, and the passage's rank."""

PassagePages = Mapping[Shown, str]
"""The address of the page of a text, as seen from a report."""

NO_PAGES: PassagePages = MappingProxyType({})

_SOMETHING = 0.05
"""Of the highest weight: a token that gets less is shown only beside others."""


def drawn_passage(passage: Passage, *, own: bool) -> Markup:
    """The line: each token with its weight as colour and tip, gaps as dots, the query in a frame.

    Colours follow the root of the weight, up to 1 in all passages, so that they can be compared.

    Args:
        passage: Of a survey.
        own: Whether the attending token is one of the attended text, as in self-attention.
    """
    marked = any(token.shown.mark == " " for token in passage.tokens)
    parts: list[Markup] = []
    before, high = -1, max(token.weight for token in passage.tokens)
    for token in _worth_showing(passage.tokens, high):
        if token.place > before + 1:
            parts.append(Markup(" … "))
        elif parts and _begins_word(token.shown, marked=marked):
            parts.append(Markup(" "))
        asking = own and token.place == passage.place
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
    """All but tokens that stand alone and get next to nothing."""
    places = {token.place for token in tokens}
    return [
        token
        for token in tokens
        if {token.place - 1, token.place + 1} & places or token.weight >= _SOMETHING * high
    ]


def _begins_word(shown: PieceText, *, marked: bool) -> bool:
    return shown.mark == " " if marked else not shown.mark
