"""The report of a survey: one HTML file that needs nothing else."""

from types import MappingProxyType

import xarray as xr
from markupsafe import Markup

from headlight.findings import Highlight, highlights, name_of, passage_of, surveyed
from headlight.kinds import BESIDE, shown_parts
from headlight.views.figures import figures, takeaway
from headlight.views.grid import anchor, head_grid
from headlight.views.numbers import grouped
from headlight.views.passages import PassagePages, drawn_passage, strongest
from headlight.views.provenance import provenance
from headlight.views.tables import (
    category_matrices,
    composition,
    dispersion_table,
    head_table,
    layer_table,
)
from headlight.views.template import embedded, render
from headlight.vocabulary import ATTENTION, NUMBERING

NO_PAGES: PassagePages = MappingProxyType({})


def report(result: xr.Dataset, command: str | None = None, pages: PassagePages = NO_PAGES) -> str:
    """A survey as one self-contained HTML page.

    Args:
        result: A survey's result; of several kinds of attention, each is shown by itself.
        command: The exact command that made it; by default the one the result remembers.
        pages: Of texts from which it shows passages, where there are such.

    Returns:
        The page. It loads nothing from anywhere, works without scripts (which add sorting,
        choosing and tooltips), and all text from the outside is escaped.
    """
    attributes = result.attrs
    return render(
        "report.html",
        title=attributes.get("title") or f"Attention in {attributes.get('model', 'a model')}",
        attributes=attributes,
        measures=surveyed(result),
        parts=[_part(part, pages) for part in shown_parts(result)],
        numbering=NUMBERING,
        name_of=name_of,
        anchor=anchor,
        provenance=provenance(attributes, command),
    )


def _part(result: xr.Dataset, pages: PassagePages) -> dict[str, object]:
    """One kind of attention, as the template reads it."""
    kind = str(result.attrs.get("kind", ""))
    beside = BESIDE in result.attrs
    grid = head_grid(result)
    data: dict[str, object] = {"views": grid.views, "first": grid.first} if grid else {}
    data |= {"layers": result.sizes["layer"], "heads": result.sizes["head"]}
    data["measures"] = [row.name for row in surveyed(result)]
    return {
        "result": result,
        "kind": kind,
        "beside": beside,
        "prefix": f"{kind}-" if beside else "",
        "title": ATTENTION.get(kind, kind),
        "facts": _facts(result),
        "composition": composition(result),
        "highlights": [(each, _passage(result, each, pages)) for each in highlights(result)],
        "grid": grid,
        "takeaway": takeaway(result),
        "figures": figures(result),
        "matrices": category_matrices(result),
        "dispersion": dispersion_table(result),
        "layers": layer_table(result),
        "heads": head_table(result),
        "data": embedded(data),
    }


def _passage(
    result: xr.Dataset, highlight: Highlight, pages: PassagePages
) -> tuple[Markup, str, str] | None:
    """Where the head does it, in the corpus: the line, what is said of it, and its page."""
    if highlight.layer is None or highlight.head is None:
        return None
    found = passage_of(result, highlight.kind, highlight.layer, highlight.head)
    if found is None:
        return None
    kind = str(result.attrs.get("kind", ""))
    page = pages.get((kind, found.rank), "")
    state = f"#h={highlight.layer}-{highlight.head}&q={found.place}"
    drawn = drawn_passage(found, own=kind != "cross")
    return drawn, strongest(found), page and page + state


def _facts(result: xr.Dataset) -> list[tuple[str, str]]:
    """The few numbers under the title."""
    attributes = result.attrs
    facts = [
        (f"{result.sizes['layer']} × {result.sizes['head']}", "layers × heads"),
        (str(attributes.get("kind", "")), "attention"),
    ]
    facts += [
        (grouped(float(attributes[name])), name)
        for name in ("examples", "tokens")
        if name in attributes
    ]
    return [fact for fact in facts if fact[0]]
