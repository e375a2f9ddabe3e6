"""Word maps of a treebank, whose sentences a model reads once for all probes."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32

from headlight.capture import AttentionSite, CapturedModel, Kind, LayerRecord
from headlight.corpora import Sentence
from headlight.encode import Counts, Examples, sentences as encode_sentences
from headlight.encode.batch import NO_WORD, Batch
from headlight.encode.sentences import EncodedSentence
from headlight.engine.batch_runner import BatchRunner
from headlight.engine.batch_size import batch_tokens
from headlight.engine.disk_space import check_disk_space
from headlight.engine.example import NOTHING_SEEN, digest_with
from headlight.engine.lock import locked
from headlight.engine.max_length import choose_length
from headlight.engine.model_parts import check_tokenizer, choose_sites, encoder_for_one_text
from headlight.engine.observer import Observer
from headlight.engine.passes import measure_examples
from headlight.engine.plan import model_signature
from headlight.engine.repeatable_corpus import check_repeatable
from headlight.errors import CorpusError, RunError, UnknownNameError
from headlight.measures import Scores, word_score
from headlight.pool import Words
from headlight.reduce import Moments, Tally
from headlight.vocabulary import MEASURES
from headlight_words.corpora import open_treebank
from headlight_words.settings import SentenceSettings
from headlight_words.studies.parser_probes.word_map_store import (
    NO_HEAD,
    SPECIALS,
    Index,
    MapsWriter,
    WordMaps,
    header_path,
    open_word_maps,
)


def index_of(examples: Iterable[EncodedSentence]) -> tuple[Index, str]:
    """Return the index, and the digest of the input of the model.

    Raises:
        CorpusError: A sentence has no heads, or there is no sentence.
    """
    lengths, heads, words = list[int](), list[int](), list[int]()
    punctuation, special = list[bool](), [True, True]
    entries: dict[tuple[str, tuple[int, ...]], int] = {}
    digest = NOTHING_SEEN
    for example in examples:
        digest = digest_with(digest, example)
        sentence, count = example.sentence, example.kept
        sentence.require_tree()
        lengths.append(count)
        heads += [head if head <= count else NO_HEAD for head in sentence.heads[:count]]
        punctuation += map(sentence.is_punctuation, range(count))
        pieces = _pieces(example)
        for number in range(count):
            key = (sentence.words[number], pieces.get(number, ()))
            words.append(entries.setdefault(key, len(entries)))
        if count:
            places = with_positions(example).words
            special = [is_special and at in places for at, is_special in enumerate(special)]
    if not lengths:
        raise CorpusError("the treebank holds no sentence that the model can read.")
    return Index(
        lengths=np.array(lengths, dtype=np.int64),
        heads=np.array(heads, dtype=np.int64),
        punctuation=np.array(punctuation, dtype=np.bool_),
        word=np.array(words, dtype=np.int64),
        vocabulary=tuple(word for word, _ in entries),
        pieces=np.array([piece for _, pieces in entries for piece in pieces], dtype=np.int64),
        piece_counts=np.array([len(pieces) for _, pieces in entries], dtype=np.int64),
        special=np.array(special),
    ), digest


def with_positions(example: EncodedSentence) -> EncodedSentence:
    """Return the example with its `words` numbered as in the store: two special tokens, then words.

    The special token right at the beginning has position 0 and the last one position 1, as far as
    they are there; any others have none.
    """
    words = list(example.words)
    places = [place for place, word in enumerate(words) if word != NO_WORD]
    moved = [word if word == NO_WORD else word + SPECIALS for word in words]
    if places and places[0] > 0:
        moved[0] = 0
    if places and places[-1] < len(words) - 1:
        moved[-1] = 1
    return replace(example, words=tuple(moved))


def _pieces(example: EncodedSentence) -> dict[int, tuple[int, ...]]:
    paired = zip(example.words, example.ids, strict=True)
    return {
        word: tuple(piece for _, piece in group)
        for word, group in groupby(paired, key=lambda pair: pair[0])
        if word != NO_WORD
    }


Maps = Float32[np.ndarray, "sentence position position head"]
Use = Callable[["Sequence[NumberedSentence]", Mapping[str, Maps]], None]
"""Function called with the examples of a batch and their maps, by measure."""


@dataclass(frozen=True, slots=True)
class NumberedSentence(EncodedSentence):
    """A sentence with its place in the corpus; `words` are those of `with_positions`."""

    number: int = field(kw_only=True)


def numbered(example: EncodedSentence, number: int) -> NumberedSentence:
    """Return the sentence with its number, and the positions of its words in the store."""
    moved = with_positions(example)
    values = {member.name: getattr(moved, member.name) for member in fields(EncodedSentence)}
    return NumberedSentence(**values, number=number)


@dataclass(eq=False, repr=False)
class MapsObserver(Observer):
    """Observer that gathers the maps of a batch, and passes them on after all layers.

    Attributes:
        batch: Batch that the model reads.
        examples: Sentences of the batch.
        columns: Slice of each layer's heads among all heads.
        measures: Measures of the maps.
        queries: Pooling over the pieces of an attending word.
        pooling: Pooling of norms.
        use: Function that takes the maps.
    """

    batch: Batch
    examples: Sequence[NumberedSentence]
    columns: Mapping[int, slice]
    measures: Sequence[str]
    queries: str
    pooling: str
    use: Use

    def __post_init__(self) -> None:
        self._words = Words.of(self.batch.word, queries=self.queries)
        heads = max(columns.stop for columns in self.columns.values())
        size = self._words.present.shape[1]
        shape = (len(self.examples), size, size, heads)
        # Zeros are right for heads that a layer lacks, and for padding.
        self._maps = {measure: np.zeros(shape, dtype=np.float32) for measure in self.measures}

    def visit(self, record: LayerRecord) -> None:
        """Keep the maps of a layer."""
        scores = Scores(record, precision=torch.float32)
        for measure, maps in self._maps.items():
            pooled = word_score(scores, measure, self._words, pooling=self.pooling)
            maps[..., self.columns[record.site.layer]] = (
                pooled.permute(0, 2, 3, 1).float().cpu().numpy()
            )

    def tally(self) -> Tally:
        """Pass the maps on, and return an empty tally, since no counts are merged."""
        self.use(self.examples, self._maps)
        return Tally()


TreebankSource = str | Path | Iterable[Sentence]
"""A path for `headlight_words.corpora.open_treebank`, its result, or a list of sentences."""


@dataclass(frozen=True, eq=False)
class WordMapPlan:
    """Plan of the sentences to read, the model and its attention.

    Attributes:
        model: Part of the model that runs: of an encoder-decoder the encoder.
        kind: Kind of its attention.
        sites: Attention modules.
        examples: Encoded sentences; they can be read again.
        index: Words and trees of the sentences.
        digest: Digest of the input of the model.
        counts: Counts of sentences, and of those left out, by reason.
        settings: Settings of sentences, with the number of tokens resolved.
    """

    model: CapturedModel
    kind: Kind
    sites: list[AttentionSite]
    examples: Examples[EncodedSentence]
    index: Index
    digest: str
    counts: Counts
    settings: SentenceSettings

    @property
    def heads(self) -> int:
        """Return the number of heads of all layers together."""
        return sum(site.heads for site in self.sites)

    def columns(self) -> dict[int, slice]:
        """Return the slice of each layer's heads among all heads."""
        ends = np.cumsum([site.heads for site in self.sites]).tolist()
        return {
            site.layer: slice(end - site.heads, end)
            for site, end in zip(self.sites, ends, strict=True)
        }

    def numbered(self) -> Iterator[NumberedSentence]:
        """Return the sentences once more, with their places."""
        return (numbered(example, number) for number, example in enumerate(self.examples))

    def signature(self, measure: str | None = None) -> dict[str, Any]:
        """Return everything that the maps of a measure depend on, or the maps of any measure."""
        return {
            **({} if measure is None else {"measure": measure}),
            **model_signature(self.model, self.settings),
            "kind": self.kind,
            "layers": [site.layer for site in self.sites],
            "corpus_digest": self.digest,
            "annotation_digest": self.index.digest,
        }


