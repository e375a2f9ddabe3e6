"""Tables 1 and 4: dispersion of ‖f(x)‖ and of ‖x‖."""

from collections.abc import Mapping

import pandas
import xarray

from headlight.views.parts import Comparison, Curve, Map, Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.norm_results import load_norms
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction

STATISTICS = {"mean": "μ", "std": "σ", "cv": "CV", "max": "max", "min": "min"}
FORMATS = dict.fromkeys(STATISTICS.values(), ".2f")


@exhibit("table-1", "Table 1 and Section 4.1")
def table_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Dispersion of ‖f(x)‖."""
    result = load_norms(reproduction)
    frame = extremes(result, "vector_norm")
    return Section(
        explanation="If the transformed vectors of a head were all of one length (CV 0), its "
        "weights would tell what it moves. Mean, standard deviation and their ratio over all "
        "tokens of the text, special ones included; the average is one over heads.",
        drawings=[
            writer.maps(
                result,
                Map("vector_norm_cv", "CV of ‖f(x)‖", scale="norm"),
                caption="Coefficient of variation of ‖f(x)‖, head by head.",
                alternative=_alternative(frame),
            )
        ],
        tables=[
            writer.table(
                frame, "Heads of the largest and the smallest CV, and the average", formats=FORMATS
            )
        ],
        comparisons=_comparisons(frame, published.TABLE_1),
        notes=text_notes(reproduction, result),
    )


@exhibit("table-4", "Table 4 and Appendix A")
def table_4(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Dispersion of ‖x‖."""
    result = load_norms(reproduction)
    notes = text_notes(reproduction, result)
    explanation = (
        "The same for the vectors that a layer reads, before it transforms them: the first layer "
        "reads the embeddings."
    )
    if "input_norm_mean" not in result:
        missing = "It was not found what the values of this model are made from."
        return Section(explanation, notes=[*notes, missing])
    frame = extremes(result, "input_norm")
    return Section(
        explanation,
        drawings=[
            writer.curves(
                result,
                *(
                    Curve(f"{name}_cv", label, "Coefficient of variation", colour=colour)
                    for name, label, colour in (
                        ("vector_norm", "‖f(x)‖, heads", "norm"),
                        ("input_norm", "‖x‖", "weight"),
                    )
                ),
                caption="Coefficient of variation of what a layer reads and of what its heads make "
                "of it.",
                alternative=_alternative(frame),
            )
        ],
        tables=[
            writer.table(
                frame, "Layers of the largest and the smallest CV, and the average", formats=FORMATS
            )
        ],
        comparisons=_comparisons(frame, published.TABLE_4),
        notes=notes,
    )


def extremes(result: xarray.Dataset, name: str) -> pandas.DataFrame:
    """Return the rows of the paper's tables: largest CV, smallest CV, average."""
    rows = frame_of({symbol: result[f"{name}_{key}"] for key, symbol in STATISTICS.items()})
    rows.insert(0, "name", rows["head" if "head" in rows else "layer"].astype(str))
    chosen = rows.loc[[rows["CV"].idxmax(), rows["CV"].idxmin()], ["name", *FORMATS]]
    average = rows[["μ", "σ", "CV"]].mean().to_frame().T.assign(name="")
    frame = pandas.concat([chosen, average], ignore_index=True)
    frame.insert(0, "which", ["largest CV", "smallest CV", "average"])
    return frame


def _comparisons(
    frame: pandas.DataFrame, rows: Mapping[str, tuple[str, published.Dispersion]]
) -> list[Comparison]:
    ours = {str(row["which"]): row for row in frame.to_dict("records")}
    compared = []
    for label, (name, numbers) in rows.items():
        note = f"there {name}, here {ours[label]['name']}" if name else ""
        printed = {"CV": numbers.variation, "μ": numbers.mean, "σ": numbers.deviation}
        compared += [
            Comparison(f"{label}: {symbol}", number, float(ours[label][symbol]), "", note, digits=2)
            for symbol, number in printed.items()
        ]
    return compared


def _alternative(frame: pandas.DataFrame) -> str:
    return "; ".join(
        f"{row['which']} {row['name']}: CV {row['CV']:.2f}" for row in frame.to_dict("records")
    )
