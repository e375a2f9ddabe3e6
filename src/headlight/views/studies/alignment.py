"""The study of alignment: how well layers, heads, gradients and similarities link words."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.pictures import head_map, points_by_layer
from headlight.views.studies.parts import (
    Drawing,
    Figure,
    Section,
    Summary,
    frame_of,
    layer_panel,
    map_of_heads,
    percentages,
    rounded,
)
from headlight.vocabulary import head_name

STEP_NAMES = {"input": "reads the word (AWI)", "output": "predicts the word (AWO)"}
"""What a row of cross-attention speaks of."""
RATES = ("error_rate", "low", "high", "precision", "recall")
COLUMNS = {"layer": "best layer", "error_rate": "AER"}
"""What columns of tables of the report are called, if not as in `best_layers`."""
SHOWN_RATES = ("AER", *RATES[1:], "mean of layers")


def summary(result: xr.Dataset) -> Summary:
    """The best layer by each measure, and what gradients and differences find."""
    found: Summary = {"sentences": int(result.attrs["sentences"])}
    for row in best_layers(result).to_dict("records"):
        name = "_".join(filter(None, (row["measure"], row["step"])))
        found[f"{name}_error_rate"] = float(row["error_rate"])
        if row["layer"] >= 0:
            found[f"{name}_layer"] = int(row["layer"])
    return rounded(found)


def sections(result: xr.Dataset) -> list[Section]:
    """Error rates by measure, by layer and by head; of an encoder, by extraction and by layer."""
    if "similarity_error_rate" in result:
        return [_extractions(result), _hidden_layers(result)]
    found = [_measures(result)]
    if "error_rate" in result:
        found += [_layers(result), _heads(result)]
    return found


def best_layers(result: xr.Dataset) -> pd.DataFrame:
    """For each measure and step the layer with the lowest error rate, and the mean of all layers.

    Measures of the input have neither step nor layer: these are empty, and -1.  In the place of a
    measure there may be an extraction of links from similarities.
    """
    rows: list[dict[str, object]] = []
    if "error_rate" in result:
        rows += [
            _best_layer(result.sel(measure=measure, step=step), measure, step, "")
            for measure in map(str, result["measure"].values)
            for step in map(str, result["step"].values)
        ]
    if "input_error_rate" in result:
        for measure in map(str, result["input_measure"].values):
            cell = result.sel(input_measure=measure)
            rates = [float(cell[f"input_{name}"]) for name in _RATE_VARIABLES]
            numbers = dict(zip(RATES, rates, strict=True))
            rows.append({"measure": measure, "step": "", "layer": -1, **numbers})
    if "similarity_error_rate" in result:
        rows += [
            _best_layer(result.sel(extraction=extraction), extraction, "", "similarity_")
            for extraction in map(str, result["extraction"].values)
        ]
    return pd.DataFrame(rows)


_RATE_VARIABLES = ("error_rate", "error_rate_low", "error_rate_high", "precision", "recall")


def _best_layer(cell: xr.Dataset, measure: str, step: str, of: str) -> dict[str, object]:
    place = int(np.nanargmin(cell[f"{of}error_rate"].values))
    best = cell.isel(layer=place)
    rates = [float(best[f"{of}{name}"]) for name in _RATE_VARIABLES]
    return {
        "measure": measure,
        "step": step,
        "layer": int(best["layer"]),
        **dict(zip(RATES, rates, strict=True)),
        "mean of layers": float(cell[f"{of}error_rate"].mean()),
    }


def _measures(result: xr.Dataset) -> Section:
    frame = best_layers(result)
    named = [str(n) if n >= 0 else "" for n in frame["layer"]]
    frame = frame.assign(layer=named).rename(columns=COLUMNS)
    shown = [name for name in SHOWN_RATES if name in frame]
    return Section(
        "measures",
        "Which measure links words best",
        "Every target word is linked to the source word with the largest value, or to none if a "
        "special token has it. The alignment error rate (AER) is 0 when all sure links and only "
        "possible ones are found. The layer shown is the best one by these very gold links; how "
        "good a layer is that is chosen without them, the next section says. Intervals: 95%, "
        "bootstrap over sentences.",
        "Kobayashi et al. (2020), Table 3",
        tables=[
            Table("measures", "The best layer of each measure", frame, percentages(frame, *shown))
        ],
    )


def _extractions(result: xr.Dataset) -> Section:
    frame = best_layers(result).drop(columns="step")
    frame = frame.rename(columns={"measure": "extraction", **COLUMNS})
    frame["best layer"] = frame["best layer"].map(str)
    shown = [name for name in SHOWN_RATES if name in frame]
    return Section(
        "extractions",
        "Which extraction links words best",
        "The encoder reads each sentence by itself, and units whose hidden states are similar are "
        "linked. The alignment error rate (AER) is 0 when all sure links and only possible ones "
        "are found. The layer shown is the best one by these very gold links. Intervals: 95%, "
        "bootstrap over sentences.",
        "Jalili Sabet et al. (2020); Dou and Neubig (2021)",
        tables=[
            Table(
                "extractions",
                "The best layer of each extraction",
                frame,
                percentages(frame, *shown),
            )
        ],
    )


def _hidden_layers(result: xr.Dataset) -> Section:
    rates = {
        extraction: result["similarity_error_rate"].sel(extraction=extraction)
        for extraction in map(str, result["extraction"].values)
    }
    frame = pd.DataFrame({name: values.values for name, values in rates.items()})
    frame.insert(0, "layer", result["layer"].values)

    def draw() -> Figure:
        return points_by_layer([layer_panel("", rates, percent=True, y_label="AER")])

    return Section(
        "layers",
        "Layers",
        "Hidden states after so many layers; those after 0 layers are the embeddings. SimAlign and "
        "awesome-align take them after 8 of the 12 layers of BERT.",
        "Jalili Sabet et al. (2020)",
        [Drawing("layers", "", "Alignment error rate by layer.", draw)],
        [Table("layers", "Alignment error rate by layer", frame, percentages(frame, *rates))],
    )


def _layers(result: xr.Dataset) -> Section:
    steps = list(map(str, result["step"].values))
    measures = list(map(str, result["measure"].values))
    columns = {
        f"{measure}, {step}": result["error_rate"].sel(measure=measure, step=step)
        for step in steps
        for measure in measures
    }
    frame = pd.DataFrame({name: values.values for name, values in columns.items()})
    frame.insert(0, "layer", result["layer"].values)
    frame["mean norm"] = result["mean_norm"].values

    def draw() -> Figure:
        panels = [
            layer_panel(
                f"The step that {STEP_NAMES[step]}",
                {name: result["error_rate"].sel(measure=name, step=step) for name in measures},
                percent=True,
                y_label="AER",
            )
            for step in steps
        ]
        return points_by_layer(panels)

    highest = int(result["layer"].values[int(np.argmax(result["mean_norm"].values))])
    return Section(
        "layers",
        "Layers",
        "A row of cross-attention belongs to a step of the decoder, which reads a target word as "
        "input and predicts the next one as output. The layer with the highest mean norm, which "
        f"needs no gold links to be known, is layer {highest}.",
        "Kobayashi et al. (2020), Figure 7",
        [Drawing("layers", "", "Alignment error rate by layer.", draw)],
        [Table("layers", "Alignment error rate by layer", frame, percentages(frame, *columns))],
    )


def _heads(result: xr.Dataset) -> Section:
    frame = _head_frame(result)

    def draw() -> Figure:
        maps = [
            map_of_heads(
                f"{measure}, {step}",
                result["head_error_rate"].sel(measure=measure, step=step),
                scale=measure,
                format=".0%",
            )
            for measure in map(str, result["measure"].values)
            for step in map(str, result["step"].values)
        ]
        return head_map(maps)

    return Section(
        "heads",
        "Heads",
        "The same for every head alone, and the mean norm of what it moves. Low is good.",
        "Kobayashi et al. (2020), Section 5",
        [Drawing("heads", "", "Alignment error rate of every head.", draw)],
        [Table("heads", "Error rate and mean norm of every head", frame, _head_formats(frame))],
    )


def _head_frame(result: xr.Dataset) -> pd.DataFrame:
    """A row for every head: error rates by measure and step, and the mean norm."""
    norm = frame_of(result["head_mean_norm"], "layer", "head").melt("layer", var_name="head")
    norm = norm.rename(columns={"value": "mean norm"}).dropna()
    norm["head"] = norm["head"].astype(int)
    norm = norm.sort_values(["layer", "head"], ignore_index=True)
    places = {
        "layer": xr.DataArray(norm["layer"].to_numpy(), dims="row"),
        "head": xr.DataArray(norm["head"].to_numpy(), dims="row"),
    }
    rates = result["head_error_rate"].sel(places)
    columns = {
        f"{measure}, {step}": rates.sel(measure=measure, step=step).values
        for measure in map(str, result["measure"].values)
        for step in map(str, result["step"].values)
    }
    heads = list(map(head_name, norm["layer"], norm["head"]))
    return pd.DataFrame({"head": heads, **columns, "mean norm": norm["mean norm"].to_numpy()})


def _head_formats(frame: pd.DataFrame) -> dict[str, str]:
    return percentages(frame, *map(str, frame.columns[1:-1]))
