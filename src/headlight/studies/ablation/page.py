"""Page of the ablation study: predictions without a head, or without all heads of a layer."""

from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import ablation
from headlight.findings.estimates import estimates
from headlight.findings.interval_phrases import undecided
from headlight.findings.phrases import percent, plural
from headlight.views.dimensions import ByWhich
from headlight.views.headline import BarList, value_bars
from headlight.views.parts import (
    Columns,
    Curve,
    Drawing,
    Figure,
    Map,
    Section,
    Summary,
    Table,
    columns,
    curves,
    maps,
)
from headlight.views.parts.result_facts import rounded
from headlight.views.pictures import Line, LinePanel, lines
from headlight.vocabulary import head_name

findings = ablation.ablation
"""Findings in words, shown first."""

MICHEL = "Michel et al. (2019), Section 3"
NAMED = 5
"""Number of heads named in the picture of lengths."""

KEPT = (
    "layer",
    "head",
    "left",
    "token",
    "right",
    "kl",
    "before",
    "before_share",
    "after",
    "after_share",
)
"""Names of the variables of a passage, without their prefix."""

COLUMNS = (
    Columns("kl", ".4f", "KL", interval=True),
    Columns("changed", ".1%", "other prediction"),
    Columns("loss_change", "+.4f", "loss", interval=("loss, low", "loss, high")),
    Columns("accuracy_change", "+.1%", "right"),
    Columns("norm", ".3f", "length"),
)
"""Columns of the tables of heads and layers."""

EXPLANATION = (
    "A head that is removed hands zeros on, as if all its weights were zero; nothing is trained "
    "again. KL is the divergence of what the model then predicts from what it predicts with all "
    "heads, in nats; loss and the share of right predictions are differences from those of the "
    "model as it is. Intervals: 95%, over documents or texts."
)


BARS = 8
"""Heads of the headline."""


def headline_pictures(result: xr.Dataset) -> list[BarList]:
    """Return the share of predictions that become others without the heads that matter most.

    Args:
        result: Result of the study.
    """
    if "head_changed" not in result or not result["head_changed"].notnull().any():
        return []
    frame = _heads_frame(result).dropna(subset="other prediction")
    usual = f"median of {plural(len(frame), 'head')}"
    changed = frame["other prediction"].to_numpy()
    values = {_name(frame, at): float(changed[at]) for at in range(min(BARS, len(frame)))}
    bars = value_bars({**values, usual: float(np.median(changed))}, percent, [usual])
    note = "Heads in the order of how far they move what the model predicts (KL divergence)."
    return [BarList("Predictions that become others without the head", bars, note)]


def summary(result: xr.Dataset) -> Summary:
    """Return loss and accuracy of the intact model, and the removals of largest effect."""
    numbers: Summary = {
        "loss": float(result["own_loss"]),
        "accuracy": float(result["own_accuracy"]),
    }
    if "head_kl" in result:
        frame = _heads_frame(result)
        numbers |= {
            "most_moving_head": _name(frame, 0),
            "its_kl": float(frame["KL"].iloc[0]),
            "median_kl": float(frame["KL"].median()),
            "kl_and_length": _correlation(frame),
        }
    if "layer_kl" in result:
        numbers["most_moving_layer"] = int(result["layer_kl"].idxmax("layer"))
    return rounded(numbers)


def sections(result: xr.Dataset) -> list[Section]:
    """Return the sections on single heads, their lengths, and whole layers."""
    parts = [_heads(result), _lengths(result)] if "head_kl" in result else []
    return [*parts, _layers(result)] if "layer_kl" in result else parts


def _describe_intact(result: xr.Dataset) -> str:
    """Describe the loss and the accuracy of the intact model."""
    loss, right = float(result["own_loss"]), float(result["own_accuracy"])
    if not np.isfinite(loss):
        return "Nothing in these texts has a label, so that there is no loss."
    return f"With all heads the loss is {loss:.3f} nats, and {right:.1%} of predictions are right."


def _table(result: xr.Dataset, name: str, caption: str, rows: ByWhich, scope: str) -> Table:
    return columns(name, caption, result, rows, *(column.in_scope(scope) for column in COLUMNS))


def _heads_table(result: xr.Dataset) -> Table:
    """Return the table of all heads, sorted by falling divergence."""
    caption = "Without each head, the most moving first"
    table = _table(result, "heads", caption, ("layer", "head"), "head_")
    frame = table.frame.sort_values("KL", ascending=False, kind="stable", ignore_index=True)
    return replace(table, frame=frame)


def _heads_frame(result: xr.Dataset) -> pd.DataFrame:
    return _heads_table(result).frame


def _name(frame: pd.DataFrame, row: int) -> str:
    layer, head = frame[["layer", "head"]].to_numpy()[row]
    return head_name(int(layer), int(head))


