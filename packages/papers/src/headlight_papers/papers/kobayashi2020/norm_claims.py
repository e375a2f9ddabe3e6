"""Claims of Section 4, on weights and norms, and the rules by which they hold."""

import numpy as np
import xarray

from headlight.findings import mean_shares, weight_and_norm
from headlight.findings.thresholds import FAR_BELOW, RELATED, VARIES
from headlight.views.parts import Section
from headlight_papers.papers.answers import around
from headlight_papers.papers.claims import Claim, ClaimRow, claims_content, judge_rows
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.norm_results import LABELS, categories, load_norms
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction

BINNED = 0.005
"""ρ is that of binned values, and so is off by this at most (docs/numbers.md)."""


@exhibit("findings", "Sections 4.1 to 4.3", title="Which findings hold")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The three findings of Section 4, each with the rule by which it holds or not."""
    result = load_norms(reproduction)
    # The sentences that a survey says of the same tokens.
    sentences = [weight_and_norm(result, name) for name in _special_categories(result)]
    notes = [*filter(None, sentences), *text_notes(reproduction, result)]
    return claims_content(writer, judge_claims(result), notes)


PUBLISHED_FREQUENCY = f"ρ {published.FIGURE_6['norm']:.2f}; of α {published.FIGURE_6['weight']:.2f}"
LENGTHS_VARY = ClaimRow(
    "1. ‖f(x)‖ differs from token to token",
    f"average CV of at least {VARIES}",
    f"CV {published.TABLE_1['average'][1].variation:.2f} (Table 1)",
    "CV {variation:.3f}",
    {"variation": {"least": VARIES}},
)
"""Section 4.1: weights alone do not tell what is moved."""
FREQUENCY = (
    ClaimRow(
        "3. Frequency shows in ‖f(x)‖, not in α",
        f"ρ(rank, ‖f(x)‖) at least {RELATED}, and |ρ(rank, α)| below {RELATED}",
        f"{PUBLISHED_FREQUENCY} (Figure 6)",
        "ρ {norm:.3f}; of α {weight:.3f}",
        {"norm": {"least": RELATED}, "weight": {"above": -RELATED, "below": RELATED}},
    ),
    ClaimRow(
        "4. Frequency shows more in ‖f(x)‖ than in α",
        f"ρ(rank, ‖f(x)‖) at least {RELATED}, and above |ρ(rank, α)|",
        f"{PUBLISHED_FREQUENCY} (Figure 6)",
        "ρ {norm:.3f}; of α {weight:.3f}",
        {
            "norm": {"least": RELATED},
            "norm - weight": {"above": 0},
            "norm - against": {"above": 0},
        },
    ),
)
"""Section 4.3: it is by ‖f(x)‖, not by α, that frequent tokens count for less."""


def _cancelled(name: str) -> ClaimRow:
    """Judge Section 4.2: tokens that say little get much weight, and short vectors cancel it."""
    row = published.TABLE_2.get(name)
    return ClaimRow(
        f"2. {LABELS[name]}: weight is cancelled",
        f"ρ(α, ‖f(x)‖) at most {-RELATED}, and a share of ‖αf(x)‖ at most {FAR_BELOW} times that "
        "of α",
        "not asked" if row is None else f"ρ {row[1]:.2f} (Table 2)",
        "ρ {rho:.3f}; {weight:.1%} of α, {norm:.1%} of ‖αf(x)‖",
        {"rho": {"most": -RELATED}, "ratio": {"most": FAR_BELOW}},
        extension=row is None,
    )


def judge_claims(result: xarray.Dataset) -> list[Claim]:
    """Return every claim about a survey that has ranks."""
    claims = [LENGTHS_VARY.judge({"variation": float(result["vector_norm_cv"].mean())})]
    for name in _special_categories(result):
        weight, norm = mean_shares(result, name)
        rho = around(float(result["weight_norm_spearman"].sel(key_group=name)), BINNED)
        shares = {"weight": weight, "norm": norm, "ratio": norm / weight if weight else np.nan}
        claims.append(_cancelled(name).judge(shares | {"rho": rho}))
    rhos = {
        name: around(float(result["frequency_spearman"].sel(quantity=name)), BINNED)
        for name in ("weight", "norm")
    }
    # A claim about |ρ| is two: ρ of norms lies above that of weights, and above its negative.
    return [*claims, *judge_rows(FREQUENCY, rhos | {"against": rhos["weight"].times(-1)})]


def _special_categories(result: xarray.Dataset) -> list[str]:
    return [name for name in categories(result) if name != "other"]
