"""What the paper concludes from its tables and figures, and whether it is so here."""

import pandas
import xarray

from headlight.papers.desk import Desk
from headlight.papers.kobayashi2020 import published
from headlight.papers.kobayashi2020.results import LABELS, categories, studied
from headlight.papers.study import Study
from headlight.papers.text import text_notes
from headlight.views.exhibits import Exhibit
from headlight.views.pictures import table_picture

VARIES = 0.1
"""Lengths vary if their coefficient of variation is at least so much, on average over heads."""

RELATED = 0.1
"""Ranks are related if |ρ| is at least so much."""

Row = dict[str, str]


def findings(study: Study, desk: Desk) -> Exhibit:
    """The three findings of Section 4, each with the rule by which it holds or not."""
    found = studied(study)
    rows = rows_of(found)
    frame = pandas.DataFrame(rows)
    told = f"{sum(row['here'] == 'holds' for row in rows)} of {len(rows)} rows hold."
    return Exhibit(
        name="findings",
        title="Which findings hold",
        source="Kobayashi et al. (2020), Sections 4.1 to 4.3",
        explanation="The conclusions that the paper draws about BERT, asked of this model. The "
        "rules by which a finding holds are ours, since the paper gives none.",
        pictures=[
            desk.picture(table_picture(frame[["finding", "published", "ours", "here"]]), told, told)
        ],
        tables=[desk.table(frame, "Findings, rules and numbers")],
        notes=text_notes(study, found),
        files=desk.written,
    )


def rows_of(found: xarray.Dataset) -> list[Row]:
    """Every finding of a study of norms, its rule, the published number, ours, and the verdict."""
    return [_lengths_vary(found), *_cancelled(found), _frequency(found)]


def _lengths_vary(found: xarray.Dataset) -> Row:
    """Section 4.1: weights alone do not tell what is moved, because ‖f(x)‖ differs."""
    variation = float(found["vector_norm_cv"].mean())
    return _row(
        "1. ‖f(x)‖ differs from token to token",
        f"average CV of at least {VARIES}",
        f"CV {published.TABLE_1['average'][1].variation:.2f}",
        f"CV {variation:.2f}",
        variation >= VARIES,
    )


def _cancelled(found: xarray.Dataset) -> list[Row]:
    """Section 4.2: tokens that say little get much weight, and short vectors cancel it."""
    share = {
        name: found[name].mean("head").sum("layer")
        / found[name].mean("head").sum(("layer", "key_category"))
        for name in ("weight_total", "weighted_norm_total")
    }
    rows = []
    for name in categories(found):
        if name == "other":
            continue
        weight, norm = (100 * float(share[each].sel(key_category=name)) for each in share)
        rho = float(found["correlation"].sel(key_category=name))
        there = published.TABLE_2.get(name)
        rows.append(
            _row(
                f"2. {LABELS[name]}: weight is cancelled",
                f"ρ(α, ‖f(x)‖) at most {-RELATED}, and a larger share of α than of ‖αf(x)‖",
                "–" if there is None else f"ρ {there[1]:.2f}",
                f"ρ {rho:.2f}; {weight:.1f}% of α, {norm:.1f}% of ‖αf(x)‖",
                rho <= -RELATED and weight > norm,
            )
        )
    return rows


def _frequency(found: xarray.Dataset) -> Row:
    """Section 4.3: it is by ‖f(x)‖, not by α, that frequent tokens count for less."""
    weight, norm = (
        float(found["frequency_correlation"].sel(quantity=name)) for name in ("weight", "norm")
    )
    return _row(
        "3. Frequency shows in ‖f(x)‖, not in α",
        f"ρ(rank, ‖f(x)‖) at least {RELATED}, and larger than |ρ(rank, α)|",
        f"ρ {published.FIGURE_6['norm']:.2f}; of α {published.FIGURE_6['weight']:.2f}",
        f"ρ {norm:.2f}; of α {weight:.2f}",
        norm >= RELATED and norm > abs(weight),
    )


def _row(finding: str, rule: str, published: str, ours: str, holds: bool) -> Row:
    return {
        "finding": finding,
        "rule": rule,
        "published": published,
        "ours": ours,
        "here": "holds" if holds else "does not hold",
    }
