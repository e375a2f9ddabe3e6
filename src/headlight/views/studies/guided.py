"""The study of guided models: what the attention of others is worth without their context."""

import pandas as pd
import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.pictures import BarRow, Mark, bars
from headlight.views.studies.parts import (
    Drawing,
    Figure,
    Section,
    Summary,
    percentages,
    rounded,
)

NAMES = {
    "uniform": "uniform",
    "random": "random",
    "own": "learnt with the rest",
    "weight": "weight",
    "norm": "norm",
    "effective": "effective",
    "attribution": "attribution",
    "gradient_input": "gradient × input",
}
COLUMNS = {"accuracy": "right", "f1": "F1", "nll": "NLL"}
ITSELF = "the model that reads whole texts"


def summary(result: xr.Dataset) -> Summary:
    """The share of right answers of the model, and by guide."""
    found: Summary = {"own_accuracy": float(result["own_accuracy"])}
    for name in map(str, result["guide"].values):
        found[f"{name}_accuracy"] = float(result["accuracy"].sel(guide=name))
    return rounded(found)


def sections(result: xr.Dataset) -> list[Section]:
    """One table and one picture: models by what gives them attention."""
    return [_guides(result)]


def _label(guide: str) -> str:
    return NAMES.get(guide, guide)


def _guides(result: xr.Dataset) -> Section:
    rows = []
    guides = [str(guide) for guide in result["guide"].values]
    for guide in guides:
        cell = result.sel(guide=guide)
        rows.append({"attention": _label(guide), **_numbers(cell, "")})
    rows.append({"attention": ITSELF, **_numbers(result, "own_")})
    frame = pd.DataFrame(rows)
    shares = ("right", "right low", "right high")
    numbers = [name for name in frame.columns[1:] if name not in shares]
    columns = [f"seed {seed}" for seed in result["seed"].values]
    seeds = pd.DataFrame(result["seed_accuracy"].values, columns=columns)
    seeds.insert(0, "attention", [_label(guide) for guide in guides])

    def draw() -> Figure:
        named = [(_label(guide), result.sel(guide=guide), "") for guide in guides]
        marks = [
            BarRow(label, [Mark("right answers", *_right(cell, prefix))])
            for label, cell, prefix in [*named, (ITSELF, result, "own_")]
        ]
        return bars(marks, x_label="right answers", percent=True, dots=True)

    return Section(
        "guides",
        "Does attention carry over to a model that sees no context?",
        "A model that looks at every token alone (embedding, affine map, tanh) sums the tokens "
        "with weights that it is given, and classifies the sum. The weights are frozen: nothing "
        "of them is trained. If those of a model that reads whole texts are worth more than "
        "uniform and random ones, and as much as those that are learnt, they say something about "
        "the tokens that does not depend on this model. Gradients and answers of the model may "
        "carry its decision into the weights, which is no proof of anything about attention. Means "
        f"over {result.sizes['seed']} seeds on {result.attrs.get('held_out', 'the')} held-out "
        "texts; intervals: 95%, bootstrap over texts. F1 is the mean over classes, NLL the mean "
        "negative log-likelihood of the gold labels, in nats.",
        "Wiegreffe and Pinter (2019), Section 3.4 and Table 3",
        [Drawing("guides", "", "Right answers by guide.", draw)],
        [
            Table(
                "guides",
                "Means over seeds",
                frame,
                percentages(frame, *shares) | dict.fromkeys(numbers, ".3f"),
            ),
            Table("seeds", "Right answers by seed", seeds, percentages(seeds)),
        ],
    )


def _right(cell: xr.Dataset, prefix: str) -> tuple[float, float, float]:
    """The share of right answers with its interval."""
    value, low, high = (float(cell[f"{prefix}accuracy{end}"]) for end in ("", "_low", "_high"))
    return value, low, high


def _numbers(cell: xr.Dataset, prefix: str) -> dict[str, float]:
    return {
        f"{label}{said}": float(cell[f"{prefix}{name}{bound}"])
        for name, label in COLUMNS.items()
        for bound, said in (("", ""), ("_low", " low"), ("_high", " high"))
    }
