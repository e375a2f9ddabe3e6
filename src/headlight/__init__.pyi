"""Written by scripts/stubs.py from the catalogue of studies; do not edit."""

import xarray

from collections.abc import Iterable, Mapping
from headlight.capture.objectives import Objective
from headlight.corpora.trees import Sentence
from headlight.corpora.word_vectors import WordVectors
from headlight.settings.flow import AttributionSettings
from headlight.word_alignment import InputMeasureSettings, SimilaritySettings
from headlight_papers.studies.parser_probes import TrainingSettings
from headlight_papers.studies.token_identity import MapTrainingSettings
from pathlib import Path
from typing import Any, Literal
from upath import UPath
from headlight.api import open as open
from headlight.errors import HeadlightError as HeadlightError
from headlight.findings import heads as heads
from headlight.reading.model import Model as Model, load as load
from headlight.reading import Reading as Reading
from headlight.sessions import gallery as gallery
from headlight.version import __version__ as __version__

# Modules, and studies of other packages.
def __getattr__(name: str) -> Any: ...

def survey(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross', 'all'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    column: str | Path | None = None,
    pairs: bool = False,
    max_length: int | None = None,
    overflow: Literal['truncate', 'split', 'error'] = 'truncate',
    segment_ids: Literal['pair', 'zeros'] = 'pair',
    lone_units: Literal['join', 'discard'] = 'join',
    max_examples: int | None = None,
    seed: int = 0,
    query_block: int | None | Literal['auto'] = None,
    measures: str | Path | Iterable[str | Path] = ('weight', 'norm', 'effective'),
    attribution: AttributionSettings | Mapping[str, Any] | None = None,
    value_bias: Literal['include', 'exclude'] = 'include',
    frequency_ranks: str | Path = 'corpus',
    frequency_exclusions: Literal['none', 'paper'] | None = None,
    sinks: Literal['auto', 'on', 'off'] = 'auto',
    sink_multiple: float = 5.0,
    sink_share: float = 0.25,
    numbers: Literal['ranks', 'importance', 'null_space'] | Iterable[Literal['ranks', 'importance', 'null_space']] = (),
    sample: int = 2000,
    passages: bool = True,
    token_types: int = 2000,
    gated_queries: int = 32,
    pages: int = 0,
    objective: Objective | None = None,
) -> xarray.Dataset:
    """What weights, norms and effective attention say about every head.

    Settings are those of `headlight.studies.survey.SurveySettings`.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are
            made already; for a model of speech recordings; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first of encoder, decoder and cross-attention that
            the model has, given the inputs; ``all`` looks at all of them in one pass.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the corpus; by default what its suffix or beginning says; plain text in which
            no line is blank, and that is not wrapped prose, is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: what becomes of a text that is too long.
        segment_ids: with pairs, segment ids 0 and 1, or ``zeros`` (the released maps of Clark
            et al.).
        lone_units: with pairs, a paragraph that fills the room alone waits for the next, or
            ends its document (``discard``, the released code of Clark et al.).
        max_examples: stop after this many.
        seed: where segments are cut, and of everything else that is random.
        query_block: compute attention for this many queries at a time, so that memory never
            holds all weights of a layer; ``auto`` does so where it matters, 0 never. With
            gradients or contributions all queries are one block.
        measures: which measures. ``gradient`` runs the model backward as well; ``attribution``
            is one row for each layer, at the place of its first head.
        attribution: how contributions are computed, if they are among the measures.
        value_bias: whether T of effective attention has the value bias in it.
        frequency_ranks: how frequent the types of tokens are: as they are in this ``corpus``,
            by the order of the vocabulary (``ids``), or by a file with lines ``rank count id``.
        frequency_exclusions: ``paper`` ranks types as Kobayashi et al. (2020), footnote 5,
            without special tokens and single characters; by default so for ``ids`` only.
        sinks: whether attention sinks are looked for and get a category of their own; ``auto``
            is on where the model has no class and separator tokens, or looks only at what came
            before.
        sink_multiple: a sink receives at least this many times what it would if attention were
            even.
        sink_share: so it is in at least this share of all heads.
        numbers: what is computed besides: ``ranks``, whether weights and lengths go together,
            and either with how frequent a token is, which counts tokens first and takes whole
            layers into memory; ``importance``, how much the loss depends on attention, in
            another pass, backward; ``null_space``, how much of attention no output shows, by
            length.
        sample: of ``ranks`` and ``null_space``, how many pairs of positions of every category
            of keys, occurrences of tokens, and texts are kept for pictures.
        passages: keep for each head some tokens of the corpus where it does most what it does,
            and 32 texts on which all heads are shown, for the report; leave it out where texts
            are private, and token_types as well.
        token_types: say of this many tokens of the vocabulary how much each head gives them and
            they give; those that come first in the vocabulary, in most the most frequent ones,
            and fewer where the sums of all heads would take more than 64 MB; 0 for none.
        gated_queries: where a gate is a vector for each query, norms are another computation
            for each: they are taken at this many queries of each text, evenly spread; 0 for
            all.
        pages: write a page for this many of the texts that the report shows passages of, which
            opens at the head; the corpus is gone through once more, until they are found.
        objective: whose gradient or predictions are looked at, where they are; by default that
            of what the model was trained for.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Clark et al. 2019, Section 3; Kobayashi et al. 2020; Brunner et al. 2020.
    """
    ...

def attribution(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    column: str | Path | None = None,
    pairs: bool = False,
    max_length: int | None = None,
    overflow: Literal['truncate', 'split', 'error'] = 'truncate',
    segment_ids: Literal['pair', 'zeros'] = 'pair',
    lone_units: Literal['join', 'discard'] = 'join',
    max_examples: int | None = None,
    seed: int = 0,
    attribution: AttributionSettings | Mapping[str, Any] = ...,
    reach: int = 64,
    tags: Literal['upos', 'xpos'] | None = None,
    units: Literal['pieces', 'words'] = 'pieces',
    exact: int = 20,
    exact_tokens: int = 40,
) -> xarray.Dataset:
    """How much of a hidden token is its own input token, and how much comes from others.

    Settings are those of `headlight_papers.studies.attribution.AttributionStudySettings`.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are
            made already; for a model of speech recordings; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: the hidden tokens of which stack; by default the first that the model has.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the corpus; by default what its suffix or beginning says; plain text in which
            no line is blank, and that is not wrapped prose, is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: what becomes of a text that is too long.
        segment_ids: with pairs, segment ids 0 and 1, or ``zeros`` (the released maps of Clark
            et al.).
        lone_units: with pairs, a paragraph that fills the room alone waits for the next, or
            ends its document (``discard``, the released code of Clark et al.).
        max_examples: stop after this many.
        seed: where segments are cut, and of everything else that is random.
        attribution: how contributions are computed.
        reach: relative positions are told apart from this many before a token to this many
            after it.
        tags: tell tokens apart by part of speech: ``upos`` or ``xpos`` of treebank sentences;
            None for texts without.
        units: what has a part of speech: the ``pieces`` of a word each on its own, or whole
            ``words``, of which contributions are the mean over the pieces of the hidden word
            and the sum over those of the input word.
        exact: this many examples are also computed exactly, to say how good the estimate is;
            nothing where all are exact, and 0 leaves it out.
        exact_tokens: those are the first of at most this many tokens: what is exact takes a
            time that grows with the square of the length.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Brunner et al. 2020, Section 5.
    """
    ...

