"""Attention heads as resolvers of coreference (Clark et al. 2019, Section 4.3, Table 2)."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import xarray

from headlight import encode
from headlight.analysis.batch_runner import BatchRunner
from headlight.analysis.gradient_passes import Pass, passes
from headlight.analysis.passes import observe
from headlight.capture import AttentionSite, CapturedModel, Kind, Objective
from headlight.corpora import CoreferenceDocument, Corpus, open_coreference
from headlight.encode import Counts, EncodedSpan
from headlight.encode.batch import Batch
from headlight.errors import CorpusError, UsageError
from headlight.result import joined, versions
from headlight.run import State
from headlight.studies.coreference.observer import AntecedentObserver
from headlight.studies.coreference.result import to_dataset
from headlight.studies.coreference.settings import CoreferenceSettings
from headlight.studies.coreference.task import AntecedentExample, AntecedentExamples

LEFT_OUT = ("empty", "unencodable", "truncated", "lost_tokens")
"""What became of documents on their way to windows, see `headlight.encode.Counts`."""

Source = str | Path | Iterable[CoreferenceDocument]


def coreference_heads(
    corpus: Source,
    model: CapturedModel,
    *,
    objective: Objective | None = None,
    folder: Path | str | None = None,
    resume: bool = False,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How often each head links a mention to an antecedent, and how often three baselines do.

    "What percent of the time does the head word of a coreferent mention most attend to the head of
    one of that mention's antecedents" (Clark et al. 2019, Section 4.3).  Attention is taken between
    whole words (Section 4.1), special tokens left out.  What the paper leaves open is in the
    settings; by default heads and baselines are on a par: both pick among the mentions before.

    Args:
        corpus: a path or pattern for `headlight.corpora.open_coreference`, or documents that can be
            iterated again.
        model: the model.
        objective: the loss of which the ``gradient`` is taken, in a pass of its own.
        folder: where to keep what is half done; None keeps it in memory.
        resume: go on with what is in the folder.
        progress: show a bar on standard error.
        settings: see `CoreferenceSettings` and `TaskSettings`.

    Returns:
        ``correct``, ``accuracy`` and its 95% interval ``low`` to ``high`` by measure, layer, head
        (zero-based), direction (who attends: the ``mention`` or the ``antecedent``) and kind of
        mention; ``count``; and the same of the baselines.  Accuracies are between 0 and 1,
        intervals from resampled documents.  Attributes count documents, windows and mentions, also
        those left out.  `systems_table` makes Table 2 of it.

    Raises:
        UsageError: something does not fit together: measures, layers, lengths, folder.
        CorpusError: the corpus cannot be read, or holds no mention with an antecedent.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: what is in the folder is of another model, corpus or setting.
    """
    chosen = CoreferenceSettings(**settings)
    place = None if folder is None else Path(folder)
    wanted = passes(chosen.measures, objective, chosen.attribution, place)
    task = _planned(corpus, model, chosen)
    parts = []
    for one in wanted:
        state = _run(task, one, resume=resume, progress=progress)
        parts.append(to_dataset(state.tally, task.sites, one.measures, _attributes(task, state)))
    return joined(parts).sel(measure=list(chosen.measures))


@dataclass(frozen=True)
class _Task:
    """What is to be run."""

    source: str
    model: CapturedModel
    kind: Kind
    sites: list[AttentionSite]
    windows: "_Windows"
    examples: AntecedentExamples
    settings: CoreferenceSettings


class _Windows:
    """Windows of documents, made anew each time; `counts` is of the latest time."""

    def __init__(
        self,
        documents: Iterable[CoreferenceDocument],
        tokenizer: Any,
        settings: CoreferenceSettings,
    ) -> None:
        self.counts = Counts()
        self.documents = documents
        self._tokenizer = tokenizer
        self._settings = settings

    def __call__(self) -> Iterator[EncodedSpan]:
        made = encode.documents(
            islice(self.documents, self._settings.max_documents),
            self._tokenizer,
            max_length=self._settings.max_length,
            overlap=self._settings.overlap,
            unencodable=self._settings.unencodable,
        )
        windows = iter(made)
        self.counts = made.counts
        return (window for window in windows if isinstance(window, EncodedSpan))


def _planned(corpus: Source, model: CapturedModel, settings: CoreferenceSettings) -> _Task:
    documents = open_coreference(corpus) if isinstance(corpus, str | Path) else corpus
    if isinstance(documents, Iterator):
        raise UsageError(
            "the corpus is read more than once; give a list of documents, or what open_coreference "
            "returns."
        )
    if model.tokenizer is None:
        raise UsageError(f"{model.name} has no tokenizer, and documents are text.")
    if model.longest is not None and settings.max_length > model.longest:
        raise UsageError(
            f"max_length is {settings.max_length}, and {model.name} takes at most "
            f"{model.longest} tokens; allow fewer."
        )
    if model.has_decoder_inputs:
        if settings.kind == "decoder":
            raise UsageError(
                f"the decoder of {model.name} reads a second text, and a document is one; choose "
                "the encoder."
            )
        model = model.encoder()
    kind = settings.kind or model.kinds[0]
    windows = _Windows(documents, model.tokenizer, settings)
    return _Task(
        source=documents.source if isinstance(documents, Corpus) else "documents",
        model=model,
        kind=kind,
        sites=model.sites_of(kind, settings.layers),
        windows=windows,
        examples=AntecedentExamples(windows, settings),
        settings=settings,
    )


def _run(task: _Task, one: Pass, *, resume: bool, progress: bool) -> State:
    def observer(batch: Batch, examples: Sequence[AntecedentExample]) -> AntecedentObserver:
        return AntecedentObserver(batch, examples, task.sites, task.settings, one.measures)

    step = BatchRunner(
        task.model,
        task.sites,
        observer,
        task.settings.batch_tokens,
        objective=one.objective,
        attribution=one.attribution,
    )
    state = observe(
        task.examples,
        step,
        signature={**_signature(task), **one.signature()},
        folder=one.folder,
        resume=resume,
        progress=progress,
    )
    if not state.examples:
        raise CorpusError(
            f"{task.source}: no mention has an antecedent in its window; is the corpus annotated "
            "for coreference, and max_length large enough?"
        )
    if not task.examples.counts.windows:  # an earlier process has seen the corpus
        for _ in task.examples:
            pass
    return state


def _signature(task: _Task) -> dict[str, Any]:
    """Everything that must be equal for two passes to be parts of one."""
    model = task.model
    return {
        **asdict(task.settings),
        "kind": task.kind,
        "layers": [site.layer for site in task.sites],
        "model": model.name,
        "revision": model.revision,
        "dtype": str(model.transformer.dtype).removeprefix("torch."),
        "corpus": task.source,
    }


def _attributes(task: _Task, state: State) -> Mapping[str, Any]:
    """What would have to be repeated to get the same, and what was left out."""
    signature = _signature(task)
    return {
        "title": "Heads as resolvers of coreference",
        **{name: signature[name] for name in ("model", "revision", "kind", "corpus")},
        "corpus_digest": state.digest,
        "tokens": state.tokens,
        **asdict(task.examples.counts),
        **{name: getattr(task.windows.counts, name) for name in LEFT_OUT},
        "broken": getattr(task.windows.documents, "skipped", 0),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(versions()),
        "settings": json.dumps(signature),
    }
