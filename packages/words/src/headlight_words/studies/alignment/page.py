"""The study of alignment: how well layers, heads, gradients and similarities link words."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.estimates import estimates
from headlight.result.estimate import with_ends
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Map,
    Section,
    Summary,
    Table,
    columns,
    curves,
    maps,
)
from headlight.views.parts.result_facts import rounded
from headlight.views.pictures import BarRow, Mark, bars
from headlight.vocabulary import head_name
from headlight_words.findings import alignment
from headlight_words.findings.word_times import are_of_speech, times_known, ways_to_time

findings = alignment.alignment
"""Findings in words, which stand first on the page."""

STEP_NAMES = {"input": "reads the word (AWI)", "output": "predicts the word (AWO)"}
"""Labels of the steps: the word that a row of cross-attention stands for."""
BOTH = "{measure}, {step}"
"""Template for the label of a column or a map that shows a measure at a step."""
RATES = ("error_rate", "low", "high", "precision", "recall")
COLUMNS = {"layer": "best layer", "error_rate": "AER", "cross_fit": "by cross-fit"}
"""Column names of the report's tables, if not as in `best_layers`."""
SHOWN_RATES = ("AER", *RATES[1:], "by cross-fit", "mean of layers")


def summary(result: xr.Dataset) -> Summary:
    """Return the rates of the best layers, of gradients and of differences; of speech times."""
    if are_of_speech(result):
        return _summary_of_speech(result)
    numbers: Summary = {"sentences": int(result.attrs["sentences"])}
    for row in best_layers(result).to_dict("records"):
        name = "_".join(filter(None, (row["measure"], row["step"])))
        numbers[f"{name}_error_rate"] = float(row["error_rate"])
        if row["layer"] >= 0:
            numbers[f"{name}_layer"] = int(row["layer"])
    return rounded(numbers)


def sections(result: xr.Dataset) -> list[Section]:
    """Return error rates by measure, layer and head; of an encoder, by extraction and layer.

    Of speech, it returns the distances of words from their times.
    """
    if are_of_speech(result):
        return [_ways(result), _speech_layers(result), _speech_heads(result)]
    if "similarity_error_rate" in result:
        return [_extractions(result), _hidden_layers(result)]
    parts = [_measures(result)]
    if "error_rate" in result:
        parts += [_layers(result), _heads(result)]
    return parts


def best_layers(result: xr.Dataset) -> pd.DataFrame:
    """Return the layer with the lowest error rate by measure and step, and the mean of layers.

    The lowest rate of many is too low by chance: `cross_fit` is that of a layer that was chosen on
    one half of the corpus and judged on the other, and the other way round.  Measures of the input
    have neither step nor layer: these are empty, and -1.  In the place of a
    measure there may be an extraction of links from similarities.
    """
    rows: list[dict[str, object]] = []
    for prefix in ("", "input_", "similarity_"):
        result = with_ends(result, f"{prefix}error_rate")
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


def _best_layer(cell: xr.Dataset, measure: str, step: str, prefix: str) -> dict[str, object]:
    place = int(np.nanargmin(cell[f"{prefix}error_rate"].values))
    best = cell.isel(layer=place)
    rates = [float(best[f"{prefix}{name}"]) for name in _RATE_VARIABLES]
    by_layer = estimates(cell, f"{prefix}error_rate", ("layer",))
    return {
        "measure": measure,
        "step": step,
        "layer": int(best["layer"]),
        **dict(zip(RATES, rates, strict=True)),
        "cross_fit": -float(by_layer.times(-1.0).largest().value),
        "mean of layers": float(cell[f"{prefix}error_rate"].mean()),
    }


def _rates(frame: pd.DataFrame, what: str) -> Drawing:
    """Return a drawing of the error rate of each row with its interval, the lowest first."""
    rows = [
        BarRow(
            ", ".join(filter(None, (row["measure"], row["step"]))),
            [Mark("AER", row["error_rate"], row["low"], row["high"], note=_layer(row["layer"]))],
        )
        for row in frame.sort_values("error_rate", kind="stable").to_dict("records")
    ]
    drawn = partial(bars, rows, x_label="AER", percent=True, dots=True)
    return Drawing(what, "", "Alignment error rates, the best layer of each.", drawn)


def _layer(number: int) -> str:
    return f"layer {number}" if number >= 0 else ""


CHOSEN = (
    "Each dot is the best layer of a measure by these very gold links; by cross-fit: of a layer "
    "that was chosen by one half of them and judged by the other."
)


