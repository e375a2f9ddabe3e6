"""Written by scripts/stubs.py from the catalogue of studies; do not edit."""

import xarray

from collections.abc import Iterable, Mapping
from headlight.capture.objectives import Objective
from headlight.settings.attribution import AttributionSettings
from pathlib import Path
from typing import Any, Literal
from upath import UPath
from headlight.api import open as open
from headlight.errors import HeadlightError as HeadlightError
from headlight.findings import heads as heads
from headlight.reading.model import Model as Model, load as load
from headlight.reading import Reading as Reading
from headlight.reports.gallery import gallery as gallery
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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Measure weights, norms and effective attention of every head.

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
        kind: kind of attention; by default the first of encoder, decoder and cross-attention
            that the model has with these inputs; ``all`` analyses all in one pass.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; it changes the last bits of results.
            By default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the corpus; by default inferred from suffix or content: plain text
            without blank lines that is not wrapped prose is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1, or ``zeros`` (the released maps of Clark et
            al.).
        lone_units: handling of a paragraph that fills a pair alone: wait for the next, or end
            the document (``discard``, the released code of Clark et al.).
        max_examples: largest number of examples.
        seed: random seed, of the cuts between segments as well.
        query_block: queries for which attention is computed at a time, so that memory never
            holds all weights of a layer; ``auto`` where it matters, 0 for all. With gradients
            or contributions all queries are one block.
        measures: measures of attention. ``gradient`` runs the model backward as well;
            ``attribution`` is one row for each layer, in the place of its first head.
        attribution: computation of contributions, if they are among the measures.
        value_bias: value bias in T of effective attention.
        frequency_ranks: frequency ranks of token types: from this ``corpus``, by the order of
            the vocabulary without special tokens and single characters (``ids``; Kobayashi et
            al. 2020, footnote 5), or from a file with lines ``rank count id``.
        sinks: detection of attention sinks, which get a category of their own; ``auto`` is on
            where the model has no class and separator tokens, or is causal.
        sink_multiple: smallest ratio of the attention to a sink and uniform attention.
        sink_share: smallest share of heads in which a token is a sink.
        numbers: further statistics: ``ranks``, correlations of weights, norms and token
            frequency, which counts tokens first and holds whole layers in memory;
            ``importance``, how much the loss depends on attention, in a further backward pass;
            ``null_space``, how much of attention no output depends on, by length.
        sample: points kept for the figures of ``ranks`` and ``null_space``: pairs of positions
            by category of keys, occurrences of tokens, and texts.
        passages: keep passages of the corpus for each head and 32 texts with all heads, for the
            report; switch it off where texts are private, and token_types as well.
        token_types: tokens of the vocabulary with statistics of their own for each head, from
            the first, which are often the most frequent; fewer where the sums would take more
            than 64 MB; 0 for none.
        gated_queries: queries of each text for which norms are computed in models with a gate
            for each query, evenly spaced; 0 for all.
        pages: texts that get a page of their own, which the passages of the report link to;
            they are read in a further pass over the corpus.
        objective: Objective whose gradient or predictions are looked at, where they are; by
            default that of what the model was trained for.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Clark et al. 2019, Section 3; Kobayashi et al. 2020; Brunner et al. 2020.
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
    """Compare heads with one another by where they attend.

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
        kind: kind of attention; by default the first of encoder, decoder and cross-attention
            that the model has with these inputs; ``all`` analyses all in one pass.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; attention of all layers is held at
            once.
        format: format of the corpus; by default inferred from suffix or content: plain text
            without blank lines that is not wrapped prose is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1, or ``zeros`` (the released maps of Clark et
            al.).
        lone_units: handling of a paragraph that fills a pair alone: wait for the next, or end
            the document (``discard``, the released code of Clark et al.).
        max_examples: largest number of examples.
        seed: random seed, of the cuts between segments as well.
        measures: measures of attention. ``gradient`` runs the model backward as well;
            ``attribution`` is one row for each layer, in the place of its first head.
        attribution: computation of contributions, if they are among the measures.
        value_bias: value bias in T of effective attention.
        smoothing: share of every row that is spread evenly over its keys; 0.001 in the authors'
            code.
        objective: Objective whose gradient or predictions are looked at, where they are; by
            default that of what the model was trained for.

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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Measure the effect of ablating each head, or all heads of a layer, on predictions.

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
        kind: kind of attention; by default the first that the model has.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; it changes the last bits of results.
            By default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the corpus; by default inferred from suffix or content. For a
            classifier one of the formats of permutation.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1, or ``zeros`` (the released maps of Clark et
            al.).
        lone_units: handling of a paragraph that fills a pair alone: wait for the next, or end
            the document (``discard``, the released code of Clark et al.).
        max_examples: largest number of examples.
        seed: random seed of the cuts between segments and of masked words.
        by: unit of removal: each ``head``, all heads of each ``layer``.
        columns: for a classifier: names of the columns or keys that hold a text, or two of a
            pair; for a tagger the numbers, from 1, of the columns of word and tag. By default
            the usual names, and the first and the last column.
        label_column: for a classifier: name of the column or key that holds the label; by
            default ``label``.
        class_names: for a classifier: names of the classes in the corpus, in the order of the
            model's outputs; by default the model's own names, or numbers from 0.
        sentences: keep passages around the predictions that change most, for the report
            (language models).
        objective: Objective whose gradient or predictions are looked at, where they are; by
            default that of what the model was trained for.

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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Find heads that copy, complete repeated patterns, and retrieve facts.

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
        kind: kind of attention; by default that of the encoder, where the model has one.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; it changes the last bits of results.
            By default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        parts: parts of the study: of weights ``copying``, ``matching`` and ``composition``; on
            repeated random tokens ``repeated``; on facts hidden in other text ``needle``. By
            default all that the model allows. ``copying`` and ``needle`` need a language-model
            head.
        measures: measures of attention on texts.
        sequences: sequences of random tokens.
        tokens: random tokens of a sequence, before they are repeated.
        needles: hidden facts, each in a text of its own.
        haystack: tokens of each text with a hidden fact.
        format: format of the corpus that fills the haystack; by default inferred from suffix or
            content.
        column: key or column that holds the text; by default ``text``, or the only one.
        seed: random seed of the tokens.

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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Attribute hidden tokens to their own, first, special, near and far input tokens, by several
    methods, and measure how much a layer mixes in from the context.

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
        kind: kind of attention, ``encoder`` or ``decoder``; by default the first that the model
            has.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; it changes the last bits of results.
            By default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the corpus; by default inferred from suffix or content: plain text
            without blank lines that is not wrapped prose is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1, or ``zeros`` (the released maps of Clark et
            al.).
        lone_units: handling of a paragraph that fills a pair alone: wait for the next, or end
            the document (``discard``, the released code of Clark et al.).
        max_examples: largest number of examples.
        seed: random seed, of the cuts between segments as well.
        methods: methods that attribute hidden tokens to input tokens. Products of the maps of
            layers: ``rollout`` of weights, ``rollout_norm``, ``rollout_block_norm`` and
            ``rollout_layer_norm`` of norms, ``globenc``, ``alti`` and ``value_zeroing``.
            Through all layers at once: ``decompx``, ``attribution`` and ``gradient_hidden``.
            The last four run a layer, or the model, once for each token or more, and are slow.
            Of each layer by itself: ``mixing``, the ratio of what other tokens contribute;
            ``mixing_feed_forward`` includes the feed-forward network, whose activations are
            linearized, and takes five more passes.
        slope: slope of linearized activations: ``chord`` from the bias (Kobayashi et al. 2024),
            ``zero_origin`` or ``derivative``.
        masks: share of tokens replaced by the mask token, drawn by text; 0.12 in the code of
            Kobayashi et al. (2021).

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Abnar and Zuidema 2020; Kobayashi et al. 2021, 2024; Modarressi et al. 2022, 2023;
        Ferrando et al. 2022; Mohebbi et al. 2023.
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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Test which maps rank the tokens that a prediction depends on first.

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
        kind: kind of attention; by default the first of encoder, decoder and cross-attention
            that the model has with these inputs; ``all`` analyses all in one pass.
        layers: layers whose maps are averaged, for maps of single layers; by default the last.
        batch_tokens: tokens in a batch, padding included; it changes the last bits of results.
            By default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the corpus; by default inferred from suffix or content: plain text
            without blank lines that is not wrapped prose is read as ``lines``. ``pairs`` are
            sentence pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that
            headlight align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else
            what the model takes, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1, or ``zeros`` (the released maps of Clark et
            al.).
        lone_units: handling of a paragraph that fills a pair alone: wait for the next, or end
            the document (``discard``, the released code of Clark et al.).
        max_examples: largest number of examples.
        seed: random seed of orders, of the token that a masked language model predicts, and of
            pairs.
        maps: maps that rank tokens. Of single layers, mean over heads: ``weight``, ``norm``,
            ``effective``, and ``merged_norm``, the length of what all heads move together. Of
            all layers: ``attribution``, how much a hidden token changes with an input token,
            which is slow; ``prediction``, what an input token adds to the logit in the linear
            network of the text; and what follows input tokens through the layers: ``rollout``
            of weights, of norms (``rollout_norm``, ``rollout_block_norm``,
            ``rollout_layer_norm``), ``globenc``, ``alti``, ``value_zeroing`` and ``decompx``.
            Of the prediction itself: ``gradient_input``, the gradient of the probability times
            the embedding, and ``leave_one_out``, what the probability loses without the token.
            A random order stands beside them.
        questions: tests of each map: what the prediction loses without the tokens ranked first
            and last (``removal``), when the prediction flips (``flips``), and the agreement of
            maps with one another, with gradients and with leave-one-out (``correlation``).
        units: unit of ranking and removal: single ``tokens``, or ``words``, which stand between
            blanks and have the sum of their pieces.
        removal: removal of a token: replace it by the ``mask`` token (the unknown one where
            there is no mask), delete it (``delete``), or exclude it from attention
            (``attention``). By default ``mask`` where the tokenizer has one, else ``delete``.
        shares: shares of tokens that are removed: ``tenths``, 10 to 90%, or those of
            ``eraser``, 1, 5, 10, 20 and 50%, rounded up; for sufficiency the same shares are
            kept.
        rows: row of a map that explains the prediction: by default that of the predicting
            token, and for a classifier the ``first`` of an encoder and the ``last`` of a
            decoder; ``mean`` averages all.
        coefficient: correlation coefficient: ``spearman`` (ρ) or ``kendall`` (τ, as in Jain and
            Wallace).
        signed: correlate signed values of gradients, leave-one-out and predictions; by default
            their absolute values, as attention has no sign.
        random_orders: random orders of each text, which are averaged.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: DeYoung et al. 2020; Jain and Wallace 2019; Serrano and Smith 2019; Edin et al. 2025.
    """
    ...
