"""Pages of the reference, one for each function and class, as the documentation is built."""

import runpy
from pathlib import Path
from typing import Any

import pytest

import headlight

pytest.importorskip("mkdocs")
pytestmark = pytest.mark.papers

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "reference_pages.py"))


@pytest.fixture(scope="module")
def listed(script: dict[str, Any]) -> list[Any]:
    """Return what has a page, in the order of the reference."""
    return [
        entry
        for path in sorted((ROOT / "docs" / "reference").glob("*.md"))
        for name, options in script["NAMED"].findall(path.read_text(encoding="utf-8"))
        for entry in script["entries"](name, options)[0]
    ]


def test_every_function_of_the_root_has_a_page(listed: list[Any]) -> None:
    named = {entry.name for entry in listed}
    assert {*headlight.__all__} <= named


def test_an_object_has_one_page_and_a_page_one_object(listed: list[Any]) -> None:
    pairs = {(entry.identifier, entry.address.lower()) for entry in listed}
    assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs}) > 500


def test_a_page_leads_back_to_where_the_object_is_listed(listed: list[Any]) -> None:
    entropy = next(entry for entry in listed if entry.name == "entropy")
    assert entropy.address == "headlight.measures/entropy.md"
    page = entropy.page("../measures.md")
    assert page.startswith("[Reference](../measures.md)\n\n::: headlight.measures.")


@pytest.mark.parametrize("name", ["headlight", "measures", "errors"])
def test_a_page_of_the_reference_lists_objects_with_their_summaries(
    script: dict[str, Any], name: str
) -> None:
    markdown = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    short = script["shortened"](markdown)
    targets = [target for target, _ in script["NAMED"].findall(short)]
    modules = [target for target, _ in script["NAMED"].findall(markdown)]
    assert {*targets} <= {*modules}  # which are modules, with their constants alone
    assert short.count("members: false") + short.count("members: [") == len(targets)
    assert "| [`" in short
