"""Claims of Table 2, whether they hold here, and the paper's questions on frequency and masks."""

import xarray

from headlight.result.estimate import Estimate
from headlight.views.parts import Section
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.kobayashi2021 import published
from headlight_papers.papers.kobayashi2021.results import (
    METHODS,
    WHOLE,
    load_mixing,
    notes_of,
    over_layers,
)
from headlight_papers.papers.kobayashi2021.tables import GROUPS, present
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.verdicts import Answer, deny, lies
from headlight_papers.papers.writer import ExhibitWriter

HALF = 0.5
"""Above it others give more than the token itself."""
NOT_READ = "not at hand"
"""The numbers of the paper's figures, and so which way they go."""


@exhibit("findings", "Which findings hold", "Kobayashi et al. (2021), Table 2")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Each with the rule by which it holds or not."""
    found = load_mixing(reproduction)
    notes = [
        "Of the paper's figures no numbers were at hand: of frequency and masks it is asked, by "
        "questions of ours, whether there is a difference; they are no findings of the paper.",
    ]
    return claims_content(writer, judge_claims(found), [*notes, *notes_of(reproduction, found)])


def judge_claims(found: xarray.Dataset) -> list[Claim]:
    """Every claim about a result of the study of flow."""
    ratios = {scope: over_layers(found, scope=scope) for scope in METHODS}
    return [
        Claim(
            "1. Attention alone replaces a token by its context",
            f"ATTN-N above {HALF:.0%}, mean over layers",
            _there("norm"),
            f"{ratios['norm']:.1%}",
            lies(ratios["norm"], above=HALF),
        ),
        Claim(
            "2. With the residual connection and the norm, a token keeps more than it gets",
            f"ATTNRESLN-N below {HALF:.0%}, mean over layers",
            _there(WHOLE),
            f"{ratios[WHOLE]:.1%}",
            lies(ratios[WHOLE], below=HALF),
        ),
        _less(ratios, "3. Norms show less mixing than weights", "norm_residual", "weight_residual"),
        _less(ratios, "4. The norm behind the sum takes a little more", WHOLE, "norm_residual"),
        *_by_frequency(found),
        *_of_masks(found),
    ]


def _there(*scopes: str) -> str:
    numbers = " and ".join(f"{published.TABLE_2[scope].mean}%" for scope in scopes)
    return f"{numbers} (Table 2)"


def _less(ratios: dict[str, Estimate], claim: str, less: str, more: str) -> Claim:
    """Return the claim that one method finds less mixing than another."""
    return Claim(
        claim,
        f"{METHODS[less]} below {METHODS[more]}, means over layers",
        _there(less, more),
        f"{ratios[less]:.1%} and {ratios[more]:.1%}",
        lies(ratios[less].minus(ratios[more]), below=0),
    )


def _by_frequency(found: xarray.Dataset) -> list[Claim]:
    """Rare types beside the most frequent ones that there are."""
    seen = found.sel(scope=WHOLE)
    bands = list(present(seen, GROUPS["frequency"]))
    if len(bands) < 2:
        return []
    rare, frequent = (
        over_layers(seen, "mixing_by_frequency", frequency=bands[at]) for at in (0, -1)
    )
    return [
        Claim(
            "5. Rare types mix otherwise than frequent ones",
            "the interval of the difference is on one side of 0",
            NOT_READ,
            f"{rare:.1%} of those that occur {bands[0]} to 9 times, {frequent:.1%} of those that "
            f"occur {bands[-1]:,} times and more",
            _differ(rare, frequent),
            extension=True,
        )
    ]


def _of_masks(found: xarray.Dataset) -> list[Claim]:
    """Mask tokens beside all others that are not special."""
    seen = found.sel(scope=WHOLE)
    if len(present(seen, GROUPS["masks"])) < 2:
        return []
    masked, given = (
        over_layers(seen, "mixing_by_state", state=state) for state in ("masked", "given")
    )
    return [
        Claim(
            "6. Masked tokens mix otherwise than the rest",
            "the interval of the difference is on one side of 0",
            NOT_READ,
            f"{masked:.1%}, and {given:.1%} of the rest",
            _differ(masked, given),
            extension=True,
        )
    ]


def _differ(first: Estimate, second: Estimate) -> Answer:
    """Whether two numbers are apart; that they are equal no interval can show."""
    return deny(lies(first.minus(second), least=0, most=0))
