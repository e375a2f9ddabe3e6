"""The study of adversaries: models with a classifier's predictions and other attention."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from headlight.views.parts import (
    By,
    Columns,
    Drawing,
    Figure,
    Map,
    Section,
    Summary,
    Table,
    columns,
    maps,
)
from headlight.views.parts.result_facts import attending_rows, rounded, settings_of
from headlight.views.pictures import Line, LinePanel, Reference, lines
from headlight_papers.findings import adversary
from headlight_papers.findings.adversary import MOVED, compared, trained

findings = adversary.adversary
"""Findings in words, shown first."""

NAMES = {
    "base": "the model itself",
    "adversary": "adversaries",
    "seed": "other seeds, gold labels",
    "uniform": "uniform attention, not trained",
}
COLUMNS = {
    "accuracy": "accuracy",
    "f1": "F1",
    "nll": "NLL gold",
    "taught_nll": "NLL of the teacher's labels",
    "agreement": "agreement",
    "tvd": "TVD",
    "kl": "KL",
    "jsd": "JSD",
}
SHARES = ("accuracy", "agreement")
STARTS = {"scratch": "random weights", "base": "the weights of the model itself"}
DISTANCES = {"head_jsd": "JSD", "head_kl": "KL"}
MEANS = "mean of a λ"
GROWTH = 0.1
"""KL that grows by a smaller share in the last step of λ has levelled off."""
WIEGREFFE = "Wiegreffe and Pinter (2019), {}"


def summary(result: xr.Dataset) -> Summary:
    """Return the means of the model, strongest adversaries, other seeds, uniform attention."""
    frame = _frame(result)
    largest = frame.weight.max()
    groups = {
        "base": frame[frame.kind == "base"],
        "largest_lambda": frame[frame.weight == largest],
        "seed": frame[frame.kind == "seed"],
        "uniform": frame[frame.kind == "uniform"],
    }
    numbers: Summary = {"largest_lambda": float(largest)}
    for name, rows in groups.items():
        numbers[f"{name}_accuracy"] = float(rows.accuracy.mean())
        if name != "base":
            numbers[f"{name}_tvd"] = float(rows.tvd.mean())
            numbers[f"{name}_jsd"] = float(rows.jsd.mean())
    return rounded(numbers)


def sections(result: xr.Dataset) -> list[Section]:
    """Return the sections: numbers of models; JSD and TVD; NLL over KL; layers and heads."""
    return [_models(result), _plane(result), _divergence(result), _heads(result)]


def _frame(result: xr.Dataset) -> pd.DataFrame:
    return result[list(COLUMNS)].to_dataframe().reset_index(drop=True)


def _settings(result: xr.Dataset) -> str:
    """Return the settings in words."""
    settings = settings_of(result)
    start = str(settings.get("start"))
    special_tokens = ", special tokens left out of the keys" if settings.get("keep_special") else ""
    near = "total variation" if settings.get("predictions") == "tvd" else "cross-entropy"
    far = "JSD" if settings.get("distance") == "jsd" else "KL"
    return (
        f"Students begin with {STARTS.get(start, f'the checkpoint {start}')}, and learn for "
        f"{settings.get('epochs')} epochs; the last one counts. Their loss is {near} to the "
        f"model's predictions minus λ times the {far} of attention in rows of "
        f"{attending_rows(result)}{special_tokens}."
    )


def _models(result: xr.Dataset) -> Section:
    frame = _frame(result)
    adversaries = frame[frame.kind == "adversary"].groupby("weight")[list(COLUMNS)].mean()
    others = frame.groupby("kind")[list(COLUMNS)].mean()
    rows = {NAMES["base"]: others.loc["base"]}
    rows |= {f"adversary, λ = {weight:g}": row for weight, row in adversaries.iterrows()}
    rows |= {NAMES[kind]: others.loc[kind] for kind in ("seed", "uniform")}
    means = pd.DataFrame(rows).T.rename_axis("model").reset_index().rename(columns=COLUMNS)
    formats = dict.fromkeys(means.columns[1:], ".3f") | dict.fromkeys(SHARES, ".1%")
    spans = "of spans, strict" if result.attrs.get("task") == "token" else "the mean over classes"
    return Section(
        "models",
        "Other models for the same predictions",
        f"{_settings(result)} On {result.attrs.get('held_out', 'the')} held-out texts: the share "
        f"of correct predictions, F1 ({spans}), the negative log-likelihood (NLL) of the gold "
        "labels and "
        "of the model's own, the share of predictions that are the model's, the total variation "
        "distance (TVD) to its predictions, and KL(student ‖ model) and JSD of attention, of a row "
        "on average, in nats. Models that differ in their seed alone say how far apart attention "
        "is without anybody asking for it.",
        WIEGREFFE.format("Section 4"),
        tables=[Table("models", "Means over seeds", means, formats), _runs_table(result)],
    )


def _runs_table(result: xr.Dataset) -> Table:
    seeds = pd.array(result["seed"].values, "Int64")
    table = columns(
        "runs",
        "Every model, with 95% intervals over texts",
        result,
        By("run", heading=""),
        Columns("kind", label="model"),
        Columns("weight", label="λ"),
        Columns("seed", label="seed"),
        *(
            Columns(name, label=label, interval=(f"{label} low", f"{label} high"))
            for name, label in COLUMNS.items()
        ),
    )
    # What was not trained with a seed has none.
    frame = table.frame.assign(seed=pd.Series(seeds).where(result["seed"].values >= 0))
    return replace(table, frame=frame)


def _dots(frame: pd.DataFrame, kind: str, x: str, y: str) -> Line:
    some = frame[frame.kind == kind]
    return Line(NAMES[kind], some[x].to_numpy(), some[y].to_numpy(), marked=True, joined=False)


def _curve(frame: pd.DataFrame, x: str, y: str) -> Line:
    means = frame[frame.kind == "adversary"].groupby("weight")[[x, y]].mean().sort_index()
    return Line(MEANS, means[x].to_numpy(), means[y].to_numpy())


def _plane(result: xr.Dataset) -> Section:
    frame = _frame(result)

    def draw() -> Figure:
        series = [_dots(frame, "adversary", "tvd", "jsd"), _curve(frame, "tvd", "jsd")]
        series += [_dots(frame, kind, "tvd", "jsd") for kind in ("seed", "uniform")]
        panel = LinePanel(
            "",
            series,
            "TVD to the model's predictions",
            "JSD to the model's attention, nats",
            references=[Reference(math.log(2), "ln 2")],
        )
        return lines([panel])

    return Section(
        "plane",
        "Attention moved against predictions moved",
        "A point for each model; the line goes through the means of the adversaries of each λ, "
        "from λ = 0 on. A student high up on the left attends otherwise and predicts the same: the "
        "model's attention is then not the only one that goes with its predictions. A curve that "
        "leaves the seeds only to the right says that moving attention changes predictions. JSD "
        "is at "
        "most ln 2 = 0.693.",
        WIEGREFFE.format("Figure 5"),
        [Drawing("plane", "", "JSD of attention over TVD of predictions.", draw)],
    )


def growth(result: xr.Dataset) -> str:
    """Return whether KL levels off with λ, by the rule, as far as seeds decide it."""
    frame = _frame(result)
    means = frame[frame.kind == "adversary"].groupby("weight").kl.mean().sort_index()
    if len(means) < 3:
        return "With fewer than two λ above 0 nothing is said."
    at_zero, before, last = (float(means.iloc[at]) for at in (0, -2, -1))
    small, large = (float(means.index[at]) for at in (-2, -1))
    rows, of_zero, of_before = (trained(result, means.index[at]) for at in (-1, 0, -2))
    moves = compared(result, "kl", rows, of_zero, MOVED)
    if moves != "above":
        hardly = "KL hardly moves" if moves == "below" else "it is inconclusive whether KL moves"
        return (
            f"Here {hardly}: {last:.2f} nats at λ = {large:g}, and {at_zero:.2f} at λ = 0. "
            "A larger λ would tell more."
        )
    verbs = {"below": "it levels off", "above": "it does not level off"}
    grows = verbs.get(
        compared(result, "kl", rows, of_before, 1 + GROWTH),
        "it is inconclusive whether it levels off",
    )
    return (
        f"Here {grows}: {before:.2f} nats at λ = {small:g}, {last:.2f} at λ = {large:g} "
        f"({last / before - 1:+.0%})."
    )


def _divergence(result: xr.Dataset) -> Section:
    frame = _frame(result)
    base = float(frame[frame.kind == "base"].nll.iloc[0])

    def draw() -> Figure:
        panels = [
            LinePanel(
                "",
                [_dots(frame, "adversary", "kl", y), _curve(frame, "kl", y)],
                "KL of a row, nats",
                label,
                references=references,
            )
            for y, label, references in (
                ("nll", "NLL of gold labels, nats", [Reference(base, "the model")]),
                ("tvd", "TVD to the model's predictions", []),
            )
        ]
        return lines(panels, columns=2)

    rule = (
        f"KL is said to level off if it grows by less than {GROWTH:.0%} from the last λ but one to "
        f"the last, and is above {MOVED:g} times that at λ = 0, where Student's t over seeds "
        "decides both. "
    )
    return Section(
        "divergence",
        "Do predictions suffer at a certain divergence, or does KL end there?",
        "KL has an end in practice: once every row attends to a key to which the model gives "
        "hardly any weight, it cannot grow much more, and what a larger λ costs shows as a "
        f"vertical line. {rule}{growth(result)}",
        "Yang, Figures 1 to 3",
        [Drawing("divergence", "", "NLL and TVD over KL of attention.", draw)],
    )


def _heads(result: xr.Dataset) -> Section:
    adversaries = result.isel(run=np.flatnonzero(result["kind"].values == "adversary"))
    means = adversaries[["head_kl", "head_jsd"]].groupby("weight").mean("run")
    largest = float(means["weight"].max())
    strongest = means.sel(weight=largest)
    tables = [
        columns(
            f"layers-{label.lower()}",
            f"{label} of a row by layer, nats",
            means,
            "layer",
            Columns(name, ".3f", "λ = {weight:g}", by="weight"),
        )
        for name, label in DISTANCES.items()
    ]
    of_heads = columns(
        "heads",
        f"By head, λ = {largest:g}",
        strongest,
        ("layer", "head"),
        *(Columns(name, ".3f", label) for name, label in DISTANCES.items()),
    )
    draw = maps(
        strongest,
        *(
            Map(name, f"{label}, λ = {largest:g}", unit=f"{label} (nats)")
            for name, label in DISTANCES.items()
        ),
    )
    return Section(
        "heads",
        "Which layers and heads move",
        f"How far the attention of each head is from the model's, as means over texts and seeds; "
        f"of single heads for the largest λ, {largest:g}. A mean over all layers hides that one of "
        "them may carry it all.",
        WIEGREFFE.format("Section 4"),
        [Drawing("heads", "", "JSD and KL by layer and head.", draw)],
        [*tables, of_heads],
    )
