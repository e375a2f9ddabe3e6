"""Section 4.1 and Appendix A: how much the lengths of vectors differ (Tables 1 and 4)."""

from collections.abc import Mapping

import numpy as np
import pandas
import xarray

from headlight.papers.kobayashi2020 import published
from headlight.papers.kobayashi2020.results import head_numbers, layer_names, studied
from headlight.papers.naming import head_name
from headlight.papers.reproduction import Study
from headlight.papers.text import text_notes
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit, Table
from headlight.views.pictures import HeadMap, LayerPanel, LayerSeries, head_map, points_by_layer

Names = dict[tuple[int, ...], str]
"""What an entry of an array is called, by its place."""

STATISTICS = {"mean": "μ", "std": "σ", "cv": "CV", "max": "max", "min": "min"}


def table_1(study: Study, desk: ExhibitWriter) -> Exhibit:
    """‖f(x)‖ of every head: which vary most and least, and on average."""
    found = studied(study)
    values = _values(found, "vector_norm")
    names: Names = {
        (row, column): head_name(int(layer), int(head))
        for row, layer in enumerate(found["layer"].values)
        for column, head in enumerate(found["head"].values)
    }
    frame = _frame(values, names)
    drawn = HeadMap(
        "CV of ‖f(x)‖",
        values["cv"],
        rows=layer_names(found),
        columns=head_numbers(found),
        scale="norm",
    )
    return Exhibit(
        name="table-1",
        title="Dispersion of ‖f(x)‖",
        source="Kobayashi et al. (2020), Table 1 and Section 4.1",
        explanation="If the transformed vectors of a head were all of one length (CV 0), its "
        "weights would tell what it moves. Mean, standard deviation and their ratio over all "
        "tokens of the text, special ones included; the average is one over heads.",
        pictures=[
            desk.picture(
                head_map([drawn]),
                "Coefficient of variation of ‖f(x)‖, head by head.",
                _spoken(frame),
            )
        ],
        tables=[_table(frame, "Heads of the largest and the smallest CV, and the average", desk)],
        comparisons=_compared(frame, published.TABLE_1),
        notes=text_notes(study, found),
        files=desk.written,
    )


def table_4(study: Study, desk: ExhibitWriter) -> Exhibit:
    """‖x‖ of every layer."""
    found = studied(study)
    notes = text_notes(study, found)
    explanation = (
        "The same for the vectors that a layer reads, before it transforms them: the first layer "
        "reads the embeddings."
    )
    source = "Kobayashi et al. (2020), Table 4 and Appendix A"
    if "input_norm_mean" not in found:
        notes.append("It was not found what the values of this model are made from.")
        return Exhibit("table-4", "Dispersion of ‖x‖", source, explanation, notes=notes)
    values = _values(found, "input_norm")
    names: Names = {(row,): str(int(layer) + 1) for row, layer in enumerate(found["layer"].values)}
    frame = _frame(values, names)
    series = [
        LayerSeries("‖f(x)‖, heads", _values(found, "vector_norm")["cv"], "norm"),
        LayerSeries("‖x‖", values["cv"], "weight"),
    ]
    return Exhibit(
        name="table-4",
        title="Dispersion of ‖x‖",
        source=source,
        explanation=explanation,
        pictures=[
            desk.picture(
                points_by_layer([LayerPanel("Coefficient of variation", series, first_layer=1)]),
                "Coefficient of variation of what a layer reads and of what its heads make of it.",
                _spoken(frame),
            )
        ],
        tables=[_table(frame, "Layers of the largest and the smallest CV, and the average", desk)],
        comparisons=_compared(frame, published.TABLE_4),
        notes=notes,
        files=desk.written,
    )


def _values(found: xarray.Dataset, name: str) -> dict[str, np.ndarray]:
    return {key: found[f"{name}_{key}"].values for key in STATISTICS}


def _frame(values: Mapping[str, np.ndarray], names: Names) -> pandas.DataFrame:
    """The rows of the paper: largest CV, smallest CV, average."""
    variation = values["cv"]
    places = {
        "largest CV": np.unravel_index(np.nanargmax(variation), variation.shape),
        "smallest CV": np.unravel_index(np.nanargmin(variation), variation.shape),
    }
    rows: list[dict[str, object]] = []
    for label, place in places.items():
        numbers = {symbol: float(values[key][place]) for key, symbol in STATISTICS.items()}
        rows.append({"which": label, "name": names[tuple(map(int, place))], **numbers})
    average = {STATISTICS[key]: float(np.nanmean(values[key])) for key in ("mean", "std", "cv")}
    rows.append({"which": "average", "name": "", **average})
    return pandas.DataFrame(rows)


def _table(frame: pandas.DataFrame, caption: str, desk: ExhibitWriter) -> Table:
    return desk.table(frame, caption, formats=dict.fromkeys(STATISTICS.values(), ".2f"))


def _compared(
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


def _spoken(frame: pandas.DataFrame) -> str:
    return "; ".join(
        f"{row['which']} {row['name']}: CV {row['CV']:.2f}" for row in frame.to_dict("records")
    )
