"""Heads as parsers: how often the word a head attends to most is the governor, or the dependent."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, cast

import xarray

from headlight.analysis.batch_runner import BatchRunner
from headlight.analysis.gradient_passes import Pass, passes
from headlight.analysis.passes import observe
from headlight.capture import AttentionSite, CapturedModel, Kind, Objective
from headlight.corpora import Corpus, Sentence, open_treebank
from headlight.encode import EncodedSentence, Examples, sentences as encode_sentences
from headlight.encode.batch import Batch
from headlight.errors import CorpusError, UsageError
from headlight.result import joined, versions
from headlight.run import State
from headlight.studies.dependency.gold import TreebankSummary, summarize
from headlight.studies.dependency.observer import DependencyObserver
from headlight.studies.dependency.result import to_dataset
from headlight.studies.dependency.settings import DependencySettings

LONGEST_DEFAULT = 512


def dependency_heads(
    treebank: str | Path | Iterable[Sentence],
    model: CapturedModel,
    *,
    objective: Objective | None = None,
    folder: Path | str | None = None,
    resume: bool = False,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How well every head, in both directions, finds the governor of a word, by relation.

    The treebank is read twice, once for its relations and once through the model; a third time, and
    backward, for the ``gradient``.  Memory does not grow with it.

    Args:
        treebank: a path for `headlight.corpora.open_treebank`, or sentences that can be iterated
            more than once.
        model: the model.
        objective: the loss of which the ``gradient`` is taken.
        folder: where to keep what is half done; None keeps it in memory.
        resume: go on with what is in the folder.
        progress: show a bar on standard error.
        settings: see `DependencySettings`.

    Returns:
        Accuracy of every measure, layer, head, direction and relation with its interval, the
        baselines, and the counts; `best_heads` makes Table 1 of it.  Layers and heads from 0.

    Raises:
        UsageError: something does not fit together: measures, layers, lengths, folder.
        CorpusError: the treebank cannot be read, has no trees, or no sentence is short enough.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: what is in the folder is of another model, treebank or setting.

    Source: Clark et al. (2019), Section 4.2, Table 1 and Figure 5, and their notebook.
    """
    chosen = DependencySettings(**settings)
    place = None if folder is None else Path(folder)
    wanted = passes(chosen.measures, objective, chosen.attribution, place)
    task = _planned(treebank, model, chosen)
    parts = [_passed(task, each, resume=resume, progress=progress) for each in wanted]
    return joined(parts).sel(measure=list(chosen.measures))


@dataclass(frozen=True)
class _Task:
    """What is to be run."""

    source: str
    treebank: Iterable[Sentence]
    model: CapturedModel
    kind: Kind
    sites: list[AttentionSite]
    summary: TreebankSummary
    examples: Examples
    settings: DependencySettings


def _planned(
    treebank: str | Path | Iterable[Sentence], model: CapturedModel, settings: DependencySettings
) -> _Task:
    opened = open_treebank(treebank) if isinstance(treebank, str | Path) else treebank
    if isinstance(opened, Iterator):
        raise UsageError(
            "the treebank is read more than once; give a list of sentences, or what open_treebank "
            "returns."
        )
    if model.tokenizer is None:
        raise UsageError(f"{model.name} has no tokenizer, and a treebank is text.")
    if model.has_decoder_inputs:
        if settings.kind == "decoder":
            raise UsageError(
                f"the decoder of {model.name} reads a second text, and a treebank has one; "
                "choose the encoder."
            )
        model = model.encoder()
    kind = settings.kind or model.kinds[0]
    return _Task(
        source=opened.source if isinstance(opened, Corpus) else "sentences",
        treebank=opened,
        model=model,
        kind=kind,
        sites=model.sites_of(kind, settings.layers),
        summary=summarize(islice(opened, settings.max_sentences), settings.relations),
        examples=_examples(opened, model, settings),
        settings=settings,
    )


def _examples(
    treebank: Iterable[Sentence], model: CapturedModel, settings: DependencySettings
) -> Examples:
    tokenizer: Any = model.tokenizer
    longest = model.longest
    length = settings.max_length or min(LONGEST_DEFAULT, longest or LONGEST_DEFAULT)
    if longest is not None and length > longest:
        raise UsageError(
            f"max_length is {length}, and {model.name} takes at most {longest} tokens; allow fewer."
        )
    return encode_sentences(
        _First(treebank, settings.max_sentences),
        tokenizer,
        max_length=length,
        overflow=settings.overflow,
        unencodable=settings.unencodable,
    )


@dataclass(frozen=True)
class _First:
    """The first sentences of a treebank; it can be iterated again."""

    treebank: Iterable[Sentence]
    number: int | None

    def __iter__(self) -> Iterator[Sentence]:
        return islice(self.treebank, self.number)


def _passed(task: _Task, one: Pass, *, resume: bool, progress: bool) -> xarray.Dataset:
    """One pass of the model over the treebank."""
    codes = {name: number for number, name in enumerate(task.summary.relations)}

    def observer(batch: Batch, examples: Sequence[EncodedSentence]) -> DependencyObserver:
        return DependencyObserver(batch, examples, task.sites, task.settings, one.measures, codes)

    signature = _signature(task, one)
    step = BatchRunner(
        task.model,
        task.sites,
        observer,
        task.settings.batch_tokens,
        objective=one.objective,
        attribution=one.attribution,
    )
    state = observe(
        cast("Iterable[EncodedSentence]", task.examples),
        step,
        signature=signature,
        folder=one.folder,
        resume=resume,
        progress=progress,
    )
    if not state.examples:
        raise CorpusError(
            f"{task.source}: no sentence can be given to {task.model.name}; are they all longer "
            "than max_length?"
        )
    if not task.examples.counts.examples:  # measured by an earlier process: count what is left out
        for _ in task.examples:
            pass
    attributes = _attributes(task, state, signature)
    relations = task.summary.relations
    return to_dataset(state.tally, task.settings, one.measures, relations, task.sites, attributes)


def _signature(task: _Task, one: Pass) -> dict[str, Any]:
    """Everything that must be equal for two runs to be parts of one."""
    model = task.model
    return {
        **asdict(task.settings),
        **one.signature(),
        "kind": task.kind,
        "layers": [site.layer for site in task.sites],
        "model": model.name,
        "revision": model.revision,
        "dtype": str(model.transformer.dtype).removeprefix("torch."),
        "corpus": task.source,
        "trees": task.summary.digest,
    }


def _attributes(task: _Task, state: State, signature: dict[str, Any]) -> dict[str, Any]:
    """What would have to be repeated to get the same, and what was left out."""
    counts = task.examples.counts
    sentences, words, cut, lost = map(int, state.tally["sentences"].compute()["total"])
    return {
        "title": "Heads as parsers",
        **{name: signature[name] for name in ("model", "revision", "kind", "corpus")},
        "corpus_digest": state.digest,
        "trees_digest": task.summary.digest,
        "sentences": sentences,
        "words": words,
        "tokens": state.tokens,
        "cut_words": cut,
        "lost_words": lost,
        "too_long": counts.too_long,
        "unencodable": counts.unencodable,
        "truncated": counts.truncated,
        "broken": getattr(task.treebank, "skipped", 0),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(versions()),
        "settings": json.dumps(signature),
    }
