"""Reading of one text, or two: every measure of every head."""

import math
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from html import escape
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import quote

import pandas as pd
import xarray

from headlight.catalogue.question_settings import WHOLE_VIEW
from headlight.engine.folder import REPORT
from headlight.errors import UsageError
from headlight.findings import pieces_of, token_place
from headlight.findings.what_was_read import GIVEN, WEIGHTS_ALONE
from headlight.reading.text_result import Answer, save_as
from headlight.result import load, refusing_incomplete
from headlight.result.kinds import KINDS, of_kind, require_one_kind, split_kinds
from headlight.views.titles import model_name, text_title
from headlight.vocabulary import measure, measure_table

if TYPE_CHECKING:
    from headlight.views.pictures import Picture

FRAME_HEIGHT = 640
"""Height of the page within a notebook, in pixels."""

LONGEST_TABLE = 5_000_000
"""Rows of a table of a reading, which then takes about 500 MB."""

IN_NOTEBOOK = 2.0
"""Megabytes that a page within a notebook may have, which keeps it."""

_HOW = {
    "attribution": "contributions cost more than everything else together, and were not asked for; "
    "read the text with attribution=True",
    "gradient": "a reading runs the model forward only; ask a survey for it",
    "residual": "what the output of the attention is added to was not asked for; read the text "
    "with residual=True",
    "input": "what the values are made from was not found in this model",
}
"""Reasons why a reading may lack a measure, by what the measure needs."""


