"""Figure 3 and Section 3.2: gradients of attention to special tokens."""

import xarray

from headlight.findings.thresholds import FAR_BELOW
from headlight.views.parts import By, Comparison, Curve, Section
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_reading import text_settings, text_source

GRADIENT_CATEGORIES = {"unmasked": "all unmasked tokens", "sep": "[SEP]", "punctuation": ". or ,"}
"""Labels of categories of the attended token."""
BY = By("importance_key", GRADIENT_CATEGORIES)


@exhibit(
    "figure-3",
    "Figure 3 and Section 3.2",
    "gradient",
    title="How much the loss depends on attention",
)
def figure_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """|∂L/∂α| by layer, for attention to [SEP], to periods and commas, and to all tokens."""
    result = load_importance(reproduction)
    by_layer = result["importance"].mean("head")
    frame = frame_of(
        {label: by_layer.sel(importance_key=name) for name, label in GRADIENT_CATEGORIES.items()}
    )
    ratio = by_layer.sel(importance_key="sep") / by_layer.sel(importance_key="unmasked")
    by_ratio = ", ".join(f"{float(value):.2f}" for value in ratio)
    return Section(
        explanation="Mean size of the derivative of the masked-language-model loss by a single "
        "attention weight, for weights to [SEP], to periods and commas, and to all tokens that are "
        "not masked. Small for [SEP] where attention to it is large: attending to it is a no-op.",
        drawings=[
            writer.curves(
                result.assign(mean=by_layer).sel(importance_key=list(GRADIENT_CATEGORIES)),
                Curve("mean", panel="Mean of each layer", by=BY, y_label="mean |∂L/∂α|"),
                Curve("importance", panel="Each head", by=BY, y_label="mean |∂L/∂α|"),
                caption="Mean |∂L/∂α| by layer.",
                alternative=f"Means by layer, [SEP] against all unmasked tokens: {by_ratio}",
                columns=2,
            )
        ],
        tables=[writer.table(frame, "Means over heads, queries and documents")],
        comparisons=[
            Comparison(
                "first layer from which the derivative for [SEP] stays below half of that for all",
                5,
                _small_from(ratio),
                note="the paper: “starting in layer 5 … very small”, read off its figure; "
                f"[SEP] against all by layer here: {by_ratio}",
                digits=0,
            )
        ],
        notes=[
            *text_notes(reproduction, result),
            "The paper does not say how its loss is scaled, so shapes can be compared and values "
            "cannot: here the loss of a segment is the sum over its masked tokens (15%, of which "
            "80% become [MASK], 10% another token, 10% stay), without dropout.",
            f"{int(result['predicted_tokens'])} tokens predicted, mean loss "
            f"{float(result['loss']):.2f} nats per token.",
        ],
    )


def load_importance(reproduction: Reproduction) -> xarray.Dataset:
    """Load the gradient importance on the text."""
    text, model = text_source(reproduction), reproduction.language_model
    result = reproduction.run(
        "survey",
        text,
        name="importance",
        model=model,
        measures=("gradient",),
        numbers=("importance",),
        passages=False,
        token_types=0,
        **text_settings(reproduction),
    )
    return result.sel(importance_query="all")


def _small_from(ratio: xarray.DataArray) -> int | None:
    small = (ratio < FAR_BELOW).values
    last = max((place for place in range(len(small)) if not small[place]), default=-1)
    return None if last == len(small) - 1 else int(ratio["layer"][last + 1]) + 1
