"""The study of probes: parsers that are trained on the attention of all heads together."""

import xarray as xr

from headlight.result.estimate import with_ends
from headlight.views.parts import By, Columns, Drawing, Section, Summary, columns
from headlight.views.parts.bar_charts import bars
from headlight.views.parts.result_facts import rounded
from headlight_words.findings.parser_probes import parser_probes

findings = parser_probes
"""Findings in words, which stand first on the page."""

NO_ATTENTION = "no attention"


def summary(result: xr.Dataset) -> Summary:
    """Return the share of words whose governor each probe finds."""
    scores = result["score"].sel(metric="uas")
    return rounded({str(row): float(scores.sel(row=row)) for row in result["row"].values})


def sections(result: xr.Dataset) -> list[Section]:
    """Return the section on the scores of all probes."""
    names = [str(name).replace("_", " ") for name in result["probe"].values]
    ended = with_ends(result, "score")
    ends = {end: ended[f"score_{end}"].sel(metric="uas", drop=True) for end in ("low", "high")}
    scores = {name: result["score"].sel(metric=name, drop=True) for name in result["metric"].values}
    scored = result.assign(ends | scores).assign_coords(probe=("row", names))
    table = columns(
        "probes",
        "Probes",
        scored,
        By("row", heading=""),
        Columns("probe", label="probe"),
        Columns("measure", label="measure"),
        Columns("uas", ".1%", "UAS"),
        Columns("low", ".1%", "low"),
        Columns("high", ".1%", "high"),
        Columns("uas_tree", ".1%", "UAS, best tree"),
        Columns("uuas", ".1%", "UUAS"),
        Columns("parameters", ",d", "parameters"),
        Columns("epochs", ".3g", "epochs"),
    )

    labelled = table.frame.assign(measure=table.frame["measure"].replace("", NO_ATTENTION))
    colours = {NO_ATTENTION: "other"}
    draw = bars(
        labelled, "probe", "UAS", series="measure", colours=colours, x_label="UAS", percent=True
    )
    section = Section(
        "probes",
        "How much of the tree attention knows",
        "UAS (unlabelled attachment score): the share of words whose governor is found, each on "
        "its own, or as the tree of the largest sum of scores (best tree). UUAS (undirected): the "
        "same, whichever way an edge points. Low and high: the 95% interval of UAS, over "
        "sentences. The first probes see no attention; random attention is that of "
        "a model whose weights are random but for its embeddings. Parameters are those that are "
        "trained, epochs the mean over seeds.",
        "Clark et al. (2019), Table 3",
        [Drawing("uas", "", "UAS of each probe.", draw)],
        [table],
    )
    return [section]
