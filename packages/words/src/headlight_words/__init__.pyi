"""Written by scripts/stubs.py from the catalogue of studies; do not edit."""

import xarray

from collections.abc import Iterable, Mapping
from headlight.capture.objectives import Objective
from headlight.corpora.sentence import Sentence
from headlight.settings.attribution import AttributionSettings
from headlight_words.corpora.word_vectors import WordVectors
from headlight_words.studies.parser_probes import TrainingSettings
from headlight_words.word_alignment import InputMeasureSettings, SimilaritySettings
from pathlib import Path
from typing import Any, Literal
from upath import UPath

# Modules, and rows of entry points.
def __getattr__(name: str) -> Any: ...

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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Evaluate single heads at finding the governors of words.

    Settings are those of `headlight_words.studies.dependency.DependencySettings`.

    Args:
        source: a treebank (a path, a glob, an open treebank); by default the sample treebank.
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
        kind: kind of attention; by default the first that the model has. Not cross-attention,
            since a dependency is within one text.
        layers: layers, from 0; by default all. The other layers keep their fast attention.
        batch_tokens: tokens in a batch, padding included; changes the last bits of results. By
            default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the files; by default inferred from suffix or content.
        invalid: handling of invalid annotation: refuse it with an error (``refuse``), or leave
            the sentence or document out and count it (``skip``).
        unencodable: handling of words that the tokenizer drops: refuse them with an ``error``,
            or leave the sentence or document out and count it (``skip``).
        queries: pooling over the pieces of the attending word: ``mean`` (Clark et al. 2019,
            Section 4.1), ``first`` (their released code) or ``max``.
        pooling: pooling of norms over the pieces of the attended word: the sum of the
            ``norms``, or the norm of the summed ``vectors``.
        max_length: tokens per sentence, special ones included; by default what the model takes,
            at most 512.
        overflow: handling of longer sentences: leave them out and count them (``skip``),
            truncate them (``truncate``), or refuse them with an ``error``.
        measures: measures of attention. ``gradient`` also runs the model backward;
            ``attribution`` belongs to whole layers, and stands in the place of their first
            heads.
        attribution: computation of contributions, if they are among the measures.
        value_bias: value bias in the matrix T of effective attention.
        max_examples: maximal number of examples.
        relations: names of relations: ``full`` names, or the ``base`` before the colon of
            Universal Dependencies.
        possessive: prediction for a possessor before *'s*: that of the *'s* (``clark``), or the
            possessor's own, as for all other words (``strict``).
        offsets: offsets of the baselines: −3 … 2, clipped to the sentence, as in the authors'
            ``notebook``, or −5 … 5 without 0, with no prediction outside the sentence
            (``strict``).
        seed: random seed of masked words, for the ``gradient`` of a masked language model.
        sentences: keep an example sentence for each relation, for the report; switch it off for
            private texts.
        objective: Objective whose gradient or predictions are looked at, where they are; by
            default that of what the model was trained for.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Evaluate single heads at finding antecedents of mentions.

    Settings are those of `headlight_words.studies.coreference.CoreferenceSettings`.

    Args:
        source: documents with coreference (a path, a glob, open documents); by default those of
            the sample treebank.
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
        kind: kind of attention; by default the first that the model has. Not cross-attention,
            since an antecedent is in the same text.
        layers: layers, from 0; by default all. The other layers keep their fast attention.
        batch_tokens: tokens in a batch, padding included; changes the last bits of results. By
            default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the files; by default inferred from suffix or content.
        invalid: handling of invalid annotation: refuse it with an error (``refuse``), or leave
            the sentence or document out and count it (``skip``).
        unencodable: handling of words that the tokenizer drops: refuse them with an ``error``,
            or leave the sentence or document out and count it (``skip``).
        queries: pooling over the pieces of the attending word: ``mean`` (Clark et al. 2019,
            Section 4.1), ``first`` (their released code) or ``max``.
        pooling: pooling of norms over the pieces of the attended word: the sum of the
            ``norms``, or the norm of the summed ``vectors``.
        measures: measures of attention. ``gradient`` also runs the model backward;
            ``attribution`` belongs to whole layers, and stands in the place of their first
            heads.
        attribution: computation of contributions, if they are among the measures.
        value_bias: value bias in the matrix T of effective attention.
        singletons: allow mentions that are alone in their chain as candidates; OntoNotes, which
            the paper used, has none.
        nested: nested mentions as candidates: ``include`` (*his* for *his wife*), or
            ``exclude``.
        evaluated: evaluated mentions: those with an antecedent in the window (``resolvable``),
            or also those whose antecedents are all outside, which cannot be resolved (``all``).
        head_word: head word of a mention: the one ``annotated`` in the corpus, or the ``last``
            word.
        sieves: sieves of the rule-based baseline, in their order.
        head_match_otherwise: prediction of the baseline *head match* if no head word matches:
            ``nothing``, which counts as an error, or the ``nearest`` mention.
        max_examples: maximal number of examples.
        max_length: maximal number of tokens of a document or window, special ones included; by
            default that of the model, at most 512 (Clark et al. 2019, footnote 4: 128).
        overlap: words that consecutive windows of a document share; each mention is evaluated
            once, in the window with most text before it. By default documents are truncated at
            the maximal length, as in the paper.
        candidates: candidates of a head: the head words of other ``mentions``, as for the
            baselines, or all other ``words`` of the window.
        preceding: allow only candidates before the mention.
        sentences: keep an example passage for each kind of mention, for the report; switch it
            off for private texts.
        seed: random seed of the loss.
        objective: Objective whose gradient or predictions are looked at, where they are; by
            default that of what the model was trained for.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Train probes that parse from the attention of all heads.

    Settings are those of `headlight_words.studies.parser_probes.ParserProbeSettings`.

    Args:
        source: a treebank (a path, a glob, an open treebank); by default the sample treebank.
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
        format: format of the files; by default inferred from suffix or content.
        invalid: handling of invalid annotation: refuse it with an error (``refuse``), or leave
            the sentence or document out and count it (``skip``).
        unencodable: handling of words that the tokenizer drops: refuse them with an ``error``,
            or leave the sentence or document out and count it (``skip``).
        queries: pooling over the pieces of the attending word: ``mean`` (Clark et al. 2019,
            Section 4.1), ``first`` (their released code) or ``max``.
        pooling: pooling of norms over the pieces of the attended word: the sum of the
            ``norms``, or the norm of the summed ``vectors``.
        max_length: tokens per sentence, special ones included; by default what the model takes,
            at most 512.
        overflow: handling of longer sentences: leave them out and count them (``skip``),
            truncate them (``truncate``), or refuse them with an ``error``.
        train: training treebank; by default every tenth sentence of the source is for the test,
            and the rest for training.
        word_vectors: file of word vectors; by default the input embeddings of the model.
        max_examples: maximal number of sentences of each treebank.
        probes: probes to train.
        measures: measures of attention that the probes read, with a row of the table for each.
        training: training of the probes.
        seeds: random seeds; every probe is trained with each seed, and scores are pooled.
        align_root: word vector of a candidate: its own (``fixed``), or that of the word after
            it, as in the authors' code (``as_released``).
        bias: train a weight for each head that does not depend on words, as in the authors'
            code.
        processes: number of probes trained in parallel, each in one thread; by default the
            number of cores, and 1 for a model on an accelerator. Results do not depend on it.
        vectors: word vectors, in place of the path in the settings.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Evaluate word alignments by cross-attention, gradients and predictions.

    Settings are those of `headlight_words.studies.alignment.AlignmentSettings`.

    Args:
        source: sentence pairs (a path, a glob, ``hf:NAME``, an open corpus, tuples of two
            texts); for a model of speech recordings; by default the sample translations.
        model: its name or folder, a loaded `Model` (for gradients and differences with its
            language-model head), or a model of transformers in memory (then with
            ``tokenizer=``); by default the embedded translator, from German to English.
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
        kind: cross-attention, from the words of one text to those of another.
        layers: layers, from 0; by default all. For an encoder the number of layers that are
            run, 0 for embeddings.
        batch_tokens: tokens in a batch, padding included; changes the last bits of results. By
            default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        null: special tokens of the source as candidates: allowed (``special``: a word that they
            win has no link, as in Kobayashi et al.), or excluded (``exclude``); by default
            allowed for attention and excluded for gradients and differences, as published.
            Hidden states of special tokens are never compared.
        unit: unit of linking: ``word``, with pieces pooled first (sum over the pieces of a
            source word and mean over those of a target word; mean of hidden states), or
            ``piece``, whose words are linked with them. By default words in translation models,
            and pieces in encoders, as published.
        pooling: pooling of norms over the pieces of a source word: the sum of ``norms``, or the
            norm of the summed ``vectors``.
        similarity: similarities of hidden states, and extraction of links.
        gold: file of gold links, at least a line for each pair (talp, Pharaoh, NAACL). Not for
            recordings, whose word times are in files beside the sound.
        gold_format: format of the gold links; by default inferred.
        target: file of the translations, line for line, if the source file holds source
            sentences only.
        format: format of the pairs (``bars``, ``tsv``, ``csv``, ``jsonl``); by default inferred
            from suffix or content.
        columns: columns, keys or languages of source and target, by name or number.
        swap: swap source and target of pairs and links.
        measures: measures that link words: of cross-attention ``weight``, ``norm`` and
            ``effective``, by layer and by head; of the whole model ``gradient``, ``smoothgrad``
            and ``difference``, with another pass for each piece of a sentence; of an encoder,
            which reads each sentence by itself, ``similarity`` only. By default those of
            cross-attention in translation models, and similarity in encoders.
        extractions: extraction of links from similarities; see headlight align.
        chosen_heads: heads of a speech model to average, such as L2H5; by default those that
            the model itself names.
        inputs: computation of gradients and differences.
        prefix: prompt before every source, such as ``translate German to English:``.
        max_length: maximal number of tokens per sentence, special ones included; by default
            that of the model. Longer pairs are refused.
        max_examples: maximal number of examples.

    Raises:
        HeadlightError: the request, the model or the source is refused.

    Source: Kobayashi et al. 2020, Section 5; Ding et al. 2019; Li et al. 2019.
    """
    ...
