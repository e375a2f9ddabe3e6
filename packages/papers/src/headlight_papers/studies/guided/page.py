"""The study of guided models: what the attention of others is worth without their context."""

import xarray as xr

from headlight.result.estimate import MOVED, UNITS, WEIGHTS
from headlight.views.parts import By, Columns, Drawing, Section, Summary, columns
from headlight.views.parts.bar_charts import bars
from headlight.views.parts.result_facts import rounded
from headlight_papers.findings import guided

findings = guided.guided
"""Findings in words, shown first."""

NAMES = {
    "uniform": "uniform",
    "random": "random",
    "own": "learnt with the rest",
    "itself": "each word itself",
    "weight": "weight",
    "norm": "norm",
    "effective": "effective",
    "attribution": "attribution",
    "gradient_input": "gradient × input",
}
COLUMNS = {"accuracy": ("right", ".1%"), "f1": ("F1", ".3f"), "nll": ("NLL", ".3f")}
GUIDE = By("guide", NAMES, "attention")
WHOLE = "the model that reads whole texts"


def summary(result: xr.Dataset) -> Summary:
    """Return the accuracy of the model, and of the models of each guide."""
    numbers: Summary = {"own_accuracy": float(result["own_accuracy"])}
    for name in map(str, result["guide"].values):
        numbers[f"{name}_accuracy"] = float(result["accuracy"].sel(guide=name))
    return rounded(numbers)


def sections(result: xr.Dataset) -> list[Section]:
    """Return one section: models by their guide."""
    return [_guides(result)]


def _add_model(result: xr.Dataset) -> xr.Dataset:
    """Return the numbers by guide, and after them those of the model that reads whole texts."""
    names = [f"{name}{part}" for name in COLUMNS for part in ("", MOVED, WEIGHTS)]
    by_guide = result.reset_coords([*(result.coords.keys() - result.dims)])
    of_model = by_guide[[f"own_{name}" for name in names]].rename(
        {f"own_{name}": name for name in names}
    )
    both = xr.concat(
        [by_guide[names], of_model.expand_dims(guide=[WHOLE])],
        "guide",
        data_vars="different",
        compat="equals",
    )
    return both.assign({UNITS: by_guide[UNITS]})


def _guides(result: xr.Dataset) -> Section:
    by_guide = _add_model(result)

    label = "correct predictions"
    guide_table = columns("", "", by_guide, GUIDE, Columns("accuracy", label=label, interval=True))
    draw = bars(guide_table.frame, "attention", label, x_label=label, percent=True)
    return Section(
        "guides",
        "Does attention carry over to a model that sees no context?",
        "A model that looks at every token alone (embedding, affine map, tanh) sums the tokens "
        "with weights that it is given, and classifies the sum; beside a tagger it does so for "
        "each word, with the row of the word (Yang 2020, Section 6). The weights are frozen: none "
        "of them is trained. If those of a model that reads whole texts are worth more than "
        "uniform and random ones, and as much as those that are learnt, they say something about "
        "the tokens that does not depend on this model. Gradients and predictions of the model may "
        "carry its decision into the weights, which is no proof of anything about attention. Means "
        f"over {result.sizes['seed']} seeds on {result.attrs.get('held_out', 'the')} held-out "
        "texts; intervals: 95%, over these texts. F1 is the mean over classes, NLL the mean "
        "negative log-likelihood of the gold labels, in nats.",
        "Wiegreffe and Pinter (2019), Section 3.4 and Table 3",
        [Drawing("guides", "", "Correct predictions by guide.", draw)],
        [
            columns(
                "guides",
                "Means over seeds",
                by_guide,
                GUIDE,
                *(
                    Columns(name, format, label, interval=(f"{label} low", f"{label} high"))
                    for name, (label, format) in COLUMNS.items()
                ),
            ),
            columns(
                "seeds",
                "Correct predictions by seed",
                result,
                GUIDE,
                Columns("seed_accuracy", ".1%", "seed {seed}", by="seed"),
            ),
        ],
    )