def plan_word_maps(
    source: TreebankSource, model: CapturedModel, settings: SentenceSettings | None = None
) -> WordMapPlan:
    """Encode all sentences and index their words and trees; the model does not run yet.

    Args:
        source: Sentences with gold heads; they are read again later.
        model: Model whose attention is kept.
        settings: Settings of sentences, see `SentenceSettings`.

    Raises:
        UsageError: There is no tokenizer, the sentences can be read only once, or a setting is
            wrong.
        CorpusError: There is no sentence, or a sentence has no heads.
        UnsupportedModelError: The attention of the model cannot be captured exactly.
    """
    tokenizer = check_tokenizer(model)
    treebank = check_repeatable(open_treebank(source))
    chosen = settings or SentenceSettings()
    model = encoder_for_one_text(model, chosen.kind)
    length = choose_length(model, chosen.max_length)
    examples = encode_sentences(
        treebank,
        tokenizer,
        max_length=length,
        overflow=chosen.overflow,
        unencodable=chosen.unencodable,
    )
    index, digest = index_of(examples)
    kind, sites = choose_sites(model, chosen)
    chosen = chosen.replace(max_length=length)
    return WordMapPlan(model, kind, sites, examples, index, digest, examples.counts, chosen)


CALIBRATION = 64
"""Sentences whose norms set the scale of each head."""


