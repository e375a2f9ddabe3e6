"""Residual connections found by tracing a model: sums, norms, feed-forward; checked on real input.

Nothing about architectures is listed here.  One tiny forward pass is recorded as a graph.  From the
output of W^O the way leads through reshapes, and through norms or scales of the branch, to a sum
with a value that the attention was made from: the residual.  A module that alone reads the sum and
acts on random vectors as a norm does is the norm behind it.  The findings are then verified: the
parts must add up to what the model computes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headlight.capture.attention_site import AttentionSite
from headlight.capture.computation_graph import Graph, Number, Run, Slot, Value, record_graph
from headlight.capture.frozen_norms import FrozenMap, frozen_map
from headlight.capture.hooks import Place, hooked
from headlight.capture.record import LayerRecord
from headlight.capture.residual_connection import (
    FeedForwardSite,
    NoResidualSite,
    Residual,
    ResidualSite,
)
from headlight.errors import UnsupportedModelError

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""Allowed relative error of the sum of the parts, by the precision of the model."""

SEQUENCE_FIRST = "its hidden states are ordered token by token, not text by text"


def trace_residuals(
    model: nn.Module, inputs: Mapping[str, Any], sites: Sequence[AttentionSite]
) -> dict[AttentionSite, ResidualSite | NoResidualSite]:
    """Trace what follows each attention module.

    A layer that cannot be followed has a `NoResidualSite` with the reason.

    Args:
        model: Model of transformers in evaluation mode.
        inputs: Inputs on which `sites` were traced.
        sites: Attention modules of the model, all of them, in order.
    """
    walk = _Walk(model, record_graph(model, inputs), sites)
    return {
        site: NoResidualSite(f"{site.name}: {SEQUENCE_FIRST}.")
        if site.sequence_first
        else walk.site(site)
        for site in sites
    }


class _StoppedError(Exception):
    """Signal that the way cannot be followed; the message is the reason."""


