"""The page on which maps of tokens stand beside each other."""

from typing import Any

import numpy as np
import xarray as xr

from headlight.findings.answers import map_faithfulness
from headlight.findings.answers.map_faithfulness import RANDOM, beside_best, called
from headlight.findings.wording import listed
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
    rounded,
    settings_of,
)
from headlight.views.pictures.theme import CYCLE
from headlight.views.scale import round_domain

findings = map_faithfulness.map_faithfulness
"""In words, which stand first."""

QUESTIONS = {
    "comprehensiveness": (
        "Which tokens does the prediction need?",
        "Comprehensiveness: p less p without the most important tokens, the mean over 10, 20, …, "
        "90% of them. The more is lost, the better the map.",
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
        "Sufficiency: p less p without the least important tokens, the mean over the same shares. "
        "The less is lost, the better the map.",
        "DeYoung et al. (2020), Section 4",
    ),
    "leave_one_out": (
        "What does each token do when it alone is left out?",
        "Spearman's ρ, over the tokens of a text, of the map and of what p loses without each.",
        "",
    ),
    "gradient_input": (
        "What would a small change of each token do?",
        "Spearman's ρ, over the tokens of a text, of the map and of the gradient of p times the "
        "embedding of each.",
        "",
    ),
}

LOST = {"lost": "most important", "lost_least": "least important"}
"""Variables of what is lost, by the tokens without which it is."""

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
    "Behind the best: how much the best map that looks into the model is ahead on the same texts. "
    "A map is worse where the 95% interval of that leaves 0 out (bootstrap over texts); else it is "
    "inconclusive. The best is picked by these very numbers, and an interval misses once in twenty "
    "times: close calls need other texts. Leave one out removes tokens itself, at one pass for "
    "each, and shows how much a map could know."
)


def summary(result: xr.Dataset) -> Summary:
    """Scores by question and map."""
    found: Summary = {"texts": int(result["texts"])}
    for question in map(str, result["question"].values):
        for name in map(str, result["map"].values):
            score = float(result["score"].sel(question=question, map=name))
            found[f"{question}_{name}"] = score
    return rounded(found)


def sections(result: xr.Dataset) -> list[Section]:
    """A table for each question, the curves, and all differences."""
    asked = [_question(result, name) for name in map(str, result["question"].values)]
    return [*asked[:1], _curves(result), *asked[1:], _differences(result)]


def _names(result: xr.Dataset) -> dict[str, str]:
    return {str(name): called(str(name)) for name in result["map"].values}


def _question(result: xr.Dataset, name: str) -> Section:
    title, explanation, source = QUESTIONS[name]
    if name == "comprehensiveness":
        explanation = f"{_asked(result)} {explanation} {JUDGED}"
    elif not source:
        explanation += " " + (
            "Signs count."
            if settings_of(result).get("signed")
            else "Of maps with a sign the sizes count, as attention has none."
        )
    found = beside_best(result, name)
    table = columns(
        name,
        title,
        found,
        By("map", _names(found), "map"),
        Columns("score", ".3f", "score", interval=True),
        Columns("verdict", label="verdict"),
        Columns("behind", ".3f", "behind the best", interval=("from", "to")),
    )
    return Section(name, title, explanation, source, tables=[table])


def _asked(result: xr.Dataset) -> str:
    """What was predicted, and how tokens were removed."""
    options = settings_of(result)
    return (
        f"p is the probability of {PREDICTS[str(options['predicts'])]}; its mean is "
        f"{float(result['probability']):.2f}, over {int(result['texts'])} texts with "
        f"{float(result['tokens']):.0f} tokens on average that can be removed. Tokens that are "
        f"removed {WAYS[str(options['removed_by'])]}. What is left is no text that the model was "
        "trained on, so compare with the random order, and ways to remove tokens with each other."
    )


def _curves(result: xr.Dataset) -> Section:
    names = _names(result)

    others = [name for name in names if name != RANDOM]
    random = result["lost"].sel(map=RANDOM, drop=True)
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
            Curve(name, f"without the {which}", interval=True, colour=CYCLE[at], **shared)
            for at, (name, which) in enumerate(LOST.items())
        ),
        Curve("random", "random order", colour=CYCLE[6], dashed=True, **shared),
        columns=4,
    )
    low, high = float(result["share"][0]), float(result["share"][-1])
    return Section(
        "curves",
        "What is lost, by the share of tokens",
        "The more a map says of the prediction, the faster p falls without the most important "
        "tokens, and the later without the least important. Shares, "
        f"{low:.0%} to {high:.0%}, are rounded to whole tokens, at least one.",
        "",
        [Drawing("curves", "", f"p lost by {listed(list(names.values()))}.", draw)],
        [
            columns(
                "curves",
                "p lost",
                result,
                (By("map", names, "map"), By("share", format=".0%")),
                *(
                    Columns(name, ".3f", f"without the {which}", interval=True)
                    for name, which in LOST.items()
                ),
            )
        ],
    )


def _range(result: xr.Dataset) -> tuple[float, float]:
    ends = [f"{name}{end}" for name in LOST for end in ("", "_low", "_high")]
    values = np.concatenate([result[name].values.ravel() for name in ends])
    values = values[np.isfinite(values)] if np.isfinite(values).any() else np.zeros(1)
    return round_domain(float(values.min()), float(values.max()))


def _differences(result: xr.Dataset) -> Section:
    names = _names(result)
    seen = result.sel(question="comprehensiveness")
    first, second = By("map", names, ""), By("other", names, "")
    draw = maps(
        seen,
        Map(
            "difference",
            "Comprehensiveness, row minus column",
            (),
            first,
            second,
            "change",
            None,
            ".2f",
        ),
    )
    return Section(
        "differences",
        "Each two maps on the same texts",
        "The mean over texts of the difference of two scores, with its interval.",
        "",
        [Drawing("differences", "", "Differences in comprehensiveness.", draw)],
        [
            columns(
                "differences",
                "Differences",
                result,
                ("question", first, second),
                Columns("difference", "+.3f", "difference", interval=True),
            )
        ],
    )
