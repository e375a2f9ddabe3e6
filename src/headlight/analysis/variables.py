"""Declarations of the variables of a result, and the examples shown beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import xarray
from jaxtyping import Bool, Int64

from headlight.encode import Encoded
from headlight.reduce.base import Array
from headlight.reduce.intervals import deviations
from headlight.result import Description, Scale, describe
from headlight.result.estimate import MOVED, UNITS, WEIGHTS
from headlight.vocabulary import Kind

_NOWHERE: Mapping[str, str] = MappingProxyType({"": ""})

Replicates = tuple[Array, Array, Array]
"""A number, what it is without each group of texts, and how much there is of each group."""

LongNames = dict[str, Description]
"""Long name and unit of every variable, and the scale of those with an interval."""


@dataclass(frozen=True)
class Variable:
    """Description of a number over a corpus.

    Attributes:
        meaning: its long name.
        unit: its unit; ``1`` of a pure number.
        interval: the scale of the 95% interval that is computed when asked; None if there is none.
        by: prefixes of the names under which it stands; by default all that the table has.
    """

    meaning: str
    unit: str = "1"
    interval: Scale | None = None
    by: Sequence[str] | None = None

    def described(self, meaning: str) -> Description:
        """Return the description of the number under a longer name."""
        if self.interval is None:
            return meaning, self.unit
        return meaning, self.unit, self.interval


def long_names(table: Mapping[str, Variable], by: Mapping[str, str] = _NOWHERE) -> LongNames:
    """Long names and units of all variables of a table.

    Args:
        table: the variables by name.
        by: prefixes of names, each with what it adds to the meaning.
    """
    return {
        f"{prefix}{name}": one.described(f"{one.meaning}{of}")
        for name, one in table.items()
        for prefix, of in by.items()
        if one.by is None or prefix in one.by
    }


def with_slots(
    name: str, dims: Sequence[str], value: Array, slots: Mapping[str, Array]
) -> dict[str, xarray.DataArray]:
    """Return a number over a corpus, and the coordinates that its interval is computed from.

    Args:
        name: of the variable.
        dims: its axes.
        value: the number, ``[*dims]``.
        slots: what `headlight.reduce.Slots` computes; or ``mean``, ``without`` and ``whole`` of
            what was made of several, with the ``units`` of one.
    """
    whole = np.asarray(slots["whole"])
    moved, _ = deviations(slots["mean"], slots["without"], whole)
    finite_slots = np.where(np.broadcast_to(whole, moved.shape) > 0, moved, np.nan)
    weights, axes = whole.astype(np.float32), ["slot", *dims]
    for dim in dims:  # sums of texts are mostly the same for all heads
        axis = axes.index(dim)
        first = weights.take([0], axis) if weights.shape[axis] else weights
        if (weights == first).all() and weights.shape[axis]:
            weights, axes = first.squeeze(axis), [each for each in axes if each != dim]
    return {
        name: xarray.DataArray(value, dims=dims),
        f"{name}{MOVED}": xarray.DataArray(finite_slots.astype(np.float32), dims=("slot", *dims)),
        f"{name}{WEIGHTS}": xarray.DataArray(weights, dims=axes),
        UNITS: xarray.DataArray(slots["units"], dims="slot"),
    }


def slots_at(slots: Mapping[str, Array], place: Any) -> dict[str, Array]:
    """Return what `with_slots` needs of a part of the cells whose sums were made together."""
    places = place if isinstance(place, tuple) else (place,)
    parts = {each: slots[each][:, *places] for each in ("without", "whole")}
    return {"mean": np.asarray(slots["mean"][place]), **parts, "units": slots["units"]}


def described(
    variables: Mapping[str, Any], coordinates: Mapping[str, Any], names: LongNames
) -> xarray.Dataset:
    """A dataset whose variables have their long names and units."""
    slots = [each for each in variables if each == UNITS or each.endswith((MOVED, WEIGHTS))]
    dataset = xarray.Dataset(dict(variables), coords=dict(coordinates)).set_coords(slots)
    return describe(dataset, {str(name): names[str(name)] for name in dataset.data_vars})


def dispersion(name: str, by_variable: dict[str, Any], dims: tuple[str, ...]) -> dict[str, Any]:
    """Mean, σ, CV = σ/mean, smallest and largest (Kobayashi et al. 2020, Table 1)."""
    if name not in by_variable:
        return {}
    statistics = by_variable[name]
    with np.errstate(invalid="ignore", divide="ignore"):
        variation = statistics["std"] / statistics["mean"]
    variables: dict[str, Any] = {
        f"{name}_mean": (dims, statistics["mean"]),
        f"{name}_std": (dims, statistics["std"]),
        f"{name}_cv": (dims, variation),
        f"{name}_min": (dims, statistics["minimum"]),
        f"{name}_max": (dims, statistics["maximum"]),
    }
    sums = by_variable[f"slots_{name}_powers"]
    replicates = of_lengths(name, (sums["mean"], sums["without"], sums["whole"]))
    for each, of in replicates.items():
        slots = dict(zip(("mean", "without", "whole"), of, strict=True))
        value = variables[each][1]
        variables |= with_slots(each, dims, value, {**slots, "units": sums["units"]})
    return variables


def of_lengths(name: str, powers: Replicates) -> dict[str, Replicates]:
    """Mean, σ and CV; of a layer alone without an axis of heads.

    Args:
        name: ``vector_norm`` or ``input_norm``.
        powers: means of lengths and of their squares along the last axis.
    """
    mean, squares = part(powers, 0), part(powers, 1)
    if name == "input_norm":
        mean, squares = part(mean, 0), part(squares, 0)
    std = standard_deviations(mean, squares)
    cv = _quotient(std[0], mean[0]), _quotient(std[1], mean[1]), mean[2]
    return {f"{name}_mean": mean, f"{name}_std": std, f"{name}_cv": cv}


def part(of: Replicates, at: int | slice) -> Replicates:
    """Along the last axis."""
    value, without, whole = of
    return value[..., at], without[..., at], whole[..., at]


def standard_deviations(mean: Replicates, squares: Replicates) -> Replicates:
    """From the means of numbers and of their squares."""
    value, without = (
        np.sqrt(np.maximum(squared - average**2, 0))
        for average, squared in zip(mean[:2], squares[:2], strict=True)
    )
    return value, without, mean[2]


def _quotient(part: Array, whole: Array) -> Array:
    quotient: Array = part / np.where(whole > 0, whole, np.nan)
    return quotient


def describe_dispersion(name: str, symbol: str) -> dict[str, Variable]:
    """Describe the variables of `dispersion`."""
    statistics = {
        "mean": ("mean", ""),
        "std": ("standard deviation", ""),
        "cv": ("coefficient of variation", "1"),
        "min": ("smallest", ""),
        "max": ("largest", ""),
    }
    return {
        f"{name}_{suffix}": Variable(
            f"{words} of {symbol}", unit, None if suffix in ("min", "max") else "positive"
        )
        for suffix, (words, unit) in statistics.items()
    }


LONGEST = 20
"""Words of a sentence that is shown."""

NAMES = ("sentence_word", "sentence_found", "sentence_right")
"""Names of the variables: the words, what is predicted for each, and whether that is right."""


_RANKS = 2**40


def rank_of(example: Encoded, kind: Kind) -> float:
    """Return the rank by which one of two equal examples is kept: shorter first, then by hash.

    It depends on the tokens alone that attention of this kind sees, and so examples can be found
    again by it.
    """
    length = len(example.ids) + 1 + (0 if kind == "encoder" else len(example.target))
    return float(min(length, 8000) * _RANKS) + hash_of(example, kind)


def hash_of(example: Encoded, kind: Kind) -> float:
    """A whole number that is as good as drawn at random, of the tokens that this kind sees."""
    ids = (*example.ids, -1, *(() if kind == "encoder" else example.target))
    digest = blake2b(np.array(ids, dtype=np.int64).tobytes(), digest_size=5).digest()
    return float(int.from_bytes(digest))


class Shown(NamedTuple):
    """Prediction of a head in a sentence; better ones are larger.

    Attributes:
        balance: Words asked about that are right, less those that are wrong.
        shortness: Of sentences that are as good, the shorter one is shown.
        words: Of the sentence.
        found: The place of the word that is predicted for each word, NaN where the word is not
            asked about.
        right: Whether it is right, 0 or 1; NaN likewise.
    """

    balance: int
    shortness: int
    words: tuple[str, ...]
    found: tuple[float, ...]
    right: tuple[float, ...]

    @classmethod
    def of(
        cls,
        words: tuple[str, ...],
        questions: Bool[np.ndarray, " word"],
        picked: Int64[np.ndarray, " word"],
        right: Bool[np.ndarray, " word"],
    ) -> "Shown":
        """A whole sentence, of which some words are asked about."""
        return cls(
            int(right[questions].sum() - (~right[questions]).sum()),
            -len(words),
            words,
            tuple(np.where(questions, picked, np.nan).tolist()),
            tuple(np.where(questions, right, np.nan).tolist()),
        )

    def better_than(self, other: "Shown | None") -> bool:
        """Whether it is to be shown in the other's place; what is mostly wrong never is."""
        return self.balance > 0 and (other is None or self[:2] > other[:2])


def sentences_dataset(
    best: Mapping[tuple[str, str], Shown],
    result: xarray.Dataset,
    dim: str,
    described: Mapping[str, tuple[str, str]],
) -> xarray.Dataset:
    """The variables of the sentences; empty words where there is none.

    Args:
        best: By measure and label of what is asked.
        result: Of the study, without them.
        dim: Its dimension that says what is asked.
        described: Long name and unit of each of `NAMES`.
    """
    dims = ("measure", dim, "place")
    labels = [list(map(str, result[name].values)) for name in dims[:2]]
    shape = (*map(len, labels), LONGEST)
    words = np.full(shape, "", dtype=object)
    picked, right = np.full(shape, np.nan), np.full(shape, np.nan)
    for (measure, label), stretch in best.items():
        row = labels[0].index(measure), labels[1].index(label)
        words[row][: len(stretch.words)] = stretch.words
        picked[row][: len(stretch.words)] = stretch.found
        right[row][: len(stretch.words)] = stretch.right
    arrays = dict(zip(NAMES, (words, picked, right), strict=True))
    variables = {name: (dims, values) for name, values in arrays.items()}
    coordinates = {name: result[name] for name in dims[:2]}
    return describe(xarray.Dataset(variables, coords=coordinates), described)