class _Walk:
    """Walk of the output of each attention through the graph of a pass."""

    def __init__(self, model: nn.Module, graph: Graph, sites: Sequence[AttentionSite]) -> None:
        self._graph = graph
        self._names = {module: name for name, module in model.named_modules()}
        self._parameters = {id(parameter): name for name, parameter in model.named_parameters()}
        self._projected = _projected(graph, sites)
        self._maps: dict[tuple[nn.Module, int], FrozenMap | None] = {}

    def site(self, site: AttentionSite) -> ResidualSite | NoResidualSite:
        """Trace what follows one attention module."""
        try:
            return self._follow(site)
        except _StoppedError as problem:
            return NoResidualSite(f"{site.name}: {problem}.")

    def _follow(self, site: AttentionSite) -> ResidualSite:
        graph, (start, began, ended) = self._graph, self._projected[site]
        current = start
        branch: list[FrozenMap] = []
        beside: list[Number] = []
        while (addition := self._sum(current, start)) is None or not addition.residual:
            if addition is not None:  # a feed-forward that is added first
                current = graph.root(addition.number)
                beside.append(addition.other)
            elif beside:
                raise _StoppedError("its output is not added to anything that the attention reads")
            else:
                current, step = self._step(current)
                branch.append(step)
        place = self._place(addition.other, until=began)
        if place is None:
            raise _StoppedError(
                "no module is given, or puts out, the residual that its output is added to"
            )
        total = graph.root(addition.number)
        norm, after = (None, total) if beside else self._norm_behind(total)
        feed_forward, parallel = (None, True) if beside else self._next(after, ended)
        output = self._place(after, after=ended)
        traced = ResidualSite(tuple(branch), place, norm, parallel, output, feed_forward, 0.0)
        sums = Residual(traced, self._exact(addition.other), self._exact(start))
        rest = sum(self._exact(addend) for addend in beside)
        error = relative_error(sums.output + rest, self._exact(after))
        allowed = allowed_error(graph.tensor(start).dtype)
        if not error <= allowed:
            raise _StoppedError(missed(error, allowed))
        return replace(traced, error=error)

    def _sum(self, current: Number, start: Number) -> "_Sum | None":
        """Return the sum that a value goes into: if possible with the residual, else another."""
        graph, sums = self._graph, []
        for reader in graph.readers(current):
            value = graph.values[reader]
            # A third argument of `add` multiplies the second (alpha).
            if value.function != "add" or len(value.arguments) != 2 or len(value.given) != 2:
                continue
            others = [argument for argument in value.arguments if graph.root(argument) != current]
            if len(others) != 1:
                continue
            other = graph.root(others[0])
            if graph.tensor(other).numel() != graph.tensor(start).numel():
                continue
            if graph.comes_from(start, other):
                return _Sum(reader, other, residual=True)
            if not graph.comes_from(other, start):
                sums.append(_Sum(reader, other, residual=False))
        return sums[0] if sums else None

    def _step(self, current: Number) -> tuple[Number, FrozenMap]:
        """Return the value behind the norm or scale that a value goes through, and that map."""
        graph = self._graph
        for run in graph.readers_of(current):
            if run.output is None or graph.root(run.output) == current:
                continue
            module_map = self._map(run, current)
            if module_map is not None:
                return graph.root(run.output), module_map
        size = graph.tensor(current).shape[-1]
        for reader in graph.readers(current):
            value = graph.values[reader]
            if value.function not in ("mul", "div") or len(value.given) != 2:
                continue
            if (gain := self._constant(value, current)) is not None:
                gain = gain.expand(size)
                gain = 1 / gain if value.function == "div" else gain
                return graph.root(reader), FrozenMap("a scale", gain, torch.zeros_like(gain))
        readers = [graph.values[reader].function for reader in graph.readers(current)]
        raise _StoppedError(
            "what W^O puts out is changed before it is added to the residual, by more than a norm "
            f"or a scale ({', '.join(dict.fromkeys(readers)) or 'nothing reads it'})"
        )

    def _constant(self, value: Value, current: Number) -> Tensor | None:
        """Return the factor of a value, if it is the same for all texts and tokens."""
        numbers = [option for option in value.given if isinstance(option, float | int)]
        if numbers:
            divided = value.function == "mul" or numbers[0] == value.given[1]
            return torch.tensor(numbers[:1], dtype=torch.float64) if divided else None
        for argument in value.arguments:
            if self._graph.root(argument) == current:
                continue
            factor = self._graph.tensor(argument)
            size = self._graph.tensor(current).shape[-1]
            if not self._graph.varies(argument) and factor.numel() in (1, size):
                return factor.detach().cpu().double().flatten()
        return None

    def _norm_behind(self, total: Number) -> tuple[FrozenMap | None, Number]:
        """Return the norm that alone reads a sum, and its output; else None, and the sum."""
        graph = self._graph
        readers = graph.readers(total)
        for run in graph.readers_of(total):
            alone = readers and all(run.begin <= reader < run.end for reader in readers)
            if not alone or run.output is None or graph.root(run.output) == total:
                continue
            norm = self._map(run, total)
            return (None, total) if norm is None else (norm, graph.root(run.output))
        return None, total

    def _next(self, after: Number, ended: Number) -> tuple[FeedForwardSite | None, bool]:
        """Return the next sum, and whether its addend reads the same as the attention."""
        graph = self._graph
        for reader in graph.readers(after):
            value = graph.values[reader]
            others = [argument for argument in value.arguments if graph.root(argument) != after]
            if value.function != "add" or len(value.given) != 2 or len(others) != 1:
                continue
            other = graph.root(others[0])
            if graph.tensor(other).numel() != graph.tensor(after).numel():
                continue
            if not graph.comes_from(other, after):
                return None, graph.varies(other)
            starts = (projected.start for projected in self._projected.values())
            if any(start > after and graph.comes_from(other, start) for start in starts):
                return None, False
            total = graph.root(reader)
            norm, _ = self._norm_behind(total)
            return FeedForwardSite(self._place(total, after=ended), norm), False
        return None, False

    def _map(self, run: Run, source: Number) -> FrozenMap | None:
        """Return the map that a module is, if it makes vectors of vectors of the same size."""
        graph = self._graph
        size = graph.tensor(source).shape[-1]
        if run.output is None or graph.tensor(run.output).shape[-1] != size:
            return None
        key = run.module, size
        if key not in self._maps:
            self._maps[key] = frozen_map(run.module, size, self._names.get(run.module, ""))
        return self._maps[key]

    def _place(
        self, root: Number, *, until: Number | None = None, after: Number | None = None
    ) -> Place | None:
        """Return the place where a value is last seen until a time, or first seen after it."""
        graph = self._graph
        times: dict[tuple[nn.Module, Slot], tuple[Number, Number]] = {}
        for run in graph.runs:
            for slot, number, time in run.slots():
                earlier = times.get((run.module, slot))
                if until is not None and time <= until and (earlier is None or earlier[0] <= time):
                    times[run.module, slot] = time, number
                if after is not None and time >= after and (earlier is None or earlier[0] > time):
                    times[run.module, slot] = time, number
        places = [
            (time if until is None else -time, Place(module, self._names.get(module, ""), slot))
            for (module, slot), (time, number) in times.items()
            if graph.root(number) == root
        ]
        return min(places, key=lambda entry: entry[0])[1] if places else None

    def _exact(self, number: Number) -> Tensor:
        exact = self._graph.tensor(number).cpu().double()
        return exact.reshape(1, -1, exact.shape[-1])


