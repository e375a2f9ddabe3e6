"""Mixing ratios of Kobayashi et al. (2021): tables, claims, and the exhibits in order."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas
import xarray

from headlight.findings.estimates import Estimate, estimates
from headlight.views.parts import By, Comparison, Curve, Section
from headlight_papers.papers import kobayashi2021 as published
from headlight_papers.papers.claims import Claim, ClaimRow, claims_content, judge_rows
from headlight_papers.papers.exhibit import ExhibitSpec, ExhibitWriter, Paper, exhibits_of, frame_of
from headlight_papers.papers.kobayashi2021 import Settings
from headlight_papers.papers.reproduction import (
    Reproduction,
    text_notes,
    text_settings,
    text_source,
)

exhibit = exhibits_of(published.SOURCE)

METHODS = {
    "weight": "ATTN-W",
    "norm": "ATTN-N",
    "weight_residual": "ATTNRES-W",
    "norm_residual": "ATTNRES-N",
    "norm_residual_norm": "ATTNRESLN-N",
}
"""The paper's names for the scopes of the study."""

WHOLE = "norm_residual_norm"
"""The scope that the paper proposes."""


def load_mixing(reproduction: Reproduction[Settings]) -> xarray.Dataset:
    """The mixing ratios of the text."""
    settings = text_settings(reproduction)
    settings |= {"methods": ("mixing",), "masks": reproduction.masks}
    return reproduction.run("flow", text_source(reproduction), **settings)


def over_layers(result: xarray.Dataset, variable: str = "mixing", **where: Any) -> Estimate:
    """Return the mean over layers of the same texts."""
    return estimates(result, variable, ("layer",), **where).mean()


def notes_of(reproduction: Reproduction[Settings], result: xarray.Dataset) -> list[str]:
    """Return notes on the text, and on how much of it was masked."""
    masked = (
        f"{reproduction.masks:.0%} of the tokens are masked, chosen by the text and the seed; "
        "12%, at least one of each segment, in the code of the paper."
        if reproduction.masks
        else "No token is masked; 12% are in the code of the paper."
    )
    return [*text_notes(reproduction, result), masked]


STATISTICS = {"mean": "mean", "max": "largest", "min": "smallest"}


@exhibit("table-2", "Table 2")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Mixing ratios by five ways of looking."""
    result = load_mixing(reproduction)
    frame = overall(result)
    comparisons = [
        Comparison(f"{method}: {name}", getattr(published.TABLE_2[scope], field), ours, "%")
        for scope, (method, numbers) in zip(
            METHODS, frame.set_index("method").iterrows(), strict=True
        )
        for (name, field), ours in zip(STATISTICS.items(), numbers, strict=True)
    ]
    others = ", ".join(
        f"{method} {published.TABLE_2[scope].roberta}%" for scope, method in METHODS.items()
    )
    return Section(
        explanation="The mixing ratio of a token is the length of what other tokens give it, over "
        "that and the length of what it gives itself: by weights (W) or norms (N), of the "
        "attention alone, with the residual connection (RES), and behind the layer norm as well "
        "(LN). Numbers are over all tokens of all layers.",
        tables=[writer.table(frame, "Over the tokens of all layers, in percent", formats=".1f")],
        comparisons=comparisons,
        notes=[f"The paper's means of RoBERTa-base: {others}.", *notes_of(reproduction, result)],
    )


def overall(result: xarray.Dataset) -> pandas.DataFrame:
    """A row for each way of looking, in percent; every layer has as many tokens."""
    by_scope = result.sel(scope=list(METHODS))
    return pandas.DataFrame(
        {
            "method": list(METHODS.values()),
            "mean": 100 * by_scope["mixing_mean"].mean("layer").values,
            "max": 100 * by_scope["mixing_max"].max("layer").values,
            "min": 100 * by_scope["mixing_min"].min("layer").values,
        }
    )


@dataclass(frozen=True)
class Group:
    """Group of mixing ratios that are shown layer by layer.

    Attributes:
        variable: of the study.
        by: what tells its lines apart.
        explanation: what is to be seen.
        scope: by which way of looking; empty for all.
    """

    variable: str
    by: By
    explanation: str
    scope: str = WHOLE


GROUPS: Mapping[str, Group] = {
    "layers": Group(
        "mixing",
        By("scope", METHODS),
        "The mean over texts of each layer. What the weights show as mixing is, by norms and with "
        "the residual connection, a small part of what a token becomes.",
        scope="",
    ),
    "frequency": Group(
        "mixing_by_frequency",
        By(
            "frequency",
            {1: "1 to 9 times", 10: "10 to 99", 100: "100 to 999", 1000: "1,000 and more"},
        ),
        "By how often the type of the token occurs in this text, without masks.",
    ),
    "masks": Group(
        "mixing_by_state",
        By("state", {"masked": "masked", "given": "not masked"}),
        "A mask token has to take from its context what the model is to predict there. Special "
        "tokens are on neither side.",
    ),
    "categories": Group(
        "mixing_by_category",
        By(
            "category",
            {"cls": "[CLS]", "sep": "[SEP]", "punctuation": ". or ,", "other": "other tokens"},
        ),
        "By the category of the token that mixes, not of those that are mixed in.",
    ),
}


def of_group(reproduction: Reproduction, writer: ExhibitWriter, name: str) -> Section:
    """The mixing ratio by layer, a line for each member of a group."""
    group = GROUPS[name]
    result = load_mixing(reproduction)
    selection = result.sel(scope=group.scope) if group.scope else result
    labels = present(selection, group)
    ratios = selection[group.variable]
    columns = {label: 100 * ratios.sel({group.by.dim: key}) for key, label in labels.items()}
    means = "; ".join(f"{label} {float(each.mean()):.1f}%" for label, each in columns.items())
    means = f"Means over layers: {means}."
    method = METHODS.get(group.scope, "")
    return Section(
        explanation=group.explanation
        + (f" All by {method}." if method else "")
        + " Intervals: 95%, over documents or texts.",
        drawings=[
            writer.curves(
                selection.sel({group.by.dim: list(labels)}),
                Curve(
                    group.variable,
                    panel="Mixing ratio",
                    by=By(group.by.dim, labels),
                    interval=True,
                    percent=True,
                ),
                caption=f"Mixing ratio by layer{f', {method}' if method else ''}.",
                alternative=means,
            )
        ],
        tables=[writer.table(frame_of(columns), "Mixing ratio in percent", formats=".1f")],
        notes=[means, *notes_of(reproduction, result)],
    )


def present(result: xarray.Dataset, group: Group) -> dict[Any, str]:
    """The members of a group of which there are tokens, and what they are called."""
    ratios, names = result[group.variable], group.by.names
    return {
        key: names[key]
        for key in result[group.by.dim].values.tolist()
        if key in names and bool(ratios.sel({group.by.dim: key}).notnull().any())
    }


layers, frequency, masks, categories = (
    ExhibitSpec(name, title, source, partial(of_group, name=name), needs)
    for name, title, source, needs in (
        ("layers", "Mixing by layer", f"{published.SOURCE}, by layer", ()),
        ("frequency", "Mixing by frequency", f"{published.SOURCE}, by frequency", ()),
        ("masks", "Mixing of masked tokens", f"{published.SOURCE}, masks", ("masks",)),
        ("categories", "Mixing by kind of token", f"Beyond {published.SOURCE}", ()),
    )
)


HALF = 0.5
"""Above it others give more than the token itself."""
NOT_READ = "not at hand"
"""The numbers of the paper's figures, and so which way they go."""


