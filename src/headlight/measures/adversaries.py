"""The most different attention with nearly the same prediction (Jain and Wallace 2019, 4.2.2).

It is searched for each text by itself, with the model as it is: attention weights are free, and
change as far as they can without the prediction.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

Weights = Float[Tensor, "text row key"]
"""One row for each distribution that is free: of one attention, or of all heads and queries."""

Candidates = Float[Tensor, "candidate text row key"]

Keys = Bool[Tensor, "text row key"]
"""Mask of the keys that take part; none in rows that stay as they are."""

PerText = Float[Tensor, " text"]

Moved = Callable[[Candidates], Float[Tensor, "candidate text"]]
"""Change of the predictions to texts with such attention: a total variation distance, which can be
differentiated.  The change for a text depends on that text alone."""

NOTICED = 1e-3
"""A loss that falls by less has not fallen."""


@dataclass(frozen=True, kw_only=True)
class AdversarySearch:
    """Settings of the search for the most different attention; `RELEASED` are those of the authors.

    Attributes:
        epsilon: Largest change of the prediction that is allowed (ε).
        margin: Change of the prediction up to which the loss has no penalty.
        penalty: Factor of the change beyond the margin in the loss.
        steps: Largest number of steps of Adam (amsgrad).
        learning_rate: Step size of the optimizer.
        patience: Number of steps without a lower loss after which a text is done; None to take all
            steps.
        take: Step whose attention is returned: the ``best`` of all, or the ``last``.
    """

    epsilon: float = 0.05
    margin: float = 0.01
    penalty: float = 500.0
    steps: int = 60
    learning_rate: float = 0.5
    patience: int | None = 25
    take: Literal["best", "last"] = "best"


RELEASED = AdversarySearch(steps=500, learning_rate=0.01, patience=None, take="last")
"""As the released code has it, with 5 candidates whose logits are 3 times standard normal."""


@dataclass(frozen=True, eq=False)
class Adversaries:
    """Result of the search for each text.

    Attributes:
        weight: The most different attention, or the model's own where none is allowed.
        jsd: Jensen-Shannon divergence from the model's own attention, from 0 to ln 2: the mean over
            the rows that take part.
        moved: Change of the prediction, at most ε.
        steps: Number of steps taken.
    """

    weight: Weights
    jsd: PerText
    moved: PerText
    steps: Int64[Tensor, " text"]


def most_different(
    moved: Moved,
    weight: Weights,
    keys: Keys,
    start: Candidates,
    search: AdversarySearch | None = None,
) -> Adversaries:
    """Find the attention farthest from a model's own while the prediction moves by at most ε.

    Several candidates of each text are changed at once by Adam, to make the loss small:

        Σ_k (−JSD(a_k, a) + penalty · max(0, moved(a_k) − margin)) − mean_kl JSD(a_k, a_l)

    A candidate is the softmax of logits over the keys that take part, times the row's sum over
    them.  The result is the most different of the candidates whose prediction is within ε of the
    original, and of the model's own attention; so its divergence is a lower bound of the largest
    one.  The last term keeps candidates apart.  Results of texts do not depend on one another.

    Args:
        moved: Change of the predictions with other attention.
        weight: The model's own attention.
        keys: Keys whose weights may change.  Rows of fewer than two such keys stay as they are.
        start: Initial logits of the candidates; the authors add 3 times standard normal noise to
            uniform attention, which is the same as that noise alone.
        search: Settings of the search; by default those of `AdversarySearch`.

    Source: Jain and Wallace (2019), Section 4.2.2 and Algorithm 2, with the settings of the
    released code, where ε is 0.05 and the margin 0.01.
    """
    search = search or AdversarySearch()
    rows = keys.sum(-1) > 1
    free = keys & rows[..., None]
    logits = start.detach().clone().requires_grad_()
    optimiser = torch.optim.Adam([logits], lr=search.learning_rate, amsgrad=True)
    best = _Best(weight, search)
    for _ in range(search.steps):
        with torch.enable_grad():
            candidates = _candidates(logits, weight, free)
            distance = moved(candidates)
            apart, spread = _divergences(candidates, weight, rows)
            excess = nn.functional.relu(distance - search.margin)
            losses = (search.penalty * excess - apart).sum(0) - spread
            # One sum for all texts: no loss depends on another text, and Adam scales each logit by
            # itself. `backward` would fill the gradients of the model as well.
            (logits.grad,) = torch.autograd.grad(losses.sum(), [logits])
        best.note(candidates.detach(), apart.detach(), distance.detach(), losses.detach())
        if not best.searching:
            break
        optimiser.step()
    return best.result()


def _candidates(logits: Candidates, weight: Weights, free: Keys) -> Candidates:
    """Take the softmax over the keys that take part; rows in which none do stay as they are."""
    rows = free.any(-1, keepdim=True)
    hidden = rows & ~free  # a softmax over nothing is not a number
    share = logits.masked_fill(hidden, -torch.inf).softmax(-1)
    whole = (weight * free).sum(-1, keepdim=True)
    return torch.where(free, share * whole, weight)


def _divergences(
    candidates: Candidates, weight: Weights, rows: Bool[Tensor, "text row"]
) -> tuple[Float[Tensor, "candidate text"], PerText]:
    """Return the candidates' divergence from the model's attention, and the mean of their pairs.

    With N(p) = Σ p ln p, JSD(p, q) = (N(p) + N(q)) / 2 − N((p + q) / 2): this takes one logarithm
    of each row instead of three for each pair.  The mean is over all pairs, those of a candidate
    with itself included.
    """
    number = len(candidates)
    first, second = torch.triu_indices(number, number, 1)
    original, by_candidate = _negative_entropy(weight), _negative_entropy(candidates)
    apart = (by_candidate + original) / 2 - _negative_entropy((candidates + weight) / 2)
    middle = (candidates[first] + candidates[second]) / 2
    pairs = (by_candidate[first] + by_candidate[second]) / 2 - _negative_entropy(middle)
    spread = 2 * _mean_over_rows(pairs, rows).sum(0) / number**2
    return _mean_over_rows(apart.clamp(0, math.log(2)), rows), spread


def _negative_entropy(
    distribution: Float[Tensor, "*candidate text row key"],
) -> Float[Tensor, "*candidate text row"]:
    # The floor keeps the logarithm of 0, and its gradient, finite.
    tiny = torch.finfo(distribution.dtype).tiny
    return (distribution * distribution.clamp_min(tiny).log()).sum(-1)


def _mean_over_rows(
    values: Float[Tensor, "*candidate text row"], rows: Bool[Tensor, "text row"]
) -> Float[Tensor, "*candidate text"]:
    return (values * rows).sum(-1) / rows.sum(-1).clamp_min(1)


class _Best:
    """The most different attention of each text, as it is found."""

    def __init__(self, weight: Weights, search: AdversarySearch) -> None:
        texts = len(weight)
        self._search = search
        self._weight = weight.detach()
        self._jsd = weight.new_zeros(texts)
        self._moved = weight.new_zeros(texts)
        self._original = self._weight
        self._lowest = weight.new_full((texts,), torch.inf)
        self._waited = torch.zeros(texts, dtype=torch.int64, device=weight.device)
        self._steps = torch.zeros_like(self._waited)
        self._active = torch.ones_like(self._waited, dtype=torch.bool)

    @property
    def searching(self) -> bool:
        """Return whether any text is not done."""
        return bool(self._active.any())

    def note(
        self,
        candidates: Candidates,
        apart: Float[Tensor, "candidate text"],
        distance: Float[Tensor, "candidate text"],
        losses: PerText,
    ) -> None:
        """Update with the candidates of one step; texts that are done stay as they are."""
        jsd, which = torch.where(distance <= self._search.epsilon, apart, 0).max(0)
        texts = torch.arange(len(which), device=which.device)
        changed = self._active & ((jsd > self._jsd) | (self._search.take == "last"))
        allowed = jsd > 0
        self._jsd = torch.where(changed, jsd, self._jsd)
        now = torch.where(allowed, distance[which, texts], 0)
        self._moved = torch.where(changed, now, self._moved)
        chosen = torch.where(allowed[:, None, None], candidates[which, texts], self._original)
        self._weight = torch.where(changed[:, None, None], chosen, self._weight)
        self._steps += self._active
        self._wait(losses)

    def _wait(self, losses: PerText) -> None:
        fallen = losses < self._lowest - NOTICED
        self._lowest = torch.where(fallen, losses, self._lowest)
        self._waited = torch.where(fallen, 0, self._waited + 1)
        if self._search.patience is not None:
            self._active &= self._waited < self._search.patience

    def result(self) -> Adversaries:
        """Return the best candidates at the end."""
        return Adversaries(self._weight, self._jsd, self._moved, self._steps)
