"""Slopes of feed-forward networks, and tangents of their activations.

Parts of a token behind the feed-forward network, as the model runs.
Kobayashi et al. (2024) give each part of what leaves an attention block its share of what the
feed-forward network makes of the whole: integrated gradients of its activations, which are the
chord slopes of `slopes` in closed form.  With these, and with what norms divide by held constant,
the network is linear in the parts; so its tangent in the direction of a part is what the part
becomes.  Tangents begin where the attention block ends and are let go behind the next sum with the
residual, so that nothing else of the model is followed.

The parts of every hidden token that come from each token of the text: tangents of the network.
Since the network is linear, its tangent in the direction of an embedding is what that embedding
adds (DecompX, Modarressi et al. 2023, without the sharing of biases).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import jvp, vmap

from headlight.capture.attribution_run import Run, eager_experts, portions
from headlight.capture.captured_model import CapturedModel
from headlight.capture.network_functions import AddendKind
from headlight.capture.network_rules import LinearRules
from headlight.capture.record import AttentionSite
from headlight.capture.residual_stream import FeedForwardSite, Place, ResidualSite, followed, hooked
from headlight.errors import UnsupportedModelError
from headlight.settings.flow import Slope


class Still:
    """Keeps nothing: what is added does not change."""

    tangents = True

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """It stays."""
        return value

    def embedded(self, ids: Tensor, table: Tensor, value: Tensor) -> Tensor:
        """It stays."""
        return value

    def behind(self, value: Tensor) -> Tensor:
        """It stays."""
        return value

    def place(self) -> str:
        """Nobody asks."""
        return ""

    def name(self, value: Tensor) -> str | None:
        """Nobody asks."""
        return None


def token_parts(
    run: Run, memory: int, slope: Slope = "zero_origin"
) -> Iterator[tuple[slice, Float[Tensor, "key layer query d_model"]]]:
    """Yield what each token's embedding adds to each hidden token, at the output of each block.

    Args:
        run: a text in its model.
        memory: bytes for the tangents that run side by side.
        slope: of activations that are functions of torch.

    Returns:
        Some keys at a time, and their parts; the last layer is after the final norm.
    """
    still = torch.zeros_like(run.embedded)
    keys = run.embedded.shape[1]
    own = torch.eye(keys, dtype=still.dtype, device=still.device)[:, None, :, None] * run.embedded

    def hidden(change: Tensor) -> tuple[Tensor, ...]:
        with LinearRules(Still(), slope):  # within, so that it does not see what jvp does
            return run.hidden(change)

    def moved(tangent: Tensor) -> Tensor:
        return torch.stack(jvp(hidden, (still,), (tangent,))[1])

    for some in portions(run, keys, memory):
        yield some, vmap(moved)(own[some])


Parts = Float[Tensor, "batch token d_model"]

See = Callable[[AttentionSite, Parts], object]
"""Is told what parts are in the sum behind the feed-forward network, residual included."""


@contextmanager
def through_feed_forward(
    model: CapturedModel, sites: Sequence[AttentionSite], see: See, slope: Slope = "chord"
) -> Iterator[Callable[[AttentionSite, Parts], None]]:
    """Within the block, what becomes of a part of each token behind the feed-forward network.

    The model must not run in inference mode, in which there are no tangents.

    Args:
        model: that runs.
        sites: whose feed-forward networks are followed.
        see: is told what a part has become.
        slope: of activations.

    Returns:
        What is to be told of a part of what leaves an attention block, once its W^O has put out.

    Raises:
        UnsupportedModelError: a layer has no feed-forward network of its own behind the attention,
            or could not be followed.

    Source: Kobayashi et al. (2024).
    """
    follower = _Follower({site: followed(model.residuals[site]) for site in sites}, see, slope)
    with eager_experts(model.transformer), hooked(follower.hooks()):
        try:
            yield follower.give
        finally:
            follower.stop()


class _Follower:
    """Waits for the end of an attention block, and then for the next sum."""

    def __init__(
        self, residuals: dict[AttentionSite, ResidualSite], see: See, slope: Slope
    ) -> None:
        self._ends = {site: _ends(site, each) for site, each in residuals.items()}
        self._see = see
        self._slope: Slope = slope
        self._given: tuple[AttentionSite, Parts] | None = None
        self._inside: AttentionSite | None = None
        self._rules: LinearRules | None = None
        self._level: forward_ad.dual_level | None = None

    def hooks(self) -> list[Any]:
        """Return the hooks on the ends of attention blocks, and on the sums that follow them."""
        begins = dict.fromkeys(each[0] for each in self._ends.values())
        ends = dict.fromkeys(each[1] for each in self._ends.values())
        # A sum may be seen where the next block begins to end: it is looked at first.
        return [
            *(place.watch(partial(self._leave, place)) for place in ends),
            *(place.watch(partial(self._enter, place)) for place in begins),
        ]

    def give(self, site: AttentionSite, parts: Parts) -> None:
        """Parts of what leaves the attention block, which ends soon."""
        self._given = site, parts

    def stop(self) -> None:
        """Let go of tangents."""
        self._given = self._inside = None
        self._end_rules()
        if self._level is not None:
            self._level.__exit__(None, None, None)
            self._level = None

    def _end_rules(self) -> list[str]:
        """No rules any more; functions that may have lost a part of what they were given."""
        rules, self._rules = self._rules, None
        if rules is None:
            return []
        rules.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        return rules.suspects

    def _enter(self, place: Place, tensor: Tensor) -> None:
        """The very tensor is given its tangent, so that all that read it later see that."""
        if self._given is None or self._ends[self._given[0]][0] != place:
            return
        (self._inside, parts), self._given = self._given, None
        self._level = forward_ad.dual_level()
        self._level.__enter__()  # type: ignore[no-untyped-call]
        direction = parts.reshape(tensor.shape).to(tensor)
        nothing = torch.zeros_like(tensor)
        tensor.add_(forward_ad.make_dual(nothing, direction))  # type: ignore[no-untyped-call]
        self._rules = LinearRules(Still(), self._slope)
        self._rules.__enter__()  # type: ignore[no-untyped-call]

    def _leave(self, place: Place, tensor: Tensor) -> None:
        site = self._inside
        if site is None or self._ends[site][1] != place:
            return
        suspects = self._end_rules()  # which would see the next line
        parts = forward_ad.unpack_dual(tensor)[1]  # type: ignore[no-untyped-call]
        parts = torch.zeros_like(tensor) if parts is None else parts.clone()
        self.stop()
        if suspects:
            raise UnsupportedModelError(
                f"{site.name}: {suspects[0]} loses a part of what the feed-forward network is "
                "given, so that its parts cannot be told apart."
            )
        self._see(site, parts)


def _ends(site: AttentionSite, residual: ResidualSite) -> tuple[Place, Place]:
    """Return the end of the attention block, and the sum behind the feed-forward network."""
    behind: FeedForwardSite | None = residual.feed_forward
    if residual.output is None or behind is None or behind.sum is None:
        why = (
            "its feed-forward network reads what the attention reads, beside it"
            if residual.parallel
            else "no feed-forward network is added right behind it, or no module shows the sum"
        )
        raise UnsupportedModelError(
            f"{site.name}: {why}, so that nothing can be followed through one; leave the "
            "feed-forward network out."
        )
    return residual.output, behind.sum
