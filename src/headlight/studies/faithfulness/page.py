"""Page of faithfulness: maps of tokens compared with each other."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from headlight.findings import faithfulness
from headlight.findings.estimates import estimates
from headlight.findings.faithfulness import (
    BESIDE,
    RANDOM,
    BesideChance,
    beside_best,
    beside_chance,
    distinct_maps,
    symbol_of,
)
from headlight.findings.phrases import listed, percent, plural
from headlight.views.axis_ranges import round_domain
from headlight.views.headline import BarList, Headline, value_bars
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Map,
    Section,
    Summary,
    columns,
    curves,
    maps,
)
from headlight.views.parts.result_facts import rounded, settings_of
from headlight.views.pictures.theme import CYCLE
from headlight.views.titles import Subject

findings = faithfulness.faithfulness
"""Findings in words, shown first."""

REMOVED = {"tenths": "10, 20, …, 90%", "eraser": "1, 5, 10, 20 and 50%"}
MEAN = {
    "tenths": f"{REMOVED['tenths']} of them, rounded to whole tokens, at least one",
    "eraser": f"{REMOVED['eraser']} of them, rounded up to whole tokens",
}
REST = {
    "tenths": "p less p without the least important tokens, the mean over the same shares",
    "eraser": "p less p with the most important tokens alone, the mean over the same shares",
}
"""Definitions of sufficiency, by the choice of removed shares."""

QUESTIONS = {
    "comprehensiveness": (
        "Which tokens does the prediction need?",
        "Comprehensiveness: p less p without the most important tokens, the mean over {mean}. The "
        "more is lost, the better the map.",
        "DeYoung et al. (2020), Section 4",
    ),
    "normalised": (
        "The same, by what can be lost of each text",
        "Comprehensiveness of a text minus the least that any order loses of it, over the most "
        "that any loses minus the least: known orders are those of all maps, random ones, and "
        "all of these backward. 1 is the best. So texts of which much or little can be lost "
        "count alike, and models can be compared; with more maps the bounds are wider.",
        "Edin et al. (2025)",
    ),
    "sufficiency": (
        "Which tokens are enough?",
        "Sufficiency: {rest}. The less is lost, the better the map.",
        "DeYoung et al. (2020), Section 4",
    ),
    "first_flip": (
        "Does the prediction change without the first token?",
        "The share of texts in which another output becomes the largest without the one most "
        "important token.",
        "Serrano and Smith (2019)",
    ),
    "share_to_flip": (
        "Without which share of the tokens does it change?",
        "The smallest share of the most important tokens without which another output becomes the "
        "largest, 100% if none does. The smaller, the better the map.",
        "Serrano and Smith (2019)",
    ),
    "leave_one_out": (
        "What does each token do when it alone is left out?",
        "{symbol}, over the tokens of a text, of the map and of what p loses without each.",
        "",
    ),
    "gradient_input": (
        "What would a small change of each token do?",
        "{symbol}, over the tokens of a text, of the map and of the gradient of p times the "
        "embedding of each.",
        "",
    ),
}

LOST = {
    "tenths": {"lost": "without the most important", "lost_least": "without the least important"},
    "eraser": {"lost": "without the most important", "lost_least": "with these alone"},
}
"""Labels of the variables of lost probability, by the choice of removed shares."""

PREDICTS = {
    "class": "the class that the model chooses for the whole text",
    "masked": "the token that the model expects at a mask, which stands at a random place",
    "next": "the token that the model expects after the text",
}

WAYS = {
    "mask": "become the mask token, or the unknown one where there is no mask",
    "delete": "are left out",
    "attention": "cannot be attended to",
}

JUDGED = (
    "Behind the first: how much the first of the maps that look into the model is ahead on the "
    "same texts, with its interval of 95%. The first is picked by these very numbers, so that a "
    "map is worse only where it is further behind than any of them would be by chance in 95% of "
    "corpora, and the first is the best where all others are worse; else they are inconclusive. "
    "Leave one out removes tokens itself, at one pass for each, and shows how much a map could "
    "know."
)

NO_TEST = (
    "This describes maps and is no test of them: two may agree and both be wrong, and which of "
    "them is right is not known (Neely et al. 2021). The correlation of gradients with leaving one "
    "out says what two maps that look at the prediction itself come to; that with a random order "
    "what chance does."
)


BARS = 9
"""Maps of the headline."""

BARS_TITLE = {
    "comprehensiveness": "Points of probability lost without the tokens that each map names first",
    "first_flip": "Predictions that change without the one token that each map names first",
    "leave_one_out": "Rank correlation with leaving each token out: 1 is the same order",
    "gradient_input": "Rank correlation with gradients: 1 is the same order",
}

BAR_LABELS = {
    RANDOM: "random order (chance)",
    "leave_one_out": "leave one out (the truth of single tokens)",
}
"""Labels of the bars with which others are compared."""


def headline(result: xr.Dataset) -> Headline | None:
    """Return whether attention explains the predictions better than chance, beside other maps.

    Args:
        result: Result of the study.

    Returns:
        None where nothing is compared with a random order.
    """
    answer = beside_chance(result)
    if answer is None:
        return None
    texts = plural(int(result["texts"]), "text")
    read = (
        f"{Subject.from_result(result)}: {texts}, whose predictions have a probability of "
        f"{percent(float(result['probability']))} on average."
    )
    return Headline(answer.title, read, [_bars(result, answer)], "does attention explain?")


def _bars(result: xr.Dataset, answer: BesideChance) -> BarList:
    """Return the maps by the question of the title, the best first."""
    asked = result["map"].values.tolist()
    first, names = distinct_maps(
        result.sel(map=sorted(asked, key=lambda name: name != answer.name))
    )
    labels = names | {name: label for name, label in BAR_LABELS.items() if name in names}
    if answer.name == "weight":
        labels["weight"] = f"attention {names['weight']}"
    by_map = first["score"].sel(question=answer.question).to_series().dropna()
    by_map = by_map.sort_values(ascending=False, kind="stable")
    beside = [name for name in by_map.index if name == answer.name or name in BESIDE]
    others = [name for name in by_map.index if name not in beside]
    kept = {*beside, *others[: BARS - len(beside)]}
    bars = value_bars(
        {labels[str(name)]: score for name, score in by_map.items() if name in kept},
        answer.test.written,
        [labels[name] for name in BESIDE if name in labels],
        {labels[name]: "weight" if name == answer.name else "other" for name in kept},
    )
    notes = []
    if answer.question == "comprehensiveness":
        settings = settings_of(result)
        removed, units = REMOVED[settings.get("shares", "tenths")], settings.get("units", "tokens")
        notes.append(f"Means over removing {removed} of the {units}.")
    if answer.name == "weight":
        notes.append("Attention weight is the mean over heads.")
    if hidden := len(by_map) - len(kept):
        notes.append(f"In the table below: {plural(hidden, 'other map')}.")
    return BarList(BARS_TITLE[answer.question], bars, " ".join(notes))


def summary(result: xr.Dataset) -> Summary:
    """Return the number of texts, and the scores by question and map."""
    numbers: Summary = {"texts": int(result["texts"])}
    for name in map(str, result["map"].values):
        for question in map(str, result["question"].values) if "score" in result else ():
            score = float(result["score"].sel(question=question, map=name))
            numbers[f"{question}_{name}"] = score
    return rounded(numbers)


def sections(result: xr.Dataset) -> list[Section]:
    """Return a table for each question, the curves, and which maps agree."""
    result, names = distinct_maps(result)
    questions = map(str, result["question"].values) if "score" in result else ()
    parts = [_question(result, name, names) for name in questions]
    if "lost" in result:
        parts.insert(1, _curves(result, names))
    if "correlation" in result:
        parts.append(_pairs(result, names))
    judged = f" {JUDGED}" if "score" in result else ""
    explanation = f"{_asked(result)} {parts[0].explanation}{judged}"
    return [replace(parts[0], explanation=explanation), *parts[1:]]


def _question(result: xr.Dataset, name: str, names: dict[str, str]) -> Section:
    title, explanation, source = QUESTIONS[name]
    settings = settings_of(result)
    shares = settings.get("shares", "tenths")
    explanation = explanation.format(mean=MEAN[shares], rest=REST[shares], symbol=symbol_of(result))
    if not source:
        explanation += f" {_sizes(settings)}"
    table = columns(
        name,
        title,
        beside_best(result, name),
        By("map", names, "map"),
        Columns("score", ".3f", "score", interval=True),
        Columns("verdict", label="verdict"),
        Columns("behind", ".3f", "behind the first", interval=("from", "to")),
    )
    return Section(name, title, explanation, source, tables=[table])


def _sizes(settings: Mapping[str, Any]) -> str:
    if settings.get("signed"):
        return "Signs count."
    return "Of maps with a sign the sizes count, as attention has none."


def _asked(result: xr.Dataset) -> str:
    """Describe the prediction and the way in which tokens were removed."""
    options = settings_of(result)
    units = options.get("units", "tokens")
    return (
        f"p is the probability of {PREDICTS[str(options['predicts'])]}; its mean is "
        f"{float(result['probability']):.2f}, over {int(result['texts'])} texts with "
        f"{float(result['tokens']):.0f} {units} on average that can be removed. Those that are "
        f"removed {WAYS[str(options['removed_by'])]}. What is left is no text that the model was "
        "trained on, so compare with the random order, and ways to remove tokens with each other."
    )


def _curves(result: xr.Dataset, names: dict[str, str]) -> Section:
    labels = LOST[settings_of(result).get("shares", "tenths")]
    others = [name for name in names if name != RANDOM]
    random = result["lost"].sel(map=RANDOM).variable
    shared: dict[str, Any] = {
        "panel": "{map}",
        "by": By("map", names),
        "over": "share",
        "x_label": "share of the tokens",
        "y_label": "p lost",
        "limits": _range(result),
    }
    draw = curves(
        result.sel(map=others).assign(random=random),
        *(
            Curve(name, which, interval=True, colour=CYCLE[at], **shared)
            for at, (name, which) in enumerate(labels.items())
        ),
        Curve("random", "random order", colour=CYCLE[6], dashed=True, **shared),
        columns=4,
    )
    low, high = float(result["share"][0]), float(result["share"][-1])
    return Section(
        "curves",
        "What is lost, by the share of tokens",
        "The more a map says of the prediction, the more p falls without the most important "
        f"tokens, and the less {labels['lost_least']}. Shares go from {low:.0%} to {high:.0%}.",
        "",
        [Drawing("curves", "", f"p lost by {listed(list(names.values()))}.", draw)],
        [
            columns(
                "curves",
                "p lost",
                result,
                (By("map", names, "map"), By("share", format=".0%")),
                *(Columns(name, ".3f", which, interval=True) for name, which in labels.items()),
            )
        ],
    )


def _range(result: xr.Dataset) -> tuple[float, float]:
    curves_known = [estimates(result, name, ("map", "share")) for name in LOST["tenths"]]
    ends = [end for curve in curves_known for end in (curve.value, curve.low, curve.high)]
    values = np.concatenate([end.ravel() for end in ends])
    values = values[np.isfinite(values)] if np.isfinite(values).any() else np.zeros(1)
    return round_domain(float(values.min()), float(values.max()))


def _pairs(result: xr.Dataset, names: dict[str, str]) -> Section:
    symbol, settings = symbol_of(result), settings_of(result)
    first, second = By("map", names, ""), By("other", names, "")
    drawn_maps = [
        ("correlation", f"{symbol} of two maps", "change", (-1, 1), ".2f"),
        ("significant", "Share significant", "", (0, 1), ".0%"),
        ("overlap", "Same top tokens", "", (0, 1), ".0%"),
    ]
    draw = maps(
        result,
        *(
            Map(name, title, (), first, second, scale, limits, format)
            for name, title, scale, limits, format in drawn_maps
        ),
    )
    pairs = list(combinations(names, 2))
    first_map, other = (
        xr.DataArray([pair[side] for pair in pairs], dims="pair") for side in (0, 1)
    )
    by_pair = result.sel(map=first_map, other=other).drop_vars(["map", "other"])
    labels = {
        name: ("pair", [names[str(name_of_map)] for name_of_map in side.values])
        for name, side in (("one", first_map), ("with", other))
    }
    table = columns(
        "correlation",
        "Means over texts",
        by_pair.assign(labels),
        By("pair", heading=""),
        Columns("one", label="map"),
        Columns("with", label="with"),
        Columns("correlation", ".3f", symbol, interval=True),
        Columns("significant", ".1%", "significant"),
        Columns("overlap", ".1%", "same top tokens"),
    )
    return Section(
        "correlation",
        "Which maps agree",
        f"{symbol} of two maps over the tokens of a text: 1 for the same order, 0 for orders that "
        "have nothing to do with each other, −1 for opposite ones; the mean over texts, and the "
        "share of texts in which it is significant (p at most 0.05). Top tokens are the 10% that a "
        f"map gives most, at least one. Texts of which a map says the same everywhere are left "
        f"out of the means. {_sizes(settings)} {NO_TEST}",
        "Jain and Wallace (2019), Table 2",
        [Drawing("correlation", "", "Correlation of every two maps.", draw)],
        [table],
    )