def distances(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross', 'all'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 512,
    format: str | Path | None = None,
    column: str | Path | None = None,
    pairs: bool = False,
    max_length: int | None = None,
    overflow: Literal['truncate', 'split', 'error'] = 'truncate',
    segment_ids: Literal['pair', 'zeros'] = 'pair',
    lone_units: Literal['join', 'discard'] = 'join',
    max_examples: int | None = None,
    seed: int = 0,
    measures: str | Path | Iterable[str | Path] = ('weight', 'norm', 'effective'),
    attribution: AttributionSettings | Mapping[str, Any] | None = None,
    value_bias: Literal['include', 'exclude'] = 'include',
    smoothing: float = 0.001,
    objective: Objective | None = None,
) -> xarray.Dataset:
    """How differently heads attend.

    Settings are those of `headlight.studies.distances.DistanceSettings`.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are
            made already; for a model of speech recordings; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first of encoder, decoder and cross-attention that
            the model has, given the inputs; ``all`` looks at all of them in one pass.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; attention of all layers is held at
            once.
        format: of the corpus; by default what its suffix or beginning says; plain text in which
            no line is blank, and that is not wrapped prose, is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: what becomes of a text that is too long.
        segment_ids: with pairs, segment ids 0 and 1, or ``zeros`` (the released maps of Clark
            et al.).
        lone_units: with pairs, a paragraph that fills the room alone waits for the next, or
            ends its document (``discard``, the released code of Clark et al.).
        max_examples: stop after this many.
        seed: where segments are cut, and of everything else that is random.
        measures: which measures. ``gradient`` runs the model backward as well; ``attribution``
            is one row for each layer, at the place of its first head.
        attribution: how contributions are computed, if they are among the measures.
        value_bias: whether T of effective attention has the value bias in it.
        smoothing: the share of every row that is spread evenly over its keys; the authors' is
            0.001.
        objective: whose gradient or predictions are looked at, where they are; by default that
            of what the model was trained for.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Clark et al. 2019, Section 6.
    """
    ...

def ablation(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    column: str | Path | None = None,
    pairs: bool = False,
    max_length: int | None = None,
    overflow: Literal['truncate', 'split', 'error'] = 'truncate',
    segment_ids: Literal['pair', 'zeros'] = 'pair',
    lone_units: Literal['join', 'discard'] = 'join',
    max_examples: int | None = None,
    seed: int = 0,
    by: Literal['head', 'layer'] | Iterable[Literal['head', 'layer']] = ('head', 'layer'),
    columns: str | Path | Iterable[str | Path] | None = None,
    label_column: str | Path | None = None,
    class_names: str | Path | Iterable[str | Path] | None = None,
    sentences: bool = True,
    objective: Objective | None = None,
) -> xarray.Dataset:
    """What a model predicts without a head, or without the heads of a layer.

    Settings are those of `headlight.studies.ablation.AblationSettings`.

    Args:
        source: texts, as other studies read them (by default the sample corpus); for a
            classifier labelled texts, as permutation reads them.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first that the model has.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the corpus; by default what its suffix or beginning says. For a classifier
            one of those of permutation.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: what becomes of a text that is too long.
        segment_ids: with pairs, segment ids 0 and 1, or ``zeros`` (the released maps of Clark
            et al.).
        lone_units: with pairs, a paragraph that fills the room alone waits for the next, or
            ends its document (``discard``, the released code of Clark et al.).
        max_examples: stop after this many.
        seed: where segments are cut, and which words are hidden.
        by: what is removed at once: each ``head``, all heads of each ``layer``.
        columns: for a classifier: names of the columns or keys that hold a text, or two of a
            pair; for a tagger the numbers, from 1, of the columns of word and tag. By default
            the usual names, and the first and the last column.
        label_column: for a classifier: name of the column or key that holds the label; by
            default ``label``.
        class_names: for a classifier: what the corpus calls the classes, in the order of the
            model's outputs; by default the model's own names, or numbers from 0.
        sentences: of a language model, keep for the heads without which predictions move most a
            stretch of text around a prediction that moves most, for the report.
        objective: whose gradient or predictions are looked at, where they are; by default that
            of what the model was trained for.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Michel et al. 2019, Section 3; Kobayashi et al. 2020.
    """
    ...

def circuits(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    parts: Literal['copying', 'matching', 'composition', 'repeated', 'needle'] | Iterable[Literal['copying', 'matching', 'composition', 'repeated', 'needle']] | None = None,
    measures: Literal['weight', 'norm', 'effective'] | Iterable[Literal['weight', 'norm', 'effective']] = ('weight', 'norm'),
    sequences: int = 8,
    tokens: int = 100,
    needles: int = 12,
    haystack: int = 400,
    format: str | Path | None = None,
    column: str | Path | None = None,
    seed: int = 0,
) -> xarray.Dataset:
    """Which heads copy, complete repeated patterns, and retrieve facts.

    Settings are those of `headlight.studies.circuits.CircuitsSettings`.

    Args:
        source: texts in which facts are hidden (a path, a glob, ``hf:NAME``, texts, an open
            corpus); by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default that of the encoder, where the model has one.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        parts: what is asked: of weights alone ``copying``, ``matching`` and ``composition``; on
            random tokens that are repeated ``repeated``; on facts that are hidden in other text
            ``needle``. By default all that the model can be asked. ``copying`` and ``needle``
            need a language-model head.
        measures: by which attention is looked at on texts.
        sequences: how many sequences of random tokens.
        tokens: random tokens of a sequence, before they are repeated.
        needles: how many facts are hidden, each in a text of its own.
        haystack: tokens of each of these texts.
        format: of the corpus of which these are cut; by default what its suffix or beginning
            says.
        column: key or column that holds the text; by default ``text``, or the only one.
        seed: which tokens are drawn.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Elhage et al. 2021; Olsson et al. 2022; Wu et al. 2024.
    """
    ...

