"""Read one text, or two: every measure of every head, as arrays, layer by layer."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.attribution import attribute
from headlight.capture.captured_model import shortened
from headlight.capture.one_text import capture_one, one_picture, one_text
from headlight.chats import Readable
from headlight.corpora.pictures import picture_address
from headlight.encode import Encoded
from headlight.encode.assembly import Assembly
from headlight.encode.pictures import EncodedPrompt
from headlight.errors import UsageError
from headlight.findings.estimates import listed
from headlight.measures import Scores
from headlight.measures.whole_layer import Vectors
from headlight.reading.reading import Reading
from headlight.reading.text_result import Positions, origin, sides_of
from headlight.result.kinds import ALL, concat_kinds
from headlight.settings.flow import AttributionSettings
from headlight.studies.survey.study import TextStatistics
from headlight.vocabulary import Kind, Kinds, Measure, ValueBias, measure_table

Measured = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Part:
    """Part of one kind of attention that is kept: heads and queries."""

    heads: list[int]
    queries: list[int]


def part_of(
    sites: Sequence[AttentionSite],
    tokens: int,
    heads: Sequence[int] | None,
    queries: Sequence[int] | None,
) -> Part:
    """Return the part of layers that is kept while a text runs through them; None keeps all.

    Args:
        sites: the layers.
        tokens: that attend.
        heads: by number, from 0.
        queries: by position, from 0.

    Raises:
        UsageError: there are none, or no such ones.
    """
    most = max(site.heads for site in sites)
    return Part(_chosen("head", heads, most), _chosen("query", queries, tokens))


def _chosen(what: str, numbers: Sequence[int] | None, count: int) -> list[int]:
    if numbers is None:
        return list(range(count))
    chosen = sorted(set(numbers))
    wrong = [number for number in chosen if not 0 <= number < count]
    if wrong or not chosen:
        which = f"there is no {what} {wrong[0]}" if wrong else f"no {what} is selected"
        raise UsageError(f"{which}; choose from 0 to {count - 1}, or leave them out for all.")
    return chosen


@dataclass(eq=False, repr=False)
class ReadLayers:
    """Sees the layers while the model runs, whole or in blocks of queries; `seen` is what is kept.

    Attributes:
        parts: what is kept, by kind of attention.
        value_bias: value bias in T of effective attention.
        contributions: of input tokens, by layer, where they are computed.
        done: is told after each layer.
    """

    parts: Mapping[Kind, Part]
    value_bias: ValueBias
    contributions: Float[Tensor, "layer batch query key"] | None
    done: Callable[[], None]
    seen: dict[AttentionSite, Measured] = field(default_factory=dict, init=False)
    _vectors: Vectors | None = field(default=None, init=False)

    def visit(self, record: LayerRecord) -> None:
        """Keep what is asked for of some queries of a layer, or of all."""
        if self.contributions is not None:
            rows = self.contributions[record.site.layer][:, record.first :]
            cut = rows[:, : record.weight.shape[2], : record.weight.shape[3]]
            record = replace(record, attribution=cut)
        scores = Scores(record, self.value_bias, vectors=self._vectors if record.first else None)
        self._vectors = scores.vectors
        measured = self.seen.setdefault(record.site, {})
        for row in measure_table():
            is_available = row.needs is None or getattr(record, row.needs) is not None
            if is_available:
                self._keep(measured, row, scores)
        if record.ends:
            self._vectors = None
            self.done()

    def _keep(self, measured: Measured, row: Measure, scores: Scores) -> None:
        """Put a measure of these queries where that of the layer is.

        What has no queries is the largest of all blocks, which hold ever more keys.
        """
        axes, cuts = row.axes[1:], self._cuts(scores.record)
        score = scores.of(row.name)[0]
        score = score[0] if row.pairwise and not row.per_head else score
        for dimension, axis in enumerate(axes):
            score = cuts[axis].of(score, dimension)
        if row.name not in measured:
            # What a query cannot see is 0; a head that a layer lacks is no number.
            empty = 0.0 if "query" in axes else np.nan
            sizes = [cuts[axis].size for axis in axes]
            measured[row.name] = np.full(sizes, empty, dtype=np.float32)
            if "head" in axes:
                measured[row.name][len(cuts["head"].taken) :] = np.nan
        target = measured[row.name][tuple(cuts[axis].place for axis in axes)]
        values = score.detach().float().cpu().numpy()
        target[...] = values if "query" in axes else np.fmax(target, values)

    def _cuts(self, record: LayerRecord) -> "dict[str, _Cut]":
        part, (queries, keys) = self.parts[record.site.kind], record.weight.shape[2:]
        all_keys = (record.value if record.block is None else record.block.value).shape[2]
        heads = [head for head in part.heads if head < record.site.heads]
        place = slice(*np.searchsorted(part.queries, (record.first, record.first + queries)))
        inside = [query - record.first for query in part.queries[place]]
        return {
            "head": _Cut(len(part.heads), slice(len(heads)), heads),
            "query": _Cut(len(part.queries), place, inside),
            "key": _Cut(all_keys, slice(keys), range(keys)),
        }


class _Cut(NamedTuple):
    """Cut of an axis, and its place among the `size` numbers that are kept."""

    size: int
    place: slice
    taken: Sequence[int]

    def of(self, score: Tensor, dimension: int) -> Tensor:
        """The score with what is taken of that dimension."""
        if len(self.taken) == score.shape[dimension]:
            return score
        index = torch.tensor(self.taken, dtype=torch.long, device=score.device)
        return score.index_select(dimension, index)


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
        model: the model.
        text: what it reads; a list of messages is a chat, which the template of the tokenizer
            writes, and whose tokens are of named segments.
        pair: a second text: the second segment, or the decoder's text in an encoder-decoder model.
        image: a picture, as a file or a picture of Pillow: without a text of a model of both its
            encoder of pictures reads it, with one its language model reads both.
        kind: see `read_example`.
        attribution: see `read_example`; not of a picture.
        command: how it was asked for, for the record.
        options: other arguments of `read_example`.

    Raises:
        UsageError: no tokenizer, an empty or too long text, a file that is no picture, a picture
            beside a text by a model that does not read it so, no such kind, layer, head or
            position, or contributions of all kinds at once.
        UnsupportedModelError: the attention of the model cannot be captured exactly, or a layer
            whose residual is asked for could not be followed.
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
        model: the model.
        example: what it reads.
        attributes: of the reading: ``text``, ``pair`` and ``command``.
        kind: ``encoder``, ``decoder`` or ``cross``; by default the first that the model has.  With
            ``all`` the model runs once, and the reading keeps the kinds that it has apart.
        layers: which layers; by default all.
        heads: which heads of each layer; by default all.
        queries: the positions of the attending tokens that are kept; by default all.  Of a long
            text, memory then holds some rows at a time, never a whole layer.
        value_bias: value bias in T of effective attention.
        attribution: compute what input tokens contribute to hidden ones as well, which costs more
            than everything else; estimated, unless settings say otherwise.
        residual: add the measures that see the residual connection and the norm behind it:
            ``block_norm`` and ``layer_norm``.
        progress: is given the number of layers that are done, and of all; what it raises ends it.

    Raises:
        UsageError: see `read`.
        UnsupportedModelError: see `read`.
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
    """Tells how many layers are done."""
    finished = 0

    def count() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished, layers)

    return count


def _counts(example: Encoded, tokenizer: Any, start: int | None) -> dict[str, Any]:
    """Tokens, those of them that the tokenizer does not know, and special ones in the text."""
    ids = (*example.ids, *example.target)
    if tokenizer is None:
        return {"tokens": len(ids)}
    marks = Assembly.of(tokenizer, start).marks
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
