"""Section of what stands out, with rows of the corpus."""

from collections.abc import Sequence

import xarray as xr
from markupsafe import Markup

from headlight.findings import Highlight, name_of, passage_of
from headlight.findings.survey import HEAD_ANSWERS
from headlight.result.kinds import MULTI_KIND
from headlight.views.head_grid import anchor
from headlight.views.parts import Section
from headlight.views.passages import PassagePages, drawn_passage, strongest
from headlight.views.template import fragment
from headlight.vocabulary import NUMBERING


def highlights_section(
    result: xr.Dataset, highlighted: Sequence[Highlight], pages: PassagePages
) -> Section:
    """Return what stands out below the first answers, with a row of the corpus for each."""
    examples = [_example(result, highlight, pages) for highlight in highlighted]
    # The first stand on top of the page, unless it is one of several kinds of attention.
    on_top = 0 if MULTI_KIND in result.attrs else HEAD_ANSWERS
    below = [
        (highlight.text, highlight.kind, example)
        for highlight, example in zip(highlighted[on_top:], examples[on_top:], strict=True)
        if highlight.kind != "inconclusive"
    ]
    return Section(
        "highlights",
        "What else stands out" if on_top else "What stands out",
        f"{NUMBERING} In a row of the corpus the framed token attends; the stronger the colour of "
        "a token, the more weight it gets, on one scale for all heads.",
        html=fragment("highlights.html", highlights=below) if below else Markup(),
        examples=examples[:on_top],
    )


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