def flow(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    column: str | Path | None = None,
    pairs: bool = False,
    max_length: int | None = None,
    overflow: Literal['truncate', 'split', 'error'] = 'truncate',
    segment_ids: Literal['pair', 'zeros'] = 'pair',
    lone_units: Literal['join', 'discard'] = 'join',
    max_examples: int | None = None,
    seed: int = 0,
    methods: Literal['rollout', 'rollout_norm', 'rollout_block_norm', 'rollout_layer_norm', 'globenc', 'alti', 'value_zeroing', 'decompx', 'attribution', 'gradient_hidden', 'mixing', 'mixing_feed_forward'] | Iterable[Literal['rollout', 'rollout_norm', 'rollout_block_norm', 'rollout_layer_norm', 'globenc', 'alti', 'value_zeroing', 'decompx', 'attribution', 'gradient_hidden', 'mixing', 'mixing_feed_forward']] = ('rollout', 'rollout_layer_norm', 'globenc', 'alti'),
    slope: Literal['zero_origin', 'chord', 'derivative'] = 'chord',
    masks: float = 0.0,
) -> xarray.Dataset:
    """How much of a token after each layer comes from itself, from the first token, from special
    tokens and from others near or far, whether methods agree, and how much a layer mixes in from
    the context.

    Settings are those of `headlight.studies.flow.FlowSettings`.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are
            made already; for a model of speech recordings; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention, of ``encoder`` and ``decoder``; by default the first that the
            model has.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the corpus; by default what its suffix or beginning says; plain text in which
            no line is blank, and that is not wrapped prose, is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: what becomes of a text that is too long.
        segment_ids: with pairs, segment ids 0 and 1, or ``zeros`` (the released maps of Clark
            et al.).
        lone_units: with pairs, a paragraph that fills the room alone waits for the next, or
            ends its document (``discard``, the released code of Clark et al.).
        max_examples: stop after this many.
        seed: where segments are cut, and of everything else that is random.
        methods: how tokens are followed. Products over layers of what each takes from each:
            ``rollout`` of weights, ``rollout_norm``, ``rollout_block_norm`` and
            ``rollout_layer_norm`` of norms, ``globenc``, ``alti`` and ``value_zeroing``.
            Through all layers at once: ``decompx``, ``attribution`` and ``gradient_hidden``.
            The last four run a layer, or the model, once for each token or more, and are slow.
            Of each layer by itself: ``mixing``, how much other tokens give beside the token, as
            a mixing ratio; ``mixing_feed_forward`` has it behind the feed-forward network too,
            whose activations are straight lines, and costs five passes more.
        slope: of these lines: ``chord`` from the bias (Kobayashi et al. 2024), ``zero_origin``
            or ``derivative``.
        masks: share of the tokens of each text that the mask token stands in place of, which
            one depends on the text; 0.12 in the code of Kobayashi et al. (2021).

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Abnar and Zuidema 2020; Kobayashi et al. 2021, 2024; Modarressi et al. 2022, 2023;
        Ferrando et al. 2022; Mohebbi et al. 2023.
    """
    ...

def token_identity(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    column: str | Path | None = None,
    pairs: bool = False,
    max_length: int | None = None,
    overflow: Literal['truncate', 'split', 'error'] = 'truncate',
    segment_ids: Literal['pair', 'zeros'] = 'pair',
    lone_units: Literal['join', 'discard'] = 'join',
    max_examples: int | None = None,
    seed: int = 0,
    maps: Literal['naive', 'linear', 'mlp'] | Iterable[Literal['naive', 'linear', 'mlp']] = ('naive', 'linear', 'mlp'),
    losses: Literal['cosine', 'l2'] | Iterable[Literal['cosine', 'l2']] = ('cosine', 'l2'),
    solver: Literal['adam', 'ridge'] = 'adam',
    target: Literal['input', 'previous_layer'] = 'input',
    offsets: int | Iterable[int] = (0,),
    fractions: float | Iterable[float] = (1.0,),
    across: bool = False,
    folds: int = 10,
    training: MapTrainingSettings | Mapping[str, Any] = ...,
    rate_search: Literal['each', 'shared'] = 'each',
    embeddings: Literal['sum', 'output'] = 'output',
    memory: int = 1073741824,
    keep_maps: bool = False,
    cache: Path | None = None,
) -> xarray.Dataset:
    """How well hidden tokens give away their input tokens.

    Settings are those of `headlight_papers.studies.token_identity.TokenIdentitySettings`.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are
            made already; for a model of speech recordings; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: the hidden tokens of which stack; by default the first that the model has.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the corpus; by default what its suffix or beginning says; plain text in which
            no line is blank, and that is not wrapped prose, is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: what becomes of a text that is too long.
        segment_ids: with pairs, segment ids 0 and 1, or ``zeros`` (the released maps of Clark
            et al.).
        lone_units: with pairs, a paragraph that fills the room alone waits for the next, or
            ends its document (``discard``, the released code of Clark et al.).
        max_examples: stop after this many.
        seed: where segments are cut, and of everything else that is random.
        maps: which maps: ``naive`` is the identity, ``linear`` a matrix, ``mlp`` two matrices
            with a GELU between them.
        losses: by which distances maps are trained, and the nearest neighbour is looked up.
        solver: of linear maps: ``adam``, or ``ridge``, in closed form.
        target: what is recovered: the ``input`` token, or the output of the ``previous_layer``
            (for the lowest layer, the input).
        offsets: recover the token at this many positions to the right; 0 is the token itself.
        fractions: shares of the training sequences that are used.
        across: also test the map of each layer on all of them.
        folds: random splits into 70 % training, 15 % validation and 15 % test sequences.
        training: how maps are trained.
        rate_search: learning rates are compared for ``each`` map, or all maps share that which
            is best for the highest layer and the first fold, as in the paper, which has one
            rate for all layers.
        embeddings: what counts as input: ``output``, what the first block is given, or ``sum``,
            the sum of embeddings before it is normalised.
        memory: bytes of hidden tokens above which they are kept in files, and bytes that maps
            in training may take together.
        keep_maps: write every map into ``maps`` of the run's folder.
        cache: folder of hidden tokens and rates, in place of `folder`; studies of the same
            tokens can share one.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Brunner et al. 2020, Section 4.
    """
    ...