def extract(
    plan: WordMapPlan, folder: Path, measures: Sequence[str] = ("weight",), *, progress: bool = True
) -> dict[str, WordMaps]:
    """Keep the attention of every head between the words of every sentence, by measure, on disk.

    One pass over the corpus makes all measures that the folder does not hold yet.  Memory does not
    grow with the corpus, but for its words and heads; the disk takes n² · heads · 2 bytes for a
    sentence of n positions; the amount is printed before the pass begins.

    Norms are divided by a number for each head, the mean sum of a row over the first 64 sentences,
    which puts them in the range of weights, where float16 is at its best; `WordMaps.scale` has it.

    Args:
        plan: Plan of the sentences, see `plan_word_maps`.
        folder: Folder of the maps; one for each corpus and model.
        measures: Measures of attention, of ``weight``, ``norm`` and ``effective``.
        progress: Whether to print the amount that will be written, and show a bar, on standard
            error.

    Raises:
        UnknownNameError: There is no such measure.
        RunError: The folder holds other maps, or cannot be written or used.
    """
    for measure in measures:
        if measure not in MEASURES:
            raise UnknownNameError("measure for probes", measure, MEASURES)
    with locked(folder):
        stored_maps = {name: _usable(folder, plan.signature(name)) for name in measures}
        missing = [name for name, maps in stored_maps.items() if maps is None]
        if missing:
            _write(plan, folder, missing, progress)
        stored = {name: maps or open_word_maps(folder, name) for name, maps in stored_maps.items()}
    return {name: maps for name, maps in stored.items() if maps is not None}


def missing_size(plan: WordMapPlan, folder: Path, measures: Sequence[str]) -> int:
    """Return the bytes of the maps that the folder does not hold yet."""
    missing = [measure for measure in measures if not header_path(folder, measure).exists()]
    return plan.index.bytes(plan.heads) * len(missing)


def _usable(folder: Path, signature: Mapping[str, Any]) -> WordMaps | None:
    """Return the maps in the folder; None if there are none; refuse maps of another signature."""
    maps = open_word_maps(folder, signature["measure"])
    # A signature is compared as JSON, in which tuples are lists.
    if maps is None or maps.signature == json.loads(json.dumps(signature)):
        return maps
    different = [name for name in signature if maps.signature.get(name) != signature[name]]
    raise RunError(
        f"{header_path(folder, signature['measure'])} was made from something else (differing: "
        f"{', '.join(different)}); remove {folder}, or choose another folder."
    )


def _write(plan: WordMapPlan, folder: Path, measures: Sequence[str], progress: bool) -> None:
    """Write all maps in a pass over the corpus, and complete all stores together at its end."""
    maps = (
        f"maps of {plan.heads} heads ({', '.join(measures)}) between the words of "
        f"{len(plan.index)} sentences"
    )
    check_disk_space(folder, missing_size(plan, folder, measures), maps, progress=progress)
    scales = {name: np.ones(plan.heads, dtype=np.float32) for name in measures}
    if "norm" in scales:
        scales["norm"] = _scale(plan)
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(
                MapsWriter(folder, plan.index, plan.signature(name), scales[name])
            )
            for name in measures
        }

        def put(examples: Sequence[NumberedSentence], maps: Mapping[str, Maps]) -> None:
            for name, writer in writers.items():
                for example, word_map in zip(examples, maps[name], strict=True):
                    size = example.kept + SPECIALS
                    writer.put(example.number, word_map[:size, :size])

        # Maps of other sentences than those that were indexed would be put in wrong places.
        if _pass(plan, plan.numbered(), measures, put, progress) != plan.digest:
            raise RunError("the sentences were others when they were read again; nothing is kept.")
        for writer in writers.values():
            writer.finish()


def _scale(plan: WordMapPlan) -> Float32[np.ndarray, " head"]:
    """Return each head's mean sum of a row of norms, over the first sentences; 1 where it is 0."""
    sums = Moments((plan.heads,))

    def add(examples: Sequence[NumberedSentence], maps: Mapping[str, Maps]) -> None:
        for example, word_map in zip(examples, maps["norm"], strict=True):
            sums.update(word_map[SPECIALS : example.kept + SPECIALS].sum(1))

    _pass(plan, islice(plan.numbered(), CALIBRATION), ["norm"], add, progress=False)
    mean = sums.mean.astype(np.float32)
    return np.where(mean > 0, mean, np.float32(1))


def _pass(
    plan: WordMapPlan,
    examples: Iterable[NumberedSentence],
    measures: Sequence[str],
    use: Use,
    progress: bool,
) -> str:
    """Run the model over the sentences, and return the digest of its input."""
    columns, settings = plan.columns(), plan.settings

    def observer(batch: Batch, some: Sequence[NumberedSentence]) -> MapsObserver:
        return MapsObserver(batch, some, columns, measures, settings.queries, settings.pooling, use)

    runner = BatchRunner(plan.model, plan.sites, observer, batch_tokens(plan.model, settings))
    number = len(plan.index)
    state = measure_examples(examples, runner, {}, max_examples=number, progress=progress)
    return state.digest
