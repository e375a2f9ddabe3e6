"""All maps of a study: which are trained, on how many threads, and how often they find a token."""

import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from time import perf_counter
from typing import Any

import torch

from headlight.capture.torch_settings import matrix_precision
from headlight.engine.progress import Progress, show_progress
from headlight_papers.studies.token_identity import (
    Loss,
    MapKind,
    MapTrainingSettings,
    TokenIdentitySettings,
)
from headlight_papers.studies.token_identity.cases import Case, Tokens
from headlight_papers.studies.token_identity.training import Fitted, fit, predicted
from headlight_papers.training.json_cache import JsonCache

TRIED = 2
"""Epochs by which the time of all training is estimated."""


@dataclass(frozen=True)
class Outcome:
    """Accuracy of the map of one layer at identifying tokens, and how it was trained.

    Attributes:
        case: Case with this layer alone.
        test: Identifiability rate on the test tokens.
        train: Identifiability rate on the training tokens.
        across: Identifiability rates on the test tokens of each layer; empty unless requested.
        parameter: Learning rate, or λ of ridge regression; NaN for the naive map, as are all that
            follow.
        loss: Mean validation loss.
        best: Epoch whose weights the map has.
        epochs: Number of epochs trained.
    """

    case: Case
    test: float
    train: float
    across: Sequence[float]
    parameter: float = math.nan
    loss: float = math.nan
    best: float = math.nan
    epochs: float = math.nan


def evaluate_maps(
    tokens: Tokens,
    settings: TokenIdentitySettings,
    device: torch.device,
    *,
    cache: JsonCache | None = None,
    progress: bool = False,
) -> list[Outcome]:
    """Train and test every map.

    On a processor every thread trains maps of its own, one layer and fold at a time, which leaves
    each core its caches and makes results the same for any number of threads.

    Args:
        tokens: Hidden tokens, and their targets.
        settings: Settings of the maps and of their training.
        device: Device on which they are trained.
        cache: Cache of outcomes, which are not computed again.
        progress: Whether a bar is shown on standard error.
    """
    cache = cache or JsonCache()
    choices = (settings.maps, settings.losses, settings.offsets, settings.fractions, tokens.layers)
    total = math.prod(map(len, choices)) * settings.folds
    if progress:
        sys.stderr.write(f"{outlook(total, settings)}\n")
    with ExitStack() as stack:
        stack.enter_context(matrix_precision(settings.training.precision))
        jobs = []
        for kind, loss in product(settings.maps, settings.losses):
            training = settings.training
            shared = settings.rate_search == "shared" and len(training.rates) > 1
            # One rate for all layers, searched on the highest alone, costs a fraction of a search
            # for each.
            if shared and _is_trained(kind, settings):
                training = _choose_rate(tokens, kind, loss, settings, cache)
            cases = list(_cases(kind, loss, tokens, settings, training, device))
            jobs.append(_Job(tokens, settings, training, cache, cases))
        seconds = [job.seconds / _threads(device) if progress else 0.0 for job in jobs]
        ahead = sum(
            duration * (len(job.cases) - len(job.cached))
            for duration, job in zip(seconds, jobs, strict=True)
        )
        if ahead:
            sys.stderr.write(f"at most about {_duration(ahead)}, by {TRIED} epochs of each kind\n")
        pool = stack.enter_context(_workers(device))
        display = (
            show_progress(total, sys.stderr, unit="maps", seconds=ahead)
            if progress
            else nullcontext()
        )
        bar = stack.enter_context(display)
        if bar is not None and any(job.cached for job in jobs):
            bar.skip(sum(len(case.layers) for job in jobs for case in job.cached), 0)
        # The slowest first: what they show of the pace counts most for what is left.
        order = sorted(range(len(jobs)), key=lambda at: -seconds[at])
        outcomes = {at: _outcomes(jobs[at], pool, bar, seconds[at]) for at in order}
    return [outcome for at in range(len(jobs)) for outcome in outcomes[at]]


def _outcomes(job: "_Job", pool: Executor, bar: Progress | None, seconds: float) -> list[Outcome]:
    """Return those of all cases, each expected to take this number of seconds."""
    outcomes = list[Outcome]()
    for case, results in zip(job.cases, pool.map(job.outcomes, job.cases), strict=True):
        outcomes += results
        if bar is not None and case not in job.cached:
            bar.advance(len(results), 0, seconds)
    return outcomes


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:,.0f} minutes" if minutes >= 1.5 else f"{max(seconds, 1):.0f} seconds"


def outlook(maps: int, settings: TokenIdentitySettings) -> str:
    """Describe how much work is ahead, and what reduces it.

    Args:
        maps: Number of maps of all kinds, distances, layers and splits.
        settings: See `TokenIdentitySettings`.
    """
    kinds = [kind for kind in settings.maps if _is_trained(kind, settings)]
    training = settings.training
    rates = len(training.rates) if settings.rate_search == "each" else 1
    if not kinds:
        return f"{maps:,} maps, none of which is trained in epochs"
    less = ["fewer --maps, --layers, --losses or --folds", "a smaller --training-epochs"]
    tried = ""
    if rates > 1:
        less.append("--rate-search shared")
        tried = f", with each of {rates} learning rates"
    if "linear" in kinds:
        less.append("--solver ridge")
    return (
        f"{maps:,} maps, {maps * len(kinds) // len(settings.maps):,} of them trained for up to "
        f"{training.epochs:,} epochs{tried}; it is less work with {', '.join(less)}"
    )


def _is_trained(kind: MapKind, settings: TokenIdentitySettings) -> bool:
    return kind == "mlp" or (kind == "linear" and settings.solver == "adam")


