"""Parts of a token behind the feed-forward network, as the model runs.

Kobayashi et al. (2024) give each part of what leaves an attention block its share of what the
feed-forward network makes of the whole: integrated gradients of its activations, which are the
chord slopes of `headlight.capture.linear_network.activation_slopes` in closed form.  With these,
and with what norms divide by held constant, the network is linear in the parts; so its tangent in
the direction of a part is what the part becomes.  Tangents begin where the attention block ends and
are let go behind the next sum with the residual, so that nothing else of the model is followed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import forward_ad

from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.differentiation import eager_experts
from headlight.capture.hooks import Place, hooked
from headlight.capture.linear_network.addends import Still
from headlight.capture.linear_network.rules import LinearRules
from headlight.capture.residual_connection import ResidualSite, followed
from headlight.errors import UnsupportedModelError
from headlight.settings.attribution import Slope

Parts = Float[Tensor, "batch token d_model"]

See = Callable[[AttentionSite, Parts], object]
"""Function called with the parts in the sum behind the feed-forward network, residual included."""


@contextmanager
def through_feed_forward(
    model: CapturedModel, sites: Sequence[AttentionSite], see: See, slope: Slope = "chord"
) -> Iterator[Callable[[AttentionSite, Parts], None]]:
    """Follow a part of each token through the feed-forward network, within the block.

    The model must not run in inference mode, in which there are no tangents.

    Args:
        model: Model that runs.
        sites: Attention modules whose feed-forward networks are followed.
        see: Function called with the parts behind the feed-forward network.
        slope: Slope of activations.

    Returns:
        The function to call with parts of what leaves an attention block, once its W^O has run.

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
    """Watch for the end of an attention block, and then for the next sum."""

    def __init__(
        self, residuals: dict[AttentionSite, ResidualSite], see: See, slope: Slope
    ) -> None:
        self._ends = {site: _ends(site, residual) for site, residual in residuals.items()}
        self._see = see
        self._slope: Slope = slope
        self._given: tuple[AttentionSite, Parts] | None = None
        self._inside: AttentionSite | None = None
        self._rules: LinearRules | None = None
        self._level: forward_ad.dual_level | None = None

    def hooks(self) -> list[Any]:
        """Return the hooks on the ends of attention blocks, and on the sums that follow them."""
        begins = dict.fromkeys(places[0] for places in self._ends.values())
        ends = dict.fromkeys(places[1] for places in self._ends.values())
        # A sum may be seen where the next block begins to end: the sum has to be read first.
        return [
            *(place.watch(partial(self._leave, place)) for place in ends),
            *(place.watch(partial(self._enter, place)) for place in begins),
        ]

    def give(self, site: AttentionSite, parts: Parts) -> None:
        """Take parts of what leaves the attention block, which ends soon."""
        self._given = site, parts

    def stop(self) -> None:
        """Let go of tangents."""
        self._given = self._inside = None
        self._end_rules()
        if self._level is not None:
            self._level.__exit__(None, None, None)
            self._level = None

    def _end_rules(self) -> list[str]:
        """End the rules, and return the functions that may have lost a part of their input."""
        rules, self._rules = self._rules, None
        if rules is None:
            return []
        rules.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        return rules.suspects

    def _enter(self, place: Place, tensor: Tensor) -> None:
        """Give a tensor its tangent in place, so that all later readers of it see the tangent."""
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
    behind = residual.feed_forward
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
