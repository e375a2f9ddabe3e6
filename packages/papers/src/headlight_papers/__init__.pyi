"""Written by scripts/stubs.py from the catalogue of studies; do not edit."""

import xarray

from collections.abc import Iterable, Mapping
from headlight.settings.attribution import AttributionSettings
from headlight_papers.studies.token_identity import MapTrainingSettings
from pathlib import Path
from typing import Any, Literal
from upath import UPath

# Modules, and rows of entry points.
def __getattr__(name: str) -> Any: ...

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
    attribution: AttributionSettings | Mapping[str, Any] = ...,
    reach: int = 64,
    tags: Literal['upos', 'xpos'] | None = None,
    exact: int = 2,
    exact_tokens: int = 40,
) -> xarray.Dataset:
    """Attribute each hidden token to its own input token and to the others.

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
        kind: stack whose hidden tokens are analysed; by default the first that the model has.
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
        attribution: computation of contributions.
        reach: largest relative position with an embedding of its own, before and after a token.
        tags: parts of speech by which pieces of words are grouped: ``upos`` or ``xpos`` of
            treebank sentences; None for texts without.
        exact: examples computed exactly as well, to measure the error of the estimate, which
            takes some 20 times as long for each; 0 for none.
        exact_tokens: longest example that is computed exactly, in tokens: the time grows with
            the square of the length.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Brunner et al. 2020, Section 5.
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
    memory: int = 1073741824,
    cache: Path | None = None,
) -> xarray.Dataset:
    """Test how well input tokens can be recovered from hidden tokens.

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
        kind: stack whose hidden tokens are analysed; by default the first that the model has.
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
        maps: maps from hidden to input tokens: ``naive`` is the identity, ``linear`` a matrix,
            ``mlp`` two matrices with a GELU between them.
        losses: distances for training maps and for nearest neighbours.
        solver: solver of linear maps: ``adam``, or ``ridge``, in closed form.
        target: target of the maps: the ``input`` token, or the output of the ``previous_layer``
            (for the lowest layer, the input).
        offsets: recover the token at this many positions to the right; 0 is the token itself.
        fractions: shares of the training sequences.
        across: also test the map of each layer on all of them.
        folds: random splits into 70 % training, 15 % validation and 15 % test sequences.
        training: training of the maps.
        rate_search: search of learning rates: for ``each`` map, or one for all (``shared``),
            the best for the highest layer and the first fold, as in the paper.
        memory: bytes of hidden tokens above which they are kept in files, and bytes that maps
            in training may take together.
        cache: folder of hidden tokens and rates, in place of `folder`; studies of the same
            tokens can share one.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Brunner et al. 2020, Section 4.
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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Measure how the predictions of a classifier change when its attention is permuted, uniform, or
    on one token.

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
        kind: kind of attention; by default the first that the model has.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; it changes the last bits of results.
            By default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the files; by default inferred from suffix or first line. Texts:
            ``tsv``, ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``,
            ``cola``, ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys that hold a text, or two of a pair; for a tagger
            the numbers, from 1, of the columns of word and tag. By default the usual names, and
            the first and the last column.
        label_column: name of the column or key that holds the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: tokens per example, special ones included; by default what the model takes,
            at most 512. Longer texts are truncated.
        max_examples: largest number of examples.
        seed: random seed.
        keep: write for each text the numbers of its random draws, and the predictions after
            each, into ``kept`` of the run's folder.
        changes: replacements of attention: its own weights ``permuted`` over the keys that a
            query sees; ``uniform`` weights; all weight on the key that has the ``largest``, or
            on a ``random`` one.
        by: unit of replacement: the attention of ``all`` layers under study, of each ``layer``,
            of each ``head``. Heads take many passes: those of ``layer`` once for each.
        rows: rows that are replaced: of ``all`` tokens, of the ``first`` token ([CLS]) or of
            the ``last``.
        keep_special: keep the weights of special tokens ([CLS], [SEP]) as they are, and change
            the rest.
        shuffles: permutations of each text, over whose effects the median is taken.
        sample: texts (largest weight, change) kept for figures.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Jain and Wallace 2019, Section 4.2.1; Wiegreffe and Pinter 2019, Section 3.1.
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
    """Search, text by text, for the most different attention with nearly the same prediction.

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
        kind: kind of attention; by default the first that the model has.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; all candidates of them run at once.
        format: format of the files; by default inferred from suffix or first line. Texts:
            ``tsv``, ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``,
            ``cola``, ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys that hold a text, or two of a pair; for a tagger
            the numbers, from 1, of the columns of word and tag. By default the usual names, and
            the first and the last column.
        label_column: name of the column or key that holds the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: tokens per example, special ones included; by default what the model takes,
            at most 512. Longer texts are truncated.
        max_examples: largest number of examples.
        seed: random seed.
        keep: write the attention that was found for each text, and the model's own, into
            ``kept`` of the run's folder.
        by: unit of change: the attention of ``all`` layers under study, of each ``layer``, of
            each ``head``. Each is a search of its own.
        rows: rows that are changed: of ``all`` tokens, of the ``first`` token ([CLS]) or of the
            ``last``.
        epsilon: the total variation distance by which a prediction may move.
        margin: change of the prediction during the search that is not penalized.
        candidates: searches in parallel; the best counts.
        steps: steps of Adam, at most.
        learning_rate: step size of the optimizer.
        patience: steps without a lower loss after which a text is finished; ``auto`` for all
            steps.
        take: step whose attention is used: the ``best``, or the ``last``, as in the released
            code.
        exact: alternatives that leave every output unchanged: for each row a ``corner`` found
            by one linear program, the ``farthest`` of several, or ``none``.
        sample: texts (largest weight, divergences) kept for figures.

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
    batch_tokens: int | None | Literal['auto'] = None,
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
    keep_models: bool = False,
) -> xarray.Dataset:
    """Train models that predict as a classifier does and attend differently.

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
        kind: kind of attention; by default the first that the model has.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; it changes the last bits of results.
            By default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the files; by default inferred from suffix or first line. Texts:
            ``tsv``, ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``,
            ``cola``, ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys that hold a text, or two of a pair; for a tagger
            the numbers, from 1, of the columns of word and tag. By default the usual names, and
            the first and the last column.
        label_column: name of the column or key that holds the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: tokens per example, special ones included; by default what the model takes,
            at most 512. Longer texts are truncated.
        max_examples: largest number of examples.
        seed: random seed.
        start: initial weights of students: name or folder of the checkpoint before fine-tuning,
            whose head is then random; ``scratch``, random weights; or ``base``, the weights of
            the model itself. Required, except for the embedded classifier, where it is
            ``base``.
        held_out: held-out texts for evaluation; by default a random fifth of the source.
        heads: heads of these layers; by default all.
        rows: rows of attention that count: of ``all`` tokens, of the ``first`` token ([CLS]) or
            of the ``last``.
        keep_special: exclude special tokens ([CLS], [SEP]) as keys, and renormalize rows.
        predictions: distance between the predictions of student and model: cross-entropy to its
            ``labels``, or total variation (``tvd``).
        distance: distance between the attention of student and model, which is maximized:
            ``kl``, KL(student ‖ model), or ``jsd``, which is bounded.
        lambdas: weights λ of the distance between attention, a mean over rows and heads; 0 is
            always among them.
        repeats: students of each λ, which differ in their seeds only; the same number is
            trained on the gold labels.
        epochs: epochs of training.
        learning_rate: peak learning rate of AdamW, after a tenth of the steps; then it falls to
            0.
        batch_size: texts in a step.
        processes: students trained in parallel, each in one thread; by default the number of
            cores, on an accelerator one. Each holds the model twice.
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
    batch_tokens: int | None | Literal['auto'] = None,
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
    """Train models that read every token by itself with the attention of a classifier.

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
        kind: kind of attention; by default the first that the model has.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; it changes the last bits of results.
            By default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
        format: format of the files; by default inferred from suffix or first line. Texts:
            ``tsv``, ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``,
            ``cola``, ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys that hold a text, or two of a pair; for a tagger
            the numbers, from 1, of the columns of word and tag. By default the usual names, and
            the first and the last column.
        label_column: name of the column or key that holds the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: tokens per example, special ones included; by default what the model takes,
            at most 512. Longer texts are truncated.
        max_examples: largest number of examples.
        seed: random seed.
        keep: write models, attention for each text and predictions into ``kept`` of the run's
            folder.
        measures: guides: of attention ``weight``, ``norm`` and ``effective``; ``attribution``,
            the contributions of input tokens to hidden ones, which is slow; and
            ``gradient_input``, the gradient of the probability times the embedding. Uniform,
            random and learned attention are always included; for a tagger, attention of each
            word to itself in place of the learned one.
        rows: rows of attention that represent the text: the ``mean`` of all, that of the
            ``first`` token ([CLS]), or of the ``last``.
        attribution: computation of contributions, if they are among the measures.
        also: further classifiers with the same tokenizer, whose weights are given: names or
            folders, such as the students that `headlight adversary` has kept.
        held_out: held-out texts for evaluation; by default a random fifth of the source.
        width: width of the token vectors.
        repeats: models of each guide, which differ in their seeds only.
        epochs: epochs of training.
        learning_rate: peak learning rate of Adam, after a tenth of the steps; then it falls to
            0.
        processes: models trained in parallel, each in one thread; by default the number of
            cores.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.

    Source: Wiegreffe and Pinter 2019, Section 3.4.
    """
    ...
