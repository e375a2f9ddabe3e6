"""Means without each group of texts, and the intervals that are made of them."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from headlight.reduce import GroupMeans, Moments, Pearson, Ratio
from headlight.reduce.intervals import deviations, student


def test_three_groups_by_hand():
    found = GroupMeans(groups=4)
    found.update(np.array([0, 0, 2, 3]), np.array([1.0, 2.0, 6.0, 3.0]), np.ones(4))
    made = found.compute()
    assert made["mean"] == 3
    # Without the first two, without nobody, without 6 and without 3.
    assert made["without"].tolist() == [4.5, 3, 2, 3]
    moved, freedom = deviations(made["mean"], made["without"], made["whole"])
    # Shares of 1/2, 0, 1/4 and 1/4, whose squares are 3/8 together.
    expected = np.array([1.5 / 2, 0, -3 / 4, 0]) / np.sqrt(5 / 8)
    np.testing.assert_allclose(moved, expected)
    assert freedom == pytest.approx(8 / 3 - 1)


@settings(deadline=None, max_examples=50)
@given(seed=strategies.integers(0, 2**32 - 1), texts=strategies.integers(1, 30))
def test_without_a_group_is_what_is_found_without_its_texts(seed, texts):
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 5, texts)
    part, whole = generator.normal(size=(2, texts, 3))
    part[generator.random(part.shape) < 0.2] = np.nan
    found = GroupMeans.of(group, part, whole)
    rows = GroupMeans((3,), found.groups)
    for number in range(texts):
        rows = rows.merge(GroupMeans.of(group[[number]], part[[number]], whole[[number]]))
    for name, values in rows.compute().items():
        np.testing.assert_allclose(values, found.compute()[name], rtol=1e-9, atol=1e-12)
    for left_out in (None, *range(5)):
        for entry in range(3):
            here = (group != left_out) & ~np.isnan(part[:, entry])
            wanted = part[here, entry].sum() / whole[here, entry].sum() if here.any() else np.nan
            made = found.compute()["mean" if left_out is None else "without"]
            at = entry if left_out is None else (left_out, entry)
            np.testing.assert_allclose(made[at], wanted, rtol=1e-6, atol=1e-9)


def test_groups_of_one_text_each_give_the_interval_of_a_mean():
    rows = np.random.default_rng(0).gamma(2, size=(32, 4))
    made = GroupMeans.of(np.arange(32), rows).compute()
    moved, freedom = deviations(made["mean"], made["without"], made["whole"])
    np.testing.assert_allclose(np.sqrt((moved**2).sum(0)), rows.std(0, ddof=1) / np.sqrt(32))
    np.testing.assert_allclose(freedom, 31)


def test_one_group_says_nothing_of_how_far_off_it_is():
    made = GroupMeans.of(np.zeros(5, dtype=int), np.arange(5.0)).compute()
    moved, freedom = deviations(made["mean"], made["without"], made["whole"])
    assert np.isnan(moved[0])
    assert freedom == 0
    assert np.isnan(student(made["mean"], np.ones(()), freedom)).all()


DRAWN = 4000


# Of eight texts the interval of a correlation over texts holds the truth in 88%; surveys have none.
CASES = [(kind, n) for kind in ("mean", "share", "ratio", "correlation") for n in (8, 40, 300)]


@pytest.mark.parametrize(("kind", "texts"), [case for case in CASES if case != ("correlation", 8)])
def test_intervals_hold_what_they_say(kind, texts):
    """Of 4000 corpora of independent texts, 95% (93% to 97%) of intervals hold the truth."""
    generator = np.random.default_rng(texts)
    whole = 1 + generator.integers(5, 20, (texts, DRAWN)).astype(float)
    length = generator.normal(size=(texts, DRAWN))
    rows = {
        "mean": (generator.normal(3, 1, (texts, DRAWN)), np.ones_like(whole)),
        "share": (generator.beta(2, 5, (texts, DRAWN)), np.ones_like(whole)),
        "ratio": (whole * generator.beta(4, 4, whole.shape), whole),
        "correlation": (0.6 * length + 0.8 * generator.normal(size=length.shape), length),
    }[kind]
    truth = {"mean": 3, "share": 2 / 7, "ratio": 0.5, "correlation": 0.6}[kind]
    group = generator.integers(0, 32, texts)
    if kind == "correlation":
        value, without, whole_of = _correlations(group, *rows)
    else:
        made = GroupMeans.of(group, *rows).compute()
        value, without, whole_of = made["mean"], made["without"], made["whole"]
    moved, freedom = deviations(value, without, whole_of)
    found = {"groups": student(value, np.sqrt((moved**2).sum(0)), freedom)}
    if kind in ("mean", "share"):
        moments = Moments((DRAWN,))
        moments.update(rows[0])
        of = moments.compute()
        error = of["std"] / np.sqrt(of["count"] - 1)
        found["texts"] = student(of["mean"], error, of["count"] - 1)
    if kind == "ratio":
        ratio = Ratio((DRAWN,))
        ratio.update(*rows)
        of = ratio.compute()
        found["texts"] = student(of["ratio"], of["error"], of["count"] - 1)
    for name, (low, high) in found.items():
        held = ((low <= truth) & (truth <= high)).mean()
        assert 0.93 <= held <= 0.97, (name, held)


def _correlations(group, one, two):
    """Over texts, of all and without each group."""

    def of(chosen):
        pearson = Pearson((DRAWN,))
        pearson.update(one[chosen], two[chosen])
        return pearson.compute()["correlation"]

    everyone = np.ones(len(group), dtype=bool)
    counts = np.bincount(group, minlength=32).astype(float)
    without = np.stack([of(group != number) for number in range(32)])
    return of(everyone), without, np.repeat(counts[:, None], DRAWN, 1)
