"""The study of faithfulness: predictions without the words that a measure calls important."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.answers import classifiers
from headlight.findings.estimates import around, estimates
from headlight.views.parts import (
    IMPORTANCE_NAMES,
    By,
    Columns,
    Drawing,
    Figure,
    Section,
    Summary,
    columns,
    rounded,
    settings_of,
)
from headlight.views.pictures import Line, LinePanel, lines
from headlight.views.pictures.theme import CYCLE
from headlight.views.scale import round_domain

findings = classifiers.faithfulness
"""In words, which stand first."""

METRICS = {
    "comprehensiveness": "comprehensiveness ↑",
    "sufficiency": "sufficiency ↓",
    "deletion": "deletion ↓",
    "insertion": "insertion ↑",
    "first_flip": "flips by the first ↑",
    "share_to_flip": "share to flip ↓",
}
"""With the direction in which an order says more of the prediction."""

SHARES = ("first_flip", "share_to_flip")
"""Metrics that are shares of texts and of words, and not differences of probabilities."""

CURVES = {
    "deletion": "removed",
    "insertion": "alone",
}

LOOKED_AT = 0.2
"""The share of the words of which the lead speaks."""

ORDER = By("measure", {**IMPORTANCE_NAMES, "random": "random order"}, "order by")

WAYS = {
    "mask": "words become the mask token",
    "delete": "words are left out",
    "attention": "words cannot be attended to",
}

DEFINITIONS = (
    "p is the probability of the class that the model chooses for the whole text. "
    "Comprehensiveness: p less p without the most important words; sufficiency: p less p with "
    "these alone; both are means over 1, 5, 10, 20 and 50% of the words, at least one (the AOPC "
    "of ERASER). Deletion and insertion: the area under p as 0, 10, …, 100% of the words are "
    "removed, or given. Flips by the first: the share of texts whose class changes without the "
    "one most important word. Share to flip: the smallest of these shares without which the class "
    "changes, 100% if it never does. Of a tagger all are means over the words of a sentence, each "
    "with the class that is chosen for it. Arrows say in which direction an order tells more of "
    "what the prediction rests on. Texts without words are not what the model was trained on, so "
    "compare with the random order, and ways to remove words with each other."
)


def summary(result: xr.Dataset) -> Summary:
    """Accuracy, and comprehensiveness by measure, words removed in the first way."""
    first = result.isel(removal=0)
    found: Summary = {"accuracy": float(result["own_accuracy"])}
    for name in map(str, result["measure"].values):
        found[f"{name}_comprehensiveness"] = float(first["comprehensiveness"].sel(measure=name))
    return rounded(found)


def sections(result: xr.Dataset) -> list[Section]:
    """One table for each way to remove words, and the curves."""
    first, *others = map(str, result["removal"].values)
    found = [_removal(result, first, f"{DEFINITIONS} {_rows(result)} {_accuracy(result)}")]
    found += [_removal(result, name, "The same metrics, with other removals.") for name in others]
    return [*found, _shares(result)]


def _rows(result: xr.Dataset) -> str:
    """Which rows of attention count, in words."""
    rows = {
        "mean": "all rows",
        "first": "the row of the first token",
        "last": "the row of the last token",
    }
    chosen = settings_of(result).get("rows", "mean")
    return (
        f"A measure of attention is summed over {rows[chosen]} and all heads of "
        "a layer, as shares that add up to 1, and averaged over layers; a word has the sum of "
        "its pieces."
    )


def _accuracy(result: xr.Dataset) -> str:
    right = float(result["own_accuracy"])
    return (
        f"{right:.1%} of the model's predictions are correct. Intervals: 95%, bootstrap over texts."
    )


def _seen(cell: xr.Dataset) -> str:
    """What the curves say of the words that matter most, and of as many at random."""
    step = float(cell["step"].values[int(np.abs(cell["step"].values - LOOKED_AT).argmin())])
    orders = [str(name) for name in cell["measure"].values if name != "random"]
    best = max(orders, key=lambda name: float(cell["comprehensiveness"].sel(measure=name)))
    p, q = (
        [
            f"{float(each.value):.2f}{around(each, '{:.2f}'.format)}"
            for each in (
                estimates(cell.sel(step=step), f"{curve}_curve", (), measure=name)
                for curve in CURVES
            )
        ]
        for name in (best, "random")
    )
    whole = float(cell["deletion_curve"].sel(measure=best, step=0))
    called = ORDER.names[best]
    return (
        f"Without the {step:.0%} of words that {called} puts first, p is {p[0]}, without as "
        f"many at random {q[0]}, and with all words {whole:.2f}. With these words alone it is "
        f"{p[1]}, and with as many at random {q[1]}."
    )


def _removal(result: xr.Dataset, removal: str, explanation: str) -> Section:
    cell = result.sel(removal=removal)

    def draw() -> Figure:
        panels = [
            LinePanel(
                label,
                [*_lines(cell.sel(measure=name)), *_lines(cell.sel(measure="random"), "random")],
                "share of the words",
                "p",
                limits=_range(cell),
            )
            for name, label in zip(cell["measure"].values, ORDER.labels(cell), strict=True)
            if name != "random"
        ]
        return lines(panels)

    return Section(
        f"removal-{removal}",
        f"Effect on the prediction: {WAYS[removal]}",
        f"{_seen(cell)} {explanation}",
        "DeYoung et al. (2020)",
        [Drawing(f"curves-{removal}", "", f"Curves where {WAYS[removal]}.", draw)],
        [
            columns(
                f"metrics-{removal}",
                f"Means over texts; {WAYS[removal]}",
                cell,
                ORDER,
                *(
                    Columns(name, ".1%" if name in SHARES else ".3f", heading)
                    for name, heading in METRICS.items()
                ),
            ),
            columns(
                f"intervals-{removal}",
                "The same with intervals",
                _by_metric(cell),
                (ORDER, By("metric", METRICS)),
                Columns("value", ".3f", "value", interval=True),
            ),
        ],
    )


def _lines(cell: xr.Dataset, first: str = "most important") -> list[Line]:
    """Both curves of an order; those of the random order are dashed, and have no band."""
    random = first == "random"
    return [
        Line(
            f"{first} {label}",
            cell["step"].values,
            cell[f"{name}_curve"].values,
            None if random else cell[f"{name}_curve_low"].values,
            None if random else cell[f"{name}_curve_high"].values,
            CYCLE[at],
            dashed=random,
        )
        for at, (name, label) in enumerate(CURVES.items())
    ]


def _by_metric(cell: xr.Dataset) -> xr.Dataset:
    """All metrics as one variable with its interval."""
    names = pd.Index(list(METRICS), name="metric")
    return xr.Dataset(
        {
            f"value{end}": xr.concat([cell[f"{name}{end}"].drop_attrs() for name in METRICS], names)
            for end in ("", "_low", "_high")
        }
    )


def _range(cell: xr.Dataset) -> tuple[float, float]:
    """One vertical range for all curves, since they show the same probability."""
    ends = [cell[f"{name}_curve{end}"].values for name in CURVES for end in ("", "_low", "_high")]
    values = np.concatenate([each.ravel() for each in ends])
    return round_domain(float(np.nanmin(values)), float(np.nanmax(values)))


def _shares(result: xr.Dataset) -> Section:
    return Section(
        "shares",
        "By the share of words",
        "Comprehensiveness and sufficiency before the mean over shares is taken. Shares are "
        "rounded up to whole words, so that short texts lose one word at 1% as at 5%.",
        "DeYoung et al. (2020), Section 4",
        tables=[
            columns(
                "shares",
                "By the share of the words",
                result,
                ("removal", ORDER, By("share", format=".0%")),
                Columns("share_comprehensiveness", ".3f", "comprehensiveness"),
                Columns("share_sufficiency", ".3f", "sufficiency"),
            )
        ],
    )
