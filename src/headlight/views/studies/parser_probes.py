"""The study of probes: parsers that are trained on the attention of all heads together."""

import json

import pandas as pd
import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.pictures import BarRow, Mark, bars
from headlight.views.studies.parts import Drawing, Figure, Section, Summary, percentages, rounded

METRICS = {"uas": "UAS", "uas_tree": "UAS, best tree", "uuas": "UUAS"}


NO_ATTENTION = "no attention"


def summary(result: xr.Dataset) -> Summary:
    """The share of words whose governor each probe finds."""
    scores = result["score"].sel(metric="uas")
    return rounded({str(row): float(scores.sel(row=row)) for row in result["row"].values})


def sections(result: xr.Dataset) -> list[Section]:
    """The scores of all probes."""
    uas = result.sel(metric="uas")
    seconds = json.loads(str(result.attrs.get("seconds", "{}")))
    frame = pd.DataFrame(
        {
            "probe": [str(name).replace("_", " ") for name in result["probe"].values],
            "measure": result["measure"].values,
            **{label: result["score"].sel(metric=name).values for name, label in METRICS.items()},
            "low": uas["low"].values,
            "high": uas["high"].values,
            "parameters": result["parameters"].values,
            "epochs": result["epochs"].mean("seed").values,
            "seconds": [seconds.get(str(row)) for row in result["row"].values],
        }
    )

    def draw() -> Figure:
        rows = [
            BarRow(
                str(probe),
                [
                    Mark(
                        row["measure"] or NO_ATTENTION,
                        row["UAS"],
                        row["low"],
                        row["high"],
                        row["measure"] or "other",
                    )
                    for row in some.to_dict("records")
                ],
            )
            for probe, some in frame.groupby("probe", sort=False)
        ]
        return bars(rows, x_label="UAS", percent=True, dots=True)

    formats = percentages(frame, *METRICS.values(), "low", "high")
    section = Section(
        "probes",
        "How much of the tree attention knows",
        "UAS (unlabelled attachment score): the share of words whose governor is found, each on "
        "its own, or as the tree of the largest sum of scores (best tree). UUAS (undirected): the "
        "same, whichever way an edge points. Low and high: the 95% interval of UAS, by a "
        "bootstrap over sentences. The first probes see no attention; random attention is that of "
        "a model whose weights are random but for its embeddings. Parameters are those that are "
        "trained, epochs the mean over seeds, seconds the time of training.",
        "Clark et al. (2019), Table 3",
        [Drawing("uas", "", "UAS of each probe.", draw)],
        [Table("probes", "Probes", frame, {**formats, "parameters": ",d", "epochs": ".3g"})],
    )
    return [section]
