"""Galleries: the heads of many surveys as a folder for any web host, which opens from disk too.

Pages load scripts that lie beside them, and nothing else: one with the numbers of all heads of a
model, and one for each head that is examined.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr
from markupsafe import Markup

from headlight.catalogue.writers import REPORT
from headlight.findings.phrases import layer_list
from headlight.findings.what_was_read import what_was_read
from headlight.result.kinds import MULTI_KIND, split_for_display
from headlight.views.head_numbers import HeadDetails, all_heads, head_places
from headlight.views.page_scripts import GALLERY, GALLERY_MODEL, joined_script
from headlight.views.provenance import provenance
from headlight.views.result_contents import answers, headline
from headlight.views.sentences import sentences_of
from headlight.views.template import embedded, render
from headlight.views.titles import Subject, model_name
from headlight.vocabulary import ATTENTION

FINDINGS = 3
"""Sentences on the card of a model."""

TOLD_APART = {
    "dtype": "precision",
    "measures": "measures",
    "max_length": "tokens at most",
    "overflow": "long texts",
    "value_bias": "value bias",
    "seed": "seed",
    "revision": "revision",
}
"""Labels of settings that are shown where surveys of one model differ in them."""

_EXAMPLES = ("previous", "duplicate in layer > 2", "sep > 10%", "entropy < 1")
_OTHERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Shown:
    """Survey of a gallery, with its page.

    Attributes:
        result: Survey with all its kinds of attention.
        report: Page of the survey, if there is one.
    """

    result: xr.Dataset
    report: bytes | None = None


@dataclass(frozen=True)
class _Entry:
    """Kind of attention of a survey, which has a folder."""

    part: xr.Dataset
    slug: str
    title: str

    @property
    def link(self) -> str:
        """Text of the link to its heads."""
        size = f"{self.part.sizes['layer']} × {self.part.sizes['head']} heads"
        return f"{self.part.attrs['kind']}: {size}" if MULTI_KIND in self.part.attrs else size


def gallery_files(runs: Sequence[Shown]) -> Iterator[tuple[str, bytes]]:
    """Yield all files of a gallery by path, the first page last.

    Args:
        runs: Surveys, each of one model and corpus.
    """
    cards: list[dict[str, Any]] = []
    apart = _told_apart([run.result for run in runs])
    slugs: set[str] = set()
    all_entries: list[_Entry] = []
    for run, settings in zip(runs, apart, strict=True):
        entries = [_entry(part, slugs) for part in split_for_display(run.result)]
        all_entries += entries
        # The report of all kinds lies beside the heads of the first.
        report = "" if run.report is None else f"{entries[0].slug}/{REPORT}"
        if run.report is not None:
            yield report, run.report
        for entry in entries:
            yield from _of_entry(entry, report and f"../{report}")
        cards.append(
            {
                **_card(run.result),
                "settings": settings,
                "findings": [finding for entry in entries for finding in answers(entry.part)][
                    1:FINDINGS
                ],
                "entries": entries,
                "report": report,
            }
        )
    page = render(
        "gallery.html",
        title="Heads of attention",
        cards=cards,
        entries=all_entries,
        heads=sum(len(head_places(entry.part)) for entry in all_entries),
        examples=_EXAMPLES,
        models=embedded([{"slug": entry.slug, "title": entry.title} for entry in all_entries]),
        provenance=provenance({"stage": "survey"}, "headlight gallery RUN... --out FOLDER"),
        script=Markup(joined_script(GALLERY)),
    )
    yield "index.html", page.encode()


def _card(result: xr.Dataset) -> dict[str, str]:
    """Return the title of a card, which is the answer of the survey, and what was read by what."""
    subject = Subject.from_result(result)
    answer = headline(result, [])  # without sections, of which a card shows nothing
    read = sentences_of(what_was_read(result).sentence)[0]
    return {
        "model": subject.model,
        "title": answer.title if answer else subject.model,
        "about": f"{subject.corpus}: {read}" if subject.corpus else read,
    }


def _told_apart(results: Sequence[xr.Dataset]) -> list[str]:
    """Return, for each survey, its settings that differ from those of others of the same model."""
    names = [model_name(result.attrs) for result in results]
    said = []
    for result, name in zip(results, names, strict=True):
        of_model = [
            _settings(other)
            for other, other_name in zip(results, names, strict=True)
            if other_name == name
        ]
        own = _settings(result)
        differing = [
            f"{key} {value}"
            for key, value in own.items()
            if any(other.get(key) != value for other in of_model)
        ]
        said.append("; ".join(differing))
    return said


def _settings(result: xr.Dataset) -> dict[str, str]:
    """Return the settings that readers tell surveys apart by, and the day, by their labels."""
    kept = dict(provenance(result.attrs).settings)
    settings = {label: kept[name] for name, label in TOLD_APART.items() if name in kept}
    if "layer" in result.coords:
        settings["layers"] = layer_list(result["layer"].values.tolist()).partition(" ")[2]
    if "created" in result.attrs:
        settings["made"] = str(result.attrs["created"])[:16].replace("T", " ")
    return settings


def _entry(part: xr.Dataset, slugs: set[str]) -> _Entry:
    kind = str(part.attrs["kind"]) if MULTI_KIND in part.attrs else ""
    subject = Subject.from_result(part)
    plain = _OTHERS.sub("-", f"{subject.model} {kind}".lower()).strip("-")[:60] or "model"
    slug, number = plain, 1
    while slug in slugs:
        number += 1
        slug = f"{plain}-{number}"
    slugs.add(slug)
    again = f"({number})" if number > 1 else ""
    title = " · ".join(filter(None, (subject.model, subject.corpus, kind, again)))
    return _Entry(part, slug, title)


def _of_entry(entry: _Entry, report: str) -> Iterator[tuple[str, bytes]]:
    """Yield the folder of a survey: the numbers of all heads, those of each, and its page."""
    numbers = all_heads(entry.part)
    yield f"{entry.slug}/heads.js", _data(entry.slug, numbers)
    details = HeadDetails(entry.part)
    for name, (layer, head) in zip(numbers["names"], head_places(entry.part), strict=True):
        yield f"{entry.slug}/heads/{name}.js", _data(name, details.describe(layer, head))
    kind = str(entry.part.attrs.get("kind", ""))
    page = render(
        "gallery_model.html",
        title=entry.title,
        about=f"{ATTENTION[kind]}. {what_was_read(entry.part).sentence}",
        slug=entry.slug,
        report=report,
        provenance=provenance(entry.part.attrs),
        script=Markup(joined_script(GALLERY_MODEL)),
    )
    yield f"{entry.slug}/index.html", page.encode()


def _data(name: str, value: Any) -> bytes:
    # A script and not JSON: a page that is opened from disk may load scripts, and no other files.
    return f"headlightData({json.dumps(name)}, {embedded(value)});\n".encode()
