"""Answers that a model gives to a prompt, greedily."""

from dataclasses import dataclass
from typing import Any

import torch

from headlight.capture import CapturedModel
from headlight.encode import Encoded


@dataclass(frozen=True, eq=False)
class Answer:
    """A text that the model has gone on with, greedily.

    Attributes:
        text: the prompt, and what the model said; but for the last token, which it has not read.
        produced: what the model said.
        first: the position that put out the first of it.
    """

    text: Encoded
    produced: tuple[int, ...]
    first: int


def answer(model: CapturedModel, text: Encoded, most: int) -> Answer:
    """Return the answer of a model, up to the end of text or line.

    Args:
        model: with its head.
        text: what it goes on with.
        most: tokens of the answer at most.

    Raises:
        CaptureError: what it computes is not finite.
    """
    tokenizer: Any = model.tokenizer
    network: Any = model.transformer
    ended = getattr(getattr(network, "generation_config", None), "eos_token_id", None)
    ends = {*(ended if isinstance(ended, list) else [ended]), tokenizer.eos_token_id}
    produced: list[int] = []
    tokens = torch.tensor([text.ids], device=network.device)
    cached = network.can_generate()  # code of one's own need not keep what it has read
    past = None
    with torch.inference_mode(), model.running((text.name,)):
        while len(produced) < most:
            cache = {"past_key_values": past, "use_cache": True} if cached else {}
            output = network(input_ids=tokens, **cache)
            past = output.past_key_values if cached else None
            token = int(output.logits[0, -1].argmax())
            produced.append(token)
            if token in ends or "\n" in tokenizer.decode([token]):
                break
            one = torch.tensor([[token]], device=network.device)
            tokens = one if cached else torch.cat([tokens, one], 1)
    return Answer(text.continued(produced[:-1]), tuple(produced), len(text.ids) - 1)
