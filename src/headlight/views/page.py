"""The page of a reading: every head of a text, with its measures side by side."""

import json
from base64 import b64decode
from collections.abc import Iterable
from html.parser import HTMLParser

import xarray as xr
from markupsafe import Markup

from headlight.errors import ResultError
from headlight.kinds import split_kinds
from headlight.views.container import Head, View, header_text, pack, unpack
from headlight.views.in_corpus import InCorpus, with_corpus
from headlight.views.live import LiveView
from headlight.views.script import joined_script
from headlight.views.template import embedded_text, render
from headlight.vocabulary import ATTENTION, NUMBERING, measure_table

PAGE = 5.0
"""Megabytes that a page may have."""
HEADER = "header"
"""The element that holds the header."""
AROUND = 0.15
"""Megabytes of a page that are none of its numbers: its script, and what the header says."""


def reading_page(
    reading: xr.Dataset,
    *,
    megabytes: float | None = PAGE,
    whole_heads: Iterable[Head] = (),
    corpus: InCorpus | None = None,
) -> str:
    """A reading as one self-contained HTML page.

    The page holds what `headlight.views.container` describes: the header in the element with the
    id ``header``, and each blob in an element of its own.

    Args:
        reading: of one kind of attention, or of several.
        megabytes: how large it may be; of a text for which all heads are more than that, each row
            keeps its strongest cells, and the page says so. None keeps everything.
        whole_heads: layers, as the model counts them, and heads that keep all cells even then.
        corpus: what was found of the same model over a corpus.

    Raises:
        UsageError: such a head is not in the reading, or the corpus was read by another model.
    """
    room = None if megabytes is None else megabytes - AROUND
    view = pack(reading, megabytes=room, whole_heads=whole_heads)
    header = with_corpus(view.header, str(reading.attrs.get("revision", "")), corpus)
    return _page(reading, View(header, view.blobs))


def live_page(reading: xr.Dataset, view: LiveView) -> str:
    """The same page for a host that gives the cells of layers when they are asked for.

    The host sets ``headlight`` of the frame that the page stands in, to an object that
    ``script/host.js`` describes. The pictures of all heads stand in the page.

    Args:
        reading: of one kind of attention, or of several.
        view: the same reading, packed.
    """
    return _page(reading, View(view.header, view.pictures))


def _page(reading: xr.Dataset, view: View) -> str:
    attributes = reading.attrs
    parts = split_kinds(reading)
    texts = [str(attributes.get(name, "")) for name in ("text", "pair")]
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


def parse_page(text: str) -> xr.Dataset:
    """The measures that a page of `reading_page` holds, each within the bound that it states.

    Cells that the page does not keep are NaN.

    Raises:
        ResultError: the text is no such page, or one of a later format.
    """
    parts = _Parts()
    parts.feed(text)
    if HEADER not in parts.found:
        raise ResultError("this is no page of a reading; take one that headlight read has written.")
    header = json.loads(parts.found[HEADER])
    return unpack(header, lambda name: b64decode(parts.found[name]))


class _Parts(HTMLParser):
    """What the elements of a page with data in them hold, by the name of each."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._name: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = dict(attrs)
        is_header = tag == "script" and about.get("id") == HEADER
        self._name = HEADER if is_header else about.get("data-blob")

    def handle_endtag(self, tag: str) -> None:
        self._name = None

    def handle_data(self, data: str) -> None:
        if self._name is not None:
            self.found[self._name] = self.found.get(self._name, "") + data
