"""Claims of the paper, the rules by which they hold, and whether they hold here."""

from collections.abc import Mapping
from itertools import pairwise
from math import inf, log

import numpy as np
import pandas

from headlight.views.parts import Section
from headlight_papers.intervals import mean_interval
from headlight_papers.papers import yang2020 as published
from headlight_papers.papers.answers import (
    Answer,
    all_of,
    any_of,
    difference,
    mean_of,
    provided,
    within,
)
from headlight_papers.papers.claims import Claim, ClaimRow, claims_content, judge_rows
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.yang2020.exhibit import exhibit
from headlight_papers.papers.yang2020.notes import notes_of
from headlight_papers.papers.yang2020.results import (
    chosen_lambdas,
    frame_of,
    load_guided,
    load_sweep,
)

AS_GOOD = 0.01
"""F1 within which models count as equally good; the paper prints two digits."""
MUCH = 0.05
"""Difference in F1 that counts as large."""
BREAKS_DOWN = 1.5
"""Factor of NLL from one λ to the next at which the likelihood breaks down."""
SATURATED = 0.9
"""Share of the largest KL of the sweep beyond which KL has no room to grow."""
SAME = 0.1
"""TVD to the base up to which predictions count as kept, of taggers and of classifiers."""
CLASSIFIES = 0.6
"""Accuracy from which on a classifier of two classes has learnt."""
TAGGER = "tagging"
LEARNT = 0.5
"""F1 from which on a base has learnt to tag; one that has not says nothing about attention."""
NEAR = 1.1
"""Factor within which a λ of the sweep stands for one of the paper."""

AT_SMALL = (
    ClaimRow(
        "1. Nothing is lost at a small λ",
        f"F1 at most {AS_GOOD} below the base's at the paper's λ = 0.2",
        f"{published.ADVERSARY_F1[0.2]:.2f} against {published.ORIGINAL_F1:.2f} (Table 1)",
        "below by {lost_small:.3f} ({small})",
        {"lost_small": {"most": AS_GOOD}},
    ),
    ClaimRow(
        "6. Further away than seeds",
        "the JSD at the paper's λ = 0.2 is above that of two bases",
        "no control",
        "above by {further:.3f} ({small})",
        {"further": {"above": 0}},
        extension=True,
    ),
)
AT_LARGE = (
    ClaimRow(
        "2. Performance drops at a large λ",
        f"F1 at least {MUCH} below the base's at the paper's λ = 3",
        f"{published.ADVERSARY_F1[3.0]:.2f} against {published.ORIGINAL_F1:.2f} (Table 1)",
        "below by {lost_large:.3f} ({large})",
        {"lost_large": {"least": MUCH}},
    ),
    ClaimRow(
        "4. Adversaries' attention guides as well",
        f"F1 within {AS_GOOD} of that with the base's attention, at the paper's λ = 3",
        f"{published.GUIDED_F1[3.0]:.2f} against {published.GUIDED_F1['base']:.2f}, not frozen "
        "(Table 2)",
        "below by {misled:.3f} ({large})",
        {"misled": {"least": -AS_GOOD, "most": AS_GOOD}},
    ),
)
CARRIES_OVER = ClaimRow(
    "5. Attention carries over",
    f"F1 with it at least {AS_GOOD} above that with uniform attention, and each word itself",
    "no control",
    "above uniform by {even:.3f}, each word itself by {itself:.3f}",
    {"even": {"least": AS_GOOD}, "itself": {"least": AS_GOOD}},
    extension=True,
)
"""Not in the paper, which has no such control: attention is worth more than none."""


def judge_claims(
    rows: pandas.DataFrame, guided: pandas.DataFrame, small: float, large: float, length: float
) -> list[Claim]:
    """Return every claim about taggers and about models with the attention of others.

    Args:
        rows: Rows of the sweep.
        guided: Rows of models with imposed attention.
        small: Weight λ that stands for the paper's 0.2.
        large: Weight λ that stands for the paper's 3.
        length: Length of a row of attention, by which λ is scaled.
    """
    base, with_base = _f1(rows, "base"), _f1(guided, "guided", guide="base")
    near = rows[(rows.kind == "adversary") & (rows.weight == small)]
    numbers = {
        "small": _named(small, length),
        "large": _named(large, length),
        "lost_small": difference(base, near.f1),
        "lost_large": difference(base, _f1(rows, "adversary", large)),
        "misled": difference(with_base, _f1(guided, "guided", large, "adversary")),
        "even": difference(with_base, _f1(guided, "guided", guide="uniform")),
        "itself": difference(with_base, _f1(guided, "guided", guide="identity")),
        "further": difference(near.jsd, rows[rows.kind == "seed"].jsd),
    }
    fair = learnt(rows)
    claims = [
        *judge_rows(AT_SMALL, numbers, all_of(fair, _stands_for(small, length, 0.2))),
        *judge_rows(AT_LARGE, numbers, all_of(fair, _stands_for(large, length, 3.0))),
        CARRIES_OVER.judge(numbers, fair),
        safe_point(rows),
    ]
    # Claims begin with their numbers, and are judged in another order.
    return sorted(claims, key=lambda claim: claim.claim)