def _choose_rate(
    tokens: Tokens, kind: MapKind, loss: Loss, settings: TokenIdentitySettings, cache: JsonCache
) -> MapTrainingSettings:
    """Return the settings of training with the learning rate best for the highest layer."""
    highest = (max(tokens.layers),)
    case = Case(kind, loss, settings.offsets[0], settings.fractions[0], 0, highest)

    def search() -> float:
        (fitted,) = fit(tokens, case, settings, settings.training)
        return fitted.parameter

    key = {"searched": asdict(case), **_dependencies(settings, settings.training)}
    return settings.training.replace(rates=(cache.get_or_compute(key, search),))


def _dependencies(settings: TokenIdentitySettings, training: MapTrainingSettings) -> dict[str, Any]:
    names = ("solver", "target", "seed")
    return {**{name: getattr(settings, name) for name in names}, "training": training.signature()}


def _cases(
    kind: MapKind,
    loss: Loss,
    tokens: Tokens,
    settings: TokenIdentitySettings,
    training: MapTrainingSettings,
    device: torch.device,
) -> Iterator[Case]:
    """Yield every offset, fraction and fold; layers one by one, or together if that is faster."""
    # On a processor one layer at a time keeps its data in the cache of a core.
    together = 1 if device.type == "cpu" else _layers_that_fit(kind, tokens, settings, training)
    layers = tokens.layers
    for offset, fraction, fold in product(
        settings.offsets, settings.fractions, range(settings.folds)
    ):
        for first in range(0, len(layers), together):
            some = layers[first : first + together]
            yield Case(kind, loss, offset, fraction, fold, some)


def _layers_that_fit(
    kind: MapKind, tokens: Tokens, settings: TokenIdentitySettings, training: MapTrainingSettings
) -> int:
    """Return the number of layers whose maps fit into memory together, with their training data."""
    width, goal = tokens.hidden(0).shape[1], tokens.goals(0).shape[1]
    hidden = training.hidden if kind == "mlp" else 0
    parameters = hidden * (width + goal + 1) + goal if hidden else width * goal
    activations = training.batch * (3 * goal + 4 * hidden)
    # Weights, their gradient, and two averages of Adam with the best weights so far: five of each.
    maps = 4 * len(training.rates) * (5 * parameters + activations)
    data = 4 * len(tokens.vectors.inputs) * (width + goal)
    return max(1, settings.memory // (maps + data))


@dataclass(frozen=True)
class _Job:
    """Maps of one kind and loss, to be fitted and judged case by case."""

    tokens: Tokens
    settings: TokenIdentitySettings
    training: MapTrainingSettings
    cache: JsonCache
    cases: Sequence[Case]

    @cached_property
    def cached(self) -> frozenset[Case]:
        """Return the cases that were computed before."""
        return frozenset(case for case in self.cases if self.cache.has(self._key(case)))

    @cached_property
    def seconds(self) -> float:
        """Return the most seconds that a case takes on one thread, by a few epochs of one of them.

        Training may end earlier than after all its epochs.
        """
        if len(self.cached) == len(self.cases):
            return 0.0
        epochs = self.training.epochs if _is_trained(self.cases[0].map, self.settings) else 1
        tried = min(TRIED, epochs)
        begun = perf_counter()
        replace(self, training=self.training.replace(epochs=tried))._made(self.cases[0])
        return (perf_counter() - begun) * epochs / tried

    def outcomes(self, case: Case) -> list[Outcome]:
        """Return the outcomes of every layer of the case."""
        rows = self.cache.get_or_compute(self._key(case), lambda: self._made(case))
        return [
            Outcome(replace(case, layers=(layer,)), **numbers)
            for layer, numbers in zip(case.layers, rows, strict=True)
        ]

    def _key(self, case: Case) -> dict[str, Any]:
        return {
            "case": asdict(case),
            # Only maps that are tested across layers depend on which layers there are.
            "tested": self.tokens.layers if self.settings.across else None,
            **_dependencies(self.settings, self.training),
        }

    def _made(self, case: Case) -> list[dict[str, Any]]:
        """Fit the maps of a case and see how often they find a token."""
        if case.map == "naive":
            return [self._rates(case, layer, None) for layer in case.layers]
        fitted = fit(self.tokens, case, self.settings, self.training)
        return [
            self._rates(case, layer, fitted_map)
            | {
                name: float(getattr(fitted_map, name))
                for name in ("parameter", "loss", "best", "epochs")
            }
            for layer, fitted_map in zip(case.layers, fitted, strict=True)
        ]

    def _rates(self, case: Case, layer: int, fitted: Fitted | None) -> dict[str, Any]:
        tokens, parts = self.tokens, self.tokens.parts(case)
        lookup = tokens.lookup(case.loss, layer)

        def rate(tested: int, part: str) -> float:
            pairs = getattr(parts, part)
            hidden = tokens.some(tokens.hidden(tested), pairs.source)
            if fitted is None:
                # Without a map, vectors of different sizes cannot be compared.
                comparable = hidden.shape[1] == tokens.goals(layer).shape[1]
                return lookup.rate(hidden, pairs) if comparable else math.nan
            return lookup.rate(predicted(fitted, hidden, self.training), pairs)

        tested = tokens.layers if self.settings.across else ()
        return {
            "test": rate(layer, "test"),
            "train": rate(layer, "train"),
            "across": [rate(layer_tested, "test") for layer_tested in tested],
        }


@contextmanager
def _workers(device: torch.device) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of as many threads as torch would use, each of which computes alone."""
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(_threads(device), initializer=torch.set_num_threads, initargs=(1,))
    try:
        with pool:
            yield pool
    finally:
        torch.set_num_threads(threads)


def _threads(device: torch.device) -> int:
    return torch.get_num_threads() if device.type == "cpu" else 1
