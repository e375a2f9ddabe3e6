"""Page of a reading."""

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import xarray as xr
from markupsafe import Markup

from headlight.errors import ResultError
from headlight.findings.what_was_read import notes_of_reading
from headlight.views.page_scripts import joined_script
from headlight.views.provenance import provenance
from headlight.views.reading.corpus_results import InCorpus, with_corpus
from headlight.views.reading.format import DIFFERENCE, PICTURE, SECOND, Head, View, header_text
from headlight.views.reading.generated_text import findings, generated
from headlight.views.reading.live_view import LiveView
from headlight.views.reading.packing import pack
from headlight.views.reading.pair_header import read_by_both
from headlight.views.reading.unpacking import unpack
from headlight.views.reading.weight_against_norm import opening_sentence
from headlight.views.template import embedded_text, render
from headlight.views.titles import text_title
from headlight.vocabulary import (
    ATTENTION,
    NUMBERING,
    ROLES,
    WEIGHT_AND_NORM,
    Measure,
    measure_table,
)

PAGE = 5.0
"""Megabytes that a page may have."""
HEADER = "header"
"""The element that holds the header."""
AROUND = 0.23
"""Megabytes of a page that are none of its numbers: its script, and what the header says."""


def reading_page(
    reading: xr.Dataset,
    *,
    second: xr.Dataset | None = None,
    megabytes: float | None = PAGE,
    whole_heads: Iterable[Head] = (),
    corpus: InCorpus | None = None,
    routes: str = "",
) -> str:
    """Return a reading as one self-contained HTML page.

    The page holds what `headlight.views.reading.format` describes: the header in the element
    with the id ``header``, and each blob in an element of its own.

    Args:
        reading: Reading of one kind of attention, or of several.
        second: Reading that it is compared with, of the same kinds.
        megabytes: Maximum size of the page; where all heads exceed it, each row keeps its
            strongest cells, and the page says so. None keeps everything.
        whole_heads: Layers, as the model counts them, and heads that keep all cells even then.
        corpus: Results of the same model over a corpus.
        routes: Address of the page of routes of the same text, if there is one.

    Raises:
        UsageError: Such a head is not in the reading, the second is of other kinds, or the corpus
            was read by another model.
    """
    room = None if megabytes is None else megabytes - AROUND
    view = pack(reading, second=second, megabytes=room, whole_heads=whole_heads)
    header = with_corpus(view.header, str(reading.attrs.get("revision", "")), corpus)
    return _page(reading, View(header, view.blobs), routes)


def live_page(reading: xr.Dataset, view: LiveView) -> str:
    """Return the page for a host that provides the cells of layers on request.

    The host sets ``headlight`` of the frame that the page stands in, to an object that
    ``script/host.js`` describes. The pictures of all heads stand in the page.

    Args:
        reading: Reading of one kind of attention, or of several.
        view: Same reading, packed.
    """
    return _page(reading, View(view.header, view.pictures))


def _page(reading: xr.Dataset, view: View, routes: str = "") -> str:
    attributes = reading.attrs
    kinds = view.header["kinds"]
    second = view.header.get("second", {})
    texts = [text_title(attributes, " / "), str(attributes.get("answer", ""))]
    read = [attributes.get("text", ""), attributes.get("pair") or ""]
    texts += [second[name] for name in ("text", "pair") if second and second[name] not in read]
    pairwise = [row for row in measure_table() if row.pairwise]
    title = " / ".join(part for part in texts if part) or "A reading"
    sentence, same = read_by_both(attributes, second) if second else ("", True)
    return render(
        "reading.html",
        title=title,
        opening=(not second and opening_sentence(reading)) or title,
        names_both={"weight", "norm"} <= set(reading),
        weight_and_norm=WEIGHT_AND_NORM,
        attributes=attributes,
        notes=notes_of_reading(reading),
        generated=_generated(reading),
        second=second and {"sentence": sentence, "same": same},
        routes=routes,
        picture=PICTURE in view.header,
        roles=any({*ROLES} & {*part["keys"].get("segments", ())} for part in kinds.values()),
        numbering=NUMBERING,
        measures=[
            choice
            for row in pairwise
            for choice in _choices(row, [part["measures"] for part in kinds.values()])
        ],
        kinds={kind: ATTENTION.get(kind, kind) for kind in kinds},
        provenance=provenance(attributes),
        header=embedded_text(header_text(view)),
        blobs=view.texts(),
        script=Markup(joined_script()),
    )


def _generated(reading: xr.Dataset) -> dict[str, Any] | None:
    """Return the sentence and the table of a generated text; None of other readings."""
    frame = generated(reading)
    if frame.empty:
        return None
    frame["probability"] = [f"{share:.0%}" for share in frame["probability"]]
    sentence = findings(reading)[0]
    return {"sentence": sentence, "columns": list(frame), "rows": frame.to_numpy().tolist()}


@dataclass(frozen=True)
class Choice:
    """Measure as the page offers it: of the only reading, of one of two, or their difference."""

    row: Measure
    name: str
    short: str
    colour: str


def _choices(row: Measure, measures: Iterable[Mapping[str, Any]]) -> list[Choice]:
    """Return the choices of a measure that the page has."""
    both = {
        DIFFERENCE: Choice(row, f"{row.name}{DIFFERENCE}", f"{row.short}, difference", "change"),
        "": Choice(row, row.name, row.short, row.colour),
        SECOND: Choice(row, f"{row.name}{SECOND}", f"{row.short}, second", row.colour),
    }
    names = {name for of_kind in measures for name in of_kind}
    return [choice for choice in both.values() if choice.name in names]


def parse_page(text: str, *, second: bool = False) -> xr.Dataset:
    """Return the measures in a page of `reading_page`, each within the bound that it states.

    Cells that the page does not keep are NaN.

    Args:
        text: Text of the page.
        second: Whether to return the second reading of a page of two, and not the first.

    Raises:
        ResultError: The text is no such page, has a later format, or lacks a second reading.
    """
    parts = _Parts()
    parts.feed(text)
    if HEADER not in parts.found:
        raise ResultError("this is no page of a reading; take one that a reading was saved as.")
    header = json.loads(parts.found[HEADER])
    return unpack(header, lambda name: b64decode(parts.found[name]), second=second)


class _Parts(HTMLParser):
    """Contents of the elements of a page that hold data, by the name of each."""

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