@exhibit("findings", "Table 2", title="Which findings hold")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Each with the rule by which it holds or not."""
    result = load_mixing(reproduction)
    notes = [
        "Of the paper's figures no numbers were at hand: of frequency and masks it is asked, by "
        "questions of ours, whether there is a difference; they are no findings of the paper."
    ]
    return claims_content(writer, judge_claims(result), [*notes, *notes_of(reproduction, result)])


def _there(*scopes: str) -> str:
    numbers = " and ".join(f"{published.TABLE_2[scope].mean}%" for scope in scopes)
    return f"{numbers} (Table 2)"


def _less(claim: str, less: str, more: str) -> ClaimRow:
    """Return the claim that one method finds less mixing than another."""
    return ClaimRow(
        claim,
        f"{METHODS[less]} below {METHODS[more]}, means over layers",
        _there(less, more),
        f"{{{less}:.1%}} and {{{more}:.1%}}",
        {f"{less} - {more}": {"below": 0}},
    )


def _differ(claim: str, ours: str, first: str, second: str) -> ClaimRow:
    """Return the question whether two are apart; that they are equal no interval can show."""
    return ClaimRow(
        claim,
        "the interval of the difference is on one side of 0",
        NOT_READ,
        ours,
        {f"{first} - {second}": {"least": 0, "most": 0}},
        extension=True,
        contrary=True,
    )


RULES = (
    ClaimRow(
        "1. Attention alone replaces a token by its context",
        f"ATTN-N above {HALF:.0%}, mean over layers",
        _there("norm"),
        "{norm:.1%}",
        {"norm": {"above": HALF}},
    ),
    ClaimRow(
        "2. With the residual connection and the norm, a token keeps more than it gets",
        f"ATTNRESLN-N below {HALF:.0%}, mean over layers",
        _there(WHOLE),
        f"{{{WHOLE}:.1%}}",
        {WHOLE: {"below": HALF}},
    ),
    _less("3. Norms show less mixing than weights", "norm_residual", "weight_residual"),
    _less("4. The norm behind the sum takes a little more", WHOLE, "norm_residual"),
    _differ(
        "5. Rare types mix otherwise than frequent ones",
        "{rare:.1%} of those that occur {lowest} to 9 times, {frequent:.1%} of those that occur "
        "{highest:,} times and more",
        "rare",
        "frequent",
    ),
    _differ(
        "6. Masked tokens mix otherwise than the rest",
        "{masked:.1%}, and {given:.1%} of the rest",
        "masked",
        "given",
    ),
)


def judge_claims(result: xarray.Dataset) -> list[Claim]:
    """Return every claim about a result of the study of flow."""
    numbers: dict[str, Any] = {scope: over_layers(result, scope=scope) for scope in METHODS}
    whole = result.sel(scope=WHOLE)
    bands = list(present(whole, GROUPS["frequency"]))
    if len(bands) > 1:
        rare, frequent = (
            over_layers(whole, "mixing_by_frequency", frequency=bands[at]) for at in (0, -1)
        )
        numbers |= {"rare": rare, "frequent": frequent, "lowest": bands[0], "highest": bands[-1]}
    if len(states := present(whole, GROUPS["masks"])) > 1:
        numbers |= {state: over_layers(whole, "mixing_by_state", state=state) for state in states}
    return judge_rows(RULES, numbers)


PAPER = Paper(
    name="kobayashi2021",
    settings=Settings,
    introduction="How much of what a layer makes of a token comes from other tokens, by attention "
    "weights and by norms, without and with what stands around the attention: Table 2, and the "
    "same by layer, by frequency and of masked tokens, on this model and data. The published "
    "numbers are those of Table 2. Layers are numbered from 1.",
    exhibits=(findings, table_2, layers, frequency, masks, categories),
)