def _measures(result: xr.Dataset) -> Section:
    frame = best_layers(result)
    drawing = _rates(frame, "measures")
    named = [str(n) if n >= 0 else "" for n in frame["layer"]]
    frame = frame.assign(layer=named).rename(columns=COLUMNS)
    rates = [name for name in SHOWN_RATES if name in frame]
    return Section(
        "measures",
        "Which measure links words best",
        f"{CHOSEN} Every target word is linked to the source word with the largest value, or to "
        "none if a special token has it. The alignment error rate (AER) is 0 when all sure links "
        "and only possible ones are found. How good a layer is that is chosen without gold links, "
        "the next section says. Intervals: 95%, over documents or sentences.",
        "Kobayashi et al. (2020), Table 3",
        [drawing],
        tables=[
            Table("measures", "The best layer of each measure", frame, dict.fromkeys(rates, ".1%"))
        ],
    )


def _extractions(result: xr.Dataset) -> Section:
    layer_table = best_layers(result)
    frame = layer_table.drop(columns="step")
    frame = frame.rename(columns={"measure": "extraction", **COLUMNS})
    frame["best layer"] = frame["best layer"].map(str)
    rates = [name for name in SHOWN_RATES if name in frame]
    return Section(
        "extractions",
        "Which extraction links words best",
        f"{CHOSEN} The encoder reads each sentence by itself, and units whose hidden "
        "states are similar are linked. The alignment error rate (AER) is 0 when all sure links "
        "and only possible ones are found. Intervals: 95%, over documents or sentences.",
        "Jalili Sabet et al. (2020); Dou and Neubig (2021)",
        [_rates(layer_table, "extractions")],
        tables=[
            Table(
                "extractions",
                "The best layer of each extraction",
                frame,
                dict.fromkeys(rates, ".1%"),
            )
        ],
    )


def _hidden_layers(result: xr.Dataset) -> Section:
    draw = curves(
        result, Curve("similarity_error_rate", by="extraction", percent=True, y_label="AER")
    )
    return Section(
        "layers",
        "Layers",
        "Hidden states after this many layers; those after 0 layers are the embeddings. SimAlign "
        "and "
        "awesome-align take them after 8 of the 12 layers of BERT.",
        "Jalili Sabet et al. (2020)",
        [Drawing("layers", "", "Alignment error rate by layer.", draw)],
        [
            columns(
                "layers",
                "Alignment error rate by layer",
                result,
                "layer",
                Columns("similarity_error_rate", ".1%", by="extraction"),
            )
        ],
    )


def _layers(result: xr.Dataset) -> Section:
    draw = curves(
        result,
        Curve(
            "error_rate",
            panel="The step that {step}",
            by=(By("step", STEP_NAMES), "measure"),
            percent=True,
            y_label="AER",
        ),
    )
    highest = int(result["layer"].values[int(np.argmax(result["mean_norm"].values))])
    return Section(
        "layers",
        "Layers",
        "A row of cross-attention belongs to a step of the decoder, which reads a target word as "
        "input and predicts the next one as output. The layer with the highest mean norm, which "
        f"needs no gold links to be known, is layer {highest}; no interval of that was computed.",
        "Kobayashi et al. (2020), Figure 7",
        [Drawing("layers", "", "Alignment error rate by layer.", draw)],
        [
            columns(
                "layers",
                "Alignment error rate by layer",
                result,
                "layer",
                Columns("error_rate", ".1%", BOTH, by=("step", "measure")),
                Columns("mean_norm", label="mean norm"),
            )
        ],
    )


def _heads(result: xr.Dataset) -> Section:
    by = ("measure", "step")
    draw = maps(result, Map("head_error_rate", BOTH, by=by, format=".0%", low_is_good=True))
    table = columns(
        "heads",
        "Error rate and mean norm of every head",
        result,
        ("layer", "head"),
        Columns("head_error_rate", ".1%", BOTH, by=by),
        Columns("head_mean_norm", label="mean norm"),
    )
    places = table.frame[["layer", "head"]].itertuples(index=False, name=None)
    names = [head_name(layer, head) for layer, head in places]
    table = replace(table, frame=table.frame.drop(columns="layer").assign(head=names))
    return Section(
        "heads",
        "Heads",
        "Each head alone, and the mean norm of what it moves. Dark heads link best: "
        "their error is low.",
        "Kobayashi et al. (2020), Section 5",
        [Drawing("heads", "", "Alignment error rate of every head.", draw)],
        [table],
    )


OF_SPEECH = {
    "start_error": "error of beginnings, s",
    "end_error": "error of ends, s",
    "inside": "middle inside",
    "on_path": "on the path",
}
"""Headings of columns in tables of speech, by variable."""
SPOKEN_STEPS = {"input": "reads the piece", "output": "predicts the piece"}


