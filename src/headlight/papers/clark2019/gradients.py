"""Section 3.2: which attention the loss depends on (Figure 3)."""

from pathlib import Path

import pandas
import xarray

from headlight.analysis.folder import RunFolder
from headlight.papers.reproduction import Study, file_state
from headlight.papers.text import text_notes, text_settings, text_source
from headlight.papers.writer import ExhibitWriter
from headlight.studies.importance import study as importance
from headlight.studies.importance.settings import ImportanceSettings
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import LayerPanel, LayerSeries, points_by_layer

CATEGORIES = {
    "unmasked": ("all unmasked tokens", "other"),
    "sep": ("[SEP]", "sep"),
    "punctuation": (". or ,", "punctuation"),
}
"""Of the attended token: label and colour."""


def figure_3(study: Study, desk: ExhibitWriter) -> Exhibit:
    """|∂L/∂α| by layer, for attention to [SEP], to periods and commas, and to all tokens."""
    result = important(study)
    importance = result["importance"]
    series = [
        LayerSeries(label, importance.sel(key_category=name).values, colour)
        for name, (label, colour) in CATEGORIES.items()
    ]
    lines = [LayerSeries(one.label, one.values.mean(axis=1), one.colour) for one in series]
    panels = [
        LayerPanel("Mean of each layer", lines, y_label="mean |∂L/∂α|", first_layer=1),
        LayerPanel("Each head", series, y_label="mean |∂L/∂α|", first_layer=1),
    ]
    by_layer = importance.mean("head")
    ratio = by_layer.sel(key_category="sep") / by_layer.sel(key_category="unmasked")
    return Exhibit(
        name="figure-3",
        title="How much the loss depends on attention",
        source="Clark et al. (2019), Figure 3 and Section 3.2",
        explanation="Mean size of the derivative of the masked-language-model loss by a single "
        "attention weight, for weights to [SEP], to periods and commas, and to all tokens that are "
        "not masked. Small for [SEP] where attention to it is large: attending to it is a no-op.",
        pictures=[
            desk.picture(
                points_by_layer(panels, columns=2),
                "Mean |∂L/∂α| by layer.",
                "Means by layer, [SEP] against all unmasked tokens: "
                + ", ".join(f"{float(value):.2f}" for value in ratio),
            )
        ],
        tables=[desk.table(_by_layer(importance), "Means over heads, queries and documents")],
        comparisons=[
            Comparison(
                "first layer from which the derivative for [SEP] stays below half of that for all",
                5,
                _small_from(ratio),
                note="the paper: “starting in layer 5 … very small”, read off its figure",
                digits=0,
            )
        ],
        notes=[
            *text_notes(study, result),
            "The paper does not say how its loss is scaled, so shapes can be compared and values "
            "cannot: here the loss of a segment is the sum over its masked tokens (15%, of which "
            "80% become [MASK], 10% another token, 10% stay), without dropout.",
            f"{int(result['predicted_tokens'])} tokens predicted, mean loss "
            f"{float(result['loss']):.2f} nats per token.",
        ],
        files=desk.written,
    )


def important(study: Study) -> xarray.Dataset:
    """Gradient importance on the text."""
    assert study.language_model is not None  # noqa: S101 - the plan has asked for it
    model = study.language_model

    def make(run: Path) -> xarray.Dataset:
        return importance.run(
            text_source(study),
            model,
            text_settings(study, ImportanceSettings),
            folder=RunFolder(path=run, resume=True),
            progress=study.progress,
        )

    return study.kept("importance", "importance", make, text=file_state(text_source(study)))


def _by_layer(importance: xarray.DataArray) -> pandas.DataFrame:
    means = importance.mean("head")
    return pandas.DataFrame(
        {
            "layer": means["layer"].values + 1,
            **{
                label: means.sel(key_category=name).values
                for name, (label, _) in CATEGORIES.items()
            },
        }
    )


def _small_from(ratio: xarray.DataArray) -> int | None:
    """The first layer, from 1, from which on all ratios are below one half."""
    small = (ratio < 0.5).values
    last = max((place for place in range(len(small)) if not small[place]), default=-1)
    return None if last == len(small) - 1 else int(ratio["layer"][last + 1]) + 1
