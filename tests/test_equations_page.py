"""The page from an equation to its function: up to date, and complete for four papers."""

import runpy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.papers

ROOT = Path(__file__).resolve().parent.parent

NO_FUNCTION = {
    "Kobayashi et al. (2020)": {
        1: "the output of an attention module, which the model computes itself",
        2: "attention weights, which the model computes itself",
    },
    "Brunner et al. (2020)": {
        1: "attention of a head, which the model computes itself",
        2: "the definition of T, which the model computes itself",
        3: "a bound on rank(T), from which Eq. 6 follows",
        5: "what a null space is, by which effective attention is tested",
        10: "the Taylor expansion that explains why derivatives attribute",
    },
}
"""Numbered equations that are definitions of parts of the model, or steps of an argument."""

NUMBERED = {"Kobayashi et al. (2020)": range(1, 8), "Brunner et al. (2020)": range(1, 12)}

DISPLAYED: dict[str, dict[str, tuple[str, ...]]] = {
    "Clark et al. (2019)": {"Section 5": ("Attention", "AttentionAndWords")},
    "Yang (2020)": {
        "Section 2": ("jensen_shannon", "total_variation"),
        "Section 4.2": ("adversarial_loss",),
    },
}
"""Formulas without a number, by section, but for attention itself; and what has them."""


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "equations_page.py"))


@pytest.fixture(scope="module")
def rows(script: dict[str, Any]) -> list[Any]:
    found: list[Any] = script["rows"]()
    return found


@pytest.mark.slow
def test_the_page_is_what_the_docstrings_say(script: dict[str, Any], rows: list[Any]) -> None:
    written = script["PAGE"].read_text(encoding="utf-8")
    assert written == script["page"](rows), "run scripts/equations_page.py"


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_equation_has_a_function(rows: list[Any], paper: str) -> None:
    of_paper = [row for row in rows if row.paper == paper]
    numbers = {number for row in of_paper for (number,) in row.equations}
    assert numbers == {*NUMBERED[paper]} - {*NO_FUNCTION[paper]}


@pytest.mark.parametrize("paper", DISPLAYED)
def test_every_displayed_formula_has_a_function(rows: list[Any], paper: str) -> None:
    lines = [row.line() for row in rows if row.paper == paper]
    for section, names in DISPLAYED[paper].items():
        for name in names:
            assert any(f"{section} " in line and f".{name}`" in line for line in lines), name


def test_every_name_of_the_page_can_be_imported(rows: list[Any]) -> None:
    names = dict.fromkeys(row.name for row in rows)
    assert len(names) > 60
    for name in names:
        assert _resolved(name) is not None, name


def _resolved(name: str) -> object | None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found
    return None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Kobayashi et al. (2020), Section 3, Eq. 4.", [("Kobayashi et al. (2020)", ((4,),))]),
        ("B. and Doe (1999), Eq. 5-7.", [("Doe (1999)", ((5,), (6,), (7,)))]),
        ("Jalili Sabet et al. (2020), Eq. 2, 4.", [("Jalili Sabet et al. (2020)", ((2,), (4,)))]),
        ("Östling and Tiedemann (2016); Dunn (1961), \"On means\", Eq. 2.46, for a large one.",
         [("Östling and Tiedemann (2016)", ()), ("Dunn (1961)", ((2, 46),))]),
    ],
)  # fmt: skip
def test_a_source_is_read_by_paper_and_equation(
    script: dict[str, Any], source: str, expected: list[tuple[str, Any]]
) -> None:
    found = [script["Row"](paper, places, "f", "") for paper, places in script["_papers"](source)]
    assert [(row.paper, row.equations) for row in found] == expected
