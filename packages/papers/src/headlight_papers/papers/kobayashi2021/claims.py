"""Claims of Kobayashi et al. (2021), and the rules by which they hold."""

from typing import Any

import xarray

from headlight.findings.estimates import Estimate, estimates
from headlight.views.parts import Section
from headlight_papers.papers import kobayashi2021 as published
from headlight_papers.papers.claims import Claim, ClaimRow, claims_content, judge_rows
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2021.exhibit import exhibit
from headlight_papers.papers.kobayashi2021.layer_figures import GROUPS, present
from headlight_papers.papers.kobayashi2021.mixing_results import (
    METHODS,
    WHOLE,
    load_mixing,
    notes_of,
)
from headlight_papers.papers.reproduction import Reproduction


def over_layers(result: xarray.Dataset, variable: str = "mixing", **where: Any) -> Estimate:
    """Return the mean over layers of the same texts."""
    return estimates(result, variable, ("layer",), **where).mean()


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


def _quote_table(*scopes: str) -> str:
    numbers = " and ".join(f"{published.TABLE_2[scope].mean}%" for scope in scopes)
    return f"{numbers} (Table 2)"


def _less(claim: str, less: str, more: str) -> ClaimRow:
    """Return the claim that one method finds less mixing than another."""
    return ClaimRow(
        claim,
        f"{METHODS[less]} below {METHODS[more]}, means over layers",
        _quote_table(less, more),
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
        _quote_table("norm"),
        "{norm:.1%}",
        {"norm": {"above": HALF}},
    ),
    ClaimRow(
        "2. With the residual connection and the norm, a token keeps more than it gets",
        f"ATTNRESLN-N below {HALF:.0%}, mean over layers",
        _quote_table(WHOLE),
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
