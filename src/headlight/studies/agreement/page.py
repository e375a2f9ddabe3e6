"""The study of agreement: which measures put the words of a text in the same order."""

from itertools import combinations

import numpy as np
import xarray as xr

from headlight.findings.answers import classifiers
from headlight.views.colour import series_styles
from headlight.views.parts import (
    IMPORTANCE_NAMES,
    By,
    Columns,
    Drawing,
    Figure,
    Map,
    Section,
    Summary,
    Table,
    columns,
    maps,
    mean_of,
    rounded,
    settings_of,
)
from headlight.views.pictures import Line, LinePanel, lines

findings = classifiers.agreement
"""In words, which stand first."""

NAMES = {**IMPORTANCE_NAMES, "random": "random numbers"}
MEASURE, OTHER = (By(dim, NAMES, "") for dim in ("measure", "other"))
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
    """Correlations of all texts, those by the predicted class, and their spread."""
    return [_all(result), _predictions(result), _histograms(result)]


def _names(result: xr.Dataset) -> list[str]:
    return [str(name) for name in result["measure"].values]


def _pairs(result: xr.Dataset) -> list[tuple[str, str]]:
    return list(combinations(_names(result), 2))


def _cell(result: xr.Dataset, first: str, second: str) -> xr.Dataset:
    return result.sel(measure=first, other=second)


def _label(name: str) -> str:
    return NAMES.get(name, name)


def _settings(result: xr.Dataset) -> str:
    """What was asked for, in words."""
    sizes = (
        "gradients and leaving one out have their signs"
        if settings_of(result).get("signed")
        else "of gradients and of leaving one out the sizes count"
    )
    return f"Of measures with a sign: {sizes}."


def _by_pair(result: xr.Dataset) -> xr.Dataset:
    """The result with a dimension of pairs in the place of two of measures."""
    pairs = _pairs(result)
    first, second = (xr.DataArray([pair[side] for pair in pairs], dims="pair") for side in (0, 1))
    found = result.sel(measure=first, other=second).drop_vars(["measure", "other"])
    names = {"measure": first, "with": second}
    labels = {name: ("pair", list(map(_label, each.values))) for name, each in names.items()}
    return found.assign(labels)


def _table(result: xr.Dataset, name: str, caption: str, of: str = "", *by: By) -> Table:
    """A row for each pair of measures."""
    texts = [Columns(f"{of}texts", label="texts", whole=True)] if by else []
    return columns(
        name,
        caption,
        _by_pair(result),
        (*by, By("pair", heading="")),
        *texts,
        Columns("measure", label="measure"),
        Columns("with", label="with"),
        Columns(f"{of}tau", ".3f", "τ", interval=True),
        Columns(f"{of}tau_deviation", ".3f", "± over texts"),
        Columns(f"{of}significant", ".1%", "significant"),
        Columns(f"{of}overlap", ".1%", "same top words"),
        Columns(f"{of}undefined", label="texts without τ", whole=True),
    )


def _all(result: xr.Dataset) -> Section:
    top = settings_of(result).get("top", 0.1)
    shown = [
        ("tau", "Kendall's τ", "change", (-1, 1), ".2f"),
        ("significant", "Share significant", "", (0, 1), ".0%"),
        ("overlap", "Same top words", "", (0, 1), ".0%"),
    ]
    draw = maps(
        result,
        *(
            Map(name, title, (), MEASURE, OTHER, scale, limits, format)
            for name, title, scale, limits, format in shown
        ),
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
        "says what two measures that look at the prediction itself come to; that with random "
        "numbers "
        "what chance does. Intervals: 95%, bootstrap over texts.",
        JAIN.format("Table 2"),
        [Drawing("agreement", "", "Kendall's τ of every two measures.", draw)],
        [_table(result, "agreement", "Means over texts")],
    )


def _predictions(result: xr.Dataset) -> Section:
    return Section(
        "predictions",
        "By the predicted class",
        "The same for the texts that the model puts into each class.",
        JAIN.format("Table 2"),
        tables=[
            _table(
                result,
                "predictions",
                "By the predicted class",
                "predicted_class_",
                By("predicted_class"),
            )
        ],
    )


def _histograms(result: xr.Dataset) -> Section:
    shares = _shares(result)

    def draw() -> Figure:
        return lines([_panel(shares, name) for name in _names(result)[:-1]], columns=3)

    return Section(
        "histograms",
        "How τ differs from text to text",
        "The share of texts by τ, in bins of 0.1 of which the middles are named.",
        JAIN.format("Figures 2 to 5"),
        [Drawing("histograms", "", "Texts by τ, for every two measures.", draw)],
        [
            columns(
                "histograms",
                "Texts by τ",
                _by_pair(shares),
                By("pair", heading=""),
                Columns("measure", label="measure"),
                Columns("with", label="with"),
                Columns("histogram", ".0%", "{bin:+.2f}", by="bin"),
            )
        ],
    )


def _shares(result: xr.Dataset) -> xr.Dataset:
    """The result with shares of texts in its histograms; without texts they are no numbers."""
    counts = result["histogram"]
    texts = counts.sum("bin")
    return result.assign(histogram=counts / texts.where(texts > 0))


def _panel(result: xr.Dataset, name: str) -> LinePanel:
    drawn = [
        Line(
            _label(other),
            result["bin"].values,
            _cell(result, name, other)["histogram"].values,
            colour=other if other in series_styles() else "",
            dashed=other == "random",
        )
        for other in _names(result)
        if other != name
    ]
    mean = mean_of(result["tau"].sel(measure=name).drop_sel(other="random"))
    title = f"{_label(name)} (mean τ {mean:.2f})" if np.isfinite(mean) else _label(name)
    return LinePanel(title, drawn, "Kendall's τ", "texts", percent=True)
