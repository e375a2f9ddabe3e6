"""Exhibits of a paper: what makes them, what writes their files, and the page of all of them."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.analysis.work_folders import remove_work_folder
from headlight.errors import ResultError, UnknownNameError, UsageError, setting
from headlight.files import read
from headlight.output_folder import OutputFolder
from headlight.result import csv_text, versions
from headlight.views.parts import (
    Curve,
    Drawing,
    Figure,
    Map,
    Section,
    Table,
    curves,
    maps,
    save_picture,
)
from headlight.views.section_pages import SectionPage, section_page
from headlight.vocabulary import head_name as own_name
from headlight_papers.papers.reproduction import Reproduction, open_reproduction, text_name
from headlight_papers.papers.settings import PAGE, RUNS, PaperSettings
from headlight_papers.papers.sources import SOURCES, Sources, titled_sources

COUNTED = ("layer", "tested_layer", "head")
"""Dimensions that papers count from 1."""


def head_name(layer: int, head: int) -> str:
    """The name of a head, layer and head from 0, and the paper's, from 1: ``L7H9 (8-10)``."""
    return f"{own_name(layer, head)} ({layer + 1}-{head + 1})"


def as_printed(result: xarray.Dataset) -> xarray.Dataset:
    """A result whose layers and heads are numbered as papers print them, from 1."""
    return result.assign_coords(
        {name: result[name] + 1 for name in COUNTED if name in result.coords}
    )


def layer_names(result: xarray.Dataset | xarray.DataArray) -> list[str]:
    """The layers of a result."""
    return [str(int(layer) + 1) for layer in result["layer"].values]


def count_heads(values: xarray.DataArray) -> int:
    """Count the heads over all layers; layers may differ in their number."""
    others = [dim for dim in values.dims if dim not in ("layer", "head")]
    return int(values.notnull().any(others).sum())


def frame_of(columns: Mapping[str, xarray.DataArray]) -> pandas.DataFrame:
    """One row for each place along the dimensions that the arrays share, one column for each.

    A column ``layer`` counts from 1; where there are heads, ``head`` has their names instead, and
    those that a layer does not have are left out.
    """
    cells = xarray.Dataset({name: one.reset_coords(drop=True) for name, one in columns.items()})
    order = [str(name) for name in next(iter(columns.values())).dims]
    frame = cells.to_dataframe(dim_order=order).reset_index()
    if "head" in frame:
        frame = frame.dropna(subset=list(columns), how="all").reset_index(drop=True)
        frame["head"] = list(map(head_name, frame.pop("layer"), frame["head"]))
    elif "layer" in frame:
        frame["layer"] += 1
    return frame


def percent(share: float) -> float | None:
    """A share in percent; None where nothing was observed."""
    return None if np.isnan(share) else 100 * float(share)


def yes_or_no(holds: object) -> str:
    """Return whether a claim holds, as a word."""
    return "yes" if holds else "no"


def in_words(names: list[str], most: int = 12) -> str:
    """``1, 2 and 4``; a long list is cut, and says how long it was."""
    if not names:
        return "none"
    first = names[:most]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(first) + rest


@dataclass(eq=False)
class ExhibitWriter:
    """The files of one exhibit, all of them named after it.

    Attributes:
        folder: where they are written.
        exhibit: the name of the exhibit, ``table-1``.
        written: names of the files so far, relative to the folder.
    """

    folder: Path
    exhibit: str
    written: list[str] = field(default_factory=list)

    def picture(
        self, draw: Callable[[], Figure], caption: str, alternative: str, name: str = ""
    ) -> Drawing:
        """Save a drawing as SVG and PNG.

        Args:
            draw: makes it, as the functions of `headlight.views.parts` say.
            caption: what stands under it.
            alternative: what a screen reader says.
            name: tells it from other pictures of the exhibit.
        """
        stem = self._stem(name)
        figure = draw()
        self._output.claim([f"{stem}.svg", f"{stem}.png"])
        svg, png = save_picture(figure, self.folder, stem)
        self.written += [svg.name, png.name]
        return Drawing(stem, caption, alternative, draw, drawn=read(svg, own=True).decode())

    def curves(
        self, result: xarray.Dataset, *specs: Curve, columns: int | None = None, **words: str
    ) -> Drawing:
        """Draw variables of a result by layer, counted from 1; see `curves`, and `picture`."""
        return self.picture(curves(as_printed(result), *specs, columns=columns), **words)

    def maps(
        self, result: xarray.Dataset, *specs: Map, columns: int | None = None, **words: str
    ) -> Drawing:
        """Draw variables of a result by layer and head, from 1; see `maps`, and `picture`."""
        drawn = [replace(each, named=False) for each in specs]
        return self.picture(maps(as_printed(result), *drawn, columns=columns), **words)

    def table(
        self,
        frame: pandas.DataFrame,
        caption: str,
        *,
        formats: Mapping[str, str] | str = "",
        highlight: Collection[tuple[int, str]] = (),
        note: str = "",
        name: str = "",
    ) -> Table:
        """Save a table as CSV, with all its digits; for the arguments see `Table`.

        One format is that of all columns but the first, which says what a row is about.
        """
        stem = self._stem(name)
        self.keep(frame, name)
        if isinstance(formats, str):
            formats = dict.fromkeys(frame.columns[1:], formats) if formats else {}
        return Table(stem, caption, frame, formats, highlight, note)

    def keep(self, frame: pandas.DataFrame, name: str = "") -> None:
        """Save numbers as CSV that the page does not show."""
        file = f"{self._stem(name)}.csv"
        self._output.write(file, csv_text(frame).encode(errors="replace"))
        self.written.append(file)

    @property
    def _output(self) -> OutputFolder:
        return OutputFolder(self.folder, ResultError)

    def _stem(self, name: str) -> str:
        return f"{self.exhibit}-{name}" if name else self.exhibit


