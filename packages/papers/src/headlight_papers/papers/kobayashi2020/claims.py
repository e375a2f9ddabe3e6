"""Claims from the paper's tables and figures, and whether they hold here."""

import xarray

from headlight.findings import mean_shares, weight_and_norm
from headlight.findings.rules import FAR_BELOW, RELATED, VARIES
from headlight.result.estimate import Estimate
from headlight.views.parts import Section
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.results import LABELS, categories, load_norms
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import text_notes
from headlight_papers.papers.verdicts import around, every, lies
from headlight_papers.papers.writer import ExhibitWriter

BINNED = 0.005
"""ρ is that of binned values, and so is off by this at most (docs/numbers.md)."""


@exhibit("findings", "Which findings hold", "Kobayashi et al. (2020), Sections 4.1 to 4.3")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The three findings of Section 4, each with the rule by which it holds or not."""
    found = load_norms(reproduction)
    # The sentences that a survey says of the same tokens.
    said = [weight_and_norm(found, name) for name in _of_interest(found)]
    notes = [*filter(None, said), *text_notes(reproduction, found)]
    return claims_content(writer, judge_claims(found), notes)


def judge_claims(found: xarray.Dataset) -> list[Claim]:
    """Every claim about a survey that has ranks."""
    return [_lengths_vary(found), *_cancelled(found), _frequency(found), _more_frequency(found)]


def _lengths_vary(found: xarray.Dataset) -> Claim:
    """Section 4.1: weights alone do not tell what is moved, because ‖f(x)‖ differs."""
    variation = float(found["vector_norm_cv"].mean())
    return Claim(
        "1. ‖f(x)‖ differs from token to token",
        f"average CV of at least {VARIES}",
        f"CV {published.TABLE_1['average'][1].variation:.2f} (Table 1)",
        f"CV {variation:.3f}",
        lies(variation, least=VARIES),
    )


def _cancelled(found: xarray.Dataset) -> list[Claim]:
    """Section 4.2: tokens that say little get much weight, and short vectors cancel it."""
    claims = []
    for name in _of_interest(found):
        weight, norm = mean_shares(found, name)
        rho = _counted(found.sel(key_group=name), "weight_norm_spearman")
        left = norm / weight if weight else float("nan")
        there = published.TABLE_2.get(name)
        claims.append(
            Claim(
                f"2. {LABELS[name]}: weight is cancelled",
                f"ρ(α, ‖f(x)‖) at most {-RELATED}, and a share of ‖αf(x)‖ at most "
                f"{FAR_BELOW} times that of α",
                "not asked" if there is None else f"ρ {there[1]:.2f} (Table 2)",
                f"ρ {rho:.3f}; {weight:.1%} of α, {norm:.1%} of ‖αf(x)‖",
                every(lies(rho, most=-RELATED), lies(left, most=FAR_BELOW)),
                extension=there is None,
            )
        )
    return claims


def _of_interest(found: xarray.Dataset) -> list[str]:
    """The categories of tokens that say little by themselves."""
    return [name for name in categories(found) if name != "other"]


def _frequency(found: xarray.Dataset) -> Claim:
    """Section 4.3: it is by ‖f(x)‖, not by α, that frequent tokens count for less."""
    weight, norm = _of_frequency(found)
    return Claim(
        "3. Frequency shows in ‖f(x)‖, not in α",
        f"ρ(rank, ‖f(x)‖) at least {RELATED}, and |ρ(rank, α)| below {RELATED}",
        f"{PUBLISHED_FREQUENCY} (Figure 6)",
        f"ρ {norm:.3f}; of α {weight:.3f}",
        every(lies(norm, least=RELATED), lies(weight, above=-RELATED, below=RELATED)),
    )


def _more_frequency(found: xarray.Dataset) -> Claim:
    """Return the claim on frequency that remains where α is related to frequency as well."""
    weight, norm = _of_frequency(found)
    return Claim(
        "4. Frequency shows more in ‖f(x)‖ than in α",
        f"ρ(rank, ‖f(x)‖) at least {RELATED}, and above |ρ(rank, α)|",
        f"{PUBLISHED_FREQUENCY} (Figure 6)",
        f"ρ {norm:.3f}; of α {weight:.3f}",
        every(
            lies(norm, least=RELATED),
            *(lies(norm.minus(weight.times(sign)), above=0) for sign in (1, -1)),
        ),
    )


PUBLISHED_FREQUENCY = f"ρ {published.FIGURE_6['norm']:.2f}; of α {published.FIGURE_6['weight']:.2f}"


def _of_frequency(found: xarray.Dataset) -> list[Estimate]:
    """ρ of the frequency rank and α, and ‖f(x)‖."""
    names = ("weight", "norm")
    return [_counted(found.sel(quantity=name), "frequency_spearman") for name in names]


def _counted(found: xarray.Dataset, name: str) -> Estimate:
    """Return ρ of all pairs, which is off by no more than their bins allow."""
    return around(float(found[name]), BINNED)