def dependency(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    invalid: Literal['refuse', 'skip'] = 'refuse',
    unencodable: Literal['error', 'skip'] = 'error',
    queries: Literal['mean', 'first', 'max'] = 'mean',
    pooling: Literal['norms', 'vectors'] = 'norms',
    max_length: int | None = None,
    overflow: Literal['skip', 'truncate', 'error'] = 'skip',
    measures: str | Path | Iterable[str | Path] = ('weight', 'norm', 'effective'),
    attribution: AttributionSettings | Mapping[str, Any] | None = None,
    value_bias: Literal['include', 'exclude'] = 'include',
    max_examples: int | None = None,
    relations: Literal['full', 'base'] = 'full',
    possessive: Literal['clark', 'strict'] = 'clark',
    offsets: Literal['notebook', 'strict'] = 'notebook',
    seed: int = 0,
    sentences: bool = True,
    objective: Objective | None = None,
) -> xarray.Dataset:
    """How well single heads find the governors of words.

    Settings are those of `headlight.studies.dependency.DependencySettings`.

    Args:
        source: a treebank (a path, a glob, an open treebank); by default the sample treebank.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first that the model has. Cross-attention goes
            from one text to another, and a dependency is within one.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the files; by default what their suffix or beginning says.
        invalid: what becomes of a sentence or document whose annotation is wrong: it is an
            error (``refuse``), or left out and counted (``skip``).
        unencodable: what becomes of a sentence or document with a word that the tokenizer
            drops: it is an ``error``, or left out and counted (``skip``).
        queries: how the pieces of the attending word are joined: ``mean`` (Clark et al. 2019,
            Section 4.1), ``first`` (their released code) or ``max``.
        pooling: how norms are joined over the pieces of the attended word: the sum of the
            ``norms``, or the norm of the summed ``vectors``.
        max_length: tokens per sentence, special ones included; by default what the model takes,
            at most 512.
        overflow: what becomes of a longer sentence: it is left out and counted (``skip``), cut
            (``truncate``), or an ``error``.
        measures: which measures. ``gradient`` runs the model backward as well; ``attribution``
            is one row for each layer, at the place of its first head.
        attribution: how contributions are computed, if they are among the measures.
        value_bias: whether T of effective attention has the value bias in it.
        max_examples: stop after this many.
        relations: ``full`` names, or the ``base`` before the colon of Universal Dependencies.
        possessive: for a possessor before *'s*, the prediction made for the *'s* counts
            (``clark``), or the possessor's own, as for all other words (``strict``).
        offsets: the distances of the baselines: −3 … 2, clipped to the sentence, as in the
            authors' ``notebook``, or −5 … 5 without 0, where a place outside the sentence is no
            prediction (``strict``).
        seed: which words are hidden where the ``gradient`` is that of a masked language model.
        sentences: keep for each relation a sentence in which its best head finds it, for the
            report; leave it out where texts are private.
        objective: whose gradient or predictions are looked at, where they are; by default that
            of what the model was trained for.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Clark et al. 2019, Section 4.2.
    """
    ...

def coreference(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    invalid: Literal['refuse', 'skip'] = 'refuse',
    unencodable: Literal['error', 'skip'] = 'error',
    queries: Literal['mean', 'first', 'max'] = 'mean',
    pooling: Literal['norms', 'vectors'] = 'norms',
    measures: str | Path | Iterable[str | Path] = ('weight', 'norm', 'effective'),
    attribution: AttributionSettings | Mapping[str, Any] | None = None,
    value_bias: Literal['include', 'exclude'] = 'include',
    singletons: bool = False,
    nested: Literal['include', 'exclude'] = 'include',
    evaluated: Literal['resolvable', 'all'] = 'resolvable',
    head_word: Literal['annotated', 'last'] = 'annotated',
    sieves: Literal['string', 'head', 'agreement', 'anything'] | Iterable[Literal['string', 'head', 'agreement', 'anything']] = ('string', 'head', 'agreement', 'anything'),
    head_match_otherwise: Literal['nothing', 'nearest'] = 'nothing',
    max_examples: int | None = None,
    max_length: int | None = None,
    overlap: int | None = None,
    candidates: Literal['mentions', 'words'] = 'mentions',
    preceding: bool = True,
    sentences: bool = True,
    seed: int = 0,
    objective: Objective | None = None,
) -> xarray.Dataset:
    """How well single heads find antecedents of mentions.

    Settings are those of `headlight_papers.studies.coreference.CoreferenceSettings`.

    Args:
        source: documents with coreference (a path, a glob, open documents); by default those of
            the sample treebank.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first that the model has. Cross-attention goes
            from one text to another, and an antecedent is in the same.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the files; by default what their suffix or beginning says.
        invalid: what becomes of a sentence or document whose annotation is wrong: it is an
            error (``refuse``), or left out and counted (``skip``).
        unencodable: what becomes of a sentence or document with a word that the tokenizer
            drops: it is an ``error``, or left out and counted (``skip``).
        queries: how the pieces of the attending word are joined: ``mean`` (Clark et al. 2019,
            Section 4.1), ``first`` (their released code) or ``max``.
        pooling: how norms are joined over the pieces of the attended word: the sum of the
            ``norms``, or the norm of the summed ``vectors``.
        measures: which measures. ``gradient`` runs the model backward as well; ``attribution``
            is one row for each layer, at the place of its first head.
        attribution: how contributions are computed, if they are among the measures.
        value_bias: whether T of effective attention has the value bias in it.
        singletons: whether mentions that are alone in their chain may be picked; OntoNotes,
            which the paper used, has none.
        nested: whether a mention may be picked for one that it contains or that contains it:
            ``include`` (*his* for *his wife*), or ``exclude``.
        evaluated: mentions with an antecedent in the window (``resolvable``), or also those
            whose antecedents are all outside, which nobody can get right (``all``).
        head_word: the head word that the corpus gives, mostly by its parse (``annotated``), or
            the ``last`` word of the mention.
        sieves: the sieves of the rule-based baseline, in order.
        head_match_otherwise: what the baseline *head match* picks where no head word matches:
            ``nothing``, which is wrong, or the ``nearest`` mention.
        max_examples: stop after this many.
        max_length: tokens of a document or window at most, special ones included; by default
            what the model takes, at most 512 (Clark et al. 2019, footnote 4: 128).
        overlap: by default documents are cut off at the largest length, as in the paper; with a
            number, the whole document is read in windows that share this many words, where each
            mention is evaluated once, in the window that shows most of the text before it.
        candidates: what a head may pick: the head words of other mentions (``mentions``, which
            puts it on a par with the baselines), or all other ``words`` of the window.
        preceding: pick only among what comes before the mention.
        sentences: keep for each kind of mention a stretch of text in which the best head finds
            antecedents, for the report; leave it out where texts are private.
        seed: of what a loss draws at random.
        objective: whose gradient or predictions are looked at, where they are; by default that
            of what the model was trained for.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Clark et al. 2019, Section 4.3.
    """
    ...

