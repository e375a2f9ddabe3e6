"""Training of many maps at once, and the choice among those of one case on validation tokens."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.optim.adam import adam

from headlight.errors import RunError
from headlight_papers.studies.token_identity import (
    RIDGES,
    Loss,
    MapTrainingSettings,
    TokenIdentitySettings,
)
from headlight_papers.studies.token_identity.cases import Case, Pairs, Tokens, order
from headlight_papers.studies.token_identity.models import (
    Linear,
    MapFamily,
    Weights,
    family_of,
    first_weights,
    prepared,
    ridge_maps,
    value,
)

Rows = Float[Tensor, "token dim"]
Hidden = Float[Tensor, "token model"]
Goals = Float[Tensor, "token input"]
TOKENS = 256
"""Tokens of which predictions are in memory at a time; few enough for a cache."""


class Validation:
    """Mean losses over the validation tokens of each group.

    For linear maps and the L2 loss no pass over the tokens is needed: with [X Y] = Q R, the sum of
    squares ‖X W − Y‖² is that of R, which has no more rows than X and Y have columns.  It is a sum
    of squares again, so that nothing cancels out, as it would in tr(WᵀXᵀXW) − 2 tr(WᵀXᵀY) + …
    R is computed in float64.

    Args:
        hidden: Validation tokens of each group.
        goals: Targets of these tokens.
        loss: Loss, ``cosine`` or ``l2``.
        model: Kind of map.
    """

    def __init__(
        self, hidden: Sequence[Hidden], goals: Sequence[Goals], loss: Loss, model: MapFamily
    ) -> None:
        self._loss = loss
        self._tokens = len(hidden[0])
        self._rest = [0.0] * len(hidden)
        self._hidden = list(hidden)
        self._goals = [prepared(rows, loss) for rows in goals]
        # Only squares can be folded into a triangle, and only a linear map keeps its columns.
        if loss == "l2" and isinstance(model, Linear):
            for group, sides in enumerate(zip(hidden, goals, strict=True)):
                self._hidden[group], self._goals[group], self._rest[group] = _triangle(*sides)

    def losses(
        self, model: MapFamily, weights: Weights, groups: Sequence[int]
    ) -> Float[Tensor, "group rate"]:
        """Return the mean loss of every map of a stack whose rows are of these groups; float64."""
        return torch.stack(
            [
                self._select_group(model, [w[row : row + 1] for w in weights], group)
                for row, group in enumerate(groups)
            ]
        )

    def _select_group(
        self, model: MapFamily, weights: Weights, group: int
    ) -> Float[Tensor, " rate"]:
        total: Tensor | float = self._rest[group]
        sides = (self._hidden[group], self._goals[group])
        for hidden, goals in zip(*(torch.split(side, TOKENS) for side in sides), strict=True):
            predicted = model.predict(weights, hidden.unsqueeze(0))[0]
            # Losses are summed in float64, since those of neighbouring epochs differ little.
            total = total + value(predicted, goals, self._loss).sum(-1, dtype=torch.float64)
        return torch.as_tensor(total) / self._tokens


def _triangle(
    hidden: Hidden, goals: Goals
) -> tuple[Float[Tensor, "row model"], Float[Tensor, "row input"], float]:
    """Return fewer rows with the same sum of squares of X W − Y for every W, up to a constant.

    The constant is in units of the loss: mean over the entries of a token.
    """
    # QR runs in float64, since R stands for all tokens in every later loss.
    both = torch.cat([hidden, goals], dim=1).cpu().double().numpy()
    factor: np.ndarray = np.asarray(np.linalg.qr(both, mode="r"))
    width = hidden.shape[1]
    top, rest = factor[:width], factor[width:, width:]
    parts = (torch.from_numpy(side).to(hidden) for side in (top[:, :width], top[:, width:]))
    x, y = (part.contiguous() for part in parts)
    return x, y, float((rest**2).sum() / goals.shape[1])


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Hidden tokens of some groups, and their targets, in the same order."""

    hidden: Sequence[Hidden]
    goals: Sequence[Goals]


