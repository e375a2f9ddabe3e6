"""Reading of one text, or two: every measure of every head."""

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

import xarray

from headlight.engine.folder import REPORT
from headlight.errors import UsageError
from headlight.findings import pieces_of, token_place
from headlight.reading.text_result import Answer, save_as
from headlight.result import load, refusing_incomplete
from headlight.result.kinds import KINDS, of_kind, require_one_kind, split_kinds
from headlight.views.titles import model_name, text_title
from headlight.vocabulary import measure, measure_table

if TYPE_CHECKING:
    from headlight.views.pictures import Picture
import json
from pathlib import PurePath

import numpy as np

from headlight.capture import CapturedModel, LayerRecord
from headlight.capture.attribution import attribute
from headlight.capture.captured_model import shortened
from headlight.capture.one_text import capture_one, one_picture, one_text
from headlight.chats import Readable
from headlight.corpora.pictures import picture_address
from headlight.encode import Encoded
from headlight.encode.picture_prompts import EncodedPrompt
from headlight.encode.special_tokens import Assembly
from headlight.findings.phrases import listed
from headlight.reading.layer_measures import Measured, Part, ReadLayers, part_of
from headlight.reading.origin import origin
from headlight.reading.token_coordinates import Positions, sides_of
from headlight.result.kinds import ALL, concat_kinds
from headlight.settings.attribution import AttributionSettings
from headlight.studies.survey.text_statistics import TextStatistics
from headlight.vocabulary import Kinds, ValueBias

FRAME_HEIGHT = 640
"""Height of the page within a notebook, in pixels."""

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
        return [each.label for each in pieces_of(self.dataset, "query_token")]

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
        for each in filter(None, (self, compare)):
            for part in split_kinds(each.dataset).values():
                if any(part[side].values.tolist() != [*range(part.sizes[side])] for side in sides):
                    raise UsageError(
                        "the view shows all heads of a text, and of two readings all queries, and "
                        "this one keeps some of them; read the text without heads and queries, or "
                        "save it as .json or .nc."
                    )


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


def read(
    model: CapturedModel,
    text: Readable | None,
    pair: str | None = None,
    *,
    image: Any = None,
    kind: Kinds | None = None,
    attribution: bool | AttributionSettings = False,
    command: str | None = None,
    **options: Any,
) -> Reading:
    """Read one text, or a pair, and keep every measure of every head.

    Args:
        model: Model that reads.
        text: Text, or a list of messages as a chat, which the template of the tokenizer writes, and
            whose tokens have named segments.
        pair: Second text: the second segment, or the decoder's text in an encoder-decoder model.
        image: Picture, as a file or a picture of Pillow: in a model of both pictures and text, its
            encoder of pictures reads the picture alone, and its language model reads it beside a
            text.
        kind: See `read_example`.
        attribution: See `read_example`; not for a picture.
        command: Command of the request, for the record.
        options: Other arguments of `read_example`.

    Raises:
        UsageError: No tokenizer, an empty or too long text, a file that is no picture, a picture
            beside a text by a model that does not read it so, no such kind, layer, head or
            position, or contributions of all kinds at once.
        UnsupportedModelError: The attention of the model cannot be captured exactly, or a layer
            whose residual is requested could not be followed.
    """
    about: dict[str, Any] = {"pair": pair or "", "command": command or ""}
    example: Encoded
    if image is None:
        model = model.reader()
        others = "" if kind else listed(model.kinds[1:])
        subject: Any = text  # None is refused there
        model, example = one_text(model, subject, pair, kind, purpose="a reading needs text")
        about |= {"other_kinds": others, "text": subject}
    else:
        if pair is not None or attribution:
            raise UsageError(
                "a picture is read alone or beside one text, without contributions; leave the "
                "others out."
            )
        model, encoded = one_picture(model, image, text)
        example = encoded
        if isinstance(encoded, EncodedPrompt):
            picture = encoded.image
        else:
            picture = model.viewer.shown(encoded)
        about |= {"text": text or PurePath(example.name).name, "image": example.name}
        about["picture"] = picture_address(picture)
    return read_example(
        model, example, attributes=about, kind=kind, attribution=attribution, **options
    )