def _summary_of_speech(result: xr.Dataset) -> Summary:
    """Return the numbers of chosen heads, best layer and best head, by measure and step."""
    numbers: Summary = {"words": int(result.attrs["words"])}
    judged = "start_error" if times_known(result) else "on_path"
    for row in ways_to_time(result).to_dict("records"):
        way = "_".join(str(row["way"]).split()[:2])
        numbers[f"{way}_{row['measure']}_{row['step']}_{judged}"] = float(row[judged])
    return rounded(numbers)


def _ways(result: xr.Dataset) -> Section:
    frame, timed = ways_to_time(result), times_known(result)
    judged = "start_error" if timed else "on_path"
    named = {name: label for name, label in OF_SPEECH.items() if name in frame}
    rows = [
        BarRow(
            f"{row['way']}, {row['measure']}, {str(SPOKEN_STEPS[str(row['step'])]).split()[0]}",
            [Mark(OF_SPEECH[judged], row[judged], row[f"{judged}_low"], row[f"{judged}_high"])],
        )
        for row in frame.to_dict("records")
    ]
    label = "mean error of the beginnings of words, s" if timed else OF_SPEECH["on_path"]
    draw = partial(bars, rows, x_label=label, percent=not timed, dots=True)
    heads = result.attrs["chosen_heads"]
    table = frame.drop(
        columns=[name for name in map(str, frame) if name.endswith(("_low", "_high"))]
    ).rename(columns={"cross_fit": COLUMNS["cross_fit"]})
    if timed:
        table.insert(4, "low", frame["start_error_low"])
        table.insert(5, "high", frame["start_error_high"])
    formats = dict.fromkeys([*named.values(), "low", "high"], ".3f")
    formats |= {OF_SPEECH[name]: ".1%" for name in ("inside", "on_path")}
    formats[COLUMNS["cross_fit"]] = ".3f" if timed else ".1%"
    labelled = table.rename(columns=named)
    return Section(
        "ways",
        "When words are said",
        "What a piece gives to each frame is standardised over the pieces, so that what all give "
        "alike says nothing, and smoothed; a path through it from the first piece and frame to the "
        "last, by dynamic time warping, gives each word its stretch of time. A word lasts until "
        "the next begins, so that its end holds the pause after it. "
        + (f"The chosen heads are {heads}. " if heads else "No heads are chosen together. ")
        + (
            "The best layer and head are those with the smallest error by these very times; the "
            "chosen heads owe them nothing. Intervals: 95%, over recordings."
            if timed
            else "No times of words are known; what lies on the path says how sharply a head "
            "follows the sound. Intervals: 95%, over recordings."
        ),
        "Radford et al. (2022), word timing of the published code",
        [Drawing("ways", "", "Mean error of the beginnings of words.", draw)],
        [
            Table(
                "ways",
                "Ways to link words to time",
                labelled,
                {
                    name: number_format
                    for name, number_format in formats.items()
                    if name in labelled
                },
            )
        ],
    )


def _speech_layers(result: xr.Dataset) -> Section:
    timed = times_known(result)
    variable = "start_error" if timed else "on_path"
    draw = curves(
        result,
        Curve(
            variable,
            panel="The step that {step}",
            by=(By("step", SPOKEN_STEPS), "measure"),
            percent=not timed,
            y_label=OF_SPEECH[variable],
        ),
    )
    numbers = Columns(variable, ".3f" if timed else ".1%", BOTH, by=("measure", "step"))
    return Section(
        "layers",
        "Layers",
        "All heads of a layer together: the mean of their standardised maps.",
        "",
        [Drawing("layers", "", "By layer.", draw)],
        [columns("layers", f"By layer: {OF_SPEECH[variable]}", result, "layer", numbers)],
    )


def _speech_heads(result: xr.Dataset) -> Section:
    by, timed = ("measure", "step"), times_known(result)
    drawn = (
        Map(
            "head_start_error",
            f"error of beginnings: {BOTH}",
            by=by,
            format=".2f",
            low_is_good=True,
        )
        if timed
        else Map("head_on_path", f"on the path: {BOTH}", by=by, format=".0%")
    )
    drawings = [Drawing("heads", "", "Every head alone.", maps(result, drawn))]
    formats = {"inside": ".1%", "on_path": ".1%"}
    numbers = [
        Columns(f"head_{name}", formats.get(name, ".3f"), f"{label}: {BOTH}", by=by)
        for name, label in OF_SPEECH.items()
        if f"head_{name}" in result
    ]
    table = columns("heads", "Every head", result, ("layer", "head"), *numbers)
    places = table.frame[["layer", "head"]].itertuples(index=False, name=None)
    names = [head_name(layer, head) for layer, head in places]
    frame = table.frame.drop(columns="layer").assign(head=names)
    return Section(
        "heads",
        "Heads",
        "Each head alone. "
        + ("Dark heads are near the times." if timed else "Dark heads follow the sound sharply."),
        "",
        drawings,
        [replace(table, frame=frame)],
    )
