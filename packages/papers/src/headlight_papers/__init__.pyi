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
        kind: stack whose hidden tokens are analysed; by default the first that the model has.
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
        attribution: computation of contributions.
        reach: largest relative position, before and after a token, that is reported separately.
        tags: parts of speech by which pieces of words are grouped: ``upos`` or ``xpos`` of
            treebank sentences; None for texts without tags.
        exact: number of examples that are also computed exactly, in some 20 times the time, to
            measure the error of the estimate; 0 for none.
        exact_tokens: maximal length of the examples computed exactly, in tokens; time grows
            with its square.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        kind: stack whose hidden tokens are analysed; by default the first that the model has.
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
        maps: maps from hidden to input tokens: ``naive`` is the identity, ``linear`` a matrix,
            ``mlp`` two matrices with a GELU between them.
        losses: distances for training maps and for nearest neighbours.
        solver: solver of linear maps: ``adam``, or ``ridge``, in closed form.
        target: target of the maps: the ``input`` token, or the output of the ``previous_layer``
            (for the lowest layer, the input).
        offsets: positions of the tokens to recover, relative to the hidden token; 0 is the
            token itself, 1 the next.
        fractions: shares of the training sequences that are used.
        across: also test the map of each layer on all other layers.
        folds: number of random splits into 70% training, 15% validation and 15% test sequences.
        training: training of the maps.
        rate_search: search for the learning rate: for ``each`` map, or ``shared``, the best for
            the highest layer and the first fold, as in the paper.
        memory: maximal memory of hidden tokens, beyond which they are stored in files, and of
            maps in training together, in bytes.
        cache: folder of hidden tokens and rates, in place of `folder`; studies of the same
            tokens can share one.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        format: format of the files; by default inferred from suffix or first line. Texts:
            ``tsv``, ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``,
            ``cola``, ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys of the text, or of both texts of a pair; for a
            tagger the numbers, from 1, of the columns of word and tag. By default the usual
            names, and the first and the last column.
        label_column: name of the column or key of the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: maximal number of tokens per example, special ones included; by default that
            of the model, at most 512. Longer texts are truncated.
        max_examples: maximal number of examples.
        seed: random seed.
        keep: write the random draws of each text, and the predictions after each, into ``kept``
            of the run's folder.
        changes: replacements of attention: the weights ``permuted`` over the keys that a query
            sees; ``uniform`` weights; all weight on the key with the ``largest`` weight, or on
            a ``random`` key.
        by: units of replacement: the attention of ``all`` layers under study, of each
            ``layer``, or of each ``head``, with the passes of ``layer`` for each head of a
            layer.
        rows: rows that are replaced: those of ``all`` tokens, of the ``first`` token ([CLS]),
            or of the ``last``.
        keep_special: leave the weights of special tokens ([CLS], [SEP]) unchanged.
        shuffles: number of permutations of each text; the median of their effects is reported.
        sample: number of texts in the figures (largest weight, change).

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        batch_tokens: tokens in a batch, padding included; all candidates of its texts run at
            once.
        format: format of the files; by default inferred from suffix or first line. Texts:
            ``tsv``, ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``,
            ``cola``, ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys of the text, or of both texts of a pair; for a
            tagger the numbers, from 1, of the columns of word and tag. By default the usual
            names, and the first and the last column.
        label_column: name of the column or key of the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: maximal number of tokens per example, special ones included; by default that
            of the model, at most 512. Longer texts are truncated.
        max_examples: maximal number of examples.
        seed: random seed.
        keep: write the attention of each text, found and original, into ``kept`` of the run's
            folder.
        by: units of change, each with a search of its own: the attention of ``all`` layers
            under study, of each ``layer``, or of each ``head``.
        rows: rows that are changed: those of ``all`` tokens, of the ``first`` token ([CLS]), or
            of the ``last``.
        epsilon: maximal total variation distance between the predictions.
        margin: total variation distance below which the search does not penalize a change.
        candidates: number of parallel searches; the best one is used.
        steps: maximal number of steps of Adam.
        learning_rate: learning rate of Adam.
        patience: steps without a lower loss before the search in a text stops; ``auto`` for all
            steps.
        take: step whose attention is used: the ``best``, or the ``last``, as in the released
            code.
        exact: alternatives that leave all outputs unchanged: for each row a ``corner`` found by
            one linear program, the ``farthest`` of several, or ``none``.
        sample: number of texts in the figures (largest weight, divergences).

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        format: format of the files; by default inferred from suffix or first line. Texts:
            ``tsv``, ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``,
            ``cola``, ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys of the text, or of both texts of a pair; for a
            tagger the numbers, from 1, of the columns of word and tag. By default the usual
            names, and the first and the last column.
        label_column: name of the column or key of the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: maximal number of tokens per example, special ones included; by default that
            of the model, at most 512. Longer texts are truncated.
        max_examples: maximal number of examples.
        seed: random seed.
        start: initial weights of students: name or folder of the checkpoint before fine-tuning,
            with a random head; ``scratch``, random weights; or ``base``, the weights of the
            model itself. Required, except for the embedded classifier, where it is ``base``.
        held_out: held-out texts for evaluation; by default a random fifth of the source.
        heads: heads of the observed layers; by default all.
        rows: rows of attention in the distance: those of ``all`` tokens, of the ``first`` token
            ([CLS]), or of the ``last``.
        keep_special: exclude special tokens ([CLS], [SEP]) as keys, and renormalize rows.
        predictions: distance between the predictions of student and model: cross-entropy with
            the ``labels`` of the model, or total variation distance (``tvd``).
        distance: distance between the attention of student and model, which is maximized:
            ``kl``, KL(student ‖ model), or ``jsd``, which is bounded.
        lambdas: weights λ of the distance between attention, a mean over rows and heads; 0 is
            always included.
        repeats: number of students for each λ, which differ in their seeds only; the same
            number is trained on the gold labels.
        epochs: epochs of training.
        learning_rate: peak learning rate of AdamW, after linear warm-up over a tenth of the
            steps and before linear decay to 0.
        batch_size: texts in a training step.
        processes: number of students trained in parallel, each in one thread and with two
            copies of the model; by default the number of cores, and 1 on an accelerator.
        keep_models: save every student in ``models`` of the run's folder, for other studies.

    Raises:
        HeadlightError: the request, the model or the source is refused.

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
        format: format of the files; by default inferred from suffix or first line. Texts:
            ``tsv``, ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``,
            ``cola``, ``mrpc``, ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys of the text, or of both texts of a pair; for a
            tagger the numbers, from 1, of the columns of word and tag. By default the usual
            names, and the first and the last column.
        label_column: name of the column or key of the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        max_length: maximal number of tokens per example, special ones included; by default that
            of the model, at most 512. Longer texts are truncated.
        max_examples: maximal number of examples.
        seed: random seed.
        keep: write models, the attention of each text and predictions into ``kept`` of the
            run's folder.
        measures: measures of the classifier that guide a model: ``weight``, ``norm`` and
            ``effective`` of attention; ``attribution``, contributions of input tokens to hidden
            ones (slow); and ``gradient_input``, the gradient of the probability times the
            embedding. Uniform, random and learned attention are always included; for a tagger,
            attention of each word to itself instead of learned attention.
        rows: rows of attention that represent the text: the ``mean`` of all, that of the
            ``first`` token ([CLS]), or that of the ``last``.
        attribution: computation of contributions, if they are among the measures.
        also: further classifiers with the same tokenizer, whose weights are guides as well:
            names or folders, such as those of students kept by headlight adversary.
        held_out: held-out texts for evaluation; by default a random fifth of the source.
        width: dimension of the token vectors.
        repeats: number of models for each guide, which differ in their seeds only.
        epochs: epochs of training.
        learning_rate: peak learning rate of Adam, after linear warm-up over a tenth of the
            steps and before linear decay to 0.
        processes: number of models trained in parallel, each in one thread; by default the
            number of cores.

    Raises:
        HeadlightError: the request, the model or the source is refused.

    Source: Wiegreffe and Pinter 2019, Section 3.4.
    """
    ...