def read_example(  # noqa: PLR0913 - each is a choice of its own
    model: CapturedModel,
    example: Encoded,
    *,
    attributes: Mapping[str, Any],
    kind: Kinds | None = None,
    layers: Iterable[int] | None = None,
    heads: Iterable[int] | None = None,
    queries: Iterable[int] | None = None,
    value_bias: ValueBias = "include",
    attribution: bool | AttributionSettings = False,
    residual: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Reading:
    """Read an example that is made already, with the part of the model that reads it.

    Args:
        model: Model that reads.
        example: Example that the model reads.
        attributes: Attributes of the reading: ``text``, ``pair`` and ``command``.
        kind: ``encoder``, ``decoder`` or ``cross``; by default the first that the model has.  With
            ``all`` the model runs once, and the reading keeps its kinds apart.
        layers: Layers to read; by default all.
        heads: Heads to keep of each layer; by default all.
        queries: Positions of the attending tokens to keep; by default all.  For a long text,
            memory then holds some rows at a time, never a whole layer.
        value_bias: Treatment of the value bias in T of effective attention.
        attribution: Whether the contributions of input tokens to hidden tokens are computed as
            well, which costs more than everything else; estimated, unless settings say otherwise.
        residual: Whether to add the measures that see the residual connection and the norm behind
            it: ``block_norm`` and ``layer_norm``.
        progress: Function of the number of finished layers and of all layers; an exception of it
            ends the reading.

    Raises:
        UsageError: See `read`.
        UnsupportedModelError: See `read`.
    """
    kinds = model.kinds if kind == ALL else (kind or model.kinds[0],)
    layers = None if layers is None else list(layers)
    by_kind = {each: model.sites_of(each, layers) for each in kinds}
    sites = [site for of_kind in by_kind.values() for site in of_kind]
    settings = AttributionSettings() if attribution is True else attribution or None
    sides = {each: sides_of(example, each, model.tokenizer) for each in kinds}
    heads, queries = (None if numbers is None else list(numbers) for numbers in (heads, queries))
    parts = {
        each: part_of(of_kind, len(sides[each][0]["token"]), heads, queries)
        for each, of_kind in by_kind.items()
    }
    contributions = _contributions(model, example, kind, settings)
    counted = _counted(len(sites), progress)
    layers_read = ReadLayers(parts, value_bias, contributions, counted)
    if residual:
        model.verify_residuals(model.collate([shortened(example)]), sites)
    of_text = {
        each: TextStatistics(model, example, each, of_kind, value_bias)
        for each, of_kind in by_kind.items()
    }

    def visit(record: LayerRecord) -> None:
        of_text[record.site.kind].visit(record)
        layers_read.visit(record)

    capture_one(model, example, sites, visit, query_block=None, residual=residual)
    attributes_of_all = origin(
        model,
        **attributes,
        title="Reading",
        stage="reading",
        **_counts(example, model.tokenizer, model.decoder_start),
        attribution=json.dumps(settings.signature()) if settings else "",
    )
    datasets: dict[str, xarray.Dataset] = {
        each: model.with_own_numbers(
            _dataset(
                {site.layer: read for site, read in layers_read.seen.items() if site.kind == each},
                parts[each],
                *sides[each],
                {
                    **attributes_of_all,
                    "kind": each,
                    "head_dim": min(site.head_dim for site in by_kind[each]),
                },
                of_text[each],
            ),
            each,
        )
        for each in kinds
    }
    return Reading(concat_kinds(datasets) if kind == ALL else datasets[kinds[0]])


def _contributions(
    model: CapturedModel, example: Encoded, kind: Kinds | None, settings: AttributionSettings | None
) -> Any:
    """Compute the contributions of input tokens, before the model is captured, if requested."""
    if settings is None:
        return None
    if kind == ALL:
        raise UsageError(
            "contributions are those of one kind of attention at a time; choose one, or do "
            "without contributions."
        )
    batch = model.collate([example])
    return attribute(model, batch, settings, kind=kind or model.kinds[0]).contribution


def _counted(layers: int, progress: Callable[[int, int], None] | None) -> Callable[[], None]:
    """Return a function that reports one more finished layer."""
    finished = 0

    def count() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished, layers)

    return count


def _counts(example: Encoded, tokenizer: Any, start: int | None) -> dict[str, Any]:
    """Count the tokens, the unknown ones, and the special ones that the text itself writes."""
    ids = (*example.ids, *example.target)
    if tokenizer is None:
        return {"tokens": len(ids)}
    marks = Assembly.from_tokenizer(tokenizer, start).marks
    special, doubled = marks.written(example)
    written = {"special": special, "doubled": int(doubled)} if special else {}
    return {"tokens": len(ids), "unknown": ids.count(marks.unknown), **written}


def _dataset(
    by_layer: Mapping[int, Measured],
    part: Part,
    queries: Positions,
    keys: Positions,
    attributes: dict[str, Any],
    statistics: TextStatistics,
) -> xarray.Dataset:
    layers, measured = list(by_layer), list(by_layer.values())
    variables = {
        row.name: (
            row.axes,
            np.stack([each[row.name] for each in measured]),
            {"long_name": row.title, "units": row.unit},
        )
        for row in measure_table()
        if all(row.name in each for each in measured)
    }
    numbers, axes = statistics.variables(part.heads)
    coordinates: dict[str, Any] = {"layer": layers, "head": part.heads, **axes}
    everything = range(len(keys["token"]))
    for side, positions, places in (("query", queries, part.queries), ("key", keys, everything)):
        coordinates[side] = list(places)
        for name, values in positions.items():
            coordinates[f"{side}_{name}"] = (side, [values[at] for at in places])
    return xarray.Dataset(variables | numbers, coords=coordinates, attrs=attributes)