Make = Callable[[Reproduction, ExhibitWriter], Section]


@dataclass(frozen=True)
class Need:
    """Need of an exhibit besides text.

    Attributes:
        missing: what is said where it is not there.
        there: asks a reproduction for it.
    """

    missing: str
    there: Callable[[Reproduction], object]


def _given(name: str) -> Need:
    message = f"no {SOURCES[name].title} were given (--{name})"
    return Need(message, lambda run: run.sources.named(name))


NEEDS = {
    name: _given(name) for name in ("dependency", "coreference", "pairs", "tagged", "labelled")
}
NEEDS |= {
    "cola": Need(
        "no sentences of CoLA were given (--pairs)", lambda it: "cola" in it.sources.tasks
    ),
    "mnli": Need(
        "no sentence pairs of MNLI were given (--pairs)", lambda it: "mnli" in it.sources.tasks
    ),
    "gold": Need(
        "no translations with gold links were given (--translations and --gold)",
        lambda it: it.sources.translations and it.sources.gold,
    ),
    "compared": Need("no second model was given (--compare)", lambda it: it.compared),
    "translator": Need("no translation model is loaded (--translator)", lambda it: it.translator),
    "masks": Need("the model has no mask token, or --masks is 0", lambda it: it.masks),
    "gradient": Need(
        "the model has no language-model head, or gradient is not among --measures",
        lambda it: it.wants_gradient,
    ),
}
"""By name; `Sources.check` knows those that are read."""


@dataclass(frozen=True)
class ExhibitSpec:
    """One exhibit: a table or figure of the paper.

    Attributes:
        name: ``table-1``.
        title: what it shows.
        source: where the paper has it.
        make: makes its section, but for name, title and source, and writes its files.
        needs: what it cannot do without, of `NEEDS`.
    """

    name: str
    title: str
    source: str
    make: Make
    needs: tuple[str, ...] = ()

    def missing(self, reproduction: Reproduction) -> str | None:
        """Return why the exhibit cannot be made; None where it can."""
        lacking = (NEEDS[need] for need in self.needs if not NEEDS[need].there(reproduction))
        return next((need.missing for need in lacking), None)

    def create(self, reproduction: Reproduction) -> Section:
        """Return the exhibit, with its files in the folder of the reproduction."""
        writer = ExhibitWriter(reproduction.folder, self.name)
        section = self.make(reproduction, writer)
        return replace(
            section, name=self.name, title=self.title, source=self.source, files=writer.written
        )


def exhibits_of(source: str, *always: str) -> Callable[..., Callable[[Make], ExhibitSpec]]:
    """Return the decorator that makes functions exhibits of a paper.

    Their docstrings are the titles, but where ``title`` is another. Its arguments are the name of
    the exhibit, where the paper has it (with ``{}`` in the place of the paper, if that is not
    first), and what it needs; see `ExhibitSpec`.

    Args:
        source: the paper as it is cited.
        always: what all of its exhibits need.
    """

    def exhibit(
        name: str, where: str, *needs: str, title: str = ""
    ) -> Callable[[Make], ExhibitSpec]:
        place = where.format(source) if "{}" in where else f"{source}, {where}"
        return lambda make: ExhibitSpec(
            name,
            title or (make.__doc__ or "").strip().removesuffix("."),
            place,
            make,
            (*always, *needs),
        )

    return exhibit


def arrange(order: str, *made: ModuleType | ExhibitSpec) -> tuple[ExhibitSpec, ...]:
    """Return exhibits, those of modules among them, in the order of these names."""
    every = (vars(each).values() if isinstance(each, ModuleType) else [each] for each in made)
    named = {each.name: each for some in every for each in some if isinstance(each, ExhibitSpec)}
    return tuple(named[name] for name in order.split())


