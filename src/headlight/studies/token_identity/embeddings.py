"""The sum of the embeddings before it is normalised, found while the model runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.errors import UsageError


class Watch:
    """Remembers what the first normalisation of a forward pass was given."""

    def __init__(self) -> None:
        self._given: Tensor | None = None

    def see(self, _: nn.Module, arguments: tuple[Any, ...]) -> None:
        """Called before every normalisation; the first one counts."""
        if self._given is None and arguments and isinstance(arguments[0], Tensor):
            self._given = arguments[0]

    def found(
        self, given: Float[Tensor, "batch token model"], name: str
    ) -> Float[Tensor, "batch token input"]:
        """The sum, which must be another than what the first block is given.

        Raises:
            UsageError: the first normalisation is one within a block, so that embeddings are not
                normalised and the first block is given their sum itself.
        """
        found = self._given
        if found is None or found.ndim != given.ndim or found.shape[:2] != given.shape[:2]:
            raise UsageError(f"{name} normalises no embeddings; use embeddings='output'.")
        if found.shape == given.shape and torch.equal(found, given):
            raise UsageError(
                f"{name} does not normalise its embeddings, so their sum is what the first block "
                "is given; use embeddings='output'."
            )
        return found


@contextmanager
def watched_sum(model: nn.Module) -> Iterator[Watch]:
    """Watch the normalisations of a model for the time of the block."""
    watch = Watch()
    # Every architecture has a class of its own; all of them are called ...Norm.
    norms = [module for module in model.modules() if "norm" in type(module).__name__.lower()]
    handles = [module.register_forward_pre_hook(watch.see) for module in norms]
    try:
        yield watch
    finally:
        for handle in handles:
            handle.remove()
