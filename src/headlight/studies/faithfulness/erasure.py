"""Predictions after tokens are erased."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.analysis import Removal
from headlight.analysis.classifier_outputs import require_finite_predictions
from headlight.analysis.random_numbers import random_source
from headlight.analysis.word_importance import Words
from headlight.capture import CapturedModel
from headlight.capture.objectives import one_position_each
from headlight.encode import Encoded, annotate, length_batches
from headlight.encode.assembly import Assembly
from headlight.encode.batch import NO_WORD, Batch
from headlight.errors import MissingHeadError, UsageError, with_head

Predicts = Literal["class", "masked", "next"]
"""The class of a text, the token that a mask hides, or the next token."""


@dataclass(frozen=True, slots=True)
class Target(Encoded):
    """A text with what is predicted for it; `words` numbers what can be removed, from 0.

    Attributes:
        tokens: how many tokens or words can be removed; the one that predicts has the number after
            them, and stays.
        output: the one that is predicted: a class, or a token of the vocabulary.
    """

    tokens: int = field(kw_only=True)
    output: int = field(default=-1, kw_only=True)

    @property
    def place(self) -> int:
        """Return where the token that predicts stands; of a classifier 0, since it has none."""
        return self.words.index(self.tokens) if self.tokens in self.words else 0


def predicted_kind(model: CapturedModel) -> Predicts:
    """Return what the model predicts, as its head says.

    Raises:
        MissingHeadError: it has no head.
        UsageError: it predicts a class for every token, or reads a second text.
    """
    task, head = model.head.task, model.head.language
    if model.has_decoder_inputs:
        raise UsageError(
            f"{model} has an encoder and a decoder, and what it predicts rests on two texts; "
            "give a classifier or a language model that reads one."
        )
    if task == "token":
        raise UsageError(
            f"{model} predicts a class for every word, and maps are compared for one "
            "prediction; give a classifier of texts or a language model."
        )
    if task == "sequence":
        return "class"
    if head in ("masked", "causal"):
        return "masked" if head == "masked" else "next"
    raise MissingHeadError(
        f"{model} is a {type(model.transformer).__name__}, which predicts nothing; "
        f"{with_head('a language model or a classifier')}."
    )


def removal_of(model: CapturedModel, predicts: Predicts, removal: Removal | None) -> Removal:
    """Return how tokens are removed: as is asked for, or as suits the model.

    A masked language model knows its mask, and so do classifiers made of it; a decoder has learnt
    from texts alone, and a shorter one is a text.

    Raises:
        UsageError: nothing would be left of a text that has no special tokens.
    """
    tokenizer: Any = model.require_tokenizer("a study reads text")
    chosen: Removal = removal or ("delete" if tokenizer.mask_token_id is None else "mask")
    if chosen != "mask" and predicts == "class" and not Assembly.of(tokenizer).single.size:
        raise UsageError(
            f"the tokenizer of {model} adds no special tokens, so that without its tokens "
            "nothing is left of a text; they can be removed by mask."
        )
    return chosen


def mask_id(model: CapturedModel) -> int:
    """Return the id of the mask token.

    Raises:
        UsageError: the tokenizer has none.
    """
    token = getattr(model.tokenizer, "mask_token_id", None)
    if token is None:
        raise UsageError(
            f"the tokenizer of {model} has no mask token; words can be removed by "
            "delete or attention."
        )
    return int(token)


def substitute_id(model: CapturedModel, removal: Removal) -> int | None:
    """Return the id in the place of masked tokens: the mask, or else the unknown token.

    Raises:
        UsageError: the tokenizer has neither.
    """
    if removal != "mask":
        return None
    tokenizer: Any = model.tokenizer
    if tokenizer.mask_token_id is None and tokenizer.unk_token_id is not None:
        return int(tokenizer.unk_token_id)
    return mask_id(model)


def number_tokens(
    model: CapturedModel,
    predicts: Predicts,
    example: Encoded,
    units: Literal["tokens", "words"],
    *,
    seed: int,
    text_id: int,
) -> Target:
    """Return the example with its tokens or words numbered, and a place to predict at.

    Of a masked language model a random token becomes the mask; of a decoder what follows its last
    token is predicted.  The word of this token stays.
    """
    own = [at for at, word in enumerate(example.words) if word != NO_WORD]
    place: int | None = None
    if predicts == "next":
        place = own[-1]
        example = example.beginning(place + 1)
    elif predicts == "masked":
        place = own[int(random_source(seed, text_id).integers(len(own)))]
        mask = mask_id(model)
        ids = tuple(mask if at == place else each for at, each in enumerate(example.ids))
        example = replace(example, ids=ids)
    unit = {at: example.words[at] if units == "words" else at for at in own}
    removable = sorted({*unit.values()} - ({unit[place]} if place is not None else set()))
    numbers = {each: number for number, each in enumerate(removable)}
    words = [numbers.get(unit.get(at, NO_WORD), NO_WORD) for at in range(len(example.ids))]
    if place is not None:
        words[place] = len(removable)
    numbered = replace(example, words=tuple(words))
    return annotate(numbered, Target, tokens=len(removable))


@contextmanager
def prediction_rows(
    model: CapturedModel, examples: Sequence[Target]
) -> Iterator[Callable[[Any], Float[Tensor, "batch output"]]]:
    """Within the block, take the predictions of these texts from what the model puts out."""
    if predicted_kind(model) == "class":
        yield lambda output: output.logits
        return
    device = model.transformer.device
    places = torch.tensor([each.place for each in examples], device=device)
    with one_position_each(model.transformer, places) as rows:
        yield lambda output: rows(output.logits)


def logits_of(
    model: CapturedModel, examples: Sequence[Target], batch: Batch
) -> Float[Tensor, "batch output"]:
    """Return the logits of one forward pass, of each text where it predicts.

    Raises:
        CaptureError: they are not finite.
    """
    with prediction_rows(model, examples) as rows:
        logits = rows(model.run(batch))
    require_finite_predictions(logits, model, batch)
    return logits


def of_targets(
    values: Float[Tensor, "batch output"], examples: Sequence[Target]
) -> Float[Tensor, " batch"]:
    """Return the values of the target of each text."""
    targets = torch.tensor([each.output for each in examples], device=values.device)
    return values.gather(1, targets[:, None])[:, 0]


def with_targets(model: CapturedModel, examples: Sequence[Target]) -> list[Target]:
    """Return the same texts, each with what the model predicts for it."""
    chosen = logits_of(model, examples, model.collate(examples)).argmax(-1).tolist()
    return [replace(each, output=number) for each, number in zip(examples, chosen, strict=True)]


E = TypeVar("E", bound=Encoded)


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
    kept_places = [at for at in range(len(example.ids)) if at not in gone]
    return Cut(
        replace(
            example,
            ids=tuple(example.ids[at] for at in kept_places),
            segments=tuple(example.segments[at] for at in kept_places),
            categories=tuple(example.categories[at] for at in kept_places),
            words=tuple(example.words[at] for at in kept_places),
        )
    )


@dataclass(eq=False, repr=False)
class TargetProbabilities:
    """The probability of the target of each text of a batch, without some of its tokens.

    The same tokens of a text are removed only once, for all callers.

    Attributes:
        model: It is run.
        examples: The texts.
        removal: How tokens are removed.
        mask: The id that a masked token becomes.
        batch_tokens: Tokens that run together at most.
    """

    model: CapturedModel
    examples: Sequence[Target]
    removal: Removal
    mask: int | None
    batch_tokens: int
    _known: dict[tuple[int, Words], tuple[float, bool]] = field(default_factory=dict, init=False)

    def ask(self, wanted: Iterable[tuple[int, Words]]) -> None:
        """Run the model on texts, by their numbers, without these tokens, as far as needed."""
        missing = [each for each in dict.fromkeys(wanted) if each not in self._known]
        cuts = [cut(self.examples[text], words, self.removal, self.mask) for text, words in missing]
        for chosen in length_batches([each.example for each in cuts], self.batch_tokens):
            probabilities = self._run([cuts[at] for at in chosen])
            self._known |= {missing[at]: row for at, row in zip(chosen, probabilities, strict=True)}

    def without(self, text: int, words: Words) -> tuple[float, bool]:
        """Return the probability, once it was asked for, and whether it is the largest of all."""
        return self._known[text, words]

    def _run(self, cuts: Sequence[Cut[Target]]) -> list[tuple[float, bool]]:
        examples = [each.example for each in cuts]
        batch = _hiding(self.model.collate(examples), cuts)
        probabilities = logits_of(self.model, examples, batch).cpu().double().softmax(-1)
        targets = torch.tensor([each.output for each in examples])
        chosen = probabilities.gather(1, targets[:, None])[:, 0]
        largest = chosen == probabilities.amax(-1)
        return list(zip(chosen.tolist(), largest.tolist(), strict=True))

    def lost_alone(self) -> list[Float64[np.ndarray, " token"]]:
        """Return what the probability of each text loses without each of its tokens alone."""
        alone = [[frozenset({at}) for at in range(each.tokens)] for each in self.examples]
        self.ask((text, words) for text, own in enumerate(alone) for words in (frozenset(), *own))
        return [
            np.array(
                [self.without(text, frozenset())[0] - self.without(text, words)[0] for words in own]
            )
            for text, own in enumerate(alone)
        ]


def _hiding(batch: Batch, cuts: Sequence[Cut[E]]) -> Batch:
    """The batch with some tokens hidden from attention."""
    places = [(row, at) for row, each in enumerate(cuts) for at in each.hidden]
    if not places:
        return batch
    mask = batch.attention_mask.clone()
    rows, columns = zip(*places, strict=True)
    mask[list(rows), list(columns)] = 0
    return replace(batch, attention_mask=mask)