def _correlation(frame: pd.DataFrame) -> float:
    """Return Spearman's ρ of divergence and length over heads; NaN if either is constant."""
    ranks = frame[["KL", "length"]].rank()
    if len(ranks) < 2 or not (ranks.std() > 0).all():
        return float("nan")
    return float(np.corrcoef(ranks["KL"], ranks["length"])[0, 1])


def _heads(result: xr.Dataset) -> Section:
    draw = maps(
        result,
        Map("head_kl", "KL without the head", unit="nats"),
        Map("head_loss_change", "Increase of the loss", scale="change", unit="nats"),
    )
    return Section(
        "heads",
        "Predictions without one head",
        f"{EXPLANATION} {_describe_intact(result)}",
        MICHEL,
        [Drawing("heads", "", "Divergence and change of the loss without each head.", draw)],
        [*_passages(result), _heads_table(result)],
    )


def _passages(result: xr.Dataset) -> list[Table]:
    """Return the table of the predictions that change most without the heads that change most."""
    if not result.sizes.get("passage"):
        return []
    passages = {name: result[f"passage_{name}"].values for name in KEPT}
    frame = pd.DataFrame(
        {
            "head": list(map(head_name, passages["layer"].tolist(), passages["head"].tolist())),
            "with all heads": _choices(passages["before"], passages["before_share"]),
            "without it": _choices(passages["after"], passages["after_share"]),
            "KL": passages["kl"],
            "text": [
                " ".join(part for part in (tokens_left, f"⟦{token.strip()}⟧", right) if part)
                for tokens_left, token, right in zip(
                    passages["left"], passages["token"], passages["right"], strict=True
                )
            ],
        }
    )
    caption = "Where in the corpus the model predicts most differently at ⟦this token⟧"
    return [Table("passages", caption, frame, {"KL": ".2f"})]


def _choices(tokens: np.ndarray, shares: np.ndarray) -> list[str]:
    pairs = zip(tokens, shares, strict=True)
    return [f"{str(token).strip()} ({share:.0%})" for token, share in pairs]


def _lengths(result: xr.Dataset) -> Section:
    frame = _heads_frame(result)
    correlation = _correlation(frame)
    longest = int(frame["length"].to_numpy().argmax())
    names = [_name(frame, at) for at in range(len(frame))]
    places = tuple(
        result.get_index(dim).get_indexer(pd.Index(frame[dim])) for dim in ("layer", "head")
    )
    norms, divergences = (estimates(result, f"head_{name}").at(places) for name in ("norm", "kl"))
    of_longest = np.array(
        [str(divergences.at(longest).against(divergences.at(at))) for at in range(len(frame))]
    )
    first = 1 + int((of_longest == "below").sum())
    last = len(frame) - int((of_longest == "above").sum())
    rank = f"{first} of" if first == last else f"{first} to {last} (inconclusive) of"
    note = (
        f" Spearman's correlation of the two over heads is {correlation:.2f}; no interval of it "
        "was computed."
        if np.isfinite(correlation)
        else ""
    )

    def draw() -> Figure:
        lengths, moved = frame[["length", "KL"]].to_numpy().T
        line = Line(
            "heads",
            lengths,
            moved,
            marked=True,
            joined=False,
            heads=names,
            named=dict(enumerate(names[:NAMED])),
        )
        logarithmic = bool((frame[["length", "KL"]] > 0).all(axis=None))
        return lines(
            [
                LinePanel(
                    "Each head",
                    [line],
                    "mean length of what it writes",
                    "KL without it, nats",
                    x_log=logarithmic,
                    y_log=logarithmic,
                )
            ]
        )

    return Section(
        "lengths",
        "Do heads that write much matter much?",
        "The length of what a head adds to a token, ‖Σ_j α_ij f(x_j)‖, the mean over tokens, "
        f"beside the divergence without it. The longest is that of {names[longest]}, "
        f"which by divergence comes {rank} {len(frame)}."
        f"{undecided(norms, names, 'which head writes the longest')}{note} A long vector "
        "may be one that later layers do not read.",
        "Kobayashi et al. (2020), Section 3",
        [Drawing("lengths", "", "Divergence against length, head by head.", draw)],
    )


def _layers(result: xr.Dataset) -> Section:
    draw = curves(
        result,
        Curve("layer_kl", panel="KL without the layer", y_label="nats"),
        Curve("layer_loss_change", panel="Increase of the loss", y_label="nats"),
    )
    alone = "" if "head_kl" in result else f"{EXPLANATION} {_describe_intact(result)} "
    return Section(
        "layers",
        "Predictions without all heads of a layer",
        f"{alone}All heads of one layer are removed at once: its attention adds no more than the "
        "bias of its output.",
        MICHEL,
        [Drawing("layers", "", "Divergence and change of the loss without each layer.", draw)],
        [_table(result, "layers", "Without the heads of each layer", "layer", "layer_")],
    )
