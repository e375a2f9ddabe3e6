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
from headlight.reading.given_weights import view as view
from headlight.reading.model import Model as Model, load as load, wrap as wrap
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
    numbers: Literal['ranks', 'importance', 'null_space', 'sinks'] | Iterable[Literal['ranks', 'importance', 'null_space', 'sinks']] = (),
    sample: int = 2000,
    passages: bool = True,
    token_types: int = 2000,
    gated_queries: int = 32,
    pages: int = 0,
    per_text: str | Path | Iterable[str | Path] = (),
    objective: Objective | None = None,
) -> xarray.Dataset:
    """Measure weights, norms and effective attention of every head.

    Settings are those of `headlight.studies.survey.SurveySettings`.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are
            made already; for a model of speech recordings; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        tokenizer: tokenizer, for a model that comes without one.
        name: display name of the model; by default the end of its path.
        out: folder of the run, which can then be resumed and keeps result, report and tables.
        resume: resume the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: display name of the corpus; by default the end of its path.
        progress: show a bar on standard error.
        kind: kind of attention; by default the first of encoder, decoder and cross-attention
            that the model has with these inputs; ``all`` analyses all in one pass.
        layers: layers, from 0; by default all. The other layers keep their fast attention.
        batch_tokens: tokens in a batch, padding included; changes the last bits of results. By
            default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the corpus; by default inferred from suffix or content. Plain text
            without blank lines is read as ``lines``, unless it is wrapped prose; ``pairs`` are
            sentence pairs (MRPC, CoLA, MNLI); ``translations``, for models with a decoder, are
            those of headlight align.
        column: column or key of the text, or keys with dots between (data.text); by default
            ``text``, or the only one.
        pairs: read two adjacent segments per example, as Clark et al. (2019) do, instead of one
            text.
        max_length: maximal number of tokens per example, special ones included; by default 128
            for pairs, else that of the model, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1 (``pair``), or ``zeros``, as in the released
            maps of Clark et al.
        lone_units: handling of a paragraph that fills a pair alone: ``join`` it with the next,
            or end the document there (``discard``, as in the released code of Clark et al.).
        max_examples: maximal number of examples.
        seed: random seed, which also decides where segments are cut.
        query_block: queries whose attention is computed at a time, so that memory never holds
            all weights of a layer: a number, ``auto`` for blocks in long texts only, or 0 for
            all queries at once, as with gradients and contributions.
        measures: measures of attention. ``gradient`` also runs the model backward;
            ``attribution`` belongs to whole layers, and stands in the place of their first
            heads.
        attribution: computation of contributions, if they are among the measures.
        value_bias: value bias in the matrix T of effective attention.
        frequency_ranks: frequency ranks of token types: those in this ``corpus``, the order of
            the vocabulary without special tokens and single characters (``ids``; Kobayashi et
            al. 2020, footnote 5), or a file with lines ``rank count id``.
        sinks: detection of attention sinks, which form a category of their own; ``auto``: on
            for causal models, and for models without class and separator tokens.
        sink_multiple: minimal ratio of the attention to a sink and uniform attention.
        sink_share: minimal share of heads in which a token is a sink.
        numbers: further statistics: ``ranks``, correlations of weights, norms and token
            frequency, which needs a further pass and whole layers in memory; ``importance``,
            the effect of attention on the loss, in a backward pass; ``null_space``, the share
            of attention without effect on the output; ``sinks``, whether heads do nothing by
            the first token, in 12 passes for each.
        sample: number of points in the figures of ``ranks`` and ``null_space``.
        passages: keep passages of the corpus for each head, and 32 texts with all heads, for
            the report; for private texts switch it off, and set token_types to 0.
        token_types: number of token types with statistics of their own for each head: the first
            in the vocabulary, which are often the most frequent; fewer if the sums would take
            more than 64 MB; 0 for none.
        gated_queries: number of queries of each text, evenly spaced, for which norms are
            computed in models with a gate for each query; 0 for all.
        pages: number of texts with a page of their own, in a further pass over the corpus.
        per_text: statistics of each text in per_text.csv.gz: ``sep``, …, or ``prominent``.
        objective: Objective whose gradient or predictions are looked at, where they are; by
            default that of what the model was trained for.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        tokenizer: tokenizer, for a model that comes without one.
        name: display name of the model; by default the end of its path.
        out: folder of the run, which can then be resumed and keeps result, report and tables.
        resume: resume the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: display name of the corpus; by default the end of its path.
        progress: show a bar on standard error.
        kind: kind of attention; by default the first of encoder, decoder and cross-attention
            that the model has with these inputs; ``all`` analyses all in one pass.
        layers: layers, from 0; by default all. The other layers keep their fast attention.
        batch_tokens: tokens in a batch, padding included; memory holds the attention of all
            layers of a batch.
        format: format of the corpus; by default inferred from suffix or content. Plain text
            without blank lines is read as ``lines``, unless it is wrapped prose; ``pairs`` are
            sentence pairs (MRPC, CoLA, MNLI); ``translations``, for models with a decoder, are
            those of headlight align.
        column: column or key of the text, or keys with dots between (data.text); by default
            ``text``, or the only one.
        pairs: read two adjacent segments per example, as Clark et al. (2019) do, instead of one
            text.
        max_length: maximal number of tokens per example, special ones included; by default 128
            for pairs, else that of the model, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1 (``pair``), or ``zeros``, as in the released
            maps of Clark et al.
        lone_units: handling of a paragraph that fills a pair alone: ``join`` it with the next,
            or end the document there (``discard``, as in the released code of Clark et al.).
        max_examples: maximal number of examples.
        seed: random seed, which also decides where segments are cut.
        measures: measures of attention. ``gradient`` also runs the model backward;
            ``attribution`` belongs to whole layers, and stands in the place of their first
            heads.
        attribution: computation of contributions, if they are among the measures.
        value_bias: value bias in the matrix T of effective attention.
        smoothing: share of each row that is spread evenly over its keys, so that no weight is
            0; 0.001 in the authors' code.
        objective: Objective whose gradient or predictions are looked at, where they are; by
            default that of what the model was trained for.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        tokenizer: tokenizer, for a model that comes without one.
        name: display name of the model; by default the end of its path.
        out: folder of the run, which can then be resumed and keeps result, report and tables.
        resume: resume the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: display name of the corpus; by default the end of its path.
        progress: show a bar on standard error.
        kind: kind of attention; by default the first that the model has.
        layers: layers, from 0; by default all. The other layers keep their fast attention.
        batch_tokens: tokens in a batch, padding included; changes the last bits of results. By
            default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the corpus; by default inferred from suffix or content. Classifiers
            read the formats of headlight permutation.
        column: column or key of the text, or keys with dots between (data.text); by default
            ``text``, or the only one.
        pairs: read two adjacent segments per example, as Clark et al. (2019) do, instead of one
            text.
        max_length: maximal number of tokens per example, special ones included; by default 128
            for pairs, else that of the model, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1 (``pair``), or ``zeros``, as in the released
            maps of Clark et al.
        lone_units: handling of a paragraph that fills a pair alone: ``join`` it with the next,
            or end the document there (``discard``, as in the released code of Clark et al.).
        max_examples: maximal number of examples.
        seed: random seed of the cuts between segments and of masked words.
        by: units of removal: each ``head``, or all heads of each ``layer``.
        columns: names of the columns or keys of the text, or of both texts of a pair
            (classifiers); for a tagger the numbers, from 1, of the columns of word and tag. By
            default the usual names, and the first and the last column.
        label_column: name of the column or key of the label (classifiers); by default
            ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs
            (classifiers); by default the model's own names, or numbers from 0.
        sentences: keep passages around the predictions that change most, for the report
            (language models).
        objective: Objective whose gradient or predictions are looked at, where they are; by
            default that of what the model was trained for.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        tokenizer: tokenizer, for a model that comes without one.
        name: display name of the model; by default the end of its path.
        out: folder of the run, which can then be resumed and keeps result, report and tables.
        resume: resume the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: display name of the corpus; by default the end of its path.
        progress: show a bar on standard error.
        kind: kind of attention; by default that of the encoder, where the model has one.
        layers: layers, from 0; by default all. The other layers keep their fast attention.
        batch_tokens: tokens in a batch, padding included; changes the last bits of results. By
            default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        parts: parts of the study: scores of the weights of heads (``copying``, ``matching``,
            ``composition``), attention on repeated random tokens (``repeated``), and attention
            to facts hidden in other text (``needle``). By default all that the model allows;
            ``copying`` and ``needle`` need a language-model head.
        measures: measures of attention on texts.
        sequences: number of sequences of random tokens.
        tokens: number of random tokens of a sequence, before they are repeated.
        needles: number of hidden facts, each in a text of its own.
        haystack: number of tokens of each text with a hidden fact.
        format: format of the corpus that fills the haystack; by default inferred from suffix or
            content.
        column: column or key of the text, or keys with dots between (data.text); by default
            ``text``, or the only one.
        seed: random seed of the tokens.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        tokenizer: tokenizer, for a model that comes without one.
        name: display name of the model; by default the end of its path.
        out: folder of the run, which can then be resumed and keeps result, report and tables.
        resume: resume the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: display name of the corpus; by default the end of its path.
        progress: show a bar on standard error.
        kind: kind of attention, ``encoder`` or ``decoder``; by default the first that the model
            has.
        layers: layers, from 0; by default all. The other layers keep their fast attention.
        batch_tokens: tokens in a batch, padding included; changes the last bits of results. By
            default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the corpus; by default inferred from suffix or content. Plain text
            without blank lines is read as ``lines``, unless it is wrapped prose; ``pairs`` are
            sentence pairs (MRPC, CoLA, MNLI); ``translations``, for models with a decoder, are
            those of headlight align.
        column: column or key of the text, or keys with dots between (data.text); by default
            ``text``, or the only one.
        pairs: read two adjacent segments per example, as Clark et al. (2019) do, instead of one
            text.
        max_length: maximal number of tokens per example, special ones included; by default 128
            for pairs, else that of the model, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1 (``pair``), or ``zeros``, as in the released
            maps of Clark et al.
        lone_units: handling of a paragraph that fills a pair alone: ``join`` it with the next,
            or end the document there (``discard``, as in the released code of Clark et al.).
        max_examples: maximal number of examples.
        seed: random seed, which also decides where segments are cut.
        methods: methods that attribute hidden tokens to input tokens. Products of the maps of
            layers: ``rollout`` of weights, ``rollout_norm``, ``rollout_block_norm`` and
            ``rollout_layer_norm`` of norms, ``globenc``, ``alti`` and ``value_zeroing``.
            Through all layers at once: ``decompx``, ``attribution`` and ``gradient_hidden``.
            The last four run a layer, or the model, at least once for each token, and are slow.
            Layer by layer: ``mixing``, the ratio contributed by other tokens;
            ``mixing_feed_forward`` includes the feed-forward network with linearized
            activations, in five more passes.
        slope: slope of linearized activations: ``chord`` from the bias (Kobayashi et al. 2024),
            ``zero_origin`` or ``derivative``.
        masks: share of tokens replaced by the mask token, drawn by text; 0.12 in the code of
            Kobayashi et al. (2021).

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        tokenizer: tokenizer, for a model that comes without one.
        name: display name of the model; by default the end of its path.
        out: folder of the run, which can then be resumed and keeps result, report and tables.
        resume: resume the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number
            that were started elsewhere.
        corpus_name: display name of the corpus; by default the end of its path.
        progress: show a bar on standard error.
        kind: kind of attention; by default the first of encoder, decoder and cross-attention
            that the model has with these inputs; ``all`` analyses all in one pass.
        layers: layers whose maps are averaged, for maps of single layers; by default the last.
        batch_tokens: tokens in a batch, padding included; changes the last bits of results. By
            default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the corpus; by default inferred from suffix or content. Plain text
            without blank lines is read as ``lines``, unless it is wrapped prose; ``pairs`` are
            sentence pairs (MRPC, CoLA, MNLI); ``translations``, for models with a decoder, are
            those of headlight align.
        column: column or key of the text, or keys with dots between (data.text); by default
            ``text``, or the only one.
        pairs: read two adjacent segments per example, as Clark et al. (2019) do, instead of one
            text.
        max_length: maximal number of tokens per example, special ones included; by default 128
            for pairs, else that of the model, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1 (``pair``), or ``zeros``, as in the released
            maps of Clark et al.
        lone_units: handling of a paragraph that fills a pair alone: ``join`` it with the next,
            or end the document there (``discard``, as in the released code of Clark et al.).
        max_examples: maximal number of examples.
        seed: random seed of orders, of the token that a masked language model predicts, and of
            pairs.
        maps: maps that rank tokens. Of single layers, averaged over heads: ``weight``,
            ``norm``, ``effective``, and ``merged_norm``, the norm of the sum over heads. Of all
            layers: ``attribution``, the change of a hidden token with an input token (slow);
            ``prediction``, the contribution of an input token to the logit in the linear
            network of the text; and maps that follow input tokens through the layers:
            ``rollout`` of weights, of norms (``rollout_norm``, ``rollout_block_norm``,
            ``rollout_layer_norm``), ``globenc``, ``alti``, ``value_zeroing`` and ``decompx``.
            Of the prediction itself: ``gradient_input``, the gradient of the probability times
            the embedding, and ``leave_one_out``, the loss of probability without the token. A
            random order is the control.
        questions: tests of each map: the effect on the prediction of removing the tokens ranked
            first and last (``removal``), the share of tokens whose removal flips the prediction
            (``flips``), and the correlation of maps with one another, with gradients and with
            leave-one-out (``correlation``).
        units: units of ranking and removal: single ``tokens``, or ``words``, which stand
            between blanks and have the sum of their pieces.
        removal: removal of a token: replace it by the ``mask`` token (or the unknown token, if
            there is no mask), ``delete`` it, or exclude it from ``attention``. By default
            ``mask`` if the tokenizer has a mask token, else ``delete``.
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
        random_orders: number of random orders of each text, whose scores are averaged.

    Raises:
        HeadlightError: the request, the model or the source is refused.

    Source: DeYoung et al. 2020; Jain and Wallace 2019; Serrano and Smith 2019; Edin et al. 2025.
    """
    ...
