"""The rules by which the paper's conclusions hold."""

import pandas

from headlight.papers.claims import Claim
from headlight.papers.yang2020 import published
from headlight.reduce.intervals import mean_interval

AS_GOOD = 0.01
"""F1 within which models count as equally good; the paper prints two digits."""
BREAKS_DOWN = 1.5
"""A likelihood breaks down where its negative grows by this factor from one λ to the next."""
SATURATED = 0.9
"""Of the largest KL of the sweep: beyond it, KL has no room to grow."""


def costs_nothing(rows: pandas.DataFrame, small: float) -> Claim:
    """Table 1: at λ = 0.2 the adversary is as good as the original."""
    base, found = _f1(rows, "base"), _f1(rows, "adversary", small)
    control = _f1(rows, "adversary", 0.0)
    return Claim(
        "1. Nothing is lost at a small λ",
        f"F1 at most {AS_GOOD} below the base's at the λ nearest to the paper's 0.2",
        f"{published.ADVERSARY_F1[0.2]:.2f} against {published.ORIGINAL_F1:.2f}",
        f"{found:.3f} against {base:.3f} (λ = {small:g}; {control:.3f} at λ = 0)",
        found >= base - AS_GOOD,
    )


def costs_much(rows: pandas.DataFrame, large: float) -> Claim:
    """Table 1: at λ = 3 it is not."""
    base, found = _f1(rows, "base"), _f1(rows, "adversary", large)
    return Claim(
        "2. Performance drops at a large λ",
        "F1 at least 0.05 below the base's at the λ nearest to the paper's 3",
        f"{published.ADVERSARY_F1[3.0]:.2f} against {published.ORIGINAL_F1:.2f}",
        f"{found:.3f} against {base:.3f} (λ = {large:g})",
        found <= base - 0.05,
    )


def safe_point(rows: pandas.DataFrame) -> Claim:
    """Figure 1: beyond a KL the tolerance is exhausted, and the model breaks down suddenly."""
    medians = rows[rows.kind == "adversary"].groupby("weight")[["kl", "nll"]].median().sort_index()
    growth = (medians.nll / medians.nll.shift(1)).fillna(1.0)
    step = int(growth.to_numpy().argmax())
    share = float(medians.kl.iloc[max(step - 1, 0)] / medians.kl.max())
    jumps = float(growth.max()) >= BREAKS_DOWN
    return Claim(
        "3. Beyond a safe point of KL it breaks down",
        f"NLL grows by a factor of at least {BREAKS_DOWN} from one λ to the next, and KL is below "
        f"{SATURATED:.0%} of the largest of the sweep before it does",
        f"NLL {published.NLL_BELOW} to {published.NLL_ABOVE} at {published.SAFE_POINT} per entry",
        f"largest factor {growth.max():.2f}, to λ = {medians.index[step]:g}; KL before it is "
        f"{share:.0%} of the largest",
        jumps and share < SATURATED,
    )


def guides_as_well(rows: pandas.DataFrame, guided: pandas.DataFrame, large: float) -> Claim:
    """Table 2: the adversary's attention guides another model as well as the base's."""
    base, found = _f1(guided, "guided", guide="base"), _f1(guided, "guided", large, "adversary")
    return Claim(
        "4. Adversaries' attention guides as well",
        f"F1 within {AS_GOOD} of that with the base's attention, at the λ nearest to the paper's 3",
        f"{published.GUIDED_F1[3.0]:.2f} against {published.GUIDED_F1['base']:.2f}, not frozen",
        f"{found:.3f} against {base:.3f}; its own {_f1(rows, 'base'):.3f}",
        abs(found - base) <= AS_GOOD,
    )


def carries_over(guided: pandas.DataFrame) -> Claim:
    """Not in the paper, which has no such control: attention is worth more than none."""
    base, even, itself = (
        _f1(guided, "guided", guide=guide) for guide in ("base", "uniform", "identity")
    )
    return Claim(
        "5. Attention carries over (our control)",
        f"F1 with it at least {AS_GOOD} above that with uniform attention, or each word itself",
        "no control",
        f"{base:.3f}; uniform {even:.3f}, each word itself {itself:.3f}",
        base >= max(even, itself) + AS_GOOD,
    )


def beyond_seeds(rows: pandas.DataFrame, small: float) -> Claim:
    """Not in the paper: the adversary moves attention further than a seed does."""
    seeds = rows[rows.kind == "seed"].jsd.max()
    found = rows[(rows.kind == "adversary") & (rows.weight == small)].jsd
    return Claim(
        "6. Further away than seeds (our control)",
        "the mean JSD at the λ nearest to the paper's 0.2 is above that of any two bases",
        "no control",
        f"{found.mean():.3f} (λ = {small:g}); other seeds at most {seeds:.3f}",
        bool(found.mean() > seeds),
    )


def _f1(
    rows: pandas.DataFrame, kind: str, weight: float | None = None, guide: str | None = None
) -> float:
    some = rows[rows.kind == kind]
    some = some if weight is None else some[some.weight == weight]
    some = some if guide is None else some[some.guide == guide]
    return mean_interval(some.f1).mean
