"""Studies of classifiers: what they read, what comes out, and a pass over labelled texts."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
import xarray
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from headlight.analysis import ClassifierSettings, KeepSettings
from headlight.analysis.batch_runner import Observer, Texts, units_of
from headlight.analysis.folder import KEPT, RunFolder, claim_work_folder
from headlight.analysis.plan import StudyPlan, check_tokenizer, choose_length, choose_sites
from headlight.analysis.runner import run_study
from headlight.analysis.variables import Variable, described, long_names, with_slots
from headlight.analysis.word_study import CorpusStudy
from headlight.capture import CapturedModel, Classes
from headlight.corpora import Corpus, TaggedSentence, open_sentence_pairs, open_tagged
from headlight.encode import (
    Counts,
    Encoded,
    EncodedPair,
    EncodedSentence,
    Examples,
    annotate,
    sentence_pairs,
    sentences,
)
from headlight.encode.batch import Batch
from headlight.errors import CaptureError, CorpusError, UsageError, setting
from headlight.files import Location
from headlight.reduce import Accumulator, Moments, Slots, Tally
from headlight.result import save

LabelledSource = str | Location | Iterable[Any] | Corpus
"""A path, a pattern, ``hf:NAME``, an open corpus, or tuples: of a text and its label, or of the
words and the tags of a sentence."""

Outputs = Float64[Tensor, "output class"]
"""The probabilities of the classes: of each text, or of each word of each sentence."""


@dataclass(frozen=True, slots=True)
class Classified(Encoded):
    """A text or a sentence with the numbers of its classes.

    Attributes:
        labels: One of a text; of a sentence that of each word.
        places: Of a sentence the first token of each word, where its class is read off.
    """

    labels: tuple[int, ...] = field(kw_only=True)
    places: tuple[int, ...] = field(default=(), kw_only=True)


def plan_classifier_study(
    name: str,
    title: str,
    source: LabelledSource,
    model: CapturedModel,
    settings: ClassifierSettings,
) -> tuple[StudyPlan[Classified], Classes]:
    """Choose what runs, and say which classes there are; nothing of it runs yet.

    Args:
        name: of the study.
        title: what the result is about.
        source: see `LabelledSource`.
        model: a classifier of texts, or of tokens.
        settings: those of the study.

    Raises:
        MissingHeadError: the model is no classifier.
        UsageError: something does not fit together: classes, kinds, layers, lengths, columns.
        CorpusError: the corpus cannot be opened.
    """
    tokenizer: Any = check_tokenizer(model)
    classes = Classes.of(model, settings.class_names)
    kind, sites = choose_sites(model, settings)
    end = _end_of_texts(model, tokenizer)
    corpus = open_labelled(source, settings, classes)
    length = choose_length(model, settings.max_length)
    encoded: Examples[EncodedPair] | Examples[EncodedSentence]
    if classes.task == "sequence":
        encoded = sentence_pairs(corpus, tokenizer, max_length=length)
    else:
        encoded = sentences(corpus, tokenizer, max_length=length, overflow="truncate")
    plan = StudyPlan(
        name=name,
        title=title,
        source=corpus.source,
        model=model,
        kind=kind,
        sites=sites,
        examples=_Classified(encoded, classes, end),
        settings=settings,
        max_examples=settings.max_examples,
        options={"classes": list(classes.names)},
        if_empty="are its texts empty?",
        corpus=corpus,
    )
    return plan, classes


def _end_of_texts(model: CapturedModel, tokenizer: Any) -> int | None:
    """Return the token at which a model that reads its text twice is asked for the class."""
    if not model.reads_twice:
        return None
    config: Any = model.transformer.config
    end = config.eos_token_id
    if end is None or end not in tokenizer("").input_ids:
        raise UsageError(
            f"{model} reads its class off the end-of-text token, and its tokenizer does not "
            f"put it behind a text; give the tokenizer of the model with {setting('tokenizer=')}."
        )
    return int(end)


def open_labelled(
    source: LabelledSource, settings: ClassifierSettings, classes: Classes
) -> Corpus[Any]:
    """Return the corpus that a classifier of this task reads."""
    if classes.task == "sequence":
        return open_sentence_pairs(
            source, format=settings.format, columns=settings.columns, label=settings.label_column
        )
    if settings.label_column is not None:
        raise UsageError(
            f"the tags of words are in a numbered column; name it with {setting('columns=')}, and "
            f"leave out {setting('label_column')}."
        )
    return open_tagged(source, format=settings.format, columns=settings.columns)


@dataclass(eq=False, repr=False)
class _Classified:
    """Examples with the numbers of their classes, every time they are read."""

    examples: Examples[EncodedPair] | Examples[EncodedSentence]
    classes: Classes
    end: int | None

    @property
    def counts(self) -> Counts:
        """Return the counts of the texts in the latest iteration."""
        return self.examples.counts

    def __iter__(self) -> Iterator[Classified]:
        ends: int | None = None
        for example in self.examples:
            ends = self._check_ends(example, ends)
            if isinstance(example, EncodedPair):
                label = self.classes.number(example.label, example.name)
                yield annotate(example, Classified, labels=(label,))
            else:
                yield self._of_sentence(example)

    def _check_ends(self, example: Encoded, before: int | None) -> int:
        """Count the end-of-text tokens of an example; refuse other numbers than `before`."""
        ends = example.ids.count(self.end) if self.end is not None else 0
        if before not in (None, ends):
            raise CorpusError(
                f"{example.name}: it ends {ends} times, and what stands before it {before} times "
                "(a pair among texts, say), which this model cannot read together; keep them in "
                "files of their own."
            )
        return ends

    def _of_sentence(self, example: EncodedSentence) -> Classified:
        sentence = example.sentence
        assert isinstance(sentence, TaggedSentence)  # noqa: S101 - the corpus is of these
        labels = tuple(
            self.classes.number(tag, f"{example.name}, word {word}")
            for word, tag in enumerate(sentence.tags[: example.kept], 1)
        )
        places = tuple(map(example.words.index, range(example.kept)))
        return annotate(example, Classified, labels=labels, places=places)


def require_finite_predictions(logits: Tensor, model: CapturedModel, batch: Batch) -> None:
    """Refuse predictions that are no numbers.

    Raises:
        CaptureError: they are not finite.
    """
    if not bool(logits.isfinite().all()):
        raise CaptureError(
            f"{model}: what it gives for {batch.names[0]} or a text beside it is not finite; "
            f"look at its weights, or load it in a wider precision ({setting('dtype=')})."
        )


class LabelPositions:
    """Positions of the predictions in the output of a classifier for a batch.

    Args:
        examples: Of the batch, in its order; padded on the right.
        device: Where the model is.

    Attributes:
        owners: For each prediction the number of its text in the batch.
        labels: For each prediction the class that it should be.
    """

    def __init__(self, examples: Sequence[Classified], device: torch.device | str) -> None:
        numbers = [len(example.labels) for example in examples]
        self.owners: Int64[np.ndarray, " output"] = np.repeat(np.arange(len(examples)), numbers)
        self.labels: Int64[np.ndarray, " output"] = np.array(
            [label for example in examples for label in example.labels], dtype=np.int64
        )
        self._texts = len(examples)
        of_tokens = any(example.places for example in examples)
        places = [place for example in examples for place in example.places]
        self._places = torch.tensor(places, device=device) if of_tokens else None
        self._rows = torch.tensor(self.owners, device=device)

    def predictions(
        self, logits: Float[Tensor, "batch *token class"]
    ) -> Float[Tensor, "output class"]:
        """Return the logits of a batch that are predictions, text by text."""
        return logits if self._places is None else logits[self._rows, self._places]

    def probabilities(self, model: CapturedModel, batch: Batch) -> Outputs:
        """One forward pass; the predictions, text by text.

        Raises:
            CaptureError: they are not finite.
        """
        chosen = self.predictions(model.run(batch).logits)
        require_finite_predictions(chosen, model, batch)
        probabilities: Outputs = chosen.cpu().double().softmax(-1)
        return probabilities

    def mean_by_text(self, values: Float[Tensor, "copy output"]) -> Float[Tensor, "copy text"]:
        """The mean over the predictions of each text, which can be differentiated."""
        sums = values.new_zeros(len(values), self._texts).index_add(1, self._rows, values)
        return sums / self._rows.bincount(minlength=self._texts)

    def by_text(
        self, values: Float64[np.ndarray, "output *cell"]
    ) -> Float64[np.ndarray, "text *cell"]:
        """The mean over the predictions of each text."""
        sums = np.zeros((self._texts, *values.shape[1:]))
        np.add.at(sums, self.owners, values)
        numbers = np.bincount(self.owners, minlength=self._texts)
        means: Float64[np.ndarray, "text *cell"] = sums / numbers.reshape(
            -1, *(1,) * (values.ndim - 1)
        )
        return means


def by_predicted_class(
    rows: Float64[np.ndarray, "text *cell"], chosen: Int64[np.ndarray, " text"], classes: int
) -> Float64[np.ndarray, "text group *cell"]:
    """The rows once for all texts, and once for the predicted class; NaN elsewhere."""
    grouped = np.full((len(rows), 1 + classes, *rows.shape[1:]), np.nan)
    grouped[:, 0] = rows
    grouped[np.arange(len(rows)), 1 + chosen] = rows
    return grouped


def class_shares(
    labels: Sequence[Sequence[int]], classes: int
) -> Float64[np.ndarray, "text class"]:
    """Return the share of each class among the labels of each text."""
    shares: Float64[np.ndarray, "text class"] = np.array(
        [np.bincount(each, minlength=classes) / len(each) for each in labels]
    )
    return shares


@dataclass(eq=False, repr=False)
class KeptFiles:
    """The folder ``kept`` of a run: NetCDF files, which `headlight.open` reads.

    The file of a text depends on model, settings and text alone: processes write the same.
    """

    run: Path
    study: str
    model: CapturedModel

    @property
    def folder(self) -> Path:
        """Make the folder and return it; refuse a link, or one with files that no run made."""
        return claim_work_folder(self.run / KEPT)

    def save(self, name: str, dataset: xarray.Dataset) -> None:
        """Write a file.

        Raises:
            ResultError: it cannot be written.
        """
        about = {"stage": f"{self.study}-kept", "model": self.model.name}
        revision = {"revision": self.model.revision} if self.model.revision else {}
        save(dataset.assign_attrs(about | revision), self.folder / f"{name}.nc")

    def save_text(self, example: Encoded, text_id: int, seed: int, dataset: xarray.Dataset) -> None:
        """Write the file of a text; its tokens and the number of its random draws are added."""
        about = {"name": example.name, "text_id": str(text_id), "seed": seed}
        ids = dataset.assign(input_ids=("token", list(example.ids)))
        self.save(f"{text_id:016x}", ids.assign_attrs(about))


def kept_files(
    settings: KeepSettings, folder: RunFolder | None, study: str, model: CapturedModel
) -> KeptFiles | None:
    """Return the files of a run's per-text values; None if they are not requested.

    Raises:
        UsageError: the run has no folder on this machine.
    """
    if not settings.keep:
        return None
    place = folder.place if folder else None
    if not isinstance(place, Path):
        raise UsageError(
            "what numbers are made of is kept in a folder of this machine; name one with "
            f"{setting('out=')}."
        )
    return KeptFiles(place, study, model)


S = TypeVar("S", bound=ClassifierSettings)

MAJORITY = "majority_accuracy"
"""The share of correct predictions of who always says the most frequent class."""

SCORES = long_names(
    {
        "own_accuracy": Variable("share of correct predictions", interval="share"),
        MAJORITY: Variable("share of correct predictions if all were of the most frequent class"),
    }
)


class ClassifierStudy(CorpusStudy[S]):
    """A study of a classifier; a subclass says what is observed, and what the result is.

    Args:
        source: see `headlight.analysis.classifier_study.LabelledSource`.
        model: a classifier of texts or of tokens.
        settings: of the study.

    Attributes:
        plan: what is run.
        classes: what the model tells apart.
        kept: where what numbers are made of is kept, if it is.

    Raises:
        MissingHeadError: the model is no classifier.
        UsageError: something does not fit together: classes, kinds, layers, lengths, columns.
        CorpusError: the corpus cannot be opened.
    """

    kept: KeptFiles | None = None

    def __init__(self, source: LabelledSource, model: CapturedModel, settings: S) -> None:
        self.model = model
        self.settings = settings
        self.plan, self.classes = plan_classifier_study(
            self.name, self.title, source, model, settings
        )
        self.check()

    def check(self) -> None:
        """Refuse what the study cannot be asked for, before anything runs.

        Raises:
            UsageError: it is so.
        """

    @abstractmethod
    def observe(self, batch: Batch, examples: Sequence[Classified]) -> Observer:
        """The observer of one batch."""

    @abstractmethod
    def dataset(self, tally: Tally) -> xarray.Dataset:
        """The result, made of what the observers of all batches saw."""

    def with_scores(self, tally: Tally) -> xarray.Dataset:
        """The result, and beside it how good the model is, and how good a constant would be.

        An observer that counts no scores, of another package say, leaves them out.
        """
        if tally.get("classes") is None:
            return self.dataset(tally)
        accuracy, classes = (tally[name].compute() for name in ("accuracy", "classes"))
        scores = with_slots("own_accuracy", (), accuracy["mean"], accuracy)
        scores[MAJORITY] = xarray.DataArray(classes["mean"].max())
        return self.dataset(tally).merge(described(scores, {}, SCORES), compat="equals")

    def result(
        self, *, folder: RunFolder | None, command: str | None, progress: bool
    ) -> xarray.Dataset:
        """Run the plan, or go on with it; see `run`."""
        if isinstance(self.settings, KeepSettings):
            self.kept = kept_files(self.settings, folder, self.name, self.model)
        return run_study(
            self.plan,
            lambda _, batch, examples: self.observe(batch, examples),
            lambda _, state: self.with_scores(state.tally),
            folder=folder,
            command=command,
            progress=progress,
        )


class ClassifierObserver(ABC, Generic[S]):
    """Base of observers of a classifier's batch."""

    def __init__(
        self, study: ClassifierStudy[S], batch: Batch, examples: Sequence[Classified]
    ) -> None:
        self._model = study.model
        self._settings = study.settings
        self._kept = study.kept
        self._sites = study.plan.sites
        self._classes = len(study.classes.names)
        self._shares = class_shares([each.labels for each in examples], self._classes)
        self._batch = batch
        self._examples = examples
        self._texts = Texts.of(batch, examples, self._sites[0].kind)
        self._positions = LabelPositions(examples, study.model.transformer.device)

    @abstractmethod
    def tally(self) -> Tally:
        """Return the tally of the batch."""

    @property
    def _text_ids(self) -> Int64[np.ndarray, " text"]:
        """A number of its own for every text."""
        return np.array(self._texts.text_ids, dtype=np.int64)

    def _scores(self, right: Float64[np.ndarray, " text"]) -> dict[str, Accumulator]:
        """Return the accuracy by text, and the shares of classes, which every tally has."""
        classes = Moments(self._shares.shape[1:])
        classes.update(self._shares)
        return {"accuracy": self._slots(right), "classes": classes}

    def _slots(self, rows: Float64[np.ndarray, "text *cell"]) -> Slots:
        """Return means over texts, and what blocks of the corpus add to them."""
        return Slots.of(units_of(self._examples), rows)
