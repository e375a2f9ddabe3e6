"""Texts with the prediction that maps have to explain, and its logits."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import CapturedModel
from headlight.capture.predicted_positions import one_position_each
from headlight.encode import Encoded, annotate
from headlight.encode.batch import NO_WORD, Batch
from headlight.engine.random_numbers import random_source
from headlight.errors import MissingHeadError, UsageError, with_head
from headlight.observations.classifier_outputs import require_finite_predictions

Predicts = Literal["class", "masked", "next"]
"""Target of the prediction: class of a text, token behind a mask, or next token."""


@dataclass(frozen=True, slots=True)
class Target(Encoded):
    """Text with its predicted output; `words` numbers the removable tokens or words from 0.

    Attributes:
        tokens: Number of removable tokens or words; the predicting one has the number after them,
            and stays.
        output: Number of the predicted class, or id of the predicted token.
    """

    tokens: int = field(kw_only=True)
    output: int = field(default=-1, kw_only=True)

    @property
    def place(self) -> int:
        """Return the position of the predicting token; 0 for a classifier, which has none."""
        return self.words.index(self.tokens) if self.tokens in self.words else 0


def predicted_kind(model: CapturedModel) -> Predicts:
    """Return the target that the head of the model predicts.

    Raises:
        MissingHeadError: the model has no head.
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

    For a masked language model a random token becomes the mask; a decoder predicts the token after
    its last one.  The word of this token stays.
    """
    word_places = [at for at, word in enumerate(example.words) if word != NO_WORD]
    place: int | None = None
    if predicts == "next":
        place = word_places[-1]
        example = example.beginning(place + 1)
    elif predicts == "masked":
        place = word_places[int(random_source(seed, text_id).integers(len(word_places)))]
        mask = mask_id(model)
        ids = tuple(mask if at == place else token for at, token in enumerate(example.ids))
        example = replace(example, ids=ids)
    unit = {at: example.words[at] if units == "words" else at for at in word_places}
    removable = sorted({*unit.values()} - ({unit[place]} if place is not None else set()))
    numbers = {unit_number: number for number, unit_number in enumerate(removable)}
    words = [numbers.get(unit.get(at, NO_WORD), NO_WORD) for at in range(len(example.ids))]
    if place is not None:
        words[place] = len(removable)
    numbered = replace(example, words=tuple(words))
    return annotate(numbered, Target, tokens=len(removable))


@contextmanager
def prediction_rows(
    model: CapturedModel, examples: Sequence[Target]
) -> Iterator[Callable[[Any], Float[Tensor, "batch output"]]]:
    """Provide a function that takes the predictions of these texts from the model's output."""
    if predicted_kind(model) == "class":
        yield lambda output: output.logits
        return
    device = model.transformer.device
    places = torch.tensor([example.place for example in examples], device=device)
    with one_position_each(model.transformer, places) as rows:
        yield lambda output: rows(output.logits)


def logits_of(
    model: CapturedModel, examples: Sequence[Target], batch: Batch
) -> Float[Tensor, "batch output"]:
    """Return the logits of one forward pass at the predicting position of each text.

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
    """Return the value of the target of each text."""
    targets = torch.tensor([example.output for example in examples], device=values.device)
    return values.gather(1, targets[:, None])[:, 0]


def with_targets(model: CapturedModel, examples: Sequence[Target]) -> list[Target]:
    """Return the texts with the output that the model predicts for each."""
    chosen = logits_of(model, examples, model.collate(examples)).argmax(-1).tolist()
    return [
        replace(example, output=number) for example, number in zip(examples, chosen, strict=True)
    ]
