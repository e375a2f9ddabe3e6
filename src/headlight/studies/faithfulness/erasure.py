"""Erasure of tokens: ways to remove them, and predictions without them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float64

from headlight.capture import CapturedModel
from headlight.encode import Encoded, length_batches
from headlight.encode.batch import Batch
from headlight.encode.special_tokens import Assembly
from headlight.errors import UsageError
from headlight.observations.word_importance import Words
from headlight.studies.faithfulness import Removal
from headlight.studies.faithfulness.targets import Predicts, Target, logits_of, mask_id


def removal_of(model: CapturedModel, predicts: Predicts, removal: Removal | None) -> Removal:
    """Return the way to remove tokens: the requested one, or by default one that suits the model.

    A masked language model knows its mask token, and so do classifiers derived from it; a decoder
    was trained on plain text, and a shortened text is still one.

    Raises:
        UsageError: nothing would be left of a text that has no special tokens.
    """
    tokenizer: Any = model.require_tokenizer("a study reads text")
    chosen: Removal = removal or ("delete" if tokenizer.mask_token_id is None else "mask")
    if (
        chosen != "mask"
        and predicts == "class"
        and not Assembly.from_tokenizer(tokenizer).single.size
    ):
        raise UsageError(
            f"the tokenizer of {model} adds no special tokens, so that without its tokens "
            "nothing is left of a text; they can be removed by mask."
        )
    return chosen


def substitute_id(model: CapturedModel, removal: Removal) -> int | None:
    """Return the id that replaces masked tokens: the mask, or else the unknown token.

    Raises:
        UsageError: the tokenizer has neither.
    """
    if removal != "mask":
        return None
    tokenizer: Any = model.tokenizer
    if tokenizer.mask_token_id is None and tokenizer.unk_token_id is not None:
        return int(tokenizer.unk_token_id)
    return mask_id(model)


E = TypeVar("E", bound=Encoded)


@dataclass(frozen=True, slots=True)
class Cut(Generic[E]):
    """Text without some of its words.

    Attributes:
        example: Text as the model reads it.
        hidden: Positions in it that no other token may attend to.
    """

    example: E
    hidden: tuple[int, ...] = ()


def cut(example: E, words: Words, removal: Removal, mask: int | None) -> Cut[E]:
    """Remove words from a text.

    Args:
        example: Text.
        words: Words to remove, with all their pieces.
        removal: Way to remove them: ``mask`` replaces each piece by the mask token, ``delete``
            leaves the pieces out, ``attention`` keeps them and hides them from attention.
        mask: Id of the mask token; only ``mask`` needs it.
    """
    # Numbers stand for single tokens or for words, whose pieces share a number.
    gone = tuple(at for at, word in enumerate(example.words) if word in words)
    if removal == "attention":
        return Cut(example, gone)
    if removal == "mask":
        assert mask is not None  # noqa: S101 - checked before the model ran
        ids = tuple(mask if at in gone else token for at, token in enumerate(example.ids))
        return Cut(replace(example, ids=ids))
    return Cut(example.without(gone))


@dataclass(eq=False, repr=False)
class TargetProbabilities:
    """Probabilities of the target of each text of a batch, without some of its tokens.

    The same tokens of a text are removed only once, for all callers.

    Attributes:
        model: Model that predicts.
        examples: Texts of the batch.
        removal: Way to remove tokens.
        mask: Id that replaces masked tokens; None where none are masked.
        batch_tokens: Largest number of tokens that run together.
    """

    model: CapturedModel
    examples: Sequence[Target]
    removal: Removal
    mask: int | None
    batch_tokens: int
    _known: dict[tuple[int, Words], tuple[float, bool]] = field(default_factory=dict, init=False)

    def ask(self, wanted: Iterable[tuple[int, Words]]) -> None:
        """Run the model on numbered texts without these tokens, unless the result is known."""
        # Orders of different maps share many sets of tokens, and `fromkeys` keeps the first of
        # each.
        missing = [key for key in dict.fromkeys(wanted) if key not in self._known]
        cuts = [cut(self.examples[text], words, self.removal, self.mask) for text, words in missing]
        for chosen in length_batches([part.example for part in cuts], self.batch_tokens):
            probabilities = self._run([cuts[at] for at in chosen])
            self._known |= {missing[at]: row for at, row in zip(chosen, probabilities, strict=True)}

    def without(self, text: int, words: Words) -> tuple[float, bool]:
        """Return a probability that `ask` has computed, and whether it is the largest of all."""
        return self._known[text, words]

    def _run(self, cuts: Sequence[Cut[Target]]) -> list[tuple[float, bool]]:
        examples = [part.example for part in cuts]
        batch = _hiding(self.model.collate(examples), cuts)
        probabilities = logits_of(self.model, examples, batch).cpu().double().softmax(-1)
        targets = torch.tensor([example.output for example in examples])
        chosen = probabilities.gather(1, targets[:, None])[:, 0]
        largest = chosen == probabilities.amax(-1)
        return list(zip(chosen.tolist(), largest.tolist(), strict=True))

    def lost_alone(self) -> list[Float64[np.ndarray, " token"]]:
        """Return what the probability of each text loses without each of its tokens alone."""
        alone = [[frozenset({at}) for at in range(example.tokens)] for example in self.examples]
        self.ask((text, words) for text, sets in enumerate(alone) for words in (frozenset(), *sets))
        return [
            np.array(
                [
                    self.without(text, frozenset())[0] - self.without(text, words)[0]
                    for words in sets
                ]
            )
            for text, sets in enumerate(alone)
        ]


def _hiding(batch: Batch, cuts: Sequence[Cut[E]]) -> Batch:
    """Return the batch with the hidden tokens of cuts excluded from attention."""
    places = [(row, at) for row, part in enumerate(cuts) for at in part.hidden]
    if not places:
        return batch
    mask = batch.attention_mask.clone()
    rows, columns = zip(*places, strict=True)
    mask[list(rows), list(columns)] = 0
    return replace(batch, attention_mask=mask)
