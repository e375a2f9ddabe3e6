"""Sentences of the study of faithfulness.

The first says whether one map, attention where it was asked for, orders tokens better than chance:
it is chosen before any number is seen, so that its own interval decides.

The best map is picked by the very numbers that it is judged by, so that others are said to be worse
only where they are further behind on the same texts than any would be by chance.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import xarray as xr

from headlight.findings.candidates import agree_by_construction
from headlight.findings.estimates import estimates, pairwise
from headlight.findings.interval_phrases import NO_INTERVAL, around, undecided
from headlight.findings.phrases import listed, number, percent, plural
from headlight.findings.what_was_read import independent_units
from headlight.result.estimate import Estimate
from headlight.result.intervals import FEWEST_UNBOUNDED
from headlight.settings.flow import METHODS

LOWER_IS_BETTER = ("sufficiency", "share_to_flip")
BEST, WORSE, OPEN = "best", "worse", "inconclusive"
RANDOM = "random"
BESIDE = {RANDOM: "control", "leave_one_out": "reference"}
"""Roles of the maps that do not look into a model, and stand beside those that do."""

SAYS = {
    "comprehensiveness": "Most is lost without the tokens that come first by {best}",
    "sufficiency": "Least is lost without the tokens that come last by {best}",
    "share_to_flip": "The prediction changes at the smallest share of the tokens by {best}",
    "leave_one_out": "Closest to what each token does when it alone is left out comes {best}",
    "gradient_input": "Closest to gradient × input comes {best}",
}

BY_REMOVAL = ("comprehensiveness", "sufficiency", "share_to_flip")
"""Questions for which a random order, and leaving one out, show what is little and much."""

NAMES = {
    **{name: method.label for name, method in METHODS.items()},
    "merged_norm": "merged norm",
    "prediction": "parts of the prediction",
    "gradient_input": "gradient × input",
    "leave_one_out": "leave one out",
    RANDOM: "random order",
}
"""Labels of maps that are not called by their names."""

BESIDE_RANDOM = {
    "below": "a random order does certainly better",
    OPEN: "whether that is better than a random order is inconclusive",
}


def points(value: float) -> str:
    """Write a change of a probability in percentage points: ``44``, ``5.2``, ``−0.3``."""
    size = round(100 * value, 0 if abs(value) >= 0.1 else 1) + 0.0  # no minus before a zero
    return f"{size:.{0 if abs(size) >= 10 else 1}f}".replace("-", "\u2212")


@dataclass(frozen=True, slots=True)
class ChanceTest:
    """Way to ask by one score, of which more is better, whether a map orders tokens by chance.

    Attributes:
        claim: What a map does, after its name.
        measured: Numbers of the map and of a random order, in words.
        written: Function that makes text of a number.
    """

    claim: str
    measured: str
    written: Callable[[float], str]


CHANCE_TESTS = {
    "comprehensiveness": ChanceTest(
        "explains these predictions",
        "without the tokens that it names first their probability falls by {score} points, at "
        "random by {chance}",
        points,
    ),
    "first_flip": ChanceTest(
        "explains these predictions",
        "without the one token that it names first {score} of them change, at random {chance}",
        percent,
    ),
    "leave_one_out": ChanceTest(
        "agrees with leaving each token out",
        "the rank correlation of the two is {score}, of random orders {chance}",
        number,
    ),
    "gradient_input": ChanceTest(
        "agrees with gradients",
        "the rank correlation of the two is {score}, of random orders {chance}",
        number,
    ),
}
"""Tests against chance by question; the first that a result has is asked."""

SYMBOLS = {"spearman": "ρ", "kendall": "τ"}

SHOWN = 5e-4
"""Numbers that are closer are the same as they are shown."""


def symbol_of(result: xr.Dataset) -> str:
    """Return the symbol of the coefficient of correlation."""
    settings = json.loads(str(result.attrs.get("settings", "{}")))
    return SYMBOLS[settings.get("coefficient", "spearman")]


def called(name: str) -> str:
    """Return the name of a map."""
    return NAMES.get(name, name)


@dataclass(frozen=True, slots=True)
class BesideChance:
    """Map of tokens held against a random order, and against gradients.

    Attributes:
        question: Question by which they are compared.
        name: Name of the map: ``weight``, or the first that was asked for.
        score: Score of the map.
        chance: Score of a random order.
        ahead: Difference of the two on the same texts.
        gradients: Score of gradients, and what the map is ahead of them; None without them.
        why: Reason for which there is no interval, with a blank before it; empty where there is.
    """

    question: str
    name: str
    score: float
    chance: float
    ahead: Estimate
    gradients: tuple[float, Estimate] | None = None
    why: str = ""

    @property
    def test(self) -> ChanceTest:
        """Return the test by which they are compared."""
        return CHANCE_TESTS[self.question]

    @property
    def title(self) -> str:
        """Return the answer; its interval stands there where it leaves the answer open."""
        verdict = str(self.ahead.against(0.0))
        return self._sentence(self._ends if verdict == OPEN else "")

    @property
    def sentences(self) -> list[str]:
        """Return the answer with its interval, and whether gradients do better."""
        return [self._sentence(self._ends), *self._beside_gradients()]

    def _sentence(self, ends: str) -> str:
        verdict, test = str(self.ahead.against(0.0)), self.test
        subject = subject_of(self.name)
        numbers = test.measured.format(
            score=test.written(self.score), chance=test.written(self.chance)
        )
        if verdict == OPEN:
            return (
                f"Whether {subject} {test.claim} better than chance is inconclusive{self.why}: "
                f"{numbers}{ends}."
            )
        better = "better" if verdict == "above" else "worse"
        return f"{_capital(subject)} {test.claim} {better} than chance: {numbers}{ends}."

    def _beside_gradients(self) -> list[str]:
        if self.gradients is None:
            return []
        score, ahead = self.gradients
        verdict, does = str(ahead.against(0.0)), f"{subject_of(self.name)} {self.test.claim}"
        ends = _more_or_less(ahead, self.test.written)
        numbers = f"{self.test.written(self.score)} against {self.test.written(score)}{ends}"
        if verdict == OPEN:
            return [f"Whether {does} better than gradients is inconclusive: {numbers}."]
        better = "better" if verdict == "above" else "worse"
        return [f"{_capital(does)} {better} than gradients: {numbers}."]

    @property
    def _ends(self) -> str:
        return _more_or_less(self.ahead, self.test.written)


def subject_of(name: str) -> str:
    """Return the name of a map within a sentence that it is the subject of."""
    return "attention" if name == "weight" else called(name)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _more_or_less(apart: Estimate, written: Callable[[float], str]) -> str:
    """Return the interval of a difference in brackets: `` (95%: 2 less to 9 more)``."""
    low, high = float(apart.low), float(apart.high)
    if not np.isfinite(low + high):
        return ""
    if high <= 0:
        return f" (95%: {written(-high)} to {written(-low)} less)"
    less = written(low) if low >= 0 else f"{written(-low)} less"
    return f" (95%: {less} to {written(high)} more)"


def beside_chance(result: xr.Dataset) -> BesideChance | None:
    """Return how attention does beside a random order, on the same texts.

    Where the weight was not asked for, that is the first map that was.

    Args:
        result: Result of the study.

    Returns:
        None without such a map, a random order, or a question of `CHANCE_TESTS` with scores of
        both.
    """
    if "score" not in result:
        return None
    names = list(map(str, result["map"].values))
    inside = [name for name in names if name not in BESIDE]
    asked = set(map(str, result["question"].values))
    if not inside or RANDOM not in names:
        return None
    name = "weight" if "weight" in inside else inside[0]
    for question in CHANCE_TESTS:
        if question not in asked:
            continue
        scores = estimates(result, "score", ("map",), question=question)
        own, chance = (scores.at(names.index(which)) for which in (name, RANDOM))
        if not np.isfinite(own.value + chance.value):
            continue
        gradients = None
        if "gradient_input" in set(inside) - {name, question}:
            other = scores.at(names.index("gradient_input"))
            gradients = float(other.value), _ahead(own, other)
        ahead = _ahead(own, chance)
        why = "" if ahead.known else f" {_reason(result)}"
        return BesideChance(
            question, name, float(own.value), float(chance.value), ahead, gradients, why
        )
    return None


def _ahead(score: Estimate, other: Estimate) -> Estimate:
    """Return a difference on the same texts, without an interval where one of them has none."""
    if score.known and other.known:
        return score.minus(other)
    return Estimate.with_ends(score.value - other.value)


def distinct_maps(result: xr.Dataset) -> tuple[xr.Dataset, dict[str, str]]:
    """Return the result with maps of equal numbers once, and the names of its maps.

    A map that stands for others is called ``weight = effective here``.
    """
    same: dict[str, list[str]] = {}
    for name in map(str, result["map"].values):
        twin = next((other for other in same if _is_same(result, other, name)), name)
        same.setdefault(twin, []).append(called(name))
    kept_maps = list(same)
    names = {
        name: f"{' = '.join(labels)} here" if len(labels) > 1 else labels[0]
        for name, labels in same.items()
    }
    return result.sel({dim: kept_maps for dim in ("map", "other") if dim in result.dims}), names


def _is_same(result: xr.Dataset, name: str, other: str) -> bool:
    """Return whether two maps of the inside have the same numbers as far as they are shown."""
    if {name, other} & BESIDE.keys():
        return False
    apart = result.drop_sel(other=[name, other]) if "other" in result.dims else result
    numbers = [variable for variable in apart.data_vars.values() if "map" in variable.dims]
    pairs = [
        (variable.sel(map=name).values, variable.sel(map=other).values) for variable in numbers
    ]
    return any(np.isfinite(first).any() for first, _ in pairs) and all(
        np.allclose(first, second, rtol=0, atol=SHOWN, equal_nan=True) for first, second in pairs
    )


def beside_best(result: xr.Dataset, question: str) -> xr.Dataset:
    """Return the maps by one question, each with its distance behind the first.

    The first is one of those that look into the model: leaving one out does what it is judged by.

    Returns:
        Over ``map``: ``score`` and ``behind``, at least 0 for all that look into the model, with
        their intervals; ``verdict``: ``worse`` of a map that is certainly not the first, ``best``
        of the first where all others are worse, else ``inconclusive``, and of maps beside them what
        they are.  Maps without a score, such as one that would be compared with itself, are left
        out.  Attributes: the ``first``, and whether it is ``above`` a random order.
    """
    scores = estimates(result, "score", ("map",), question=question)
    observed = np.isfinite(scores.value)
    scores = scores.at(observed)
    names = list(map(str, result["map"].values[observed]))
    if not names:
        return xr.Dataset()
    order = scores.times(-1.0 if question in LOWER_IS_BETTER else 1.0)
    inside = [at for at, name in enumerate(names) if name not in BESIDE] or [*range(len(names))]
    first = inside[int(order.value[inside].argmax())]
    behind = order.at(first).minus(order)
    tied = {inside[at] for at in np.flatnonzero(order.at(inside).ties())}
    has_ends = bool(np.isfinite(order.low[first] + order.high[first]))
    verdicts = [OPEN if at in tied or not has_ends else WORSE for at in range(len(names))]
    if len(inside) == 1 or (has_ends and tied == {first}):
        verdicts[first] = BEST
    control = ""
    if RANDOM in names:
        ahead = order.at(inside).minus(order.at(names.index(RANDOM)))
        first_ahead = ahead.simultaneous(independent_units(result)).at(inside.index(first))
        control = str(first_ahead.against(0.0))
    numbers = {"score": scores, "behind": behind}
    return xr.Dataset(
        {
            "verdict": ("map", [BESIDE.get(name, verdicts[at]) for at, name in enumerate(names)]),
            **{name: ("map", estimate.value) for name, estimate in numbers.items()},
            **{f"{name}_low": ("map", estimate.low) for name, estimate in numbers.items()},
            **{f"{name}_high": ("map", estimate.high) for name, estimate in numbers.items()},
        },
        {"map": names},
        {"first": names[first], "beside_random": control},
    )


def faithfulness(result: xr.Dataset) -> list[str]:
    """Return whether attention does better than chance, and what is certain of the other maps."""
    answer = beside_chance(result)
    result, names = distinct_maps(result)
    sentences, unclear = [], []
    for question in map(str, result["question"].values) if "question" in result else ():
        if question not in SAYS:
            continue
        compared = beside_best(result, question)
        if "verdict" not in compared:
            continue
        first = str(compared.attrs["first"])
        rest = _certain(compared, question, names)
        score = estimates(compared, "score", (), map=first)
        start = f"{SAYS[question].format(best=names[first])}: {number(float(score.value))}"
        beside = _beside(compared, question)
        if rest:
            start += f"{around(score, number, share=False)}{beside}"
            sentences.append(f"{'; '.join([start, *rest])}.")
        elif OPEN in compared["verdict"].values:
            unclear.append(f"{start[0].lower()}{start[1:]}{beside}")
    if unclear:
        why = _reason(result)
        sentences.append(f"Which map is first is inconclusive {why}: {'; '.join(unclear)}.")
    return [*(answer.sentences if answer else []), *sentences, *_closest_pair(result, names)]


def _reason(result: xr.Dataset) -> str:
    """Return the reason for which it is inconclusive which map is first."""
    texts = int(result["texts"])
    if estimates(result, "score", ("question", "map")).known:
        return f"with {plural(texts, 'text')}"
    if texts < FEWEST_UNBOUNDED:
        needed = f"fewer than the {FEWEST_UNBOUNDED} that its interval takes"
        return f"with {plural(texts, 'text')}, {needed}"
    return f"({NO_INTERVAL})"


def _beside(result: xr.Dataset, question: str) -> str:
    """Return the scores of a random order and of leaving one out, by a question of removal."""
    names = list(map(str, result["map"].values))
    return "".join(
        f", {words} {number(float(result['score'].sel(map=name)))}"
        for name, words in ((RANDOM, "in a random order"), ("leave_one_out", "by leave one out"))
        if name in names and question in BY_REMOVAL and name != result.attrs["first"]
    )


def _certain(result: xr.Dataset, question: str, names: dict[str, str]) -> list[str]:
    """Return clauses on the maps, and a random order, certainly behind or before the first."""
    first = str(result.attrs["first"])
    rest = result.drop_sel(map=first)
    worse, tied = (
        [names[name] for name in rest["map"].values[rest["verdict"].values == verdict].tolist()]
        for verdict in (WORSE, OPEN)
    )
    control = str(result.attrs["beside_random"]) if question in BY_REMOVAL else ""
    if tied and not worse and control not in ("above", "below"):
        return []
    clauses = (
        BESIDE_RANDOM.get(control, ""),
        f"certainly behind it: {listed(worse)}" if worse else "",
        f"which of these is first is inconclusive: {listed([names[first], *tied])}" if tied else "",
    )
    return [clause for clause in clauses if clause]


def _closest_pair(result: xr.Dataset, names: dict[str, str]) -> list[str]:
    """Return a finding on the two maps that agree most, but for those that do by construction."""
    if "correlation" not in result:
        return []
    pairs = [
        pair
        for pair in combinations([name for name in names if name != RANDOM], 2)
        if not agree_by_construction(*pair)
    ]
    correlations = pairwise(result, "correlation", pairs, "map")
    place = correlations.first() if pairs else None
    if place is None:
        return ["No two maps could be compared: no correlation is defined in any text."]
    first, second = (names[name] for name in pairs[place[0]])
    ends = around(correlations.at(place), number, share=False)
    labels = [" with ".join(names[name] for name in pair) for pair in pairs]
    return [
        f"{first[0].upper()}{first[1:]} and {second} agree most: {symbol_of(result)} "
        f"{number(float(correlations.value[place]))}{ends}."
        + undecided(correlations, labels, "which two agree most", "pair")
    ]
