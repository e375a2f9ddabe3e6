"""What one pass over the cells finds, against numpy in float64 and against a pass for each sum."""

import os
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
import torch
import xarray
from hypothesis import example, given, settings, strategies as st

from headlight.errors import UsageError
from headlight.measures import attention_kernel
from headlight.measures.compiled_loops import compile_loop
from headlight.pool import membership, to_neighbours
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.cell_sums import CellSums
from headlight.studies.survey.row_sums import Asked, Links, RowSums
from headlight.studies.survey.study import run as survey
from studies.models import documents, subject, texts
from studies.row_sums import no_pairs
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


def look(
    cells: torch.Tensor, category: torch.Tensor, first: int = 0, name: str = "norm", **how
) -> RowSums:
    """Return the sums of one measure."""
    links = Links(torch.arange(len(category)), category > 0)
    members, there = membership(category, CATEGORIES), category >= 0
    members = torch.cat([members, torch.ones_like(members[..., :1])], -1)
    asked = Asked(members, OFFSETS, there, no_pairs(len(category)), links)
    return CellSums(asked, **how).sums({name: cells}, first)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    keys=st.integers(1, 150),
    heads=st.integers(1, 3),
    first=st.integers(0, 20),
    signed=st.booleans(),
    causal=st.booleans(),
    compiled=st.booleans(),
    seed=st.integers(0, 1000),
)
@example(keys=1100, heads=1, first=1090, signed=True, causal=False, compiled=True, seed=0)
def test_rows_are_summed_as_defined(keys, heads, first, signed, causal, compiled, seed):
    first = min(first, keys - 1)
    whole = random_cells((2, heads, keys, keys), signed, causal, seed)
    generator = torch.Generator().manual_seed(seed)
    category = torch.randint(-1, CATEGORIES, (2, keys), generator=generator)
    columns = keys if not causal else min(keys, first + 30)
    cells = whole[:, :, first : first + 30, :columns]
    name = "effective" if signed else "norm"  # of which only the first is a share
    found = look(cells, category, first, name, compiled=compiled)
    exact, size = cells.double().numpy(), cells.double().abs().numpy()

    unit = size.sum(-1).max()

    def same(some, wanted, unit=unit):
        np.testing.assert_allclose(some.double(), wanted, rtol=2e-6, atol=1e-6 * max(unit, 1e-30))

    same(found.total, exact.sum(-1))
    same(found.size, size.sum(-1))
    same(found.square, (exact**2).sum(-1), size.sum(-1).max() ** 2)
    linked = cells.masked_fill(category[:, None, None, :columns] < 1, -torch.inf).amax(-1)
    np.testing.assert_array_equal(found.linked, linked)
    there = (category[:, first : first + 30] >= 0).numpy()[:, None]
    total = found.total.double().numpy()
    counted = there & (signed | (total > 0))
    np.testing.assert_array_equal(found.counted, counted)
    same(found.whole, np.where(counted, 1 if signed else total, 0))
    factor = np.where(counted, 1 / np.where(counted & (not signed), total, 1), 0)[..., None]
    largest = (factor * size).sum((2, 3)).max()
    same(found.received[..., :columns], (factor * exact).sum(2), largest)
    assert not found.received[..., columns:].any()
    share = size / np.maximum(size.sum(-1, keepdims=True), 1e-300)
    logarithm = np.log(np.where(share > 0, share, 1))
    entropies = -(share * logarithm).sum(-1)
    np.testing.assert_allclose(found.entropy, entropies, rtol=2e-6, atol=1e-7)
    members = membership(category, CATEGORIES).double().numpy()[:, None, :columns]
    same(found.columns[..., :CATEGORIES], exact @ members)
    np.testing.assert_array_equal(
        found.neighbours, to_neighbours(cells, OFFSETS, first=first, keys=keys)
    )
    diagonal = np.zeros((2, heads, 2 * keys - 1))
    for query in range(cells.shape[2]):
        along = slice(keys - 1 - first - query, keys - 1 - first - query + columns)
        diagonal[..., along] += counted[:, :, query, None] * exact[:, :, query]
    same(found.diagonal, diagonal, size.sum((2, 3)).max())


def test_no_bit_depends_on_threads_or_on_other_texts(monkeypatch):
    cells = random_cells((5, 3, 90, 90), False, True, 0)
    category = torch.randint(-1, CATEGORIES, (5, 90))
    monkeypatch.setattr(attention_kernel, "FEW", 1)
    found = []
    for threads in (1, 4):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        found.append(look(cells, category))
    alone = look(cells[3:4], category[3:4])
    for each in fields(RowSums)[1:]:
        one, two, of_text = (getattr(sums, each.name) for sums in (*found, alone))
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
    whole = CellSums.__init__
    monkeypatch.setattr(
        CellSums, "__init__", lambda made, asked, **_: whole(made, asked, compiled=False)
    )
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


@pytest.mark.long
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
