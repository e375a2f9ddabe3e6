"""The page of a reading: every head of a text, with its measures side by side."""

from collections.abc import Iterable

import xarray as xr
from markupsafe import Markup

from headlight.kinds import split_kinds
from headlight.views.container import Head, header_text, pack
from headlight.views.script import joined_script
from headlight.views.template import embedded_text, render
from headlight.vocabulary import ATTENTION, NUMBERING, measure_table

PAGE = 5.0
"""Megabytes that a page may have."""
AROUND = 0.15
"""Megabytes of a page that are none of its numbers: its script, and what the header says."""


def reading_page(
    reading: xr.Dataset, *, megabytes: float | None = PAGE, whole_heads: Iterable[Head] = ()
) -> str:
    """A reading as one self-contained HTML page.

    The page holds what `headlight.views.container` describes: the header in the element with the
    id ``header``, and each blob in an element of its own.

    Args:
        reading: of one kind of attention, or of several.
        megabytes: how large it may be; of a text for which all heads are more than that, each row
            keeps its strongest cells, and the page says so. None keeps everything.
        whole_heads: layers, as the model counts them, and heads that keep all cells even then.

    Raises:
        UsageError: such a head is not in the reading.
    """
    attributes = reading.attrs
    parts = split_kinds(reading)
    texts = [str(attributes.get(name, "")) for name in ("text", "pair")]
    room = None if megabytes is None else megabytes - AROUND
    view = pack(reading, megabytes=room, whole_heads=whole_heads)
    versions = view.header["versions"]
    pairwise = [row for row in measure_table() if row.pairwise]
    return render(
        "reading.html",
        title=" / ".join(part for part in texts if part) or "A reading",
        attributes=attributes,
        numbering=NUMBERING,
        measures=[row for row in pairwise if any(row.name in part for part in parts.values())],
        kinds={kind: ATTENTION.get(kind, kind) for kind in parts},
        versions=list(versions.items()) if isinstance(versions, dict) else [("", versions)],
        header=embedded_text(header_text(view)),
        blobs=view.texts(),
        script=Markup(joined_script()),
    )
