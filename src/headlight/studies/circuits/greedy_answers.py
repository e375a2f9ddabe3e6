"""Greedy answers of a model to a prompt."""

from dataclasses import dataclass
from typing import Any

import torch

from headlight.capture import CapturedModel
from headlight.encode import Encoded


@dataclass(frozen=True, eq=False)
class Answer:
    """Text that a model has continued greedily.

    Attributes:
        text: Prompt and answer, without the last token of the answer, which the model has not read.
        produced: Token ids of the answer.
        first: Position at which the first token of the answer was predicted.
    """

    text: Encoded
    produced: tuple[int, ...]
    first: int


def answer(model: CapturedModel, text: Encoded, most: int) -> Answer:
    """Return the answer of a model, up to the end of the text or of the line.

    Args:
        model: Decoder with its language-model head.
        text: Prompt.
        most: Largest number of tokens of the answer.

    Raises:
        CaptureError: the model computes values that are not finite.
    """
    tokenizer: Any = model.tokenizer
    network: Any = model.transformer
    # Chat models may end an answer by one of several tokens, which the generation settings name.
    ended = getattr(getattr(network, "generation_config", None), "eos_token_id", None)
    ends = {*(ended if isinstance(ended, list) else [ended]), tokenizer.eos_token_id}
    produced: list[int] = []
    tokens = torch.tensor([text.ids], device=network.device)
    cached = network.can_generate()  # custom code need not have a cache
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
            newest = torch.tensor([[token]], device=network.device)
            tokens = newest if cached else torch.cat([tokens, newest], 1)
    # The last token was produced but never read, so that no attention of it is known.
    return Answer(text.continued(produced[:-1]), tuple(produced), len(text.ids) - 1)
