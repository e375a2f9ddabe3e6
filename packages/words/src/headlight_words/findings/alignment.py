"""Sentences of the study of word alignment."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import around, around_first, undecided
from headlight.findings.phrases import percent
from headlight_words.findings.word_times import are_of_speech, word_times


def alignment(result: xr.Dataset) -> list[str]:
    """Return findings on the lowest error rate, and on the next."""
    if are_of_speech(result):
        return word_times(result)
    ways = sorted(_ways(result), key=lambda way: way.lowest)
    if not ways:
        return ["No link could be judged."]
    names = [way.name for way in ways]
    listed = [_bracket_details(name) for name in names]
    rates = Estimate.joined([way.rates for way in ways])
    sentence = (
        f"Words are linked best by {listed[0]}: its alignment error rate is "
        f"{percent(ways[0].lowest)}{around_first(rates, lowest=True)}. The layer is chosen on "
        "these very gold links"
    )
    if len(ways) > 1:
        sentence += f"; next comes {listed[1]} with {percent(ways[1].lowest)}{around(ways[1].best)}"
    lowest = Estimate.joined([way.best for way in ways]).times(-1.0)
    return [f"{sentence}.{undecided(lowest, listed, 'what links words best', 'way')}"]


def _bracket_details(name: str) -> str:
    # In a list of names the commas within them would be those of the list.
    way, comma, details = name.partition(", ")
    return f"{way} ({details})" if comma else name


class _Way(NamedTuple):
    """The error rates of a way to link words: of all layers, or one number."""

    name: str
    rates: Estimate
    best: Estimate

    @property
    def lowest(self) -> float:
        """Return the error rate of the best layer."""
        return float(self.best.value)


def _ways(result: xr.Dataset) -> Iterator[_Way]:
    """Yield each way to link words that has an error rate, with its best layer.

    Ways are measures with their steps, extractions of similarities, and measures of the input.
    """
    for prefix in ("", "similarity_", "input_"):
        name = f"{prefix}error_rate"
        if name not in result:
            continue
        labels = [str(dim) for dim in result[name].dims if dim != "layer"]
        layers = [str(dim) for dim in result[name].dims if dim == "layer"]
        numbers = estimates(result, name, (*labels, *layers))
        for place in np.ndindex(*numbers.value.shape[: len(labels)]):
            rates = numbers.at(place)
            first = rates.times(-1.0).first()
            if first is None:
                continue
            names = [str(result[dim].values[at]) for dim, at in zip(labels, place, strict=True)]
            if layers:
                names.append(f"layer {int(result['layer'].values[first[0]])}")
            yield _Way(", ".join(names), rates, rates.at(first))
