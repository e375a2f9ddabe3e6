"""Numbers and lists of layers in words."""

from collections.abc import Callable, Iterable, Sequence
from math import isfinite


def percent(part: float) -> str:
    """A share as a percentage for a sentence: ``61%``, ``0.4%``, ``under 0.1%``."""
    value = 100 * part
    if 0 < value < 0.1:
        return "under 0.1%"
    return f"{value:.1f}%" if 0 < abs(value) < 1 else f"{value:.0f}%"


def layer_list(layers: Iterable[int]) -> str:
    """Layers in words: ``layer 3``, ``layers 2, 4 and 6 to 9``."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    words = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if len(words) == 1:
        return f"layer{'s' if len(runs[0]) > 1 else ''} {words[0]}"
    return f"layers {listed(words)}"


def listed(parts: Sequence[str]) -> str:
    """Words after each other: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def plural(count: int, noun: str) -> str:
    """A number with its noun: ``1 text``, ``1,234 texts``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number(value: float) -> str:
    """A number with two digits that count: ``0.31``, ``−0.05``, ``0.0042``, ``12``."""
    return f"{value:.2g}".replace("-", "\u2212") if abs(value) < 10 else f"{value:,.0f}"


def seconds(value: float) -> str:
    """A time for a sentence: ``0.08 s``."""
    return f"{value:.2f} s"


def interval(low: float, high: float, written: Callable[[float], str] = percent) -> str:
    """An interval in brackets, with a blank before it; nothing where there is none."""
    return f" (95%: {written(low)} to {written(high)})" if isfinite(low + high) else ""