def parser_probes(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    invalid: Literal['refuse', 'skip'] = 'refuse',
    unencodable: Literal['error', 'skip'] = 'error',
    queries: Literal['mean', 'first', 'max'] = 'mean',
    pooling: Literal['norms', 'vectors'] = 'norms',
    max_length: int | None = None,
    overflow: Literal['skip', 'truncate', 'error'] = 'skip',
    train: str | Path | None | Iterable[Sentence] = None,
    word_vectors: str | Path | None = None,
    max_examples: int | None = None,
    probes: Literal['right_branching', 'distances_and_words', 'random_attention_and_words', 'attention', 'attention_and_words'] | Iterable[Literal['right_branching', 'distances_and_words', 'random_attention_and_words', 'attention', 'attention_and_words']] = ('right_branching', 'distances_and_words', 'random_attention_and_words', 'attention', 'attention_and_words'),
    measures: str | Path | Iterable[str | Path] = ('weight', 'norm', 'effective'),
    training: TrainingSettings | Mapping[str, Any] = ...,
    seeds: int | Iterable[int] = (0,),
    align_root: Literal['fixed', 'as_released'] = 'fixed',
    bias: bool = True,
    processes: int | None = None,
    vectors: WordVectors | None = None,
) -> xarray.Dataset:
    """How much of a parse the attention of all heads together knows.

    Settings are those of `headlight_papers.studies.parser_probes.ParserProbeSettings`.

    Args:
        source: a treebank (a path, a glob, an open treebank); by default the sample treebank.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first that the model has.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the files; by default what their suffix or beginning says.
        invalid: what becomes of a sentence or document whose annotation is wrong: it is an
            error (``refuse``), or left out and counted (``skip``).
        unencodable: what becomes of a sentence or document with a word that the tokenizer
            drops: it is an ``error``, or left out and counted (``skip``).
        queries: how the pieces of the attending word are joined: ``mean`` (Clark et al. 2019,
            Section 4.1), ``first`` (their released code) or ``max``.
        pooling: how norms are joined over the pieces of the attended word: the sum of the
            ``norms``, or the norm of the summed ``vectors``.
        max_length: tokens per sentence, special ones included; by default what the model takes,
            at most 512.
        overflow: what becomes of a longer sentence: it is left out and counted (``skip``), cut
            (``truncate``), or an ``error``.
        train: treebank to learn from; by default every tenth sentence of the source is parsed,
            and the others are learned from.
        word_vectors: file of word vectors; by default the input embeddings of the model.
        max_examples: of each treebank only this many.
        probes: which probes.
        measures: of what attention: ``weight``, ``norm``, ``effective``; one row for each.
        training: how they are trained.
        seeds: each probe is trained once for each; scores are over all of them together.
        align_root: whether each candidate has its own word vector (``fixed``), or that of the
            word after it, as in the authors' code (``as_released``).
        bias: a weight for each head that words do not change, as in the authors' code.
        processes: probes that are trained at a time, each in one thread; by default as many as
            there are cores, and one where the model is not on the processor. What comes out
            does not depend on it.
        vectors: word vectors, in place of the path in the settings.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Clark et al. 2019, Section 5.
    """
    ...

def alignment(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['cross'] = 'cross',
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    null: Literal['special', 'exclude'] | None = None,
    unit: Literal['word', 'piece'] | None = None,
    pooling: Literal['norms', 'vectors'] = 'norms',
    similarity: SimilaritySettings | Mapping[str, Any] = ...,
    gold: str | Path | None = None,
    gold_format: str | Path | None = None,
    target: str | Path | None = None,
    format: str | Path | None = None,
    columns: str | Path | Iterable[str | Path] | None = None,
    swap: bool = False,
    measures: Literal['norm', 'weight', 'effective', 'gradient', 'smoothgrad', 'difference', 'similarity'] | Iterable[Literal['norm', 'weight', 'effective', 'gradient', 'smoothgrad', 'difference', 'similarity']] | None = None,
    extractions: Literal['argmax', 'itermax', 'match', 'softmax', 'forward', 'reverse'] | Iterable[Literal['argmax', 'itermax', 'match', 'softmax', 'forward', 'reverse']] = ('argmax', 'itermax', 'match', 'softmax'),
    chosen_heads: str | Path | Iterable[str | Path] | None = None,
    inputs: InputMeasureSettings | Mapping[str, Any] = ...,
    prefix: str | Path = '',
    max_length: int | None = None,
    max_examples: int | None = None,
) -> xarray.Dataset:
    """How well cross-attention, gradients and predictions link the words of translations.

    Settings are those of `headlight.studies.alignment.AlignmentSettings`.

    Args:
        source: sentence pairs (a path, a glob, ``hf:NAME``, an open corpus, tuples of two
            texts); for a model of speech recordings; by default the sample translations.
        model: its name or folder, a loaded `Model` (for gradients and differences with its
            language-model head), or a model of transformers in memory (then with
            ``tokenizer=``); by default the embedded translator, from German to English.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: cross-attention, from the words of one text to those of another.
        layers: which layers, from 0; by default all. Of an encoder: how many layers have run, 0
            for embeddings.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        null: whether special tokens of the source may win (``special``: the word then has no
            link, as in Kobayashi et al.), or are left out (``exclude``); by default they may in
            attention and not in gradients and differences, as published. Hidden states of
            special tokens are never compared.
        unit: what is linked. A ``word``: pieces are pooled first (sum over the pieces of a
            source word and mean over those of a target word; of hidden states the mean), or
            every ``piece``, and their words with them. By default words in translation models,
            and pieces in encoders, as published.
        pooling: of norms over the pieces of a source word: the sum of ``norms``, or the norm of
            the summed ``vectors``.
        similarity: how similarities of hidden states are computed and become links.
        gold: file of gold links, a line or more for each pair (talp, Pharaoh, NAACL). Of
            recordings none: times of words, where they are known, lie beside the sound.
        gold_format: of that file; by default what it looks like.
        target: file of the translations, if the source holds the sources alone, line for line.
        format: of the pairs (``bars``, ``tsv``, ``csv``, ``jsonl``, ``tmx``); by default what
            their suffix or beginning says.
        columns: two names or numbers of columns, keys, or languages: of source and target.
        swap: pairs and links are from target to source, and are exchanged first.
        measures: by what words are linked: of cross-attention ``weight``, ``norm`` and
            ``effective``, by layer and by head; of the whole model ``gradient``, ``smoothgrad``
            and ``difference``, which cost as many more passes as a sentence has pieces; of an
            encoder, which reads each sentence by itself, ``similarity`` alone. By default those
            of cross-attention in translation models, and similarity in encoders.
        extractions: how similarities become links; see headlight align.
        chosen_heads: of a model of speech the heads that are put together, such as L2H5,L3H0;
            by default those that the model itself names for it.
        inputs: how gradients and differences are computed.
        prefix: what stands before every source, such as ``translate German to English:``.
        max_length: tokens of a sentence, special ones included; by default what the model
            takes. Longer pairs are refused.
        max_examples: stop after this many.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Kobayashi et al. 2020, Section 5; Ding et al. 2019; Li et al. 2019.
    """
    ...