class _Projected(NamedTuple):
    """Output of W^O of a site, with the start of its attention module and the end of W^O."""

    start: Number
    began: Number
    ended: Number


class _Sum(NamedTuple):
    """Sum of a value and another, which may be the residual."""

    number: Number
    other: Number
    residual: bool


def _projected(graph: Graph, sites: Sequence[AttentionSite]) -> dict[AttentionSite, _Projected]:
    """Return the outputs of W^O; a module of several sites projects once for each of them."""
    runs: dict[nn.Module, list[Run]] = defaultdict(list)
    for run in graph.runs:
        runs[run.module].append(run)
    projected, used = {}, Counter[nn.Module]()
    for site in sites:
        attention, projection = (
            runs[module][used[module]] for module in (site.module, site.projection.module)
        )
        used.update((site.module, site.projection.module))
        assert projection.output is not None  # noqa: S101 - a linear map puts out a tensor
        start = graph.root(projection.output)
        projected[site] = _Projected(start, attention.begin, projection.end)
    return projected


def allowed_error(dtype: torch.dtype) -> float:
    """Return the allowed distance of the parts from the layer's output, relative to its norm."""
    return TOLERANCE.get(dtype, TOLERANCE[torch.bfloat16])


def missed(error: float, allowed: float) -> str:
    """Return the sentence for a larger distance."""
    return (
        f"its parts miss what leaves the layer by {error:.1e} of its norm (allowed {allowed:.0e}), "
        "so they cannot be told apart exactly"
    )


def relative_error(actual: Tensor, wanted: Tensor) -> float:
    """Return the norm of the difference, relative to that of the wanted tensor."""
    return float((actual - wanted).norm() / wanted.norm().clamp_min(1e-300))


class ResidualCheck:
    """Comparison of what records say with what the model computes, while it runs."""

    def __init__(self) -> None:
        self.error = 0.0
        """Largest error so far, relative to the norm of the block's output."""
        self.compared = 0
        """Number of comparisons."""
        self._expected: dict[Place, tuple[AttentionSite, Residual]] = {}

    def visit(self, record: LayerRecord) -> None:
        """Keep the residual of a record until the output of the block is seen, which is next."""
        residual = record.residual
        assert residual is not None  # noqa: S101 - the capture was asked for it
        if residual.site.output is not None and not residual.site.parallel:
            self._expected[residual.site.output] = record.site, residual

    @contextmanager
    def watching(self, places: Iterable[Place | None]) -> Iterator[None]:
        """Compare, within the block, the tensors seen at these places.

        Raises:
            UnsupportedModelError: the parts do not add up to such a tensor.
        """
        watched = {place for place in places if place is not None}
        with hooked(place.watch(partial(self._compare, place)) for place in watched):
            yield

    def _compare(self, place: Place, tensor: Tensor) -> None:
        if place not in self._expected:
            return
        site, residual = self._expected.pop(place)
        # On the CPU, since not all devices have float64.
        expected = residual.to(torch.device("cpu")).to(torch.float64).output
        observed = tensor.to(expected).reshape(expected.shape)
        self.compared += 1
        error, allowed = relative_error(expected, observed), allowed_error(tensor.dtype)
        self.error = max(self.error, error)
        if not error <= allowed:
            raise UnsupportedModelError(f"{site.name}: {missed(error, allowed)}.")
