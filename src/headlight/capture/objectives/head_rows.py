"""The projection on the vocabulary, of those positions only that predict something.

Of a masked language model these are 15 in 100, and in a small model the projection of all of them
takes longer than everything below it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from headlight.capture.hooks import hooked
from headlight.capture.objectives.masked import MaskedLanguageModel
from headlight.capture.objectives.objective import NOTHING, Objective, Prepared


@contextmanager
def only_predicted(model: Any, objective: Objective, batch: Prepared) -> Iterator[None]:
    """Within the block a model that predicts hidden tokens makes no other logits.

    They then have one row for each position with a label; `losses_of` takes either.  Nothing is
    changed for other objectives, which may read all of them, and for models whose projection is no
    module that sees all positions.
    """
    head = _projection(model) if type(objective) is MaskedLanguageModel else None
    labels = batch.labels
    if head is None or labels is None:
        yield
        return

    def choose(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        states = arguments[0]
        if states.shape[:-1] != labels.shape:
            return None
        return (states[labels != NOTHING], *arguments[1:])

    with hooked([(head.register_forward_pre_hook, choose)]):
        yield


def _projection(model: Any) -> nn.Module | None:
    try:
        found: nn.Module | None = model.get_output_embeddings()
    except (NotImplementedError, AttributeError):
        return None
    return found