def permutation(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    columns: str | Path | Iterable[str | Path] | None = None,
    label_column: str | Path | None = None,
    class_names: str | Path | Iterable[str | Path] | None = None,
    max_length: int | None = None,
    max_examples: int | None = None,
    seed: int = 0,
    keep: bool = False,
    changes: Literal['permuted', 'uniform', 'largest', 'random'] | Iterable[Literal['permuted', 'uniform', 'largest', 'random']] = ('permuted', 'uniform', 'largest', 'random'),
    by: Literal['all', 'layer', 'head'] | Iterable[Literal['all', 'layer', 'head']] = ('all', 'layer'),
    rows: Literal['all', 'first', 'last'] = 'all',
    keep_special: bool = False,
    shuffles: int = 10,
    sample: int = 2000,
) -> xarray.Dataset:
    """How the predictions of a classifier change when its attention is permuted, uniform, or on one
    token.

    Settings are those of `headlight_papers.studies.permutation.PermutationSettings`.

    Args:
        source: labelled texts, or for a tagger, where the study takes one, sentences with tags
            (a path, a glob, ``hf:NAME``, an open corpus, tuples of a text and its label, or of
            words and tags); by default the sample reviews.
        model: a classifier: its name or folder, a `Model` that was loaded with
            ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``); by default the embedded classifier of short reviews.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first that the model has.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the files; by default what their suffix or first line says. Texts: ``tsv``,
            ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``, ``cola``,
            ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys that hold a text, or two of a pair; for a tagger
            the numbers, from 1, of the columns of word and tag. By default the usual names, and
            the first and the last column.
        label_column: name of the column or key that holds the label; by default ``label``.
        class_names: what the corpus calls the classes, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: tokens per example, special ones included; by default what the model takes,
            at most 512. Texts that are longer are cut.
        max_examples: stop after this many.
        seed: of all that is drawn at random.
        keep: write for each text the numbers of its random draws, and the predictions after
            each, into ``kept`` of the run's folder.
        changes: what attention is replaced by: its own weights ``permuted`` over the keys that
            a query sees; ``uniform`` weights; all weight on the key that has the ``largest``,
            or on a ``random`` one.
        by: whose attention is replaced at once: of ``all`` layers that are looked at, of each
            ``layer``, of each ``head``. Heads take many passes: those of ``layer`` once for
            each.
        rows: whose rows are replaced: of ``all`` tokens, of the ``first`` token ([CLS]) or of
            the ``last``.
        keep_special: the weights of special tokens ([CLS], [SEP]) stay as they are, and only
            the rest is moved.
        shuffles: permutations of each text, of whose changes the median is taken.
        sample: texts (largest weight, change) that are kept for pictures.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Jain and Wallace 2019, Section 4.2.1; Wiegreffe and Pinter 2019, Section 3.1.
    """
    ...

