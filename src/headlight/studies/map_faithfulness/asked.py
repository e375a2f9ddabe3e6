"""The prediction to a text that is looked at, and what becomes of it without some tokens."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.classifiers.erasure import Answers, mask_id
from headlight.analysis.classifiers.importance import random_source
from headlight.analysis.classifiers.plan import require_finite_predictions
from headlight.analysis.classifiers.predictor import Predicted
from headlight.analysis.settings import Removal
from headlight.capture import CapturedModel
from headlight.capture.heads import head_of
from headlight.capture.objectives.head_rows import one_position_each
from headlight.capture.tasks import task_of
from headlight.encode import Encoded, annotate
from headlight.encode.assembly import Assembly
from headlight.encode.batch import NO_WORD, Batch
from headlight.errors import MissingHeadError, UsageError

Predicts = Literal["class", "masked", "next"]
"""The class of a text, the token that a mask hides, or the next token."""


@dataclass(frozen=True, slots=True)
class Asked(Encoded):
    """A text of which single tokens are removed: each has a number in `words`, and special ones -1.

    Attributes:
        tokens: how many can be removed, numbered from 0; the one that predicts has the number after
            them, and stays.
        output: the one that is looked at: a class, or a token of the vocabulary.
    """

    tokens: int = field(kw_only=True)
    output: int = field(default=-1, kw_only=True)

    @property
    def place(self) -> int:
        """Of the token that predicts; of a classifier 0, since it has none."""
        return self.words.index(self.tokens) if self.tokens in self.words else 0


def predicts_what(model: CapturedModel) -> Predicts:
    """What the model predicts, as its head says.

    Raises:
        MissingHeadError: it has no head.
        UsageError: it predicts a class for every token, or reads a second text.
    """
    network: Any = model.transformer
    name = type(network).__name__
    task, head = task_of(name), head_of(network.config, name)
    if model.has_decoder_inputs or model.reads_twice:
        raise UsageError(
            f"{model.name} has an encoder and a decoder, and what it predicts rests on two texts; "
            "give a classifier or a language model that reads one."
        )
    if task == "token":
        raise UsageError(
            f"{model.name} predicts a class for every word, and maps are compared for one "
            "prediction; give a classifier of texts or a language model."
        )
    if task == "sequence":
        return "class"
    if head in ("masked", "causal"):
        return "masked" if head == "masked" else "next"
    raise MissingHeadError(
        f"{model.name} is a {name}, which predicts nothing; load a language model or a classifier "
        "with its head (head='any')."
    )


def removal_of(model: CapturedModel, predicts: Predicts, asked: Removal | None) -> Removal:
    """How tokens are removed: as is asked for, or as suits the model.

    A masked language model knows its mask, and so do classifiers made of it; a decoder has learnt
    from texts alone, and a shorter one is a text.

    Raises:
        UsageError: nothing would be left of a text that has no special tokens.
    """
    tokenizer: Any = model.require_tokenizer("a study reads text")
    chosen: Removal = asked or ("delete" if tokenizer.mask_token_id is None else "mask")
    if chosen != "mask" and predicts == "class" and not Assembly.of(tokenizer).single.size:
        raise UsageError(
            f"the tokenizer of {model.name} adds no special tokens, so that without its tokens "
            "nothing is left of a text; they can be removed by mask."
        )
    return chosen


def substitute_id(model: CapturedModel, removal: Removal) -> int | None:
    """The id that stands in the place of removed tokens: the mask, or else the unknown token.

    Raises:
        UsageError: the tokenizer has neither.
    """
    tokenizer: Any = model.tokenizer
    if removal == "mask" and tokenizer.mask_token_id is None and tokenizer.unk_token_id is not None:
        return int(tokenizer.unk_token_id)
    return mask_id(model, (removal,))


def asked_of(
    model: CapturedModel, predicts: Predicts, example: Encoded, *, seed: int, text_id: int
) -> Asked:
    """The example with its tokens numbered, and a place to predict at.

    Of a masked language model a random token becomes the mask; of a decoder what follows its last
    token is predicted.
    """
    own = [at for at, word in enumerate(example.words) if word != NO_WORD]
    place: int | None = None
    if predicts == "next":
        place = own[-1]
        example = example.beginning(place + 1)
    elif predicts == "masked":
        place = own[int(random_source(seed, text_id).integers(len(own)))]
        mask = mask_id(model, ("mask",))
        ids = tuple(mask if at == place else each for at, each in enumerate(example.ids))
        example = replace(example, ids=ids)  # type: ignore[arg-type]  # `mask_id` refuses
    numbers = iter(range(len(own)))
    removable = set(own) - {place}
    words = [next(numbers) if at in removable else NO_WORD for at in range(len(example.ids))]
    if place is not None:
        words[place] = len(removable)
    numbered = replace(example, words=tuple(words))
    return annotate(numbered, Asked, tokens=len(removable))


@contextmanager
def read_off(
    model: CapturedModel, examples: Sequence[Asked]
) -> Iterator[Callable[[Any], Float[Tensor, "batch output"]]]:
    """Within the block, what takes the predictions of these texts from what the model puts out."""
    if predicts_what(model) == "class":
        yield lambda output: output.logits
        return
    device = model.transformer.device
    places = torch.tensor([each.place for each in examples], device=device)
    with one_position_each(model.transformer, places) as rows:
        yield lambda output: rows(output.logits)


def predictions(
    model: CapturedModel, examples: Sequence[Asked], batch: Batch
) -> Float[Tensor, "batch output"]:
    """The logits of one forward pass, of each text where it predicts.

    Raises:
        CaptureError: they are not finite.
    """
    with read_off(model, examples) as rows:
        found = rows(model.run(batch))
    require_finite_predictions(found, model, batch)
    return found


def of_targets(
    values: Float[Tensor, "batch output"], examples: Sequence[Asked]
) -> Float[Tensor, " batch"]:
    """Those of the target of each text."""
    targets = torch.tensor([each.output for each in examples], device=values.device)
    return values.gather(1, targets[:, None])[:, 0]


def with_targets(model: CapturedModel, examples: Sequence[Asked]) -> list[Asked]:
    """The same texts, each with what the model predicts for it."""
    chosen = predictions(model, examples, model.collate(examples)).argmax(-1).tolist()
    return [replace(each, output=number) for each, number in zip(examples, chosen, strict=True)]


class TargetProbabilities(Answers[Asked]):
    """The probability of the target of each text, without some of its tokens."""

    def _read(self, examples: Sequence[Asked], batch: Batch) -> list[Predicted]:
        logits = predictions(self.model, examples, batch)
        found = of_targets(logits.cpu().double().softmax(-1), examples).numpy()
        return list(found[:, None, None])
