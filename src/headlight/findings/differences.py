"""Differences between surveys: the heads of one beside those of another, number by number.

Each survey keeps what blocks of its corpus move its numbers by (`headlight.result.estimate`).
Where two surveys have read the same texts, a block moves both alike: the error of the difference is
smaller than those of the two.  Where the texts are others, the errors are independent.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.catalogue import statistic as row_of, statistic_table
from headlight.errors import UsageError, setting
from headlight.findings.candidates import APART, BOTH, WORTH_SAYING, coincides, is_ranked
from headlight.findings.estimates import estimates
from headlight.findings.passages import Attended, Passage, passage_of
from headlight.findings.phrases import listed
from headlight.findings.piece_text import PieceText
from headlight.findings.statistics import applies, measures_of, place_of
from headlight.findings.variables import places_of
from headlight.findings.what_was_read import same_texts, which_texts
from headlight.result import describe, refusing_incomplete
from headlight.result.estimate import MOVED, UNITS, Estimate
from headlight.vocabulary import base_name

LEVEL = 0.05
"""The share of false alarms that is allowed among what is said to differ."""

MATCHES = ("place", "behaviour")
"""Ways to match heads of two surveys."""

SAME = 1e-5
"""Numbers that differ by less, or by this share, do so by rounding."""

ROUNDING = 1e-6
"""Numbers that are never further apart are one number."""

SHOWN = 6
"""Heads of which passages are kept."""

COMPARED = ("layer", "head", "kind", UNITS)
"""Coordinates that say whether surveys can be compared."""

VARIABLES = {
    "value": ("number of a head, or of the head that stands beside it", ""),
    "value_low": ("lower end of the 95% interval of the number", ""),
    "value_high": ("upper end of the 95% interval of the number", ""),
    "difference": ("number of another run less that of the first", ""),
    "difference_low": ("lower end of the 95% interval of the difference", ""),
    "difference_high": ("upper end of the 95% interval of the difference", ""),
    "p_value": ("probability of such a difference where there is none", "1"),
    "false_discovery": ("lowest rate of false alarms at which it is said to differ", "1"),
    "match_distance": ("distance of the two heads, root mean square over numbers", "sd"),
    "partner_layer": ("layer of the head that stands beside it", "1"),
    "partner_head": ("that head within its layer", "1"),
    "strongest": ("highest number of all heads of a run", ""),
    "strongest_low": ("lower end of the 95% interval of the highest number", ""),
    "strongest_high": ("upper end of the 95% interval of the highest number", ""),
    "strongest_layer": ("layer of the head that has it", "1"),
    "strongest_head": ("that head within its layer", "1"),
    "arises": ("first run in which a head certainly gives more than 0.3; -1 for none", "1"),
}

Array = NDArray[np.float64]


class _Statistic(NamedTuple):
    """Statistic of heads: its behaviour, its measure, and its place in a survey."""

    behaviour: str
    measure: str
    variable: str
    where: Mapping[str, str | int]

    @property
    def label(self) -> str:
        """Return the label of the statistic."""
        return f"{self.behaviour} by {self.measure}" if self.measure else self.behaviour

    @property
    def about(self) -> str:
        """Return the measure that the number is of, or about; empty for other numbers."""
        return self.measure or row_of(self.behaviour).about


def shares() -> list[str]:
    """Return the names of numbers that are shares of a row, and so can be compared in size."""
    return [row.name for row in statistic_table() if row.target]


@refusing_incomplete()
def differences(
    runs: Sequence[xr.Dataset], *, match: str = "place", names: Sequence[str] = ()
) -> xr.Dataset:
    """Compare each head of the first survey with a head of every other survey.

    Args:
        runs: Results of `headlight.survey`, of one kind of attention each: two models, checkpoints
            of one training in their order, two corpora, two precisions.
        match: ``place`` matches heads of the same layer and number; ``behaviour`` matches heads
            that are each nearest to the other in all numbers together (in standard
            deviations over heads); heads without such a partner are left out.
        names: Names of the runs.

    Returns:
        ``value`` of each ``run``, ``statistic``, ``layer`` and ``head`` of the first run, and for
        each run but the first, along ``other``, the ``difference`` from the first, with their
        intervals of 95%; the ``p_value`` of Student's t over blocks of the corpus, and
        ``false_discovery``, adjusted for all numbers of all heads of that run (Benjamini and
        Hochberg 1995): what is at most 0.05 differs, with 5% of false alarms among all that does;
        all else is inconclusive.  It is NaN of numbers of fewer than 20 documents or 16 filled
        slots of either run, see `Estimate.testable`.  Of numbers that are equal for all heads of
        all runs one is kept; the attribute ``equal_numbers`` names the others.  Numbers by a
        measure that is another one in a run, and so differs as the texts do, are left out;
        ``coinciding`` names the measures of each run, and ``ranked`` what heads may be named
        for.  With ``match="behaviour"``, ``match_distance`` says how far partners are apart.  The
        attribute ``texts_read`` says whether the runs read the same texts.  ``strongest`` is the
        highest number of a run, and ``arises`` the first run with a head that certainly gives more
        than 0.3.

    Raises:
        UsageError: There are fewer than two runs, a run is no survey or of an earlier version, or
            heads cannot be matched.
    """
    check_comparable(runs, match)
    tables = [{row.label: row for row in _known(run)} for run in runs]
    labels = set.intersection(*map(set, tables))
    statistics = [row for label, row in tables[0].items() if label in labels]
    coinciding = [_coinciding(run) for run in runs]
    statistics = [row for row in statistics if row.about not in set().union(*coinciding)]
    numbers = [_numbers(run, statistics) for run in runs]
    equal = _equal(statistics, numbers)
    distinct = [at for at, row in enumerate(statistics) if row.label not in equal]
    statistics = [statistics[at] for at in distinct]
    numbers = [of_run.at(np.array(distinct, dtype=int)) for of_run in numbers]
    matches = [_partners(numbers[0], other, match) for other in numbers[1:]]
    partners = [heads for heads, _ in matches]
    beside = [numbers[0], *map(_of_heads, numbers[1:], partners)]
    heads = (runs[0].sizes["layer"], runs[0].sizes["head"])

    def by_head(parts: Sequence[Array]) -> Array:
        stacked: Array = np.stack(parts)
        return stacked.reshape(*stacked.shape[:-1], *heads)

    dims = ("statistic", "layer", "head")
    variables: dict[str, Any] = {
        f"value{end}": (("run", *dims), by_head([_ENDS[end](of_run) for of_run in beside]))
        for end in _ENDS
    }
    paired = [same_texts([runs[0], run]) for run in runs[1:]]
    tested = [
        _tested(beside[0], of_run, paired=same)
        for of_run, same in zip(beside[1:], paired, strict=True)
    ]
    for name in tested[0]:
        variables[name] = ("other", *dims), by_head([numbers[name] for numbers in tested])
    for at, name in enumerate(("layer", "head")):
        places = [_place(heads, run)[at] for heads, run in zip(partners, runs[1:], strict=True)]
        variables[f"partner_{name}"] = ("other", "layer", "head"), by_head(places)
    if match == "behaviour":
        distances = [distance for _, distance in matches]
        variables["match_distance"] = ("other", "layer", "head"), by_head(distances)
    variables |= _of_runs(numbers, runs, statistics)
    coordinates = {
        "run": range(len(runs)),
        "other": range(1, len(runs)),
        "statistic": [row.label for row in statistics],
        "behaviour": ("statistic", [row.behaviour for row in statistics]),
        "by": ("statistic", [row.measure for row in statistics]),
        "layer": runs[0]["layer"].values,
        "head": runs[0]["head"].values,
    }
    result = describe(xr.Dataset(variables, coords=coordinates), VARIABLES)
    result.attrs = _attributes(runs, names, match) | {"equal_numbers": json.dumps(equal)}
    result.attrs["ranked"] = json.dumps(_ranked(runs))
    result.attrs["coinciding"] = json.dumps([*map(sorted, coinciding)])
    result.attrs["passages"] = json.dumps(list(_passages(runs, result)))
    return result


Change = tuple[str, int, int]
"""Statistic, layer and head."""


def certain_changes(result: xr.Dataset, other: int) -> list[Change]:
    """Return the changes of shares that are no false alarm, the largest first.

    Args:
        result: Result of `differences`.
        other: Number of the run that is compared with the first.
    """
    return _largest_first(result.isel(statistic=_of_shares(result)).sel(other=other), 0.0)


def largest_changes(result: xr.Dataset, other: int) -> list[Change]:
    """Return the certain changes for which a head may be named, the largest first.

    They are of ten points at least, and do not follow from another change of the same head.

    Args:
        result: Result of `differences`.
        other: Number of the run that is compared with the first.
    """
    here = result.isel(statistic=named_shares(result)).sel(other=other)
    return _largest_first(here, APART)


def _largest_first(here: xr.Dataset, least: float) -> list[Change]:
    dims = ("statistic", "layer", "head")
    size = np.abs(here["difference"].transpose(*dims).values)
    certain = here["false_discovery"].transpose(*dims).values <= LEVEL
    beyond = size - _explained(here) >= least if least else True
    size = np.where(certain & beyond, size, np.nan)
    order = np.argsort(-size, axis=None, kind="stable")[: np.isfinite(size).sum()]
    at = np.unravel_index(order, size.shape)
    labels = (here[dim].values[each].tolist() for dim, each in zip(dims, at, strict=True))
    return list(zip(*labels, strict=True))


def _of_shares(result: xr.Dataset) -> NDArray[np.int64]:
    return np.flatnonzero(np.isin(result["behaviour"].values, shares()))


def named_shares(result: xr.Dataset) -> NDArray[np.int64]:
    """Return the places of the statistics that are shares for which heads may be named.

    Args:
        result: Result of `differences`.
    """
    ranked = json.loads(result.attrs["ranked"])
    named = [name in ranked for name in result["behaviour"].values]
    return np.intersect1d(_of_shares(result), np.flatnonzero(named))


def _explained(result: xr.Dataset) -> Array:
    """Return the changes of the rows from which others follow, [statistic, layer, head]."""
    change: Array = np.abs(result["difference"].transpose("statistic", "layer", "head").values)
    labels = result["statistic"].values.tolist()
    explained: Array = np.zeros_like(change)
    for at, (name, by) in enumerate(
        zip(result["behaviour"].values, result["by"].values, strict=True)
    ):
        before = f"{row_of(str(name)).follows} by {by}"
        if before in labels:
            explained[at] = np.nan_to_num(change[labels.index(before)])
    return np.asarray(explained)


def passages_kept(result: xr.Dataset) -> Iterator[tuple[str, int, int, int, Passage]]:
    """Yield the passages of the heads that differ most: statistic, layer, head, run and passage."""
    for kept in json.loads(str(result.attrs.get("passages", "[]"))):
        stored = kept["passage"]
        tokens = [
            Attended(**{**token, "shown": PieceText(**token["shown"])})
            for token in stored["tokens"]
        ]
        passage = Passage(**{**stored, "tokens": tokens, "query": PieceText(**stored["query"])})
        yield kept["statistic"], kept["layer"], kept["head"], kept["run"], passage


def check_comparable(runs: Sequence[xr.Dataset], match: str) -> None:
    """Refuse surveys that cannot be compared, of which no more than `COMPARED` is needed.

    Raises:
        UsageError: See `differences`.
    """
    if len(runs) < 2:
        raise UsageError("one run is compared with nothing; give two or more.")
    if match not in MATCHES:
        raise UsageError(f"heads are matched by {' or '.join(MATCHES)}, not by {match!r}.")
    for number, run in enumerate(runs, 1):
        stage = run.attrs.get("stage")
        if stage != "survey":
            raise UsageError(
                f"run {number} is a result of {stage}, and surveys are compared; give the folders "
                "of surveys."
            )
        if "kind" in run.dims:
            raise UsageError(
                f"run {number} holds several kinds of attention; choose one of them with kind."
            )
        if UNITS not in run.variables:
            raise UsageError(
                f"run {number} is of an earlier version of Headlight, which kept nothing of blocks "
                "of the corpus; survey again."
            )
    if match == "place":
        _check_places(runs)


def _check_places(runs: Sequence[xr.Dataset]) -> None:
    for run in runs[1:]:
        for dim in ("layer", "head"):
            if not np.array_equal(runs[0][dim].values, run[dim].values):
                raise UsageError(
                    f"the runs have other {dim}s; compare heads by what they do: "
                    f"{setting('match=behaviour')}."
                )


def _known(run: xr.Dataset) -> Iterator[_Statistic]:
    """Yield the statistics of which a survey has numbers, and their changes by blocks."""
    for row in statistic_table():
        for measure in measures_of(run, row) if applies(run, row) else ():
            variable, where = place_of(run, row, measure)
            moved = f"{variable}{MOVED}"
            if moved in run.variables and places_of(run, variable, where) is not None:
                yield _Statistic(row.name, measure, variable, where)


def _coinciding(run: xr.Dataset) -> set[str]:
    """Return the measures that equal another one in a run: their differences would be of texts."""
    return {name for name in BOTH if coincides(run, name)}


def _ranked(runs: Sequence[xr.Dataset]) -> list[str]:
    return [row.name for row in statistic_table() if all(is_ranked(run, row) for run in runs)]


def _numbers(run: xr.Dataset, statistics: Sequence[_Statistic]) -> Estimate:
    """Return the numbers of a survey, ``[statistic, head of all layers]``."""
    by_head = ("layer", "head")
    by_statistic = [estimates(run, row.variable, by_head, **row.where) for row in statistics]

    def stacked(name: str) -> NDArray[Any]:
        parts = [np.asarray(getattr(estimate, name)) for estimate in by_statistic]
        return np.stack([part.reshape(*part.shape[:-2], -1) for part in parts], -2)

    value, moved, weights = (stacked(name) for name in ("value", "moved", "weights"))
    units, scale, freedom = by_statistic[0].units, stacked("scale"), stacked("freedom")
    return Estimate(value, moved, weights, units, scale, freedom)


def _of_heads(numbers: Estimate, heads: NDArray[np.int64]) -> Estimate:
    """Return the numbers of some heads, in this order; NaN where the number of the head is -1."""
    chosen = numbers.at((slice(None), np.maximum(heads, 0)))
    return replace(chosen, value=np.where(heads >= 0, chosen.value, np.nan))


_ENDS: Mapping[str, Callable[[Estimate], Array]] = {
    "": lambda numbers: numbers.value,
    "_low": lambda numbers: numbers.low,
    "_high": lambda numbers: numbers.high,
}
"""Numbers and the ends of their intervals, by the suffixes of their names."""


def _equal(statistics: Sequence[_Statistic], numbers: Sequence[Estimate]) -> dict[str, str]:
    """Return the labels of numbers that equal another number, and the labels of the other.

    They are equal for all heads of all runs; what is the same for all heads tells no names apart.
    """
    values = np.concatenate([of_run.value for of_run in numbers], axis=-1)
    spread = np.where(np.isfinite(values), values, -np.inf).max(-1) - np.where(
        np.isfinite(values), values, np.inf
    ).min(-1)
    distinct: list[int] = []
    equal: dict[str, str] = {}
    for at, row in enumerate(statistics):
        twins = (
            other
            for other in distinct
            if np.allclose(values[at], values[other], rtol=0, atol=ROUNDING, equal_nan=True)
        )
        twin = next(twins, None) if spread[at] > ROUNDING else None
        if twin is None:
            distinct.append(at)
        else:
            equal[row.label] = statistics[twin].label
    return equal


def _partners(first: Estimate, other: Estimate, match: str) -> tuple[NDArray[np.int64], Array]:
    """Return the matched head of the other run for each head of the first, and its distance.

    By behaviour, -1 stands for none: the nearest head of the other run is a partner only if no head
    of the first run is nearer to it, so that nothing is matched with a head that is merely left
    over.
    """
    heads = np.arange(first.value.shape[-1])
    if match == "place":
        return heads, np.zeros(len(heads))
    observed = [np.flatnonzero(np.isfinite(run.value).any(0)) for run in (first, other)]
    vectors = [run.value[:, heads].T for run, heads in zip((first, other), observed, strict=True)]
    both = np.concatenate(vectors)
    both = both[:, np.isfinite(both).all(0) & (both.std(0) > 0)]
    both = (both - both.mean(0)) / both.std(0)
    of_first, of_other = np.split(both, [len(vectors[0])])
    apart = np.sqrt(
        np.maximum(
            (of_first**2).mean(1)[:, None]
            + (of_other**2).mean(1)
            - 2 * of_first @ of_other.T / max(both.shape[1], 1),
            0,
        )
    )
    nearest = apart.argmin(1)
    mutual = np.flatnonzero(apart.argmin(0)[nearest] == np.arange(len(of_first)))
    partner, distance = np.full(len(heads), -1), np.full(len(heads), np.nan)
    partner[observed[0][mutual]] = observed[1][nearest[mutual]]
    distance[observed[0][mutual]] = apart[mutual, nearest[mutual]]
    return partner, distance


def _tested(first: Estimate, other: Estimate, *, paired: bool) -> dict[str, Array]:
    """Return the difference, its interval, and its p-value and false discovery rate."""
    from scipy.stats import false_discovery_control

    difference = other.minus(first, paired=paired)
    low, high = difference.interval()
    # In paired runs errors cancel, so that even a difference by rounding would be certain.
    same = np.abs(difference.value) <= SAME * np.maximum(1, np.abs(first.value))
    p_value = np.where(same, 1.0, difference.p_value())
    testable = np.isfinite(p_value) & first.testable & other.testable
    adjusted = np.full_like(p_value, np.nan)
    adjusted[testable] = false_discovery_control(p_value[testable])
    return {
        "difference": difference.value,
        "difference_low": low,
        "difference_high": high,
        "p_value": p_value,
        "false_discovery": adjusted,
    }


def _place(heads: NDArray[np.int64], run: xr.Dataset) -> tuple[Array, Array]:
    """Return layer and head of numbers of heads; NaN for none."""
    layer, head = np.divmod(heads, run.sizes["head"])
    labels = run["layer"].values[np.maximum(layer, 0)]
    return (
        np.where(heads >= 0, labels, np.nan).astype(np.float64),
        np.where(heads >= 0, head, np.nan).astype(np.float64),
    )


def _of_runs(
    numbers: Sequence[Estimate], runs: Sequence[xr.Dataset], statistics: Sequence[_Statistic]
) -> dict[str, Any]:
    """Return the highest number of each run, and where shares first are certainly high."""
    best = [
        np.where(np.isfinite(of_run.value), of_run.value, -np.inf).argmax(-1) for of_run in numbers
    ]
    rows = np.arange(len(statistics))
    variables: dict[str, Any] = {
        f"strongest{end}": (
            ("run", "statistic"),
            np.stack([read(of_run)[rows, at] for of_run, at in zip(numbers, best, strict=True)]),
        )
        for end, read in _ENDS.items()
    }
    places = [_place(at, run) for at, run in zip(best, runs, strict=True)]
    for at, name in enumerate(("layer", "head")):
        variables[f"strongest_{name}"] = (
            ("run", "statistic"),
            np.stack([place[at] for place in places]),
        )
    of_shares = np.array([row.behaviour in shares() for row in statistics])
    high = np.stack([(of_run.low > WORTH_SAYING).any(-1) for of_run in numbers]) & of_shares
    variables["arises"] = "statistic", np.where(high.any(0), high.argmax(0), -1)
    return variables


def _attributes(runs: Sequence[xr.Dataset], names: Sequence[str], match: str) -> dict[str, Any]:
    if names and len(names) != len(runs):
        raise UsageError(f"{len(names)} names do not fit {len(runs)} runs.")
    called = list(names) or _names(runs)
    return {
        "stage": "comparison",
        "title": "What differs between surveys",
        "model": listed(called),
        "kind": str(runs[0].attrs.get("kind", "")),
        "names": json.dumps(called),
        "match": match,
        "texts_read": which_texts(runs),
        "pieces": str(runs[0].attrs.get("pieces", "")),
        "category_names": str(runs[0].attrs.get("category_names", "{}")),
    }


def _names(runs: Sequence[xr.Dataset]) -> list[str]:
    """Return the names of the runs: models, or corpora, whichever differ; else numbers."""
    for name in ("model", "corpus", "revision"):
        whole = [str(run.attrs.get(f"{name}_label") or run.attrs.get(name, "")) for run in runs]
        for called in (list(map(base_name, whole)), whole):
            if len(set(called)) == len(called):
                return called
    return [f"run {number}" for number in range(1, len(runs) + 1)]


def _passages(runs: Sequence[xr.Dataset], result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield passages of both runs for the heads that differ most, one statistic for each head."""
    for other in range(1, len(runs)):
        heads = set[tuple[int, int]]()
        for statistic, layer, head in largest_changes(result, other):
            does = str(result["behaviour"].sel(statistic=statistic).item())
            if (layer, head) in heads or len(heads) == SHOWN or "does" not in runs[0].coords:
                continue
            partner = result.sel(other=other, layer=layer, head=head)
            places = (layer, head), (int(partner["partner_layer"]), int(partner["partner_head"]))
            for run, (of_layer, of_head) in zip((0, other), places, strict=True):
                passage = passage_of(runs[run], does, of_layer, of_head)
                if passage is not None:
                    heads.add((layer, head))
                    about = {"statistic": statistic, "other": other, "run": run}
                    yield {**about, "layer": layer, "head": head, "passage": asdict(passage)}
