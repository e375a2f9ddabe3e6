"""Jensen-Shannon divergences against their definition: Kullback-Leibler to the mean, in float64."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from headlight.errors import UsageError
from headlight.measures import head_divergence as divergence_module
from headlight.measures.head_divergence import CELLS, SMOOTHING, distributions, divergence

LN2 = math.log(2)


def naive(rows: np.ndarray, smoothing: float = SMOOTHING) -> np.ndarray:
    """JS = (KL(p, m) + KL(q, m)) / 2 of smoothed rows, key by key, summed over the queries."""
    heads, queries, keys = rows.shape
    smooth = (1 - smoothing) * rows.astype(np.float64) + smoothing / keys
    found = np.zeros((heads, heads))
    for one in range(heads):
        for other in range(heads):
            for query in range(queries):
                p, q = smooth[one, query], smooth[other, query]
                m = (p + q) / 2
                found[one, other] += (kullback_leibler(p, m) + kullback_leibler(q, m)) / 2
    return found


def kullback_leibler(p: np.ndarray, m: np.ndarray) -> float:
    return math.fsum(a * math.log(a / b) for a, b in zip(p, m, strict=True) if a > 0)


def random_rows(heads: int, queries: int, keys: int, sharpness: float, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(heads, queries, keys, generator=generator, dtype=torch.float64)
    return (sharpness * logits).softmax(-1)


@settings(max_examples=40, deadline=None)
@given(
    heads=st.integers(1, 6),
    queries=st.integers(1, 5),
    keys=st.integers(1, 7),
    sharpness=st.sampled_from([0.3, 1.0, 5.0, 40.0]),
    smoothing=st.sampled_from([0.0, SMOOTHING, 0.3]),
    seed=st.integers(0, 10**6),
)
def test_against_the_definition(heads, queries, keys, sharpness, smoothing, seed):
    rows = random_rows(heads, queries, keys, sharpness, seed)
    expected = naive(rows.numpy(), smoothing)
    exact = divergence(rows, smoothing)
    np.testing.assert_allclose(exact, expected, rtol=1e-11, atol=1e-13 * queries)
    single = divergence(rows.float(), smoothing)
    np.testing.assert_allclose(single, expected, rtol=1e-5, atol=4e-7 * queries)
    for found in (exact, single):
        assert torch.equal(found, found.T)
        assert torch.equal(found.diagonal(), torch.zeros(heads, dtype=torch.float64))
        assert (found >= 0).all()
        assert (found <= queries * LN2 * (1 + 1e-6)).all()


@pytest.mark.parametrize("room", [1, 50, 1 << 18])
@pytest.mark.parametrize("cells", [1, 7, CELLS])
def test_neither_the_size_of_blocks_nor_their_number_matters(monkeypatch, room, cells):
    rows = random_rows(5, 6, 7, 2.0, seed=1)
    expected = naive(rows.numpy())
    monkeypatch.setattr(divergence_module, "IN_CACHE", room)
    monkeypatch.setattr(divergence_module, "CELLS", cells)
    np.testing.assert_allclose(divergence(rows), expected, rtol=1e-12)


@pytest.mark.parametrize(("difference", "relative"), [(1.0, 2e-6), (0.3, 2e-6), (0.1, 1e-5)])
def test_float32_suffices_for_heads_that_are_nearly_alike(difference, relative):
    """As many cells as a sequence has; the differences are of entropies a thousand times larger."""
    generator = torch.Generator().manual_seed(0)
    common = 4 * torch.randn(1, 64, 128, generator=generator, dtype=torch.float64)
    own = torch.randn(12, 64, 128, generator=generator, dtype=torch.float64)
    rows = (common + difference * own).softmax(-1)
    expected, found = divergence(rows), divergence(rows.float())
    pairs = torch.triu_indices(12, 12, 1)
    assert expected[*pairs].min() > 1e-3 * 64
    np.testing.assert_allclose(found[*pairs], expected[*pairs], rtol=relative)


def test_heads_that_are_alike_among_others_that_are_not():
    """The closest are known to 2e-7 nats per query, the others to 1e-5 of their divergence."""
    rows = random_rows(24, 100, 128, 4.0, seed=8)
    rows[5] = 0.99 * rows[4] + 0.01 * rows[6]
    expected, found = divergence(rows), divergence(rows.float())
    assert expected[4, 5] < 0.005 * 100 < 10 * expected[4, 6]
    assert abs(found[4, 5] - expected[4, 5]) < 2e-7 * 100
    apart = expected > 0.01 * 100
    assert apart.sum() == 24 * 23 - 2
    np.testing.assert_allclose(found[apart], expected[apart], rtol=1e-5)


def test_at_the_size_of_a_model_against_entropies_in_float64():
    """JS = H((p + q) / 2) − (H(p) + H(q)) / 2, with numpy, for some of the pairs."""
    rows = random_rows(40, 32, 128, 3.0, seed=2)
    found = divergence(rows.float())
    smooth = (1 - SMOOTHING) * rows.numpy() + SMOOTHING / 128

    def entropy(p):
        return -(p * np.log(p)).sum()

    for one, other in [(0, 1), (0, 39), (17, 23), (38, 39)]:
        p, q = smooth[one], smooth[other]
        expected = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
        assert found[one, other] == pytest.approx(expected, rel=1e-6)


def test_identical_heads_do_not_differ():
    rows = random_rows(1, 9, 11, 2.0, seed=3).float().expand(4, -1, -1)
    np.testing.assert_allclose(divergence(rows), np.zeros((4, 4)), atol=1e-7)
    one = torch.eye(6).expand(3, 6, 6)
    np.testing.assert_allclose(divergence(one, smoothing=0.0), np.zeros((3, 3)), atol=1e-7)


def test_heads_that_never_look_at_the_same_key_differ_by_ln_2_per_query():
    rows = torch.stack([torch.eye(5), torch.eye(5).roll(1, 0)])
    assert divergence(rows, smoothing=0.0)[0, 1] == pytest.approx(5 * LN2, rel=1e-6)
    smoothed = divergence(rows)[0, 1]
    assert smoothed < 5 * LN2
    assert smoothed == pytest.approx(naive(rows.numpy())[0, 1], rel=1e-6)


def test_by_hand():
    """p = (1, 0), q = (1/2, 1/2): ln 2 · 1/2 ... = 0.2158 nats, without smoothing."""
    rows = torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]]])
    mixed = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert divergence(rows, smoothing=0.0)[0, 1] == pytest.approx(mixed - LN2 / 2, rel=1e-6)
    assert mixed - LN2 / 2 == pytest.approx(0.2158, abs=1e-4)


def test_the_smoothing_depends_on_the_number_of_keys():
    rows = random_rows(2, 1, 4, 3.0, seed=4)
    longer = torch.nn.functional.pad(rows, (0, 60))
    found = divergence(longer)[0, 1]
    assert found == pytest.approx(naive(longer.numpy())[0, 1], rel=1e-9)
    assert abs(found / divergence(rows)[0, 1] - 1) > 1e-5


def test_smoothing_out_of_range_is_refused():
    rows = torch.eye(3).expand(2, 3, 3)
    for smoothing in (-0.1, 1.0, math.nan):
        with pytest.raises(UsageError, match="smoothing must be at least 0 and below 1"):
            divergence(rows, smoothing)


def test_no_queries_differ_by_nothing():
    assert torch.equal(divergence(torch.zeros(3, 0, 4)), torch.zeros(3, 3, dtype=torch.float64))


def test_distributions_are_absolute_values_that_sum_to_one():
    scores = torch.tensor([[[0.5, -1.5, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]]])
    found = distributions(scores)
    third = 1 / 3
    expected = [[0.125, 0.375, 0.5], [third, third, third], [0.0, 1.0, 0.0]]
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    assert scores[0, 0, 1] == -1.5  # nothing is changed in place
    weights = random_rows(3, 4, 5, 1.0, seed=5)
    np.testing.assert_allclose(distributions(weights), weights, rtol=1e-14)
    assert distributions(weights.bfloat16()).dtype == torch.float32
    assert distributions(weights).dtype == torch.float64


def test_what_is_given_stays_as_it_is():
    rows = random_rows(4, 3, 5, 1.0, seed=6)
    before = rows.clone()
    divergence(rows)
    assert torch.equal(rows, before)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_compiled_loop(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alike heads, sharp ones, and zeros; more cells than are looked at together."""
    monkeypatch.setattr(divergence_module, "WORTH_IT", 0)
    monkeypatch.setattr(divergence_module, "CELLS", 100)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    rows = torch.cat([random_rows(2, 9, 31, sharpness, 0) for sharpness in (0.01, 1, 5, 300)])
    rows[0, 0] = torch.eye(31)[0]
    found = divergence(rows.float())
    assert divergence_module.compiled_for(rows.float().flatten(1)) is not None
    assert divergence_module.compiled_for(rows.flatten(1)) is None  # float64 stays
    np.testing.assert_allclose(found, naive(rows.numpy()), rtol=1e-5, atol=4e-7 * 9)
    monkeypatch.setattr(divergence_module, "compiled_for", lambda _: None)
    np.testing.assert_allclose(found, divergence(rows.float()), rtol=1e-5, atol=4e-7 * 9)


def test_what_the_compiled_loop_sees_of_numbers_that_are_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(divergence_module, "WORTH_IT", 0)
    rows = random_rows(3, 2, 4, 1, 0).float()
    rows[1, 1, 2] = torch.nan
    assert divergence(rows)[1, [0, 2]].isnan().all()
