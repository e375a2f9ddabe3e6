"""Page of circuits: scores of weights, and behaviour of heads on probes."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import circuits
from headlight.findings.circuits import FOUND, joined_heads, most
from headlight.findings.phrases import number, percent, plural
from headlight.views.headline import BarList, value_bars
from headlight.views.parts import By, Columns, Drawing, Map, Section, Summary, Table, columns, maps
from headlight.views.parts.result_facts import rounded
from headlight.vocabulary import head_name

findings = circuits.circuits
"""Findings in words, shown first."""

OF_WEIGHTS = {
    "copying": "copying (OV)",
    "copying_last_norm": "copying, gain of the last norm",
    "matching": "matching (QK)",
}
BEHAVIOURS = {
    "prefix_matching": "prefix matching",
    "duplicate_token": "duplicate token",
    "previous_token": "previous token",
    "transformerlens_induction": "TransformerLens, induction",
    "transformerlens_duplicate": "TransformerLens, duplicate",
    "transformerlens_previous": "TransformerLens, previous",
    "headvis_induction": "HeadVis, induction",
}
OF_OLSSON = list(BEHAVIOURS)[:3]
VERSIONS = {"paper": "tokens copied (paper)", "code": "steps that copy (code)"}
PAIRS = 30
"""Number of the strongest compositions shown."""


BARS = 8
"""Heads of the headline."""


def headline_pictures(result: xr.Dataset) -> list[BarList]:
    """Return the heads with the highest scores of what the first finding is about.

    Args:
        result: Result of the study.
    """
    if "repeated" in result:
        scores = result["repeated"].sel(behaviour="prefix_matching").isel(measure=0)
        title = "Attention that a head gives to what followed the same token before"
        return [BarList(title, value_bars(_highest(scores), percent))]
    if "retrieval" in result:
        return []
    for name in ("copying", "matching"):
        if name in result and result[name].notnull().any():
            usual = f"median of {plural(int(result[name].notnull().sum()), 'head')}"
            values = {**_highest(result[name]), usual: float(result[name].median())}
            title = f"Score of {OF_WEIGHTS[name]}, from \u22121 to 1"
            return [BarList(title, value_bars(values, number, [usual]))]
    return []


def _highest(scores: xr.DataArray) -> dict[str, float]:
    return {head: score for head, score in most(scores)[:BARS] if np.isfinite(score)}


def summary(result: xr.Dataset) -> Summary:
    """Return the strongest head of each score, and the number of needles found."""
    numbers: Summary = {}
    for name in OF_WEIGHTS:
        if name in result:
            numbers[f"median_{name}"] = float(result[name].median())
    for name, axis, label in (
        ("repeated", "behaviour", "prefix_matching"),
        ("retrieval", "version", "paper"),
    ):
        for measure in _measures(result) if name in result else ():
            head, score = most(result[name].sel({axis: label, "measure": measure}))[0]
            if np.isfinite(score):
                numbers |= {f"{measure}_best_{label}": score, f"{measure}_{label}_head": head}
    if "recall" in result:
        numbers["needles_found"] = int((result["recall"] > FOUND).sum())
    return rounded(numbers)


def sections(result: xr.Dataset) -> list[Section]:
    """Return the sections on random repeats, hidden facts and the weights of heads."""
    parts = [_repeated(result)] if "repeated" in result else []
    if "retrieval" in result:
        parts.append(_retrieval(result))
    if any(name in result for name in OF_WEIGHTS):
        parts.append(_weights(result))
    if "composition" in result:
        parts.append(_composition(result))
    return parts


def _measures(result: xr.Dataset) -> list[str]:
    return [str(name) for name in result["measure"].values] if "measure" in result else []


def _repeated(result: xr.Dataset) -> Section:
    of_olsson = result.sel(behaviour=OF_OLSSON)
    by = (By("behaviour", BEHAVIOURS), By("measure"))
    draw = maps(of_olsson, Map("repeated", by=by, limits=(0.0, 1.0)))
    tables = [
        columns(
            f"repeated-{measure}",
            f"By {measure}, over queries of the second half",
            of_olsson.sel(measure=measure),
            ("layer", "head"),
            Columns("repeated", ".3f", by=By("behaviour", BEHAVIOURS), interval=True),
        )
        for measure in _measures(result)
    ]
    others = columns(
        "repeated-tools",
        "As other tools define them",
        result.sel(behaviour=[name for name in BEHAVIOURS if name not in OF_OLSSON]),
        ("layer", "head"),
        Columns("repeated", ".3f", by=by),
    )
    return Section(
        "repeated",
        "Random tokens, repeated",
        "Random tokens are followed by themselves. Of each query of the second half: the share "
        "that goes to the token behind its earlier copy (prefix matching: what an induction head "
        "does), to the copy itself (duplicate token), and to the token before (previous token). "
        "Norms are scaled so that a row gives 1 in all. TransformerLens divides what a "
        "pattern gets by all attention, of the first half too; HeadVis leaves out what is less "
        "than 0.01. Intervals: 95%, over sequences.",
        "Olsson et al. (2022)",
        [Drawing("repeated", "", "Scores on repeated random tokens by head.", draw)],
        [*tables, others],
    )


def _retrieval(result: xr.Dataset) -> Section:
    by = (By("version", VERSIONS), By("measure"))
    drawings = []
    if result["retrieval"].notnull().any():
        draw = maps(result, Map("retrieval", by=by, limits=(0.0, 1.0)))
        drawings.append(Drawing("retrieval", "", "Retrieval scores by head.", draw))
    facts = pd.DataFrame(
        {
            "fact": result["fact"].values,
            "said again": result["recall"].values,
            "found": np.where(result["recall"].values > FOUND, "yes", "no"),
        }
    )
    heads = [
        columns(
            f"retrieval-{measure}",
            f"By {measure}, over the needles that were found",
            result.sel(measure=measure),
            ("layer", "head"),
            Columns("retrieval", ".3f", by=By("version", VERSIONS), interval=True),
        )
        for measure in (_measures(result) if drawings else ())
    ]
    return Section(
        "retrieval",
        "Facts in a haystack",
        "A fact is hidden in other text, and asked for; the model is given the beginning of the "
        "answer, and goes on. A head copies a token where the model says it and the head's first "
        "key is that token in the needle. The paper counts which of the needle's tokens were "
        "copied, its program how many steps copied one, so that a token may count twice, and "
        "looks for the needle by its words. A needle is found where the model says more than "
        "half of its tokens; others do not count. Intervals: 95%, over needles.",
        "Wu et al. (2024), Section 2",
        drawings,
        [Table("facts", "What was hidden", facts, {"said again": ".0%"}), *heads],
    )


def _weights(result: xr.Dataset) -> Section:
    observed_maps = {name: label for name, label in OF_WEIGHTS.items() if name in result}
    drawn_maps = [Map(name, label, limits=(-1.0, 1.0)) for name, label in observed_maps.items()]
    return Section(
        "weights",
        "Scores from weights alone",
        "Σλ / Σ|λ| of the eigenvalues λ of W_E W_V W_O W_U (copying) and of W_E W_Q W_Kᵀ W_Eᵀ "
        "(matching): 1 where a head raises the tokens that it attends to, or attends to tokens "
        "like the query; −1 where it does the opposite. The gain of the norm that a head reads "
        "from is in these matrices; that of the norm before W_U is in one of the two scores of "
        "copying. Biases, rotary embeddings, and what norms divide by are left out, so that these "
        "are scores of what a head would do with embeddings alone.",
        "Elhage et al. (2021)",
        [Drawing("weights", "", "Scores of weights by head.", maps(result, *drawn_maps))],
        [
            columns(
                "weights",
                "Scores of weights",
                result,
                ("layer", "head"),
                *(Columns(name, ".3f", label) for name, label in observed_maps.items()),
            )
        ],
    )


def _composition(result: xr.Dataset) -> Section:
    strongest = result["composition"].max(("later_layer", "later_head")).rename("strongest")
    data = strongest.to_dataset().assign_attrs(result.attrs)
    drawings = []
    if strongest.notnull().any():
        draw = maps(data, Map("strongest", "{path}", by=By("path")))
        words = "Of what each head writes, how much a later head reads at most."
        drawings.append(Drawing("composition", words, "Strongest composition by head.", draw))
    table = Table(
        "composition", "The strongest pairs", pd.DataFrame(_pairs(result)), {"score": ".3f"}
    )
    return Section(
        "composition",
        "Which heads read what others write",
        "‖A B‖ / (‖A‖ ‖B‖), where A is W_V W_O of a head, and B is what a later head makes its "
        "queries, keys or values of: W_Q W_Kᵀ, W_K W_Qᵀ or W_V W_O. Two random matrices of a model "
        "of width d have about 1/√d.",
        "Elhage et al. (2021)",
        drawings,
        [table],
    )


def _pairs(result: xr.Dataset) -> Iterator[dict[str, object]]:
    for path in map(str, result["path"].values):
        for score, (writes, reads) in joined_heads(result, path, PAIRS):
            names = {"head": head_name(*writes), "later head": head_name(*reads)}
            yield {"what is made": path, **names, "score": score}
