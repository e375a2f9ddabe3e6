"""All maps of a study: which are trained, on how many threads, and how often they find a token."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
from jaxtyping import Float64

from headlight.observe.allocator import keep_freed_memory
from headlight.probes.identity_cases import Case, Tokens
from headlight.probes.identity_fitting import Fitted, fit, predicted
from headlight.probes.identity_settings import IdentitySettings, MapRecipe
from headlight.run.progress import Lines

Keep = Callable[[Case, int, Fitted], None]


@dataclass(frozen=True, eq=False)
class Outcome:
    """How often the map of one layer finds tokens again, and how it came about.

    Attributes:
        case: with this layer alone.
        test: identifiability rate on the test tokens.
        train: on the training tokens.
        across: on the test tokens of each layer; empty unless asked for.
        fitted: the map; None for the naive one.
    """

    case: Case
    test: float
    train: float
    across: Float64[np.ndarray, " tested"]
    fitted: Fitted | None


def study(
    tokens: Tokens,
    settings: IdentitySettings,
    device: torch.device,
    keep: Keep | None,
    progress: bool,
) -> list[Outcome]:
    """Train and test every map.

    On a processor every thread trains maps of its own, one layer and fold at a time, which leaves
    each core its caches and makes results the same for any number of threads.
    """
    outcomes: list[Outcome] = []
    keep_freed_memory()  # every step asks for the same few blocks
    with _precision(settings.recipe.precision), _workers(device) as pool:
        for kind, loss in product(settings.maps, settings.losses):
            recipe = settings.recipe
            if _searches(settings, kind):
                recipe = _searched(tokens, kind, loss, settings)
            cases = list(_cases(kind, loss, tokens, settings, recipe, device))
            if progress:
                Lines(None, sys.stderr).note(
                    f"{kind}, {loss}: {sum(len(case.layers) for case in cases)} maps"
                )

            def judged(case: Case, recipe: MapRecipe = recipe) -> list[Outcome]:
                return _judged(tokens, case, settings, recipe, keep)

            for found in pool.map(judged, cases):
                outcomes += found
    return outcomes


def _searches(settings: IdentitySettings, kind: str) -> bool:
    trained = kind == "mlp" or (kind == "linear" and settings.solver == "adam")
    return trained and settings.search == "one" and len(settings.recipe.rates) > 1


def _searched(tokens: Tokens, kind: str, loss: str, settings: IdentitySettings) -> MapRecipe:
    """The recipe with one learning rate, that which suits the highest layer best."""
    highest = (max(tokens.layers),)
    case = Case(kind, loss, settings.offsets[0], settings.fractions[0], 0, highest)
    (fitted,) = fit(tokens, case, settings, settings.recipe)
    return replace(settings.recipe, rates=(fitted.parameter,))


def _cases(
    kind: str,
    loss: str,
    tokens: Tokens,
    settings: IdentitySettings,
    recipe: MapRecipe,
    device: torch.device,
) -> Iterator[Case]:
    """Every offset, fraction and fold; layers one by one, or together where that is faster."""
    together = 1 if device.type == "cpu" else _fitting(kind, tokens, settings, recipe)
    layers = tokens.layers
    for offset, fraction, fold in product(
        settings.offsets, settings.fractions, range(settings.folds)
    ):
        for first in range(0, len(layers), together):
            some = layers[first : first + together]
            yield Case(kind, loss, offset, fraction, fold, some)


def _fitting(kind: str, tokens: Tokens, settings: IdentitySettings, recipe: MapRecipe) -> int:
    """How many layers' maps fit into the memory together, with what they are trained on."""
    width, goal = tokens.hidden(0).shape[1], tokens.goals(0).shape[1]
    hidden = recipe.hidden if kind == "mlp" else 0
    parameters = hidden * (width + goal + 1) + goal if hidden else width * goal
    activations = recipe.batch * (3 * goal + 4 * hidden)
    maps = 4 * len(recipe.rates) * (5 * parameters + activations)
    data = 4 * len(tokens.vectors.inputs) * (width + goal)
    return max(1, settings.memory // (maps + data))


def _judged(
    tokens: Tokens,
    case: Case,
    settings: IdentitySettings,
    recipe: MapRecipe,
    keep: Keep | None,
) -> list[Outcome]:
    """Fit the maps of a case and see how often they find a token."""
    naive = case.map == "naive"
    fitted: Sequence[Fitted | None] = [None] * len(case.layers)
    if not naive:
        fitted = fit(tokens, case, settings, recipe)
    outcomes = []
    for layer, one in zip(case.layers, fitted, strict=True):
        alone = replace(case, layers=(layer,))
        if keep is not None and one is not None:
            keep(alone, layer, one)
        outcomes.append(_outcome(tokens, alone, one, settings, recipe))
    return outcomes


def _outcome(
    tokens: Tokens, case: Case, fitted: Fitted | None, settings: IdentitySettings, recipe: MapRecipe
) -> Outcome:
    parts = tokens.parts(case)
    (layer,) = case.layers
    lookup = tokens.lookup(case.loss, layer)

    def rate(tested: int, part: str) -> float:
        pairs = getattr(parts, part)
        hidden = tokens.some(tokens.hidden(tested), pairs.source)
        if fitted is None:
            comparable = hidden.shape[1] == tokens.goals(layer).shape[1]
            return lookup.rate(hidden, pairs) if comparable else float("nan")
        return lookup.rate(predicted(fitted, hidden, recipe), pairs)

    across = [rate(tested, "test") for tested in tokens.layers] if settings.across else []
    return Outcome(case, rate(layer, "test"), rate(layer, "train"), np.array(across), fitted)


@contextmanager
def _precision(name: str) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _workers(device: torch.device) -> Iterator[ThreadPoolExecutor]:
    """As many threads as torch would use, each of which computes alone."""
    threads = torch.get_num_threads()
    count = threads if device.type == "cpu" else 1
    try:
        with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(threads)