class Reading(Answer):
    """Reading of one text by a model.

    Every measure of `headlight.vocabulary` is an `xarray.DataArray` with the tokens as coordinates:
    ``reading.norm``, or ``reading["norm"]``; `dataset` holds them all.  Layers and heads are
    zero-based.

    * ``weight``: α, over layer, head, query, key; rows sum to 1
    * ``norm``: ‖α f(x)‖, over layer, head, query, key (Kobayashi et al. 2020)
    * ``effective``: A⊥, over layer, head, query, key (Brunner et al. 2020, Eq. 9)
    * ``merged_norm``: ‖Σ_h α f(x)‖, over layer, query, key
    * ``block_norm``, ``layer_norm``: ‖Σ_h α f(x) + δx‖, and the same behind the norm that follows,
      over layer, query, key, if they were requested (Kobayashi et al. 2021)
    * ``attribution``: c, what input tokens (key) contribute to hidden tokens (query), over layer,
      query, key, if it was requested; rows sum to 1 (Brunner et al. 2020, Eq. 11)
    * ``vector_norm``: ‖f(x)‖, over layer, head, key
    * ``input_norm``: ‖x‖, over layer, key, where it was found
    * ``entropy``: entropy of the rows of α in nats, over layer, head, query
    * ``rank``: the largest rank of T, over layer, head
    """

    called: ClassVar[str] = "a reading is"
    question: ClassVar[str] = "read"

    def __init__(self, dataset: xarray.Dataset) -> None:
        self.dataset = dataset

    def __getitem__(self, name: str) -> xarray.DataArray:
        """Return a measure.

        Raises:
            UnknownNameError: There is no measure of that name.
            UsageError: The measure was not requested, or is not available.
        """
        if name in self.dataset:
            return self.dataset[name]
        needs = measure(name).needs
        why = f": {_HOW[needs]}" if needs else ""
        if GIVEN in self.dataset.attrs:
            why = f": {WEIGHTS_ALONE}"
        raise UsageError(f"this reading has no {name}{why}.")

    def __getattr__(self, name: str) -> xarray.DataArray:
        """Return a measure as an attribute."""
        if name not in {row.name for row in measure_table()}:
            raise AttributeError(f"a reading has no {name!r}")
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(row.name for row in measure_table())]

    @property
    def null(self) -> xarray.DataArray:
        """Return A∥ = A − A⊥, over layer, head, query, key."""
        return self["weight"] - self["effective"]

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of attention of the reading."""
        return list(split_kinds(self.dataset))

    def of_kind(self, kind: str) -> "Reading":
        """Return one kind of attention of a reading of all kinds, as if requested alone.

        Raises:
            UnknownNameError: The reading has no such kind.
        """
        return Reading(of_kind(self.dataset, kind))

    @property
    def tokens(self) -> list[str]:
        """Return the tokens that attend.

        Raises:
            UsageError: The reading has several kinds of attention, each with its own tokens.
        """
        require_one_kind(self.dataset)
        return [str(token) for token in self.dataset["query_token"].values]

    @property
    def words(self) -> list[str]:
        """Return the tokens that attend as people read them, without the marks of the vocabulary.

        Raises:
            UsageError: The reading has several kinds of attention, each with its own tokens.
        """
        require_one_kind(self.dataset)
        return [piece.label for piece in pieces_of(self.dataset, "query_token")]

    def index(self, word: str, *, side: Literal["query", "key"] = "query") -> int:
        """Return the place of a token: ``reading.norm.sel(query=reading.index("cat"))``.

        Args:
            word: Token, as in `words` or `tokens`.
            side: ``query`` for the attending tokens, ``key`` for the attended tokens.

        Raises:
            UsageError: No token reads so, or several do, or the word has several tokens; or the
                reading has several kinds of attention.
        """
        require_one_kind(self.dataset)
        return token_place(self.dataset, word, side)

    def __repr__(self) -> str:
        """Return a short form: the text, the model, and the kinds or sizes of the reading."""
        sizes, attributes = self.dataset.sizes, self.dataset.attrs
        text = shorten(text_title(attributes), 40, placeholder=" …")
        holds = (
            ", ".join(self.kinds)
            if KINDS in attributes
            else (f"{sizes['layer']} layers of {sizes['head']} heads, {sizes['query']} tokens")
        )
        return f"<Reading of {text!r} by {model_name(attributes)}: {holds}>"

    def show(self) -> Any:
        """Return the heat-map page: in a notebook its display object, elsewhere the HTML."""
        try:
            from IPython.display import IFrame
        except ImportError:
            return self._repr_html_()
        return IFrame("", "100%", FRAME_HEIGHT, extras=[f'srcdoc="{self._escaped_page()}"'])

    def plot(
        self,
        layer: int | Iterable[int],
        head: int | Iterable[int] | None = None,
        measure: str | Iterable[str] = "weight",
        *,
        annotate: bool | None = None,
        title: str | None = None,
    ) -> "Picture":
        """Draw a picture: tokens by tokens, with title and scale; ``.save("x.svg")`` writes it.

        Several layers, heads and measures stand side by side, all with all; maps of one measure
        share its range of colours, which begins at 0, or has it in the middle.

        Args:
            layer: Number of the layer, from 0.
            head: Number of the head, from 0; left out for measures of whole layers, such as
                ``merged_norm``.
            measure: Measure of pairs of tokens (`headlight.vocabulary.measure_names`).
            annotate: Whether the cells show their numbers; by default where they fit.
            title: Title over all maps; by default text and model.

        Returns:
            A picture, which shows itself in a notebook, and is saved as ``.png``, ``.svg`` or
            ``.pdf``; its ``figure`` is a figure of matplotlib.

        Raises:
            UsageError: The reading has no such layer or head, or not this measure; it has several
                kinds of attention, of which one has to be chosen; or there are too many maps.
            UnknownNameError: There is no such measure.
        """
        from headlight.views.reading.picture import reading_picture

        layers = [layer] if isinstance(layer, int) else layer
        heads = [head] if isinstance(head, int) else head
        measures = [measure] if isinstance(measure, str) else list(measure)
        return reading_picture(
            self.dataset, layers, heads, measures, annotate=annotate, title=title
        )

    def plot_row(
        self, token: str | int, layer: int, head: int, *, title: str | None = None
    ) -> "Picture":
        """Draw bars over the tokens: what one token attends to, and what it takes from them.

        Above stand the weights α of its row, below the norms ‖αf(x)‖, as shares of their sum.

        Args:
            token: Attending token, as in `words`, or its place.
            layer: Number of the layer, from 0.
            head: Number of the head, from 0.
            title: Title over the bars; by default text and model.

        Returns:
            A picture; see `plot`.

        Raises:
            UsageError: There is no such token, layer or head, or several tokens read so; or the
                reading has several kinds of attention, of which one has to be chosen.
        """
        from headlight.views.reading.picture import row_picture

        return row_picture(self.dataset, token, layer, head, title=title)

    def explore(
        self,
        *,
        height: int = FRAME_HEIGHT,
        compare: "Reading | None" = None,
        functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
    ) -> Any:
        """Return the view as a widget: the kernel gives all cells of a layer, also of long texts.

        Args:
            height: Height in pixels.
            compare: Another reading, of another text or by another model; the view then shows
                both, and head by head how they differ.
            functions: Functions of a model that the view may call;
                `headlight.reading.model.Model.explore` gives those of its own, so that the view has
                *What if*.

        Raises:
            UsageError: The library anywidget is not installed, only some heads or queries were
                kept, or the other reading has other kinds of attention.
        """
        self._require_shown(compare)
        try:
            from headlight.views.reading.widget import ReadingWidget
        except ImportError as problem:
            raise UsageError(
                "the widget needs anywidget; install it with: "
                "pip install 'headlight-attention[widget]'"
            ) from problem
        second = None if compare is None else compare.dataset
        return ReadingWidget(self.dataset, second=second, height=height, functions=functions)

    def save(
        self,
        path: str | Path,
        *,
        megabytes: float | None = 5.0,
        whole_heads: Iterable[tuple[int, int]] = (),
        survey: str | Path | None = None,
        dependency: str | Path | None = None,
        compare: "Reading | None" = None,
        routes: str | Path | None = None,
    ) -> Path:
        """Write the reading; the suffix says how: ``.html``, ``.json`` or ``.nc``.

        Args:
            path: Path of the file.
            megabytes: Largest size of a page. Each row of a long text then keeps its strongest
                cells, and the page says so; None keeps everything.
            whole_heads: Layers and heads that keep all cells even then, such as ``(4, 7)``.
            survey: Folder of a survey with the same model, whose numbers and findings a page then
                shows beside those of the text, with links to its report.
            dependency: Folder of a dependency study with the same model; a page then finds heads by
                the relations that they follow.
            compare: Another reading, of another text or by another model. A page then shows both,
                and head by head how they differ.
            routes: Page of the routes of the same text, to which a page leads.

        Raises:
            UsageError: Another suffix, runs of another model or study, another reading with other
                kinds of attention or for another file than a page, or a page of only some heads or
                queries.
            ResultError: The file cannot be written.
        """
        path = Path(path)
        if compare is not None and path.suffix != ".html":
            raise UsageError(f"{path}: two readings are shown as .html alone; save each by itself.")

        def page() -> str:
            corpus = _in_corpus(path, survey, dependency)
            with refusing_incomplete("the result of a run") if corpus else nullcontext():
                return self._page(megabytes, whole_heads, corpus, compare, _address(routes, path))

        return save_as(path, self, page=page)

    def to_dataframe(
        self, layer: int | Iterable[int] | None = None, head: int | Iterable[int] | None = None
    ) -> pd.DataFrame:
        """Return the numbers of pairs of tokens as a long table, with a row for each cell of a map.

        Args:
            layer: Layers, from 0; by default all.
            head: Heads, from 0; by default all.

        Returns:
            Columns ``layer``, ``head``, ``query`` and ``key`` (places of the attending and the
            attended token, from 0), ``query_token`` and ``key_token``, of a chat
            ``query_segment`` and ``key_segment``, and each measure of a head that the reading has:
            ``weight``, ``norm``, ``effective``.

        Raises:
            UsageError: There is no such layer or head, there are more than `LONGEST_TABLE` rows,
                or the reading has several kinds of attention, of which one has to be chosen.
        """
        require_one_kind(self.dataset)
        part = self.dataset
        for name, chosen in (("layer", layer), ("head", head)):
            if chosen is not None:
                part = part.sel({name: _known(part, name, chosen)})
        axes = ("layer", "head", "query", "key")
        rows = math.prod(part.sizes[axis] for axis in axes)
        if rows > LONGEST_TABLE:
            raise UsageError(
                f"the table of this reading has {rows:,} rows, and at most {LONGEST_TABLE:,} are "
                "made; choose layers and heads, such as to_dataframe(layer=3, head=[0, 1])."
            )
        measures = [row.name for row in measure_table() if row.pairwise and row.per_head]
        labels = [f"{side}_{what}" for what in ("token", "segment") for side in ("query", "key")]
        labels = [name for name in labels if name in part.coords]
        measures = [name for name in measures if name in part]
        table = part[measures].reset_coords(labels).to_dataframe(list(axes)).reset_index()
        table = table[[*axes, *labels, *measures]]
        return table.dropna(subset=["weight"], ignore_index=True)  # heads that a layer lacks

    def to_html(self) -> str:
        """Return the page of the reading, which keeps the strongest cells of long texts."""
        return self._page(5.0)

    def to_json(self) -> str:
        """Return every number as JSON."""
        from headlight.views import reading_json

        return reading_json(self.dataset)

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{FRAME_HEIGHT}px;border:0"
        return f'<iframe srcdoc="{self._escaped_page()}" style="{style}"></iframe>'

    def _page(
        self,
        megabytes: float | None,
        whole_heads: Iterable[tuple[int, int]] = (),
        corpus: Any = None,
        compare: "Reading | None" = None,
        routes: str = "",
    ) -> str:
        from headlight.views import reading_page

        self._require_shown(compare)
        return reading_page(
            self.dataset,
            second=None if compare is None else compare.dataset,
            megabytes=megabytes,
            whole_heads=whole_heads,
            corpus=corpus,
            routes=routes,
        )

    def _escaped_page(self) -> str:
        return escape(self._page(IN_NOTEBOOK))

    def _require_shown(self, compare: "Reading | None") -> None:
        """Refuse a view of some heads, or of some queries of two readings."""
        sides = ("head",) if compare is None else ("head", "query")
        readings = [self] if compare is None else [self, compare]
        for reading in readings:
            for part in split_kinds(reading.dataset).values():
                if any(part[side].values.tolist() != [*range(part.sizes[side])] for side in sides):
                    raise UsageError(WHOLE_VIEW)


def _known(reading: xarray.Dataset, axis: str, chosen: int | Iterable[int]) -> list[int]:
    """Return chosen layers or heads as a list.

    Raises:
        UsageError: The reading lacks one, or none is chosen.
    """
    numbers = [chosen] if isinstance(chosen, int) else list(chosen)
    here = reading[axis].values.tolist()
    for number in numbers:
        if number not in here:
            raise UsageError(
                f"there is no {axis} {number} in this reading, which has "
                f"{', '.join(map(str, here))}."
            )
    if not numbers:
        raise UsageError(f"no {axis} is chosen; name one, or leave it out for all.")
    return numbers


def _in_corpus(page: Path, survey: str | Path | None, dependency: str | Path | None) -> Any:
    """Return the findings of runs over a corpus, for a page at a path; None without any."""
    if survey is None and dependency is None:
        return None
    from headlight.views.reading.corpus_results import InCorpus

    in_corpus = InCorpus(survey=_run(survey), dependency=_run(dependency))
    report = None if survey is None else Path(survey) / REPORT
    if report is None or not report.exists():
        return in_corpus
    return replace(in_corpus, report=_address(report, page))


def _address(target: str | Path | None, page: Path) -> str:
    if target is None:
        return ""
    return quote(Path(os.path.relpath(target, page.parent)).as_posix())


def _run(folder: str | Path | None) -> xarray.Dataset | None:
    return None if folder is None else load(folder)