@dataclass(eq=False)
class TrainingHistory:
    """History of the training of one map, and its best weights so far.

    Attributes:
        weights: Weights of the smallest validation loss.
        loss: Smallest validation loss.
        best: Epoch after which it was reached, from 1.
        epochs: Number of epochs trained.
    """

    weights: list[Float[Tensor, "..."]]
    loss: float = float("inf")
    best: int = 0
    epochs: int = 0

    def note(self, loss: float, weights: Iterable[Tensor]) -> None:
        """Note the loss and the weights after one more epoch."""
        self.epochs += 1
        if loss < self.loss:
            self.loss, self.best = loss, self.epochs
            # A clone, since updates write into the weights in place.
            self.weights = [tensor.clone() for tensor in weights]

    def is_over(self, patience: int) -> bool:
        """Whether this many epochs brought nothing better."""
        return self.epochs - self.best >= patience


@dataclass(eq=False)
class Stack:
    """Maps in training, as a table of groups by learning rates; every row is equally full.

    Attributes:
        groups: Number of the group of each row.
        rates: Numbers of the learning rates that are still in each row.
        weights: Weights, one tensor for each parameter.
        means: Adam's averages of gradients.
        squares: Adam's averages of their squares.
        steps: Number of updates so far.
    """

    groups: list[int]
    rates: list[list[int]]
    weights: Weights
    means: Weights = field(default_factory=list)
    squares: Weights = field(default_factory=list)
    steps: Float[Tensor, ""] = field(default_factory=lambda: torch.zeros(()))
    _places: dict[int, list[tuple[int, int]]] = field(init=False, repr=False)
    _parts: dict[int, list[list[Tensor]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.means = self.means or [torch.zeros_like(tensor) for tensor in self.weights]
        self.squares = self.squares or [torch.zeros_like(tensor) for tensor in self.weights]
        self._places = self._places_by_rate()
        self._parts = {
            rate: [_parts(side, places) for side in (self.weights, self.means, self.squares)]
            for rate, places in self._places.items()
        }
        self.steps = self.steps.to(self.weights[0].device)

    def update(self, gradient: Weights, rates: Sequence[float]) -> None:
        """Take one step of Adam, maps of one learning rate together.

        By torch's functional form, to which an update is given the state of those maps that are
        still in training.
        """
        # Maps of one learning rate take a step together: fused Adam has one rate for a call.
        for number, places in self._places.items():
            weights, means, squares = self._parts[number]
            adam(
                weights,
                # Fused updates take memory as it lies, and autograd gives some transposed.
                [part.contiguous() for part in _parts(gradient, places)],
                means,
                squares,
                [],
                # Adam counts its steps in place, here once for each tensor.
                [self.steps.clone() for _ in weights],
                fused=True,
                lr=rates[number],
                beta1=0.9,
                beta2=0.999,
                eps=1e-8,
                weight_decay=0.0,
                amsgrad=False,
                maximize=False,
            )
        self.steps += 1

    def _places_by_rate(self) -> dict[int, list[tuple[int, int]]]:
        """Return the places in the table of the maps of each learning rate."""
        places: dict[int, list[tuple[int, int]]] = {}
        for row, column in enumerate(self.rates):
            for place, rate in enumerate(column):
                places.setdefault(rate, []).append((row, place))
        return places

    def without(self, stopped: Callable[[int, int], bool]) -> list["Stack"]:
        """Return the maps still in training, in stacks with rows of equal length."""
        active = [
            [place for place, rate in enumerate(row) if not stopped(group, rate)]
            for group, row in zip(self.groups, self.rates, strict=True)
        ]
        if all(len(places) == len(row) for places, row in zip(active, self.rates, strict=True)):
            return [self]
        # A row whose maps have all stopped is left out, and rows of one length make a stack.
        widths = sorted({len(places) for places in active} - {0})
        return [
            self._part([row for row, places in enumerate(active) if len(places) == width], active)
            for width in widths
        ]

    def _part(self, rows: Sequence[int], places: Sequence[Sequence[int]]) -> "Stack":
        def selected_rows(tensors: Weights) -> list[Float[Tensor, "row place ..."]]:
            return [torch.stack([tensor[row, places[row]] for row in rows]) for tensor in tensors]

        return Stack(
            [self.groups[row] for row in rows],
            [[self.rates[row][place] for place in places[row]] for row in rows],
            selected_rows(self.weights),
            selected_rows(self.means),
            selected_rows(self.squares),
            self.steps.clone(),
        )


def train(
    model: MapFamily,
    begin: Sequence[Sequence[Float[Tensor, "..."]]],
    training: TrainingData,
    validation: Validation,
    loss: Loss,
    settings: MapTrainingSettings,
    orders: Callable[[int], Int64[np.ndarray, " token"]],
) -> list[list[TrainingHistory]]:
    """Train one map for each group and learning rate.

    Args:
        model: Kind of map.
        begin: Initial weights of each group, the same for all its rates.
        training: Training tokens and their targets.
        validation: Validation losses by which training ends.
        loss: Loss, ``cosine`` or ``l2``.
        settings: Settings of the training.
        orders: Order of the training tokens in each epoch; epochs are numbered from 0.

    Returns:
        For each group the history of each learning rate.
    """
    numbers = range(len(settings.rates))
    histories = [[TrainingHistory(list(weights)) for _ in numbers] for weights in begin]
    training = TrainingData(training.hidden, [prepared(goals, loss) for goals in training.goals])
    sides: tuple[Sequence[Hidden], Sequence[Goals]] = training.hidden, training.goals
    stacks = [_begun(begin, len(settings.rates))]
    for epoch in range(settings.epochs):
        # All layers and rates read the tokens in one order, so that they differ by nothing else.
        order = torch.from_numpy(orders(epoch)).to(training.hidden[0].device)
        going: list[Stack] = []
        for stack in stacks:
            for rows in torch.split(order, settings.batch):
                batch, goals = (_batch(side, stack.groups, rows) for side in sides)
                stack.update(model.gradient(stack.weights, batch, goals, loss), settings.rates)
            _note(stack, validation.losses(model, stack.weights, stack.groups), histories)
            going += stack.without(lambda g, r: histories[g][r].is_over(settings.patience))
        stacks = going
    return histories


def _begun(begin: Sequence[Sequence[Tensor]], rates: int) -> Stack:
    """Return all maps before the first step."""
    groups = len(begin)
    weights = [
        torch.stack([tensors[number] for tensors in begin])
        .unsqueeze(1)
        .repeat(1, rates, *[1] * begin[0][number].ndim)
        for number in range(len(begin[0]))
    ]
    return Stack(list(range(groups)), [list(range(rates)) for _ in range(groups)], weights)


def _batch(
    side: Sequence[Rows], groups: Sequence[int], rows: Int64[Tensor, " row"]
) -> Float[Tensor, "group row dim"]:
    """Return the same rows of each group; rows that groups share are fetched once."""
    # Layers of one case mostly share their targets; expanding needs no memory.
    if all(side[group] is side[groups[0]] for group in groups):
        shared = side[groups[0]].index_select(0, rows)
        return shared.expand(len(groups), *shared.shape)
    return torch.stack([side[group].index_select(0, rows) for group in groups])


def _note(
    stack: Stack,
    losses: Float[Tensor, "group rate"],
    histories: Sequence[Sequence[TrainingHistory]],
) -> None:
    for row, group in enumerate(stack.groups):
        for place, rate in enumerate(stack.rates[row]):
            weights = (tensor[row, place] for tensor in stack.weights)
            histories[group][rate].note(float(losses[row, place]), weights)


def _parts(tensors: Weights, places: Sequence[tuple[int, int]]) -> list[Tensor]:
    return [tensor[place] for tensor in tensors for place in places]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Map of one layer that is best on the validation tokens.

    Attributes:
        model: Kind of map.
        weights: Parameters of the map.
        parameter: Learning rate, or the multiple λ of ridge regression.
        loss: Mean validation loss.
        best: Epoch whose weights the map has, from 1; 0 in closed form.
        epochs: Number of epochs trained with its learning rate; 0 in closed form.
    """

    model: MapFamily
    weights: list[Float[Tensor, "..."]]
    parameter: float
    loss: float
    best: int = 0
    epochs: int = 0


def fit(
    tokens: Tokens, case: Case, settings: TokenIdentitySettings, training: MapTrainingSettings
) -> list[Fitted]:
    """Fit a map for each layer of the case, with the best learning rate or λ.

    Raises:
        RunError: No learning rate led to a finite loss.
    """
    parts = tokens.parts(case)
    learned = _training_data(tokens, case, parts.train)
    held_out = _training_data(tokens, case, parts.validation)
    sizes = (learned.hidden[0].shape[1], learned.goals[0].shape[1])
    exact = training.precision == "highest"
    model = family_of(case.map, sizes, training.hidden, exact=exact)
    validation = Validation(held_out.hidden, held_out.goals, case.loss, model)
    if case.map == "linear" and settings.solver == "ridge":
        return _fit_closed_form(model, learned, validation, case.loss, RIDGES)
    device = learned.hidden[0].device
    begin = [_begin(model, case, layer, settings.seed, device) for layer in case.layers]
    histories = train(
        model,
        begin,
        learned,
        validation,
        case.loss,
        training,
        lambda epoch: order(len(parts.train), case.fold, settings.seed, epoch),
    )
    return [_best(model, history, training.rates, case) for history in histories]


def predicted(
    fitted: Fitted, hidden: Float[Tensor, "token model"], training: MapTrainingSettings
) -> Float[Tensor, "token input"]:
    """Return the predictions of a map; in float64 where float32 is multiplied inexactly."""
    # Where products may be rounded, neighbours are looked up by predictions in float64.
    exact = torch.float32 if training.precision == "highest" else torch.float64
    weights = [tensor.to(exact)[None, None] for tensor in fitted.weights]
    rows = [
        fitted.model.predict(weights, some.to(exact).unsqueeze(0))[0, 0]
        for some in torch.split(hidden, 4096)
    ]
    return torch.cat(rows)


def _training_data(tokens: Tokens, case: Case, pairs: Pairs) -> TrainingData:
    """Return the rows of these pairs for each layer; goals that layers share are taken once."""
    goals: dict[int, Float[Tensor, "token input"]] = {}
    for layer in case.layers:
        rows = tokens.goals(layer)
        # Layers share one array of targets unless each maps to the layer before it.
        if rows.data_ptr() not in goals:
            goals[rows.data_ptr()] = tokens.some(rows, pairs.goal)
    return TrainingData(
        [tokens.some(tokens.hidden(layer), pairs.source) for layer in case.layers],
        [goals[tokens.goals(layer).data_ptr()] for layer in case.layers],
    )


def _begin(
    model: MapFamily, case: Case, layer: int, seed: int, device: torch.device
) -> list[Float[Tensor, "..."]]:
    # Weights depend on seed, fold and layer alone, and not on what else is trained beside them.
    drawn = first_weights(model.shapes, [seed, case.fold, layer])
    return [tensor.to(device) for tensor in drawn]


def _best(
    model: MapFamily, histories: Sequence[TrainingHistory], rates: Sequence[float], case: Case
) -> Fitted:
    """Return the map with the least validation loss, the first of equals."""
    # Of equal losses the first rate is taken, so that the choice is the same everywhere.
    number = min(range(len(rates)), key=lambda place: histories[place].loss)
    history = histories[number]
    # A diverged map has an infinite or undefined loss at every epoch, and nothing was noted.
    if not math.isfinite(history.loss):
        raise RunError(
            f"a {case.map} map diverged at every learning rate ({case.loss} loss, fold "
            f"{case.fold}); try smaller ones."
        )
    return Fitted(model, history.weights, rates[number], history.loss, history.best, history.epochs)


def _fit_closed_form(
    model: MapFamily,
    training: TrainingData,
    validation: Validation,
    loss: Loss,
    ridges: Sequence[float],
) -> list[Fitted]:
    """Fit ridge regression for each layer."""
    fitted = []
    for group, (hidden, goals) in enumerate(zip(training.hidden, training.goals, strict=True)):
        # The λ is chosen as learning rates are, on the validation tokens.
        maps = ridge_maps(hidden, goals, loss, ridges)
        losses = validation.losses(model, [maps.unsqueeze(0)], [group])[0]
        number = int(losses.argmin())
        fitted.append(Fitted(model, [maps[number]], ridges[number], float(losses[number])))
    return fitted
