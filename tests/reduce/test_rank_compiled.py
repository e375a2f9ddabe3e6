"""What numba compiles gives bit for bit what numpy does."""

import sys

import numpy as np
import pytest

from headlight.reduce.rank import RESOLUTIONS, RankCorrelation, pairs as rank_pairs
from headlight.reduce.rank.pairs import compiled


def numbers(columns: int, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """All octaves of float32, ends of pieces and what is next to them, zeros, ∞ and NaN."""
    generator = np.random.default_rng(0)
    first = np.exp2(generator.uniform(-149, 127, (columns, pairs))).astype(np.float32)
    kind = generator.integers(0, 4, first.shape)
    first[kind == 0] = generator.random(np.sum(kind == 0))
    ends = [start for each in RESOLUTIONS.values() for start, _ in each.first.widths]
    ends = np.array([*ends, 2**-126, 1e-45, np.inf], dtype=np.float32)
    ends = np.concatenate([ends, np.nextafter(ends, np.float32(0)), -ends[:1]])
    first[kind == 1] = generator.choice(ends, np.sum(kind == 1))
    first[generator.random(first.shape) < 0.1] = np.nan
    first[: columns // 3, :5] = np.copysign(np.float32(np.nan), -1)
    return first, np.exp2(generator.normal(1, 0.5, columns)).astype(np.float32)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("resolution", list(RESOLUTIONS))
def test_the_state_is_that_of_numpy(
    resolution: str, missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = numbers(900, 70)
    first = first if missing else np.nan_to_num(first, nan=0.25, posinf=np.inf)
    compiled_too = RankCorrelation((2,), resolution=resolution)
    entry = np.arange(len(second)) % 3 - 1
    compiled_too.update_columns(first, second, entry)
    compiled_too.update_columns(first[::2, ::3], second[::2] * 2, entry[::2])
    monkeypatch.setattr(rank_pairs, "compiled", lambda: None)
    plain = compiled_too.empty()
    plain.update_columns(first, second, entry)
    plain.update_columns(first[::2, ::3], second[::2] * 2, entry[::2])
    assert plain.compute()["count"].min() > 10_000
    for name, array in plain.arrays().items():
        np.testing.assert_array_equal(compiled_too.arrays()[name], array, err_msg=name)


def test_numba_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    compiled.cache_clear()
    try:
        assert compiled() is None
    finally:
        compiled.cache_clear()