def safe_point(rows: pandas.DataFrame) -> Claim:
    """Judge Figure 1: beyond a KL the tolerance is exhausted, and models break down suddenly."""
    taught = rows[rows.kind == "adversary"]
    # Pandas sorts groups by λ, so that neighbours in the list are neighbours in the sweep.
    groups = [models for _, models in taught.groupby("weight")]
    largest = max(
        (models.kl for models in groups), key=lambda kl: mean_interval(kl).mean, default=taught.kl
    )
    steps = [
        (
            float(after.weight.iloc[0]),
            # The difference of logarithms is that of the factor by which NLL grows.
            difference(np.log(after.nll), np.log(before.nll)),
            difference(before.kl, SATURATED * largest),
        )
        for before, after in pairwise(groups)
    ]
    answer = any_of(
        *(
            all_of(within(growth, least=log(BREAKS_DOWN)), within(room, below=0))
            for _, growth, room in steps
        )
    )
    measured = "fewer than two λ"
    if steps:
        weight, growth, room = max(steps, key=lambda step: step[1].value)
        measured = (
            f"log factor {growth:.2f} to λ = {weight:g}; KL before it minus {SATURATED:.0%} of the "
            f"largest {room:.2f}"
        )
    return Claim(
        "3. Beyond a safe point of KL it breaks down",
        f"NLL grows by a factor of at least {BREAKS_DOWN} from one λ to the next, and KL is below "
        f"{SATURATED:.0%} of the largest of the sweep before it does",
        f"at a KL of {published.SAFE_POINT} per entry (Section 5)",
        measured,
        provided(learnt(rows), answer),
    )


def more_exclusive(tagger: pandas.DataFrame, classifiers: Mapping[str, pandas.DataFrame]) -> Claim:
    """Judge Section 1: attention of tagging is more exclusive than that of classification."""
    reached = _reached(tagger)
    answers, sentences = [], [f"{TAGGER} {_jsd_reached(tagger)}"]
    for title, rows in classifiers.items():
        other = _reached(rows)
        bases = rows[rows.kind == "base"].accuracy
        # λ = 0: a student that cannot keep its predictions says nothing about attention.
        control = rows[(rows.kind == "adversary") & (rows.weight == 0)].tvd
        fair = all_of(
            learnt(tagger),
            within(mean_of(bases), least=CLASSIFIES),
            within(mean_of(control), most=SAME),
        )
        answers.append(provided(fair, within(difference(reached, other), below=0)))
        sentences.append(f"{title} {_jsd_reached(rows)}")
    return Claim(
        "7. Attention of tagging is more exclusive (its question)",
        f"with a TVD of at most {SAME}, adversaries (λ > 0) of the tagger reach a smaller JSD than "
        "those of the classifiers of every set; a set counts if its bases have learnt, and the "
        "control (λ = 0) has such a TVD",
        "asked, not answered (Section 1)",
        ", ".join(sentences),
        all_of(*answers),
    )


def _reached(rows: pandas.DataFrame) -> "pandas.Series[float]":
    taught = rows[(rows.kind == "adversary") & (rows.weight > 0) & (rows.tvd <= SAME)]
    return taught.groupby("seed").jsd.max()


def _jsd_reached(rows: pandas.DataFrame) -> str:
    """Return the mean over seeds, or why there is none."""
    if len(reached := _reached(rows)):
        return f"{mean_of(reached):.3f}"
    taught = rows[(rows.kind == "adversary") & (rows.weight > 0)]
    smallest = f"the smallest is {taught.tvd.min():.3f}" if len(taught) else "there are 0"
    return f"(none with such a TVD: {smallest})"


def learnt(rows: pandas.DataFrame) -> Answer:
    """Whether bases tag well, and students without another objective (λ = 0) do, too."""
    models = _f1(rows, "base"), _f1(rows, "adversary", 0.0)
    return all_of(*(within(mean_of(scores), least=LEARNT) for scores in models))


def _stands_for(weight: float, length: float, paper: float) -> Answer:
    # No other λ of the sweep may decide in the place of one of the paper.
    scaled = weight * length
    # Factors in either direction count alike on the scale of logarithms.
    return None if not 0 < scaled < inf or abs(log(scaled / paper)) > log(NEAR) else True


def _named(weight: float, length: float) -> str:
    return f"λ = {weight:g}, which is {weight * length:.3g} in the paper's scale"


def _f1(
    rows: pandas.DataFrame, kind: str, weight: float | None = None, guide: str | None = None
) -> "pandas.Series[float]":
    chosen = rows[rows.kind == kind]
    chosen = chosen if weight is None else chosen[chosen.weight == weight]
    chosen = chosen if guide is None else chosen[chosen.guide == guide]
    return chosen.f1


@exhibit("findings", "Section 5", title="What the paper concludes, and what is so here")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The conclusions, each judged by a rule that is stated."""
    sweep = load_sweep(reproduction)
    rows, guided = frame_of(sweep), frame_of(load_guided(reproduction))
    small, large = chosen_lambdas(reproduction)
    length = float(sweep.attrs["row_length"])
    judged = judge_claims(rows, guided, small, large, length)
    return claims_content(writer, judged, notes_of(reproduction), "its tagger")
