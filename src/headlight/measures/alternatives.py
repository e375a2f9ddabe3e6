"""Other attention with the same output, and adversaries that keep the prediction.

Other attention of the same output, within the simplex (Brunner et al. 2020, Section 3.3).
One row of attention at a time: a ≥ 0 over the keys that its query sees.  Its alternatives are the
polytope of all x ≥ 0 with x [T, 1] = a [T, 1].  In float64.

The most different attention with nearly the same prediction (Jain and Wallace 2019, 4.2.2).
It is searched for each text by itself, with the model as it is: attention weights are free, and
change as far as they can without the prediction.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor, nn

Row = Float64[np.ndarray, " key"]
Matrix = Float64[np.ndarray, "key column"]
Directions = Float64[np.ndarray, "key direction"]

SMALLEST = 1e-9
"""Total variation and solutions of linear programs below this are rounding."""
STEPS = 50
"""Linearisations at most; they end by themselves after a few."""
PRECISION = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class RowAlternatives:
    """The alternatives of one row of attention.

    Attributes:
        row: a, at least 0.
        basis: orthonormal columns that span those of [T, 1] on the same keys.
    """

    row: Row
    basis: Matrix

    @cached_property
    def exist(self) -> bool:
        """Whether there is any x but a itself.

        A key of weight 0 can only gain.  So there are alternatives if LN([T, 1]) has a direction
        in which all such keys stay, or a direction in which they gain.
        """
        return bool(self._null_basis_of_support.shape[1]) or self._gain is not None

    def random(self, generator: np.random.Generator) -> Row:
        """Return λ_max ã for a random direction ã of LN([T, 1]); zero if there is no alternative.

        Keys with a weight of exactly 0 stay at 0, since most directions would not be possible at
        all otherwise; unless they can only gain all together.

        Source: Brunner et al. (2020), Section 3.3, Eq. 7.
        """
        null = self._null_basis_of_support
        if not null.shape[1]:
            return np.zeros_like(self.row) if self._gain is None else self._gain
        direction = np.zeros_like(self.row)
        direction[self._support] = null @ generator.standard_normal(null.shape[1])
        return largest_step(self.row, direction) * direction

    def farthest(self, generator: np.random.Generator, starts: int) -> list[Row]:
        """Changes x − a that are local maxima of the total variation, the largest first.

        The total variation is convex, so its maximum lies at one of the very many corners.  From
        every start, linear programs maximise its linearisation at the last corner, by which it
        never falls, until it stands still.  The first start takes as much weight from where a has
        it as can be; the others are corners in random directions.

        Source: Brunner et al. (2020), Section 3.3, for the question; the method is ours.
        """
        if not self.exist:
            return [np.zeros_like(self.row)] * starts
        objectives = [self.row, *generator.standard_normal((starts - 1, len(self.row)))]
        changes = [self._climb(self._minimum(objective)) - self.row for objective in objectives]
        return sorted(changes, key=total_variation, reverse=True)

    def corner(self) -> Row:
        """The change x − a to the corner with the least weight where a has it.

        This is where the first climb of `farthest` begins; zero if there is no alternative.
        """
        return self._minimum(self.row) - self.row if self.exist else np.zeros_like(self.row)

    def bound(self, *, tight: bool = False) -> float:
        """Return an upper bound of every alternative's total variation, by linear programming.

        TV = Σ max(a − x, 0), and over l ≤ x ≤ u each summand lies below the chord between its ends.
        Maximising the sum of the chords is one linear program.  l and u are 0 and the sum of the
        row; or, ``tight``, the least and greatest weight of every key, by two programs each.
        """
        if not self.exist:
            return 0.0
        lowest, highest = self._ranges() if tight else (0.0 * self.row, 0.0 * self.row + self.total)
        slope = (self.row - lowest) / np.maximum(highest - lowest, SMALLEST)
        least = float(slope @ (self._minimum(slope) - lowest))
        return max(float((self.row - lowest).sum()) - least, 0.0)

    @property
    def total(self) -> float:
        """The sum of the row."""
        return float(self.row.sum())

    @property
    def _support(self) -> Bool[np.ndarray, " key"]:
        return self.row > 0

    @cached_property
    def _null_basis_of_support(self) -> Directions:
        """Directions of LN([T, 1]) in which keys of weight 0 stay: orthonormal columns."""
        return null_basis(self.basis[self._support])

    @cached_property
    def _gain(self) -> Row | None:
        """The largest change by which the keys of weight 0 gain, if they can."""
        unused = (~self._support).astype(np.float64)
        if not unused.any():
            return None
        change = self._minimum(-unused) - self.row
        return change if total_variation(change) > SMALLEST else None

    def _climb(self, corner: Row) -> Row:
        """Corners of ever larger total variation."""
        for _ in range(STEPS):
            following = self._minimum(np.where(corner > self.row, -1.0, 1.0))
            gained = total_variation(following - self.row) - total_variation(corner - self.row)
            if gained <= SMALLEST:
                break
            corner = following
        return corner

    def _ranges(self) -> tuple[Row, Row]:
        units = np.eye(len(self.row))
        lowest = np.array([self._minimum(unit) @ unit for unit in units])
        highest = np.array([self._minimum(-unit) @ unit for unit in units])
        return np.minimum(lowest, self.row), np.maximum(highest, self.row)

    def _minimum(self, objective: Row) -> Row:
        """The alternative that minimises a linear objective, by HiGHS."""
        from scipy.optimize import linprog  # slow to import

        sums = {"A_eq": self.basis.T, "b_eq": self.basis.T @ self.row}
        solved: Any = linprog(objective, **sums, method="highs", options=PRECISION)
        if solved.x is None:  # a itself is feasible; only rounding can deny it
            return self.row.copy()
        return np.asarray(np.maximum(solved.x, 0.0))


def column_basis(columns: Float64[np.ndarray, "key spanning"], width: int) -> Matrix:
    """Orthonormal columns that span the given ones.

    Args:
        columns: [T, 1] as `with_ones` gives it, for one head.
        width: how many columns [T, 1] has itself, for the rank tolerance of numpy.
    """
    basis, values, _ = np.linalg.svd(columns, full_matrices=False)
    tolerance = values.max(initial=0.0) * max(len(columns), width) * np.finfo(np.float64).eps
    return basis[:, values > tolerance]


def null_basis(basis: Matrix) -> Directions:
    """Orthonormal columns of what is orthogonal to the columns of some rows of a basis."""
    vectors, values, _ = np.linalg.svd(basis)
    rank = int((values > max(basis.shape, default=1) * np.finfo(np.float64).eps * 8).sum())
    directions: Directions = vectors[:, rank:]
    return directions


def largest_step(row: Row, direction: Row) -> float:
    """λ_max = min over ã_i < 0 of −a_i / ã_i; 0 for no direction at all.

    Source: Brunner et al. (2020), Section 3.3, Eq. 7.
    """
    falls = direction < 0
    return float((row[falls] / -direction[falls]).min(initial=np.inf)) if falls.any() else 0.0


def total_variation(change: Row) -> float:
    """Half the sum of the absolute changes: for distributions from 0 to 1."""
    return 0.5 * float(np.abs(change).sum())


Weights = Float[Tensor, "text row key"]
"""One row for each distribution that is free: of one attention, or of all heads and queries."""

Candidates = Float[Tensor, "candidate text row key"]

Keys = Bool[Tensor, "text row key"]
"""Mask of the keys that take part; none in rows that stay as they are."""

PerText = Float[Tensor, " text"]

Moved = Callable[[Candidates], Float[Tensor, "candidate text"]]
"""Change of the predictions to texts with such attention: a total variation distance, which can be
differentiated.  What it says of a text depends on that text alone."""

NOTICED = 1e-3
"""A loss that falls by less has not fallen."""


@dataclass(frozen=True, kw_only=True)
class AdversarySearch:
    """Settings of the search for the most different attention; `RELEASED` are those of the authors.

    Attributes:
        epsilon: how far the prediction may be from what it was.
        margin: how far it may be while attention is changed before that costs anything.
        penalty: what each unit beyond the margin costs.
        steps: of Adam (amsgrad), at most.
        learning_rate: step size of the optimizer.
        patience: a text is done when its loss has not fallen for this many steps; None for all
            steps.
        take: the ``best`` attention of all steps, or that of the ``last``.
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
        weight: the most different attention, or the model's own where none is allowed.
        jsd: how different it is from the model's own: the mean over the rows that take part of the
            Jensen-Shannon divergence, from 0 to ln 2.
        moved: how far the prediction is from what it was; at most ε.
        steps: how many were taken.
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
    """The attention that is farthest from a model's own while the prediction moves by at most ε.

    Several candidates of each text are changed at once by Adam, to make the loss small:

        Σ_k (−JSD(a_k, a) + penalty · max(0, moved(a_k) − margin)) − mean_kl JSD(a_k, a_l)

    A candidate is the softmax of logits over the keys that take part, times what the row gives to
    them.  Of those whose prediction is within ε of what it was, and the model's own attention, the
    most different one counts; so what is found is a lower bound of what there is.  The last term
    keeps candidates apart.  What is found for a text does not depend on the other texts.

    Args:
        moved: how far predictions are from what they were.
        weight: the model's own attention.
        keys: where it may be another.  Rows of fewer than two such keys stay as they are.
        start: logits of the candidates to begin with; the authors add 3 times standard normal noise
            to uniform attention, which is the same as that noise alone.
        search: see `AdversarySearch`.

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
            (logits.grad,) = torch.autograd.grad(losses.sum(), [logits])
        best.note(candidates.detach(), apart.detach(), distance.detach(), losses.detach())
        if not best.searching:
            break
        optimiser.step()
    return best.found()


def _candidates(logits: Candidates, weight: Weights, free: Keys) -> Candidates:
    """The softmax over the keys that take part; rows in which none do stay as they are."""
    rows = free.any(-1, keepdim=True)
    hidden = rows & ~free  # a softmax over nothing is not a number
    share = logits.masked_fill(hidden, -torch.inf).softmax(-1)
    whole = (weight * free).sum(-1, keepdim=True)
    return torch.where(free, share * whole, weight)


def _divergences(
    candidates: Candidates, weight: Weights, rows: Bool[Tensor, "text row"]
) -> tuple[Float[Tensor, "candidate text"], PerText]:
    """Return the candidates' divergence from the model's attention, and the mean of their pairs.

    With N(p) = Σ p ln p, JSD(p, q) = (N(p) + N(q)) / 2 − N((p + q) / 2): of each row but one
    logarithm is taken, and not three for each pair of rows.  In a pair a candidate may meet itself.
    """
    number = len(candidates)
    first, second = torch.triu_indices(number, number, 1)
    own, each = _negative_entropy(weight), _negative_entropy(candidates)
    apart = (each + own) / 2 - _negative_entropy((candidates + weight) / 2)
    middle = (candidates[first] + candidates[second]) / 2
    pairs = (each[first] + each[second]) / 2 - _negative_entropy(middle)
    spread = 2 * _mean_over_rows(pairs, rows).sum(0) / number**2
    return _mean_over_rows(apart.clamp(0, math.log(2)), rows), spread


def _negative_entropy(
    distribution: Float[Tensor, "*candidate text row key"],
) -> Float[Tensor, "*candidate text row"]:
    """Σ p ln p; a floor keeps the logarithm of 0 and its gradient finite."""
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
        self._own = self._weight
        self._lowest = weight.new_full((texts,), torch.inf)
        self._waited = torch.zeros(texts, dtype=torch.int64, device=weight.device)
        self._steps = torch.zeros_like(self._waited)
        self._active = torch.ones_like(self._waited, dtype=torch.bool)

    @property
    def searching(self) -> bool:
        """Whether any text is not done."""
        return bool(self._active.any())

    def note(
        self,
        candidates: Candidates,
        apart: Float[Tensor, "candidate text"],
        distance: Float[Tensor, "candidate text"],
        losses: PerText,
    ) -> None:
        """Look at the candidates of one step; texts that are done stay as they are."""
        jsd, which = torch.where(distance <= self._search.epsilon, apart, 0).max(0)
        texts = torch.arange(len(which), device=which.device)
        changed = self._active & ((jsd > self._jsd) | (self._search.take == "last"))
        allowed = jsd > 0
        self._jsd = torch.where(changed, jsd, self._jsd)
        now = torch.where(allowed, distance[which, texts], 0)
        self._moved = torch.where(changed, now, self._moved)
        chosen = torch.where(allowed[:, None, None], candidates[which, texts], self._own)
        self._weight = torch.where(changed[:, None, None], chosen, self._weight)
        self._steps += self._active
        self._wait(losses)

    def _wait(self, losses: PerText) -> None:
        fallen = losses < self._lowest - NOTICED
        self._lowest = torch.where(fallen, losses, self._lowest)
        self._waited = torch.where(fallen, 0, self._waited + 1)
        if self._search.patience is not None:
            self._active &= self._waited < self._search.patience

    def found(self) -> Adversaries:
        """Return the best candidates at the end."""
        return Adversaries(self._weight, self._jsd, self._moved, self._steps)
