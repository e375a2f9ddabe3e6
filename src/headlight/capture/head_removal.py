"""Heads taken out of a model for the time of a block, some of them from each part of a batch.

A removed head hands zeros to the output projection, which has the effect of weights of zero, and of
zeros in its rows of W^O; b^O stays.  Nothing else changes: all layers keep their fast attention.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.changed_contexts import contexts_changed
from headlight.capture.tensor_parallel import require_all_heads
from headlight.errors import UsageError

Heads = Collection[tuple[AttentionSite, int]]
"""Some heads of a model, by their layers and their numbers there."""


@contextmanager
def heads_removed(
    model: CapturedModel, removals: Sequence[Heads], source: int | None = None
) -> Iterator[None]:
    """Remove heads within the block, some of them from each of several equal parts of a batch.

    A batch of as many parts as there are removals, one after the other, loses in each part the
    heads of one removal; with one removal, that is the whole batch.  Many removals can thus be
    tried in one pass, on copies of the same texts (`headlight.encode.batch.Batch.repeated`).  The
    model must not be traced meanwhile: to read or survey it without a head, replace the attention
    of the head by zeros (`attention_replaced`).

    Args:
        model: Model in evaluation mode.
        removals: Heads removed from each part.
        source: Part whose heads take the place of removed heads; None for zeros.

    Raises:
        UsageError: a head is none of the model's; or a batch cannot be divided, when it runs.
        CaptureError: a layer that loses heads was not reached by any pass; raised at the end of
            the block.
    """
    require_all_heads(model.transformer, "models without some of their heads")
    remover = _Remover(model, removals, source)
    with contexts_changed(model, remover.removed, remover.change):
        yield


class _Remover:
    """Replacement of the contexts of heads by zeros, or by those of another part."""

    def __init__(self, model: CapturedModel, removals: Sequence[Heads], source: int | None) -> None:
        self._source = source
        self.removed: dict[AttentionSite, Bool[Tensor, "part head"]] = {}
        for part, heads in enumerate(removals):
            for site, head in heads:
                self._add(model, site, head, part, len(removals))

    def _add(
        self, model: CapturedModel, site: AttentionSite, head: int, part: int, parts: int
    ) -> None:
        if site not in model.sites or not 0 <= head < site.heads:
            raise UsageError(
                f"{site.kind} layer {site.layer} of {model} has no head {head} to remove; "
                f"take its layers from its sites, and heads from 0 to {site.heads - 1}."
            )
        nothing = torch.zeros(parts, site.heads, dtype=torch.bool)
        self.removed.setdefault(site, nothing)[part, head] = True

    def change(self, site: AttentionSite, contexts: Tensor) -> Tensor:
        """Return the contexts of a site without those of its removed heads."""
        removed = self.removed[site]
        parts = _parts(contexts, len(removed), site)
        others = parts.new_zeros(()) if self._source is None else parts[self._source]
        remaining = parts.where(~removed.to(contexts.device)[:, None, :, None], others)
        return remaining.reshape(contexts.shape)


def _parts(contexts: Tensor, number: int, site: AttentionSite) -> Tensor:
    """Return the input of a projection, as ``part position head head_dim``."""
    if contexts.shape[0] % number:
        raise UsageError(
            f"a batch of {contexts.shape[0]} rows has no {number} equal parts, from each of which "
            "other heads are removed; give as many copies of the texts."
        )
    return contexts.reshape(number, -1, site.heads, site.head_dim)
