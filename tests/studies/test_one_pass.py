"""What one pass over the cells finds, against numpy in float64 and against a pass for each sum."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
import xarray
from hypothesis import example, given, settings, strategies as st

from headlight.errors import UsageError
from headlight.measures.compiled_loops import compile_loop
from headlight.observations.positions import Positions
from headlight.pool import membership, to_neighbours
from headlight.studies.survey import SurveySettings, cell_sums
from headlight.studies.survey.cell_sums import OnePass, Sums
from headlight.studies.survey.study import run as survey
from studies.models import documents, subject, texts
from studies.test_numbers import _corpus

OFFSETS = (-1, 0, 1)
CATEGORIES = 4


def random_cells(shape: tuple[int, ...], signed: bool, causal: bool, seed: int) -> torch.Tensor:
    """Numbers of all sizes; some rows give all to one key, others give nothing."""
    generator = torch.Generator().manual_seed(seed)
    cells = torch.randn(shape, generator=generator).mul(4).exp()
    cells *= torch.rand(shape, generator=generator) < 0.7
    sharp = torch.rand(shape[:3], generator=generator) < 0.2
    cells[sharp] *= 1e-9
    cells[..., 0][sharp] = 1
    cells[torch.rand(shape[:3], generator=generator) < 0.1] = 0
    if signed:
        cells *= torch.randn(shape, generator=generator).sign()
    return cells.tril() if causal else cells


def look(cells: torch.Tensor, category: torch.Tensor, first: int = 0) -> Sums:
    """Return the sums of a share."""
    positions = Positions(category, (category >= 0).sum(1))
    links = category > 0
    sums = OnePass(positions, membership(category, CATEGORIES), OFFSETS, links).look(
        cells, first, None, share=False, diagonal=True
    )
    assert sums is not None
    return sums


@settings(max_examples=40, deadline=None)
@given(
    keys=st.integers(1, 150),
    heads=st.integers(1, 3),
    first=st.integers(0, 20),
    signed=st.booleans(),
    causal=st.booleans(),
    seed=st.integers(0, 1000),
)
@example(keys=1100, heads=1, first=1090, signed=True, causal=False, seed=0)
def test_rows_are_summed_as_defined(keys, heads, first, signed, causal, seed):
    first = min(first, keys - 1)
    whole = random_cells((2, heads, keys, keys), signed, causal, seed)
    generator = torch.Generator().manual_seed(seed)
    category = torch.randint(-1, CATEGORIES, (2, keys), generator=generator)
    columns = keys if not causal else min(keys, first + 30)
    cells = whole[:, :, first : first + 30, :columns]
    found = look(cells, category, first)
    exact, size = cells.double().numpy(), cells.double().abs().numpy()
    same = np.testing.assert_allclose
    same(found.rows.total, exact.sum(-1), rtol=1e-13, atol=1e-12 * size.max())
    same(found.rows.size, size.sum(-1), rtol=1e-13)
    same(found.rows.square, (exact**2).sum(-1), rtol=1e-13)
    np.testing.assert_array_equal(found.rows.largest, cells.amax(-1).numpy())
    linked = cells.masked_fill(category[:, None, None, :columns] < 1, -torch.inf).amax(-1)
    np.testing.assert_array_equal(found.rows.linked, linked.numpy())
    factor = found.rows.factor[..., None]
    same(found.heads.columns, (factor * exact).sum(2), rtol=1e-12, atol=1e-12 * size.max())
    share = size / np.maximum(size.sum(-1, keepdims=True), 1e-300)
    logarithm = np.log(np.where(share > 0, share, 1))
    same(found.rows.entropy, -(share * logarithm).sum(-1), rtol=2e-6, atol=1e-15)
    members = membership(category, CATEGORIES).double().numpy()[:, None, :columns]
    error = 1e-6 * size.sum(-1).max()
    same(found.rows.categories, exact @ members, rtol=1e-6, atol=error)
    np.testing.assert_array_equal(
        found.rows.neighbours, to_neighbours(cells, OFFSETS, first=first, keys=keys).numpy()
    )
    there = (category[:, first : first + 30] >= 0).numpy()[:, None]
    total = found.rows.total
    factor = np.where(there & (total > 0), 1 / np.where(total > 0, total, 1), 0)
    same(found.rows.factor, factor, rtol=1e-13)
    diagonal = np.zeros((2, heads, 2 * keys - 1))
    for query in range(cells.shape[2]):
        along = slice(keys - 1 - first - query, keys - 1 - first - query + columns)
        diagonal[..., along] += (factor[:, :, query, None] > 0) * exact[:, :, query]
    same(found.heads.diagonal, diagonal, rtol=1e-9, atol=1e-12 * np.abs(diagonal).max())


def test_no_bit_depends_on_threads_or_on_other_texts(monkeypatch):
    cells = random_cells((5, 3, 90, 90), False, True, 0)
    category = torch.randint(-1, CATEGORIES, (5, 90))
    monkeypatch.setattr(cell_sums, "FEW", 1)
    found = []
    for threads in (1, 4):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        found.append(look(cells, category))
    alone = look(cells[3:4], category[3:4])
    for part in ("rows", "heads"):
        several = zip(*(getattr(each, part) for each in (*found, alone)), strict=True)
        for one, two, of_text in several:
            np.testing.assert_array_equal(one, two)
            np.testing.assert_array_equal(one[3:4], of_text)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama", "bart"])
def test_a_pass_for_each_sum_says_the_same(family, monkeypatch):
    model, corpus, asked = subject(family), texts(4, longest=20, seed=2), SurveySettings()
    if family == "bart":
        corpus = _corpus(documents(3))
        asked = SurveySettings(pairs=True, kind="cross", max_length=32)
    found = survey(corpus, model, asked, progress=False)
    monkeypatch.setattr(OnePass, "look", lambda *_, **__: None)
    plain = survey(corpus, model, asked, progress=False)
    numbers = [name for name, each in found.items() if np.issubdtype(each.dtype, np.floating)]
    assert len(numbers) > 10
    for name in numbers:
        xarray.testing.assert_allclose(found[name], plain[name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "code",
    [
        "raise ImportError('Numba needs NumPy 2.3 or less.')",
        "raise OSError('libLLVM.so: cannot open shared object file')",
        "raise RuntimeError",
        "import a_library_that_is_missing",
        "import ctypes; ctypes.CDLL('/nowhere/libllvmlite.so')",
        "from numba.core import nothing",
    ],
)
def test_numba_that_cannot_be_loaded_is_refused(code, tmp_path, monkeypatch):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "numba"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(UsageError, match=r"numba, .* cannot be loaded .* with pip"):
        compile_loop(_twice)


def test_loops_that_cannot_be_kept_are_compiled(monkeypatch):
    """No folder can be written."""
    monkeypatch.setattr("numba.core.caching.FunctionCache._impl_class", _Unwritable)
    assert compile_loop(_twice, (_same,))(3) == 6


@pytest.mark.slow
def test_loops_are_compiled_once_for_a_machine(tmp_path):
    """A second process takes each loop from the folder."""
    code = (
        "import numpy as np, torch\n"
        "from importlib import import_module\n"
        "divergence_loop = import_module('headlight.measures.head_divergence')\n"
        "loop = divergence_loop.compiled()\n"
        "one = np.ones((2, 4), np.float32)\n"
        "loop(one, one[0], np.zeros((2, 2)), 1, 0)\n"
        "print(sum(loop.stats.cache_hits.values()))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    hits = [
        subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert hits == [b"0", b"1"]


class _Unwritable:
    def __init__(self, function):
        raise RuntimeError(f"cannot cache function {function}: no locator available")


def _same(number):
    return number


def _twice(number):
    return _same(number) * 2
