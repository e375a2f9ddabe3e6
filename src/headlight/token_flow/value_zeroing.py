"""Change of each token in a layer when the value of another is zero.

To take the value of token j away takes Σ_h α_hij v_hj from what is projected for query i, and
nothing else of the attention changes.  So each block runs again with the same input, and its
projection puts out many copies at once, a copy for each key; only what comes after the projection
runs for all of them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from headlight.capture import AttentionSite
from headlight.capture.attention_interface import eager_function
from headlight.capture.differentiation import Eager
from headlight.capture.hooks import Registration, first_tensor, hooked
from headlight.capture.linear_network.linear_pass import blocks_of
from headlight.capture.recorder import interface_hook
from headlight.errors import UnsupportedModelError
from headlight.measures.vectors import per_head
from headlight.tensors import Value, Weight, single
from headlight.token_flow.followed_text import Subject
from headlight.token_flow.rollout import shares

MEMORY = 2**28
"""Size in bytes of the widest tensor of the copies that run at once."""

Maps = Float[Tensor, "layer query key"]


def value_zeroing(subject: Subject, memory: int = MEMORY) -> Maps:
    """Return the cosine distance of each token with and without another's value, as shares.

    A token is the output of its block; the value is zeroed in all heads, its bias included.

    Args:
        subject: Text in the stack that reads it.
        memory: Size in bytes of the widest tensor of the copies that run at once.

    Returns:
        Distances by layer; rows sum to 1.

    Raises:
        UnsupportedModelError: the attention is in no block, a gate stands before its projection, or
            the output of the block is of another form.

    Source: Mohebbi et al. (2023); as in their code, the value is zeroed after its bias
    was added.
    """
    model = subject.model
    for site in subject.sites:
        if site.gate is not None:
            raise UnsupportedModelError(
                f"{site.name}: a gate stands before its projection, and values are not zeroed "
                "there; leave value_zeroing out."
            )
    batch = model.collate([subject.example])
    runs = _Runs(blocks_of(model.transformer, subject.sites), subject.sites)
    with torch.inference_mode(), model.running(batch.names):
        # Through the hook, so that blocks are given masks for eager attention.
        with interface_hook(model.transformer, Eager()), hooked(runs.hooks()):
            model.transformer(**model.inputs(batch))
        distances = [_distances(runs.around[site], site, memory) for site in subject.sites]
    return torch.stack(distances)


@dataclass(eq=False)
class _BlockRun:
    """One run of a block, with its arguments and its output."""

    block: nn.Module
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    output: Tensor | None = None


class _Runs:
    """Blocks of a pass, by the attention that runs in them."""

    def __init__(self, blocks: Collection[nn.Module], sites: Sequence[AttentionSite]) -> None:
        self.around: dict[AttentionSite, _BlockRun] = {}
        self._blocks = blocks
        self._sites = sites
        self._open: list[_BlockRun] = []

    def hooks(self) -> list[Registration]:
        """Return the hooks on blocks and attention modules."""
        before = [
            (partial(block.register_forward_pre_hook, with_kwargs=True), self._begin)
            for block in self._blocks
        ]
        after = [(block.register_forward_hook, self._end) for block in self._blocks]
        modules = dict.fromkeys(site.module for site in self._sites)
        return [
            *before,
            *after,
            *((module.register_forward_hook, self._attended) for module in modules),
        ]

    def _begin(self, block: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self._open.append(_BlockRun(block, arguments, options))

    def _end(self, _: nn.Module, __: object, output: Any) -> None:
        self._open.pop().output = first_tensor(output)

    def _attended(self, module: nn.Module, *_: object) -> None:
        # Layers may share one module (ALBERT): the number of calls so far says which layer runs.
        site = self._sites[len(self.around)]
        run = self._open[0] if self._open else None
        if site.module is not module or run is None or run in self.around.values():
            raise UnsupportedModelError(
                f"{site.name}: it does not run in a block of its own, so that the rest of its "
                "layer cannot run again; leave value_zeroing out."
            )
        self.around[site] = run


class _Zeroing:
    """Listener to the attention of a block that runs again, and hook of its projection."""

    def __init__(self, run: _BlockRun, site: AttentionSite) -> None:
        self._run = run
        self._site = site
        self._taken: tuple[Weight, Value] | None = None
        self.keys = slice(0)

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the model's own eager attention, and keep its weights and values."""
        context, weight = eager_function(module)(module, *arguments, **options)
        assert weight is not None  # noqa: S101 - tracing has seen it
        self._taken = weight, per_head(arguments[2], weight.shape[1])
        return context, weight

    def project(self, _: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return copies of the projection's input, each without the value of another key."""
        assert self._taken is not None  # noqa: S101 - attention runs before its projection
        weight, value = self._taken
        products = weight[0, :, :, self.keys, None] * value[0, :, None, self.keys]
        copies = products.permute(2, 1, 0, 3).flatten(2)  # key query head*size
        return (given[0].reshape(1, *copies.shape[1:]) - copies, *given[1:])

    def seen(self) -> Bool[Tensor, "query key"]:
        """Return the mask of keys that have any weight."""
        assert self._taken is not None  # noqa: S101 - the block has run
        return (self._taken[0][0] != 0).any(0)


def _distances(run: _BlockRun, site: AttentionSite, memory: int) -> Float[Tensor, "query key"]:
    output = run.output
    if output is None or output.ndim != 3 or len(output) != 1:
        raise _form_error(site)
    whole = single(output[0])
    zeroing = _Zeroing(run, site)
    # Activations are as wide as the parameters that make them.
    widest = max(max(parameter.shape, default=0) for parameter in run.block.parameters())
    portion = max(1, memory // (len(whole) * widest * whole.element_size()))
    parts = []
    hook = (site.projection.module.register_forward_pre_hook, zeroing.project)
    with interface_hook(run.block, zeroing), hooked([hook]):
        for first in range(0, len(whole), portion):
            zeroing.keys = slice(first, min(first + portion, len(whole)))
            changed = first_tensor(run.block(*run.arguments, **run.options))
            copies = zeroing.keys.stop - first
            if changed is None or changed.shape != (copies, *whole.shape):
                raise _form_error(site)
            parts.append(_cosine_distance(single(changed), whole))
    # Without any weight nothing was taken away: what differs is the rounding of many copies.
    distances = torch.cat(parts).T.where(zeroing.seen(), 0).cpu().double()
    whole_row = distances.sum(-1, keepdim=True)
    alone = torch.eye(len(distances), dtype=distances.dtype)
    return torch.where(whole_row > 0, shares(distances), alone)


def _cosine_distance(
    first: Float[Tensor, "copy query d_model"], second: Float[Tensor, "query d_model"]
) -> Float[Tensor, "copy query"]:
    # 1 - cos would lose all its digits for nearly equal vectors; half a squared length does not.
    apart = functional.normalize(first, dim=-1) - functional.normalize(second, dim=-1)
    distance: Tensor = apart.square().sum(-1) / 2
    return distance


def _form_error(site: AttentionSite) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{site.name}: its block does not put out one vector for each token, for many copies at "
        "once; leave value_zeroing out."
    )
