"""Checks whose answers a device gives later, so that nothing waits for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from jaxtyping import Shaped
from torch import Tensor

# Of a context, so that no thread collects the answers of another.
_LATER: ContextVar[list[Tensor] | None] = ContextVar("later", default=None)


@contextmanager
def answered_later() -> Iterator[list[Tensor]]:
    """Collect a device's answers to `holds` within the block, without waiting for them."""
    answers: list[Tensor] = []
    token = _LATER.set(answers)
    try:
        yield answers
    finally:
        _LATER.reset(token)


def holds(answer: Shaped[Tensor, ""]) -> bool:
    """Return whether something holds; within `answered_later`, yes where a device is asked.

    The caller that opens such a block repeats all of it unless `all_hold`.

    Args:
        answer: Tensor that is true, or 1, where it holds.
    """
    later = _LATER.get()
    if later is None or answer.device.type == "cpu":
        return bool(answer == 1)
    later.append(answer)
    return True


def all_hold(answers: list[Tensor], device: torch.device) -> bool:
    """Return whether all answers are yes, for which the host waits once."""
    return bool((torch.stack([answer.to(device) for answer in answers]) == 1).all())
