"""Layers of one text as arrays, between tokens and between words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy.typing import NDArray
from torch import Tensor

from headlight.analysis.plan import choose_length, encoder_for_one_text
from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.one_text import capture_one
from headlight.corpora import Sentence
from headlight.encode import Encoded, sentences
from headlight.errors import CorpusError, UsageError
from headlight.measures import Scores, word_score
from headlight.measures.whole_layer import Vectors
from headlight.pool import Words
from headlight.settings import require_choice
from headlight.vocabulary import Kind, Measure, ValueBias, measure_table

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


WORDS = "the words"
"""What a sentence of the user is called in messages."""


def word_map(
    model: CapturedModel,
    words: Sequence[str],
    place: tuple[int, int],
    *,
    measure: str = "weight",
    kind: Kind | None = None,
    max_length: int | None = None,
) -> Float64[np.ndarray, "query key"]:
    """A measure of one head between the words of a sentence, special tokens first and last.

    Of the pieces of a word the sum is taken where it is attended to, and the mean where it attends;
    see `headlight.measures.word_score`.  A model that sets no special token on a side has zeros
    there.

    Args:
        model: of an encoder-decoder the encoder reads the sentence.
        words: one by one; `headlight.encode.sentences` says how they are put together.
        place: layer and head, from 0.
        measure: of single heads, such as ``weight``, ``norm`` or ``effective``.
        kind: of attention; by default the first that the model has.
        max_length: tokens that are read at most, special ones included; by default what the model
            takes, at most 512.  Words at the end that do not fit whole are left out.

    Raises:
        UsageError: there is no such layer, head or measure, or no tokenizer.
        CorpusError: there is no word, the first does not fit, or the tokenizer does not keep one.

    Source: Clark et al. (2019), Section 4.1.
    """
    require_choice("measure between words", measure, _measures())
    tokenizer: Any = model.require_tokenizer("words are read")
    model = encoder_for_one_text(model, kind)
    layer, head = place
    (site,) = model.sites_of(kind or model.kinds[0], [layer])
    if not 0 <= head < site.heads:
        raise UsageError(f"there is no head {head}; layer {layer} has heads 0 to {site.heads - 1}.")
    length = choose_length(model, max_length)
    read = sentences(
        [Sentence(WORDS, tuple(words))], tokenizer, max_length=length, overflow="truncate"
    )
    example = next(iter(read), None)
    if example is None:
        raise CorpusError(f"there is no word, or the first one has more than {length} tokens.")
    pieces = Words.of(torch.tensor([example.words]), special=True)

    def visit(record: LayerRecord) -> NDArray[np.float64]:
        score = word_score(Scores(record), measure, pieces)[0, head]
        return np.asarray(score.cpu().double())

    (matrix,) = capture_one(model, example, [site], visit)
    before, after = int(example.words[0] != -1), int(example.words[-1] != -1)
    return np.pad(matrix, ((before, after),) * 2)


def _measures() -> list[str]:
    """Return the measures of single heads, between a query and a key, of one forward pass."""
    rows = (row for row in measure_table() if row.per_head and row.pairwise)
    return [row.name for row in rows if row.needs is None]


def answer_shares(
    model: CapturedModel, example: Encoded, owners: Sequence[int], measures: Sequence[str]
) -> tuple[
    Float64[np.ndarray, "measure layer head passage"], Float64[np.ndarray, "layer head token"]
]:
    """Return shares of a prompt's passages in the rows that predict an answer, and `lookback`.

    Args:
        model: a decoder.
        example: the prompt with the answer behind it.
        owners: of each token of the prompt its passage; -1 of a token of none.
        measures: of attention.
    """
    sites, prompt = model.sites_of("decoder"), len(owners)
    rows, heads = slice(prompt - 1, len(example.ids) - 1), max(site.heads for site in sites)
    places = {site.layer: at for at, site in enumerate(sites)}
    belongs = torch.tensor(owners)[:, None] == torch.arange(max(owners) + 1)
    shares = np.full((len(measures), len(sites), heads, belongs.shape[1]), np.nan)
    ratios = np.full((len(sites), heads, len(example.ids) - prompt), np.nan)

    def visit(record: LayerRecord) -> None:
        scores, at = Scores(record), places[record.site.layer]
        for number, measure in enumerate(measures):
            cells = scores.of(measure)[0, :, rows, :prompt].cpu().double()
            shares[number, at, : len(cells)] = (cells @ belongs.double()).mean(1).numpy()
        cells = scores.weight[0, :, rows].cpu().double()
        ratios[at, : len(cells)] = lookback(cells, prompt).numpy()

    capture_one(model, example, sites, visit)
    return shares, ratios


def lookback(rows: Float64[Tensor, "head token key"], prompt: int) -> Float64[Tensor, "head token"]:
    """Return the mean weight on the prompt, of the sum of that and the mean on the answer so far.

    Args:
        rows: of attention, of the queries that predict the tokens of an answer.
        prompt: how many tokens the prompt has.

    Returns:
        0 to 1; NaN of the first token, before which there is no answer.

    Source: Chuang et al. (2024), "Lookback Lens", Eq. 1.
    """
    written = torch.arange(rows.shape[1], dtype=torch.float64)
    on_prompt = rows[..., :prompt].sum(-1) / prompt
    return on_prompt / (on_prompt + rows[..., prompt:].sum(-1) / written)
