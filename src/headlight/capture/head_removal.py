"""Heads taken out of a model for the time of a block, some of them from each part of a batch.

A removed head hands zeros to the output projection, which has the effect of weights of zero, and of
zeros in its rows of W^O; b^O stays.  Nothing else changes: all layers keep their fast attention.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.custom_attention.function_mode import own_code_seen
from headlight.capture.hooks import Registration, hooked
from headlight.capture.tensor_parallel import require_all_heads
from headlight.errors import CaptureError, UsageError

Heads = Collection[tuple[AttentionSite, int]]
"""Some heads of a model, by their layers and their numbers there."""

Contexts = Float[Tensor, "part position head head_dim"]
"""Input of a projection, of all parts of a batch."""


@contextmanager
def heads_removed(
    model: CapturedModel,
    removals: Sequence[Heads],
    source: int | Callable[[AttentionSite, Contexts], Contexts] | None = None,
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
        source: Part whose heads take the place of removed heads, or function of a site and of its
            contexts that returns what does; None for zeros.

    Raises:
        UsageError: a head is none of the model's; or a batch cannot be divided, when it runs.
        CaptureError: a layer that loses heads was not reached by any pass; raised at the end of
            the block.
    """
    require_all_heads(model.transformer, "models without some of their heads")
    remover = _Remover(model, removals, source)
    with hooked(remover.hooks(model.transformer)), own_code_seen(model.transformer):
        yield
    remover.check_used(model.name)


class _Remover:
    """Remover that replaces the contexts of heads by zeros, or by those of another part."""

    def __init__(
        self,
        model: CapturedModel,
        removals: Sequence[Heads],
        source: int | Callable[[AttentionSite, Contexts], Contexts] | None,
    ) -> None:
        self._source = source
        self._removed: dict[AttentionSite, Bool[Tensor, "part head"]] = {}
        for part, heads in enumerate(removals):
            for site, head in heads:
                self._add(model, site, head, part, len(removals))
        self._runs: dict[nn.Module, list[AttentionSite]] = {}
        for site in model.sites:
            self._runs.setdefault(site.projection.module, []).append(site)
        self._seen: dict[nn.Module, int] = {}
        self._passes = 0
        self._used: set[AttentionSite] = set()

    def _add(
        self, model: CapturedModel, site: AttentionSite, head: int, part: int, parts: int
    ) -> None:
        if site not in model.sites or not 0 <= head < site.heads:
            raise UsageError(
                f"{site.kind} layer {site.layer} of {model} has no head {head} to remove; "
                f"take its layers from its sites, and heads from 0 to {site.heads - 1}."
            )
        nothing = torch.zeros(parts, site.heads, dtype=torch.bool)
        self._removed.setdefault(site, nothing)[part, head] = True

    def hooks(self, network: nn.Module) -> list[Registration]:
        """Return a hook that notices when a pass begins, and hooks of the projections concerned."""
        projections = dict.fromkeys(site.projection.module for site in self._removed)
        return [
            (network.register_forward_pre_hook, self._begin),
            *((module.register_forward_pre_hook, self._remove) for module in projections),
        ]

    def _begin(self, *_: Any) -> None:
        self._seen.clear()
        self._passes += 1

    def _remove(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        runs, number = self._runs[module], self._seen.get(module, 0)
        self._seen[module] = number + 1
        site = runs[min(number, len(runs) - 1)]
        removed = self._removed.get(site)
        if removed is None:
            return None
        self._used.add(site)
        contexts: Tensor = inputs[0]
        parts = _parts(contexts, len(removed), site)
        if callable(self._source):
            others = self._source(site, parts)
        else:
            others = parts.new_zeros(()) if self._source is None else parts[self._source]
        remaining = parts.where(~removed.to(contexts.device)[:, None, :, None], others)
        return (remaining.reshape(contexts.shape), *inputs[1:])

    def check_used(self, name: str) -> None:
        """Check that passes have run all layers that lose heads, if there was any pass.

        Raises:
            CaptureError: there was a pass, and none has run some layer.
        """
        missed = [site for site in self._removed if site not in self._used]
        if self._passes and missed:
            raise CaptureError(
                f"{name} was run, and its {missed[0].kind} layer {missed[0].layer} was not: no "
                "head of it was removed; run the part of the model that has it."
            )


def _parts(contexts: Tensor, number: int, site: AttentionSite) -> Contexts:
    """Return the input of a projection, as ``part position head head_dim``."""
    if contexts.shape[0] % number:
        raise UsageError(
            f"a batch of {contexts.shape[0]} rows has no {number} equal parts, from each of which "
            "other heads are removed; give as many copies of the texts."
        )
    return contexts.reshape(number, -1, site.heads, site.head_dim)
