"""The rules by which the paper's conclusions hold."""

from collections.abc import Callable, Iterable, Mapping
from math import isnan

import pandas

from headlight.papers.claims import Claim
from headlight.papers.wiegreffe2019.published import QUOTED, UNCHECKED, Quoted
from headlight.reduce.intervals import mean_interval
from headlight.training.text_classifier import Encoder

AS_GOOD = 0.02
"""F1 within which models count as equally good."""
SAME = 0.1
"""TVD to the base up to which predictions count as kept."""


def needs_attention(rows: pandas.DataFrame) -> Claim:
    """Table 2: on some sets a model with uniform attention is as good."""
    gain = {
        title: _f1(some, "base", "lstm") - _f1(some, "guided", "lstm")
        for title, some in _sets(rows)
    }
    return Claim(
        "1. Attention is not needed everywhere",
        f"on at least one set F1 of the LSTM trained with uniform attention is at most {AS_GOOD} "
        "below that with attention of its own",
        _quoted(lambda each: each.base - each.uniform, gain),
        f"below by {_written(gain)}",
        min(gain.values()) <= AS_GOOD,
    )


def carries_over(rows: pandas.DataFrame) -> Claim:
    """Table 3: the attention of the LSTM helps a model without context."""
    guided = {
        title: _f1(some, "guided", "average", "base") - _f1(some, "guided", "average", "uniform")
        for title, some in _sets(rows)
    }
    return Claim(
        "2. Attention is of use to another model",
        "F1 of the model without context is higher with the weights of the LSTM than with uniform "
        "ones, on every set",
        _quoted(lambda each: each.guided[2] - each.guided[0] if each.guided else None, guided),
        f"by {_written(guided)}",
        min(guided.values()) > 0,
    )


def adversaries_do_not(rows: pandas.DataFrame) -> Claim:
    """Table 3: that of adversaries does not."""
    found = {}
    for title, some in _sets(rows):
        misled = some[(some.guide == "adversary") & (some.weight == some.weight.max())]
        found[title] = float(misled.f1.mean()) - _f1(some, "guided", "average", "base")
    return Claim(
        "3. That of adversaries is of less use",
        "F1 of the model without context is lower with the weights of the adversary of the largest "
        "λ than with those of its base, on every set",
        _quoted(lambda each: each.guided[3] - each.guided[2] if each.guided else None, found),
        _written(found),
        max(found.values()) < 0,
    )


def adversaries_exist(rows: pandas.DataFrame, encoder: Encoder = "lstm") -> Claim:
    """Section 4: a trained model can predict the same and attend otherwise than seeds do."""
    found, held = {}, []
    for title, some in _sets(rows[rows.encoder == encoder]):
        seeds = some[some.kind == "seed"]
        taught = some[some.kind == "adversary"]
        kept = taught[taught.tvd <= max(SAME, float(seeds.tvd.max()))]
        found[title] = float(kept.jsd.max()) - float(seeds.jsd.max())
        held.append(found[title] > 0)
    of_paper = encoder == "lstm"
    return Claim(
        "4. Adversaries of a whole model exist"
        if of_paper
        else "6. So it is for a Transformer layer (our extension)",
        f"on every set an adversary of the {'LSTM' if of_paper else 'Transformer'} has a mean JSD "
        f"above that of every other seed, and a TVD of at most {SAME} or of the seeds'",
        "JSD " + _quoted(lambda each: each.jsd, found, sign="") if of_paper else "not asked",
        f"JSD above that of seeds by {_written(found)}",
        all(held),
    )


def harder_than_single_texts(
    rows: pandas.DataFrame, instances: Mapping[str, Mapping[str, float]]
) -> Claim:
    """Figure 5: adversaries of a whole model cost more than those of single texts."""
    found, held = {}, []
    for title, some in _sets(rows[rows.encoder == "lstm"]):
        taught = some[some.kind == "adversary"]
        single = instances[title]
        near = taught[taught.tvd <= single["tvd"]]
        found[title] = single["jsd"] - float(near.jsd.max())  # NaN where none is so near
        held.append(not found[title] <= 0)
    return Claim(
        "5. They are harder to find than those of single texts",
        "on every set no adversary of the LSTM has both a TVD and a JSD as good as those that are "
        "looked for text by text",
        "so in its Figure 5",
        f"JSD of single texts above that of adversaries with their TVD by {_written(found)}",
        all(held),
    )


def _sets(rows: pandas.DataFrame) -> Iterable[tuple[str, pandas.DataFrame]]:
    return [(str(title), rows[rows.set == title]) for title in rows.set.unique()]


def _f1(rows: pandas.DataFrame, kind: str, encoder: Encoder, guide: str = "") -> float:
    some = rows[(rows.kind == kind) & (rows.encoder == encoder)]
    return mean_interval(some[some.guide == guide].f1 if guide else some.f1).mean


def _written(found: dict[str, float]) -> str:
    return ", ".join(
        f"{title} {'(no such model)' if isnan(value) else f'{value:+.3f}'}"
        for title, value in found.items()
    )


def _quoted(
    number: Callable[[Quoted], float | None], found: dict[str, float], sign: str = "+"
) -> str:
    """What is quoted for these sets, with the words that it has not been checked."""
    numbers = {title: number(QUOTED[title]) for title in found if title in QUOTED}
    said = ", ".join(
        f"{title} {value:{sign}.3f}" for title, value in numbers.items() if value is not None
    )
    return f"{said} ({UNCHECKED})" if said else "other sets"
