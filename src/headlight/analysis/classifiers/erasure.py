"""Texts without some of their words, and what a model says of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Float64, Int64

from headlight.analysis.classifiers.plan import Classified, LabelPositions
from headlight.analysis.classifiers.predictor import Predicted, Words
from headlight.analysis.settings import Removal
from headlight.capture import CapturedModel, Classes
from headlight.encode import Encoded, length_batches
from headlight.encode.assembly import Assembly
from headlight.encode.batch import Batch
from headlight.errors import UsageError

E = TypeVar("E", bound=Encoded)

Probabilities = Float64[np.ndarray, " class"]
Order = Int64[np.ndarray, " _"]
"""The words of a text, the most important first."""


@dataclass(frozen=True, slots=True)
class Cut(Generic[E]):
    """A text without some of its words.

    Attributes:
        example: what the model reads.
        hidden: tokens of it that no other token may attend to.
    """

    example: E
    hidden: tuple[int, ...] = ()


def cut(example: E, words: Words, removal: Removal, mask: int | None) -> Cut[E]:
    """The text without these words.

    Args:
        example: a text.
        words: all pieces of these are removed.
        removal: ``mask`` puts the mask token in the place of each piece, ``delete`` leaves the
            pieces out, ``attention`` keeps them and hides them from attention.
        mask: the id of the mask token.
    """
    gone = tuple(at for at, word in enumerate(example.words) if word in words)
    if removal == "attention":
        return Cut(example, gone)
    if removal == "mask":
        assert mask is not None  # noqa: S101 - checked before the model ran
        ids = tuple(mask if at in gone else token for at, token in enumerate(example.ids))
        return Cut(replace(example, ids=ids))
    kept = [at for at in range(len(example.ids)) if at not in gone]
    return Cut(
        replace(
            example,
            ids=tuple(example.ids[at] for at in kept),
            segments=tuple(example.segments[at] for at in kept),
            categories=tuple(example.categories[at] for at in kept),
            words=tuple(example.words[at] for at in kept),
        )
    )


def mask_id(model: CapturedModel, removals: Iterable[Removal]) -> int | None:
    """The id of the mask token, where words are to be masked.

    Raises:
        UsageError: the tokenizer has none.
    """
    found = getattr(model.tokenizer, "mask_token_id", None)
    if "mask" in removals and found is None:
        raise UsageError(
            f"the tokenizer of {model.name} has no mask token; words can be removed by "
            "delete or attention."
        )
    return None if found is None else int(found)


def check_removals(model: CapturedModel, classes: Classes, removals: Iterable[Removal]) -> None:
    """Refuse to remove words from what a model reads, where that cannot be.

    Raises:
        UsageError: the model has no mask token, nothing would be left of a text, or a tagger would
            have to predict classes of words that are gone.
    """
    ways = set(removals)
    if classes.task == "token" and "delete" in ways:
        raise UsageError(
            f"{model.name} predicts a class for every word, and there is no prediction for one "
            "that is left "
            "out; words can be removed by mask or attention."
        )
    mask_id(model, ways)
    tokenizer = model.require_tokenizer("a study reads text")
    if ways & {"delete", "attention"} and not Assembly.of(tokenizer).single.size:
        raise UsageError(
            f"the tokenizer of {model.name} adds no special tokens, so that without its words "
            "nothing is left of a text; they can be removed by mask."
        )


@dataclass(eq=False, repr=False)
class Answers(ABC, Generic[E]):
    """What a model says of the texts of a batch without some of their words.

    The same words of a text are removed only once, for all callers.

    Attributes:
        model: It is run.
        examples: The texts.
        removal: How words are removed.
        mask: The id that a masked piece becomes.
        batch_tokens: Tokens that run together at most.
    """

    model: CapturedModel
    examples: Sequence[E]
    removal: Removal
    mask: int | None
    batch_tokens: int
    _known: dict[tuple[int, Words], Predicted] = field(default_factory=dict, init=False)

    def ask(self, wanted: Iterable[tuple[int, Words]]) -> None:
        """Run the model on texts, by their numbers, without these words, as far as it is needed."""
        missing = [each for each in dict.fromkeys(wanted) if each not in self._known]
        cuts = [cut(self.examples[text], words, self.removal, self.mask) for text, words in missing]
        for chosen in length_batches([each.example for each in cuts], self.batch_tokens):
            found = self._run([cuts[at] for at in chosen])
            self._known |= {missing[at]: row for at, row in zip(chosen, found, strict=True)}

    def without(self, text: int, words: Words) -> Predicted:
        """The probabilities, once they were asked for."""
        return self._known[text, words]

    def _run(self, cuts: Sequence[Cut[E]]) -> list[Predicted]:
        examples = [each.example for each in cuts]
        return self._read(examples, _hiding(self.model.collate(examples), cuts))

    @abstractmethod
    def _read(self, examples: Sequence[E], batch: Batch) -> list[Predicted]:
        """What the model says of each text of a batch."""


class Predictions(Answers[Classified]):
    """Those of a classifier of texts, or of tokens.

    A tagger predicts classes of removed words as well, where they stood.
    """

    def __init__(
        self,
        model: CapturedModel,
        examples: Sequence[Classified],
        removal: Removal,
        batch_tokens: int,
    ) -> None:
        super().__init__(model, examples, removal, mask_id(model, (removal,)), batch_tokens)

    def _read(self, examples: Sequence[Classified], batch: Batch) -> list[Predicted]:
        positions = LabelPositions(examples, self.model.transformer.device)
        found = positions.probabilities(self.model, batch).numpy()
        return [found[positions.owners == text] for text in range(len(examples))]


def _hiding(batch: Batch, cuts: Sequence[Cut[E]]) -> Batch:
    """The batch with some tokens hidden from attention."""
    places = [(row, at) for row, each in enumerate(cuts) for at in each.hidden]
    if not places:
        return batch
    mask = batch.attention_mask.clone()
    rows, columns = zip(*places, strict=True)
    mask[list(rows), list(columns)] = 0
    return replace(batch, attention_mask=mask)
