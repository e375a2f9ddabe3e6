"""The study of agreement: which measures put the words of a text in the same order."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.pictures import HeadMap, Line, LinePanel, head_map, lines
from headlight.views.studies.parts import (
    COLOURED,
    IMPORTANCE_NAMES,
    Drawing,
    Figure,
    Section,
    Summary,
    mean_of,
    rounded,
)

JAIN = "Jain and Wallace (2019), {}"

NO_TEST = (
    "This describes measures and is no test of them: two may agree and both be wrong, and which of "
    "them is right is not known (Neely et al. 2021)."
)


def summary(result: xr.Dataset) -> Summary:
    """Texts, and τ of every two measures but random numbers."""
    found: Summary = {"texts": int(result["texts"])}
    for first, second in _pairs(result):
        if "random" not in (first, second):
            found[f"{first}_{second}_tau"] = float(_cell(result, first, second)["tau"])
    return rounded(found)


def sections(result: xr.Dataset) -> list[Section]:
    """Correlations of all texts, those by the class of the answer, and their spread."""
    return [_all(result), _answers(result), _histograms(result)]


def _names(result: xr.Dataset) -> list[str]:
    return [str(name) for name in result["measure"].values]


def _pairs(result: xr.Dataset) -> list[tuple[str, str]]:
    return list(combinations(_names(result), 2))


def _cell(result: xr.Dataset, first: str, second: str) -> xr.Dataset:
    return result.sel(measure=first, other=second)


def _label(name: str) -> str:
    return "random numbers" if name == "random" else IMPORTANCE_NAMES.get(name, name)


def _settings(result: xr.Dataset) -> str:
    """What was asked for, in words."""
    settings = json.loads(str(result.attrs.get("settings", "{}")))
    sizes = (
        "gradients and leaving one out have their signs"
        if settings.get("signed")
        else "of gradients and of leaving one out the sizes count"
    )
    return f"Of measures with a sign: {sizes}."


def _map(result: xr.Dataset, name: str, title: str, **options: object) -> HeadMap:
    labels = [_label(each) for each in _names(result)]
    return HeadMap(title, result[name].values, labels, labels, "", "", **options)  # type: ignore[arg-type]


def _frame(result: xr.Dataset, prefix: str = "") -> pd.DataFrame:
    """One row for each pair of measures."""
    rows = []
    for first, second in _pairs(result):
        cell = _cell(result, first, second)
        rows.append(
            {
                "measure": _label(first),
                "with": _label(second),
                "τ": float(cell[f"{prefix}tau"]),
                "low": float(cell[f"{prefix}tau_low"]),
                "high": float(cell[f"{prefix}tau_high"]),
                "± over texts": float(cell[f"{prefix}tau_deviation"]),
                "significant": float(cell[f"{prefix}significant"]),
                "same top words": float(cell[f"{prefix}overlap"]),
                "texts without τ": int(cell[f"{prefix}undefined"]),
            }
        )
    return pd.DataFrame(rows)


_FORMATS = dict.fromkeys(("τ", "low", "high", "± over texts"), ".3f") | dict.fromkeys(
    ("significant", "same top words"), ".1%"
)


def _all(result: xr.Dataset) -> Section:
    settings = json.loads(str(result.attrs.get("settings", "{}")))
    top = settings.get("top", 0.1)

    def draw() -> Figure:
        return head_map(
            [
                _map(result, "tau", "Kendall's τ", scale="change", limits=(-1, 1), format=".2f"),
                _map(result, "significant", "Share significant", limits=(0, 1), format=".0%"),
                _map(result, "overlap", "Same top words", limits=(0, 1), format=".0%"),
            ]
        )

    return Section(
        "agreement",
        "Which measures agree",
        "Kendall's τ of two measures over the words of a text: 1 for the same order, 0 for orders "
        "that have nothing to do with each other, −1 for opposite ones; the mean over "
        f"{int(result['texts'])} texts, and the share of texts in which it is significant (p at "
        f"most 0.05). Top words are the {top:.0%} that a measure gives most, at least one. Texts "
        "without τ, which have one word or are given the same everywhere, are left out of the "
        f"means. {_settings(result)} {NO_TEST} The agreement of gradients with leaving one out "
        "says what two measures that look at the answer itself come to; that with random numbers "
        "what chance does. Intervals: 95%, bootstrap over texts.",
        JAIN.format("Table 2"),
        [Drawing("agreement", "", "Kendall's τ of every two measures.", draw)],
        [Table("agreement", "Means over texts", _frame(result), _FORMATS)],
    )


def _answers(result: xr.Dataset) -> Section:
    frames = []
    for at, name in enumerate(map(str, result["answer"].values)):
        cell = result.isel(answer=at)
        frame = _frame(cell, "answer_")
        frame.insert(0, "answer", name)
        frame.insert(1, "texts", int(cell["answer_texts"]))
        frames.append(frame)
    return Section(
        "answers",
        "By the class of the answer",
        "The same for the texts that the model puts into each class.",
        JAIN.format("Table 2"),
        tables=[Table("answers", "By the class of the answer", pd.concat(frames), _FORMATS)],
    )


def _histograms(result: xr.Dataset) -> Section:
    names = _names(result)

    def draw() -> Figure:
        return lines([_panel(result, name) for name in names[:-1]], columns=3)

    rows = [
        {
            "measure": _label(first),
            "with": _label(second),
            **{f"{middle:+.2f}": share for middle, share in _shares(result, first, second)},
        }
        for first, second in _pairs(result)
    ]
    frame = pd.DataFrame(rows)
    return Section(
        "histograms",
        "How τ differs from text to text",
        "The share of texts by τ, in bins of 0.1 of which the middles are named.",
        JAIN.format("Figures 2 to 5"),
        [Drawing("histograms", "", "Texts by τ, for every two measures.", draw)],
        [Table("histograms", "Texts by τ", frame, dict.fromkeys(frame.columns[2:], ".0%"))],
    )


def _shares(result: xr.Dataset, first: str, second: str) -> list[tuple[float, float]]:
    """The middles of the bins, and the shares of the texts in them."""
    counts = _cell(result, first, second)["histogram"].values
    shares = counts / counts.sum() if counts.sum() else np.full(counts.shape, np.nan)
    return list(zip(map(float, result["bin"].values), map(float, shares), strict=True))


def _panel(result: xr.Dataset, name: str) -> LinePanel:
    drawn = []
    for other in _names(result):
        if other != name:
            middles, shares = np.array(_shares(result, name, other)).T
            drawn.append(
                Line(
                    _label(other),
                    middles,
                    shares,
                    colour=other if other in COLOURED else "",
                    dashed=other == "random",
                )
            )
    mean = mean_of(result["tau"].sel(measure=name).drop_sel(other="random"))
    title = f"{_label(name)} (mean τ {mean:.2f})" if np.isfinite(mean) else _label(name)
    return LinePanel(title, drawn, "Kendall's τ", "texts", percent=True)
