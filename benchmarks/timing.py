"""Times of several functions, taken in turn, so that a drifting machine drifts for all of them."""

import statistics
import time
from collections.abc import Callable, Mapping


def rounds(
    functions: Mapping[str, Callable[[], object]],
    count: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each function in each of `count` rounds, after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for number in range(count + 1):
        for name, function in functions.items():
            began = clock()
            function()
            if number:
                times[name].append(clock() - began)
    return times


def ratio(times: Mapping[str, list[float]], name: str, base: str) -> float:
    """Median over the rounds of the ratio within the round."""
    return statistics.median(
        one / other for one, other in zip(times[name], times[base], strict=True)
    )
