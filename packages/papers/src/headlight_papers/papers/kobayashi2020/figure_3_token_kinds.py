"""Figure 3: weights and norms by kind of token."""

import xarray

from headlight.views.parts import Curve, Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.norm_results import BY, LABELS, categories, load_norms
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.paper_numbering import layer_names
from headlight_papers.papers.reproduction import Reproduction

TOTAL_SYMBOLS = {"weight_total": "α", "weighted_norm_total": "‖αf(x)‖"}
PANELS = {"weight_total": "(a) by weight", "weighted_norm_total": "(b) by norm"}


@exhibit("figure-3", "Figure 3 and Section 4.2")
def figure_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Weights and norms by kind of token."""
    result = load_norms(reproduction)
    frame = frame_of(
        {
            f"{symbol} {LABELS[kind]}": result[name].mean("head").sel(key_group=kind)
            for name, symbol in TOTAL_SYMBOLS.items()
            for kind in categories(result)
        }
    )
    shares = _special_shares(result)
    return Section(
        explanation="Each dot is a head, each line the mean of a layer: the sum over the tokens of "
        "a kind, averaged over the tokens that attend. Weights of a layer add up to 1; norms are "
        "not normalised. Where the line of [SEP] is high on the left and low on the right, much "
        "is looked at and little is taken: a no-op.",
        drawings=[
            writer.curves(
                result.sel(key_group=categories(result)),
                *(
                    Curve(name, panel=title, by=BY, y_label=f"sum of {TOTAL_SYMBOLS[name]}")
                    for name, title in PANELS.items()
                ),
                caption="Sums of α and of ‖αf(x)‖ over the tokens of each kind, by layer.",
                alternative=shares,
                columns=2,
            )
        ],
        tables=[writer.table(frame, "Means over the heads of a layer")],
        notes=[shares, *text_notes(reproduction, result)],
    )


def _special_shares(result: xarray.Dataset) -> str:
    """Return the share of special tokens in the weight and in the norm, in a sentence."""
    special = [name for name in categories(result) if name in ("cls", "sep", "sink")]
    means = result[list(TOTAL_SYMBOLS)].mean("head")
    share = (means / means.sum("key_group")).sel(key_group=special).sum("key_group")
    parts = [
        f"layer {name} {100 * weight:.0f}% and {100 * norm:.0f}%"
        for name, weight, norm in zip(
            layer_names(result),
            *(share[name_of_measure].values for name_of_measure in TOTAL_SYMBOLS),
            strict=True,
        )
    ]
    return f"Share of special tokens in the weight and in the norm: {', '.join(parts)}."
