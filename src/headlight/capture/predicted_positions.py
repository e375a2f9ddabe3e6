"""Projection on the vocabulary at predicting positions only.

In a masked language model these are 15 in 100 positions, and in a small model the projection of all
positions takes longer than everything below it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from headlight.capture.hooks import hooked
from headlight.capture.objectives import NOTHING, MaskedLanguageModel, Objective, Prepared


@contextmanager
def only_predicted(model: Any, objective: Objective, batch: Prepared) -> Iterator[None]:
    """Let a model that predicts hidden tokens make no other logits within the block.

    Logits then have one row for each position with a label; `losses_of` takes either form.  Nothing
    is changed for other objectives, which may read all logits, and for models whose projection is
    no module that sees all positions.
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


@contextmanager
def one_position_each(
    model: Any, places: Int64[Tensor, " batch"]
) -> Iterator[Callable[[Tensor], Float[Tensor, "batch output"]]]:
    """Let a language model make the logits of one position of each text within the block.

    Args:
        model: Model of transformers.
        places: Position in each text of the batch that the model reads.

    Returns:
        The function that takes these rows from the logits of the model, also where its projection
        is no module that sees all positions, so that it makes them all.
    """
    head = _projection(model)

    def choose(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        states = arguments[0]
        if states.ndim != 3 or len(states) != len(places):
            return None
        return (_take_positions(states, places)[:, None], *arguments[1:])

    def rows(logits: Tensor) -> Float[Tensor, "batch output"]:
        return logits[:, 0] if logits.shape[1] == 1 else _take_positions(logits, places)

    with hooked([] if head is None else [(head.register_forward_pre_hook, choose)]):
        yield rows


def _take_positions(values: Tensor, places: Int64[Tensor, " batch"]) -> Tensor:
    return values[torch.arange(len(places), device=values.device), places]


def _projection(model: Any) -> nn.Module | None:
    try:
        projection: nn.Module | None = model.get_output_embeddings()
    except (NotImplementedError, AttributeError):
        return None
    return projection
