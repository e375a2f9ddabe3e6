"""Fitting the maps of one case, and choosing among them on the validation tokens."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.errors import RunError
from headlight.studies.token_identity.cases import Case, Tokens
from headlight.studies.token_identity.models import Model, first_weights, model_of
from headlight.studies.token_identity.ridge import ridge_maps
from headlight.studies.token_identity.settings import IdentitySettings, MapRecipe
from headlight.studies.token_identity.splits import Pairs, order
from headlight.studies.token_identity.training import Course, Material, train
from headlight.studies.token_identity.validation import Validation


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

    model: Model
    weights: list[Float[Tensor, "..."]]
    parameter: float
    loss: float
    best: int = 0
    epochs: int = 0


def fit(tokens: Tokens, case: Case, settings: IdentitySettings, recipe: MapRecipe) -> list[Fitted]:
    """One map for each layer of the case, with the learning rate or λ that suits it best.

    Raises:
        RunError: no learning rate led to a finite loss.
    """
    parts = tokens.parts(case)
    training = _material(tokens, case, parts.train)
    held_out = _material(tokens, case, parts.validation)
    sizes = (training.hidden[0].shape[1], training.goals[0].shape[1])
    exact = recipe.precision == "highest"
    model = model_of(case.map, sizes, recipe.hidden, exact=exact)
    validation = Validation(held_out.hidden, held_out.goals, case.loss, model)
    if case.map == "linear" and settings.solver == "ridge":
        return _in_closed_form(model, training, validation, case.loss, settings.ridges)
    device = training.hidden[0].device
    begin = [_begin(model, case, layer, settings.seed, device) for layer in case.layers]
    courses = train(
        model,
        begin,
        training,
        validation,
        case.loss,
        recipe,
        lambda epoch: order(len(parts.train), case.fold, settings.seed, epoch),
    )
    return [_best(model, course, recipe.rates, case) for course in courses]


def predicted(
    fitted: Fitted, hidden: Float[Tensor, "token model"], recipe: MapRecipe
) -> Float[Tensor, "token input"]:
    """What a map makes of hidden tokens; in float64 where float32 is multiplied inexactly."""
    exact = torch.float32 if recipe.precision == "highest" else torch.float64
    weights = [tensor.to(exact)[None, None] for tensor in fitted.weights]
    rows = [
        fitted.model.predict(weights, some.to(exact).unsqueeze(0))[0, 0]
        for some in torch.split(hidden, 4096)
    ]
    return torch.cat(rows)


def _material(tokens: Tokens, case: Case, pairs: Pairs) -> Material:
    """The rows of these pairs for each layer; goals that layers share are taken once."""
    goals: dict[int, Float[Tensor, "token input"]] = {}
    for layer in case.layers:
        rows = tokens.goals(layer)
        if rows.data_ptr() not in goals:
            goals[rows.data_ptr()] = tokens.some(rows, pairs.goal)
    return Material(
        [tokens.some(tokens.hidden(layer), pairs.source) for layer in case.layers],
        [goals[tokens.goals(layer).data_ptr()] for layer in case.layers],
    )


def _begin(
    model: Model, case: Case, layer: int, seed: int, device: torch.device
) -> list[Float[Tensor, "..."]]:
    """First weights, which depend on nothing but seed, fold and layer."""
    drawn = first_weights(model.shapes, [seed, case.fold, layer])
    return [tensor.to(device) for tensor in drawn]


def _best(model: Model, courses: Sequence[Course], rates: Sequence[float], case: Case) -> Fitted:
    """The course with the least validation loss, the first of equals."""
    number = min(range(len(rates)), key=lambda place: courses[place].loss)
    course = courses[number]
    if not math.isfinite(course.loss):
        raise RunError(
            f"a {case.map} map diverged at every learning rate ({case.loss} loss, fold "
            f"{case.fold}); try smaller ones."
        )
    return Fitted(model, course.weights, rates[number], course.loss, course.best, course.epochs)


def _in_closed_form(
    model: Model,
    training: Material,
    validation: Validation,
    loss: str,
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
