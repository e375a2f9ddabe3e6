"""Fitting the maps of one case, and choosing among them on the validation tokens."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.errors import RunError
from headlight_papers.studies.token_identity import (
    RIDGES,
    Loss,
    MapTrainingSettings,
    TokenIdentitySettings,
)
from headlight_papers.studies.token_identity.cases import Case, Pairs, Tokens, order
from headlight_papers.studies.token_identity.models import (
    MapFamily,
    family_of,
    first_weights,
    ridge_maps,
)
from headlight_papers.studies.token_identity.training import (
    TrainingData,
    TrainingHistory,
    Validation,
    train,
)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The map of one layer that is best on the validation tokens.

    Attributes:
        model: its kind.
        weights: its parameters.
        parameter: the learning rate, or the multiple λ of ridge regression.
        loss: mean validation loss.
        best: the epoch whose weights it has, from 1; 0 in closed form.
        epochs: epochs trained with its learning rate; 0 in closed form.
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
    """One map for each layer of the case, with the learning rate or λ that suits it best.

    Raises:
        RunError: no learning rate led to a finite loss.
    """
    parts = tokens.parts(case)
    learned = _training_data(tokens, case, parts.train)
    held_out = _training_data(tokens, case, parts.validation)
    sizes = (learned.hidden[0].shape[1], learned.goals[0].shape[1])
    exact = training.precision == "highest"
    model = family_of(case.map, sizes, training.hidden, exact=exact)
    validation = Validation(held_out.hidden, held_out.goals, case.loss, model)
    if case.map == "linear" and settings.solver == "ridge":
        return _in_closed_form(model, learned, validation, case.loss, RIDGES)
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
    exact = torch.float32 if training.precision == "highest" else torch.float64
    weights = [tensor.to(exact)[None, None] for tensor in fitted.weights]
    rows = [
        fitted.model.predict(weights, some.to(exact).unsqueeze(0))[0, 0]
        for some in torch.split(hidden, 4096)
    ]
    return torch.cat(rows)


def _training_data(tokens: Tokens, case: Case, pairs: Pairs) -> TrainingData:
    """The rows of these pairs for each layer; goals that layers share are taken once."""
    goals: dict[int, Float[Tensor, "token input"]] = {}
    for layer in case.layers:
        rows = tokens.goals(layer)
        if rows.data_ptr() not in goals:
            goals[rows.data_ptr()] = tokens.some(rows, pairs.goal)
    return TrainingData(
        [tokens.some(tokens.hidden(layer), pairs.source) for layer in case.layers],
        [goals[tokens.goals(layer).data_ptr()] for layer in case.layers],
    )


def _begin(
    model: MapFamily, case: Case, layer: int, seed: int, device: torch.device
) -> list[Float[Tensor, "..."]]:
    """First weights, which depend on nothing but seed, fold and layer."""
    drawn = first_weights(model.shapes, [seed, case.fold, layer])
    return [tensor.to(device) for tensor in drawn]


def _best(
    model: MapFamily, histories: Sequence[TrainingHistory], rates: Sequence[float], case: Case
) -> Fitted:
    """The map with the least validation loss, the first of equals."""
    number = min(range(len(rates)), key=lambda place: histories[place].loss)
    history = histories[number]
    if not math.isfinite(history.loss):
        raise RunError(
            f"a {case.map} map diverged at every learning rate ({case.loss} loss, fold "
            f"{case.fold}); try smaller ones."
        )
    return Fitted(model, history.weights, rates[number], history.loss, history.best, history.epochs)


def _in_closed_form(
    model: MapFamily,
    training: TrainingData,
    validation: Validation,
    loss: Loss,
    ridges: Sequence[float],
) -> list[Fitted]:
    """Ridge regression for each layer."""
    fitted = []
    for group, (hidden, goals) in enumerate(zip(training.hidden, training.goals, strict=True)):
        maps = ridge_maps(hidden, goals, loss, ridges)
        losses = validation.losses(model, [maps.unsqueeze(0)], [group])[0]
        number = int(losses.argmin())
        fitted.append(Fitted(model, [maps[number]], ridges[number], float(losses[number])))
    return fitted
