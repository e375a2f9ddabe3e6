"""Section of what stands out, with rows of the corpus."""

from collections.abc import Sequence

import xarray as xr
from markupsafe import Markup

from headlight.findings import Highlight, name_of, passage_of
from headlight.result.kinds import MULTI_KIND
from headlight.views.head_grid import anchor
from headlight.views.headline import Block
from headlight.views.parts import Section
from headlight.views.passages import PassagePages, drawn_passage, strongest
from headlight.views.template import fragment

SHOWN = 5
"""Number of findings that stand open; the others are folded."""


def highlights_section(
    result: xr.Dataset, highlighted: Sequence[Highlight], pages: PassagePages
) -> Section:
    """Return what stands out beside the title of the page, with a row of the corpus for each."""
    # The first is the title, unless that is of another kind of attention.
    on_top = 1 if result.attrs.get(MULTI_KIND, 1) == 1 else 0
    below = [
        (highlight.text, highlight.kind, _example(result, highlight, pages))
        for highlight in highlighted[on_top:]
        if highlight.kind != "inconclusive"
    ]
    return Section(
        "highlights",
        "What else stands out" if on_top else "What stands out",
        "In a row of the corpus the framed token attends; the stronger the colour of a token, the "
        "more weight it gets, on one scale for all heads.",
        html=fragment("highlights.html", shown=below[:SHOWN], folded=below[SHOWN:])
        if below
        else Markup(),
    )


def passage_block(result: xr.Dataset, highlight: Highlight, pages: PassagePages) -> Block | None:
    """Return the head of a highlight, and a row of the corpus if one was kept; None without a head.

    Args:
        result: Survey of one kind of attention.
        highlight: Highlight of the survey.
        pages: Pages of texts from which passages are shown.
    """
    if highlight.layer is None or highlight.head is None:
        return None
    name = name_of(result, highlight.layer, highlight.head)
    where = " in the corpus" if _passage(result, highlight, pages) else ""
    return Block(f"{name}{where}", _example(result, highlight, pages))


def _example(result: xr.Dataset, highlight: Highlight, pages: PassagePages) -> Markup:
    """Return the head of a highlight as a link, its intervals, and a row of the corpus."""
    passage = _passage(result, highlight, pages)
    layer, head = highlight.layer, highlight.head
    name = "" if layer is None or head is None else name_of(result, layer, head)
    return fragment(
        "highlight.html", highlight=highlight, passage=passage, name=name, anchor=anchor(name)
    )


def _passage(
    result: xr.Dataset, highlight: Highlight, pages: PassagePages
) -> tuple[Markup, str, str] | None:
    """Return the passage of a highlight: its line, its caption, and its page."""
    if highlight.layer is None or highlight.head is None:
        return None
    passage = passage_of(result, highlight.kind, highlight.layer, highlight.head)
    if passage is None:
        return None
    kind = str(result.attrs.get("kind", ""))
    page = pages.get((kind, passage.rank), "")
    state = f"#h={highlight.layer}-{highlight.head}&q={passage.place}"
    drawn = drawn_passage(passage, self_attention=kind != "cross")
    return drawn, strongest(passage), page and page + state