def faithfulness(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross', 'all'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    column: str | Path | None = None,
    pairs: bool = False,
    max_length: int | None = None,
    overflow: Literal['truncate', 'split', 'error'] = 'truncate',
    segment_ids: Literal['pair', 'zeros'] = 'pair',
    lone_units: Literal['join', 'discard'] = 'join',
    max_examples: int | None = None,
    seed: int = 0,
    maps: Literal['weight', 'norm', 'effective', 'merged_norm', 'attribution', 'prediction', 'gradient_input', 'leave_one_out', 'rollout', 'rollout_norm', 'rollout_block_norm', 'rollout_layer_norm', 'globenc', 'alti', 'value_zeroing', 'decompx'] | Iterable[Literal['weight', 'norm', 'effective', 'merged_norm', 'attribution', 'prediction', 'gradient_input', 'leave_one_out', 'rollout', 'rollout_norm', 'rollout_block_norm', 'rollout_layer_norm', 'globenc', 'alti', 'value_zeroing', 'decompx']] = ('weight', 'merged_norm', 'rollout', 'rollout_norm', 'globenc', 'alti', 'decompx', 'prediction', 'gradient_input', 'leave_one_out'),
    questions: Literal['removal', 'flips', 'correlation'] | Iterable[Literal['removal', 'flips', 'correlation']] = ('removal',),
    units: Literal['tokens', 'words'] = 'tokens',
    removal: Literal['mask', 'delete', 'attention'] | None = None,
    shares: Literal['tenths', 'eraser'] = 'tenths',
    rows: Literal['mean', 'first', 'last'] | None = None,
    coefficient: Literal['spearman', 'kendall'] = 'spearman',
    signed: bool = False,
    random_orders: int = 5,
) -> xarray.Dataset:
    """Which map of a text names the tokens without which a prediction changes.

    Settings are those of `headlight.studies.faithfulness.FaithfulnessSettings`.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are
            made already; for a model of speech recordings; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first of encoder, decoder and cross-attention that
            the model has, given the inputs; ``all`` looks at all of them in one pass.
        layers: of which layers the maps of single layers are, as the mean of their shares; by
            default of the last.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the corpus; by default what its suffix or beginning says; plain text in which
            no line is blank, and that is not wrapped prose, is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: what becomes of a text that is too long.
        segment_ids: with pairs, segment ids 0 and 1, or ``zeros`` (the released maps of Clark
            et al.).
        lone_units: with pairs, a paragraph that fills the room alone waits for the next, or
            ends its document (``discard``, the released code of Clark et al.).
        max_examples: stop after this many.
        seed: of random orders, of which token a masked language model predicts, and of pairs.
        maps: by what tokens are ordered. Of single layers, mean over heads: ``weight``,
            ``norm``, ``effective``, and ``merged_norm``, the length of what all heads move
            together. Of all layers: ``attribution``, how much a hidden token changes with an
            input token, which is slow; ``prediction``, what an input token adds to the logit in
            the linear network of the text; and what follows input tokens through the layers:
            ``rollout`` of weights, of norms (``rollout_norm``, ``rollout_block_norm``,
            ``rollout_layer_norm``), ``globenc``, ``alti``, ``value_zeroing`` and ``decompx``.
            Of the prediction itself: ``gradient_input``, the gradient of the probability times
            the embedding, and ``leave_one_out``, what the probability loses without the token.
            A random order stands beside them.
        questions: what is asked of each map: what the prediction loses without the tokens that
            it puts first and last (``removal``), when the prediction becomes another
            (``flips``), and which maps agree with each other, with gradients and with leaving
            one out (``correlation``).
        units: what is ordered and removed: single ``tokens``, or ``words``, which stand between
            blanks and have the sum of their pieces.
        removal: how a token is removed: it becomes the ``mask`` token (the unknown one where
            there is no mask), is left out (``delete``), or cannot be attended to
            (``attention``). By default ``mask`` where the tokenizer has one, else ``delete``.
        shares: which shares are removed: ``tenths``, 10 to 90%, or those of ``eraser``, 1, 5,
            10, 20 and 50%, rounded up, for which sufficiency keeps as many alone.
        rows: which row of a map speaks for the prediction: by default that of the token that
            predicts, and of a classifier the ``first`` of an encoder and the ``last`` of a
            decoder; ``mean`` is that of all.
        coefficient: of correlation: ``spearman`` (ρ) or ``kendall`` (τ, as Jain and Wallace
            have it).
        signed: correlate the values of gradients, of leaving one out and of predictions with
            their signs; by default their sizes, as attention has no sign.
        random_orders: random orders of each text, over which the mean is taken.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: DeYoung et al. 2020; Jain and Wallace 2019; Serrano and Smith 2019; Edin et al. 2025.
    """
    ...

def instance_adversary(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 512,
    format: str | Path | None = None,
    columns: str | Path | Iterable[str | Path] | None = None,
    label_column: str | Path | None = None,
    class_names: str | Path | Iterable[str | Path] | None = None,
    max_length: int | None = None,
    max_examples: int | None = 40,
    seed: int = 0,
    keep: bool = False,
    by: Literal['all', 'layer', 'head'] | Iterable[Literal['all', 'layer', 'head']] = ('all',),
    rows: Literal['all', 'first', 'last'] = 'all',
    epsilon: float = 0.05,
    margin: float = 0.01,
    candidates: int = 5,
    steps: int = 60,
    learning_rate: float = 0.5,
    patience: int | None | Literal['auto'] = 25,
    take: Literal['best', 'last'] = 'best',
    exact: Literal['corner', 'farthest', 'none'] = 'corner',
    sample: int = 2000,
) -> xarray.Dataset:
    """How different attention can be, text by text, while a prediction stays nearly what it is.

    Settings are those of `headlight_papers.studies.instance_adversary.InstanceAdversarySettings`.

    Args:
        source: labelled texts, or for a tagger, where the study takes one, sentences with tags
            (a path, a glob, ``hf:NAME``, an open corpus, tuples of a text and its label, or of
            words and tags); by default the sample reviews.
        model: a classifier: its name or folder, a `Model` that was loaded with
            ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``); by default the embedded classifier of short reviews.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first that the model has.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; all candidates of them run at once.
        format: of the files; by default what their suffix or first line says. Texts: ``tsv``,
            ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``, ``cola``,
            ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys that hold a text, or two of a pair; for a tagger
            the numbers, from 1, of the columns of word and tag. By default the usual names, and
            the first and the last column.
        label_column: name of the column or key that holds the label; by default ``label``.
        class_names: what the corpus calls the classes, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: tokens per example, special ones included; by default what the model takes,
            at most 512. Texts that are longer are cut.
        max_examples: stop after this many.
        seed: of all that is drawn at random.
        keep: write the attention that was found for each text, and the model's own, into
            ``kept`` of the run's folder.
        by: whose attention is changed at once: of ``all`` layers that are looked at, of each
            ``layer``, of each ``head``. Each of them is a search of its own.
        rows: whose rows are changed: of ``all`` tokens, of the ``first`` token ([CLS]) or of
            the ``last``.
        epsilon: the total variation distance by which a prediction may move.
        margin: by which it may move during the search before that costs anything.
        candidates: how many are looked for at once, of which the best counts.
        steps: of Adam, at most.
        learning_rate: its step size.
        patience: a text is done when its loss has not fallen for this many steps; ``auto`` for
            all steps.
        take: the ``best`` attention of all steps, or that of the ``last``, as in the released
            code.
        exact: beside it, attention of which no output changes at all: for each row a ``corner``
            that one linear program finds, the ``farthest`` that several find, or ``none``.
        sample: texts (largest weight, divergences) that are kept for pictures.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Jain and Wallace 2019, Section 4.2.2; Brunner et al. 2020, Section 3.3.
    """
    ...

