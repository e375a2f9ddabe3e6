"""Plans of studies that look at classifiers: what they read, and what comes out of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from headlight.analysis import ClassifierSettings
from headlight.analysis.plan import StudyPlan, check_tokenizer, choose_length, choose_sites
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
    """The token at which a model that reads its text twice is asked for the class.

    Raises:
        UsageError: texts do not end in it.
    """
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
    """The corpus that a classifier of this task reads.

    Raises:
        UsageError: the format is unknown, or options do not go together.
        CorpusError: it cannot be opened.
    """
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
        """Count the end-of-text tokens of an example, which must be as many as in those `before`.

        Raises:
            CorpusError: the numbers differ.
        """
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