@dataclass(frozen=True)
class Paper:
    """Paper that can be reproduced.

    Attributes:
        name: ``clark2019``.
        settings: the class of its settings, which says what it reads and which models it takes.
        introduction: what it is, and how names and numbers are to be read.
        exhibits: in the order of the page.
    """

    name: str
    settings: type[PaperSettings]
    introduction: str
    exhibits: tuple[ExhibitSpec, ...]

    @property
    def loads_model(self) -> bool:
        """Whether its exhibits are about a model that is loaded; else it trains its own."""
        return bool(self.settings.models)

    def open(
        self,
        model: str | Path | None,
        sources: Sources,
        settings: PaperSettings,
        folder: Path,
        **options: Any,
    ) -> Reproduction:
        """A reproduction, with the models that it needs; for the arguments see `open_reproduction`.

        Raises:
            ModelError: there is no such model.
            UsageError: it does not fit, or one is named and the paper trains its own.
        """
        if self.loads_model:
            return open_reproduction(model, sources, settings, folder, **options)
        if model or options.get("compared") or options.get("translator"):
            raise UsageError(f"{self.name} trains models of its own; leave out those of others.")
        return Reproduction(None, None, sources, settings, folder)

    def select(self, names: Sequence[str] | None) -> list[ExhibitSpec]:
        """The exhibits of these names, in the paper's order; by default all.

        Raises:
            UsageError: no name is given, or one is unknown.
        """
        if names is None:
            return list(self.exhibits)
        exhibit_names = [each.name for each in self.exhibits]
        for name in names:
            if name not in exhibit_names:
                raise UnknownNameError(f"exhibit of {self.name}", name, exhibit_names)
        if not names:
            raise UsageError(f"no exhibit is selected; name at least one with {setting('only=')}.")
        return [each for each in self.exhibits if each.name in names]


OWN = "models of the paper, trained here"
STILL_MISSING = (
    "Not made yet: the reproduction is at work, or was interrupted; then go on with the same "
    "command and --resume."
)


def reproduce(
    paper: Paper,
    reproduction: Reproduction,
    only: Sequence[str] | None = None,
    *,
    command: str = "",
    on_exhibit: Callable[[ExhibitSpec, Section | None], object] = lambda spec, exhibit: None,
) -> Path:
    """Write every exhibit as pictures (SVG, PNG), CSV and a section of one HTML page.

    What is finished is kept in its folder, so that an interrupted reproduction goes on where it
    stopped. The page is there from the first exhibit on, and says what is still missing.

    Args:
        paper: what to reproduce.
        reproduction: on which model and data.
        only: names of exhibits; by default all.
        command: how it was asked for, for the record.
        on_exhibit: is called with each exhibit, or with None for one that is missing.

    Returns:
        The page.

    Raises:
        UsageError: an exhibit is unknown.
        HeadlightError: data or model are refused; exhibits made before are kept.
    """
    specs = paper.select(only)
    sections: list[Section] = []
    missing = {spec.name: (spec.title, STILL_MISSING) for spec in specs}
    path, output = reproduction.folder / PAGE, OutputFolder(reproduction.folder, ResultError)
    with reproduction.unchanged():
        for spec in specs:
            reason = spec.missing(reproduction)
            exhibit = None if reason else spec.create(reproduction)
            if exhibit is None:
                missing[spec.name] = (spec.title, reason or "")
            else:
                del missing[spec.name]
                sections.append(exhibit)
            page = SectionPage(
                title=paper.settings.title,
                introduction=paper.introduction,
                sections=sections,
                facts=_facts(paper, reproduction),
                missing=list(missing.values()),
                attributes=_attributes(paper, reproduction),
                command=command,
            )
            output.write(PAGE, section_page(page).encode())
            on_exhibit(spec, exhibit)
    remove_work_folder(reproduction.folder / RUNS)
    return path


def _facts(paper: Paper, reproduction: Reproduction) -> list[tuple[str, str]]:
    """Return the models and data of a reproduction, in a few words."""
    models = {
        "model": reproduction.loaded,
        "compared with": reproduction.compared,
        "translator": reproduction.translator,
    }
    rows = titled_sources(paper.settings.reads)
    named = {row.title: reproduction.sources.named(name) for name, row in rows.items()}
    read = {title: ", ".join(Path(name).name for name in names) for title, names in named.items()}
    if "text" in rows:
        read[rows["text"].title] = text_name(reproduction)
    return [
        *((label, model.name) for label, model in models.items() if model is not None),
        *((title, names) for title, names in read.items() if names),
    ]


def _attributes(paper: Paper, reproduction: Reproduction) -> dict[str, object]:
    sources, reads = asdict(reproduction.sources), paper.settings.reads
    settings = {**asdict(reproduction.settings), **{name: sources[name] for name in reads}}
    others = {"compared": reproduction.compared, "translator": reproduction.translator}
    for name, model in others.items():
        if model is not None:
            settings |= {name: model.name, f"{name}_revision": model.revision}
    model = reproduction.loaded
    return {
        **(model.origin if model else {"model": OWN, "revision": ""}),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(versions()),
        "settings": json.dumps(settings),
    }