def adversary(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    columns: str | Path | Iterable[str | Path] | None = None,
    label_column: str | Path | None = None,
    class_names: str | Path | Iterable[str | Path] | None = None,
    max_length: int | None = None,
    max_examples: int | None = None,
    seed: int = 0,
    start: str | Path | None = None,
    held_out: str | Path | None = None,
    heads: int | Iterable[int] | None = None,
    rows: Literal['all', 'first', 'last'] = 'all',
    keep_special: bool = False,
    predictions: Literal['labels', 'tvd'] = 'labels',
    distance: Literal['kl', 'jsd'] = 'kl',
    lambdas: float | Iterable[float] = (0.0, 0.0001, 0.001, 0.01, 0.1, 1.0),
    repeats: int = 3,
    epochs: int = 3,
    learning_rate: float = 5e-05,
    batch_size: int = 32,
    processes: int | None = None,
    instances: str | Path | None = None,
    keep_models: bool = False,
) -> xarray.Dataset:
    """Train models that predict as a classifier does, and attend otherwise.

    Settings are those of `headlight_papers.studies.adversary.AdversarySettings`.

    Args:
        source: labelled texts, or for a tagger, where the study takes one, sentences with tags
            (a path, a glob, ``hf:NAME``, an open corpus, tuples of a text and its label, or of
            words and tags); by default the sample reviews.
        model: a classifier: its name or folder, a `Model` that was loaded with
            ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``); by default the embedded classifier of short reviews.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first that the model has.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the files; by default what their suffix or first line says. Texts: ``tsv``,
            ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``, ``cola``,
            ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys that hold a text, or two of a pair; for a tagger
            the numbers, from 1, of the columns of word and tag. By default the usual names, and
            the first and the last column.
        label_column: name of the column or key that holds the label; by default ``label``.
        class_names: what the corpus calls the classes, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: tokens per example, special ones included; by default what the model takes,
            at most 512. Texts that are longer are cut.
        max_examples: stop after this many.
        seed: of all that is drawn at random.
        start: where students begin: name or folder of the checkpoint before fine-tuning, whose
            head is then random; ``scratch``, random weights; or ``base``, the weights of the
            model itself. It has to be named, but for the embedded classifier, of which it is
            ``base``.
        held_out: other texts, on which everything is measured; by default a fifth of the
            source, drawn with the seed.
        heads: which heads of these layers; by default all.
        rows: whose attention counts: that of ``all`` tokens, of the ``first`` token ([CLS]) or
            of the ``last``.
        keep_special: special tokens ([CLS], [SEP]) do not count as keys; the rest of a row is
            divided by its sum.
        predictions: what keeps predictions near the model's: cross-entropy to its ``labels``,
            or total variation (``tvd``).
        distance: what keeps attention away from the model's: ``kl``, KL(student ‖ model), or
            ``jsd``, which is bounded.
        lambdas: the weights of that distance, a mean over rows and heads; 0 is always among
            them.
        repeats: students of each λ, which differ in their seed; as many are trained on the gold
            labels.
        epochs: passes over the training texts.
        learning_rate: of AdamW at its highest, after a tenth of the steps; then it falls to 0.
        batch_size: texts in a step.
        processes: students that are trained at a time, each in one thread; by default as many
            as there are cores, on an accelerator one. Each holds the model twice.
        instances: the folder of a run of headlight instance-adversary on the same model, whose
            texts are shown beside the students.
        keep_models: save every student in ``models`` of the run's folder, for other studies.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Wiegreffe and Pinter 2019, Section 4; Yang, Section 4.2.
    """
    ...

def guided(
    source: Any = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    out: str | Path | UPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    corpus_name: str | None = None,
    progress: bool = True,
    kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    layers: int | Iterable[int] | None = None,
    batch_tokens: int = 2048,
    format: str | Path | None = None,
    columns: str | Path | Iterable[str | Path] | None = None,
    label_column: str | Path | None = None,
    class_names: str | Path | Iterable[str | Path] | None = None,
    max_length: int | None = None,
    max_examples: int | None = None,
    seed: int = 0,
    keep: bool = False,
    measures: Literal['weight', 'norm', 'effective', 'attribution', 'gradient_input'] | Iterable[Literal['weight', 'norm', 'effective', 'attribution', 'gradient_input']] = ('weight', 'norm', 'effective', 'gradient_input'),
    rows: Literal['mean', 'first', 'last'] = 'mean',
    attribution: AttributionSettings | Mapping[str, Any] | None = None,
    also: str | Path | Iterable[str | Path] = (),
    held_out: str | Path | None = None,
    width: int = 128,
    repeats: int = 3,
    epochs: int = 10,
    learning_rate: float = 0.001,
    processes: int | None = None,
) -> xarray.Dataset:
    """Give the attention of a classifier to models that look at every token alone.

    Settings are those of `headlight_papers.studies.guided.GuidedSettings`.

    Args:
        source: labelled texts, or for a tagger, where the study takes one, sentences with tags
            (a path, a glob, ``hf:NAME``, an open corpus, tuples of a text and its label, or of
            words and tags); by default the sample reviews.
        model: a classifier: its name or folder, a `Model` that was loaded with
            ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``); by default the embedded classifier of short reviews.
        tokenizer: of a model that comes without one.
        name: what titles call the model, in place of the end of its path.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: what titles call the corpus, in place of the end of its path.
        progress: show a bar on standard error.
        kind: which attention; by default the first that the model has.
        layers: which layers, from 0, or by the numbers of the model (model:3,7); by default
            all. The others keep their fast attention.
        batch_tokens: tokens in a batch, padding included. The last bits depend on it.
        format: of the files; by default what their suffix or first line says. Texts: ``tsv``,
            ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``, ``cola``,
            ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys that hold a text, or two of a pair; for a tagger
            the numbers, from 1, of the columns of word and tag. By default the usual names, and
            the first and the last column.
        label_column: name of the column or key that holds the label; by default ``label``.
        class_names: what the corpus calls the classes, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: tokens per example, special ones included; by default what the model takes,
            at most 512. Texts that are longer are cut.
        max_examples: stop after this many.
        seed: of all that is drawn at random.
        keep: write the models, what each text was given and the predictions into ``kept`` of
            the run's folder.
        measures: what of the model is given: of attention ``weight``, ``norm`` and
            ``effective``; ``attribution``, what input tokens contribute to hidden ones, which
            is slow; and ``gradient_input``, the gradient of the probability times the
            embedding. Uniform and random attention, and one that is learnt, stand beside them;
            of a tagger, whose words are given a row each, in the place of the last that of each
            word to itself.
        rows: which rows of attention speak for the text: the ``mean`` of all, that of the
            ``first`` token ([CLS]), or of the ``last``.
        attribution: how contributions are computed, if they are among the measures.
        also: further classifiers with the same tokenizer, whose weights are given: names or
            folders, such as the students that `headlight adversary` has kept.
        held_out: other texts, on which everything is measured; by default a fifth of the
            source, drawn with the seed.
        width: of the vectors of tokens.
        repeats: models of each guide, which differ in their seed.
        epochs: passes over the training texts.
        learning_rate: of Adam at its highest, after a tenth of the steps; then it falls to 0.
        processes: models that are trained at a time, each in one thread; by default as many as
            there are cores.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Wiegreffe and Pinter 2019, Section 3.4.
    """
    ...
