"""The notebooks run in a minute each, keep what they put out, and become pages."""

import json
import re
import runpy
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "notebooks.py"))
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


@pytest.mark.slow
@by_name
def test_it_runs_in_a_minute(path: Path) -> None:
    pytest.importorskip("nbclient")
    if missing := SCRIPT["lacks"](path.stem):
        pytest.skip(f"{missing} is not there; see make models")
    before = getrusage(RUSAGE_CHILDREN)
    SCRIPT["run"](path)
    after = getrusage(RUSAGE_CHILDREN)
    # Of a processor, which takes up to twice its time where others are at work.
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert taken < 2 * SCRIPT["SECONDS"]


@by_name
def test_outputs_are_kept_and_name_no_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    outputs = [output for cell in cells(path, "code") for output in cell["outputs"]]
    assert len(outputs) >= 5
    assert all(output["output_type"] != "error" for output in outputs)
    said = json.dumps([each for each in outputs if "image/png" not in each.get("data", {})])
    assert not re.search(r"/(?:home|root|tmp|work|usr)/", said)


@by_name
def test_code_fits_the_width_of_a_page(path: Path) -> None:
    lines = [line for cell in cells(path, "code") for line in "".join(cell["source"]).split("\n")]
    assert [line for line in lines if len(line) > 80] == []


@by_name
def test_questions_have_hidden_answers(path: Path) -> None:
    text = "\n\n".join("".join(cell["source"]) for cell in cells(path, "markdown"))
    questions = text.count("**Question ")
    assert questions >= 5
    assert text.count('<details markdown="1"><summary>Answer</summary>\n\n') == questions
    assert text.count("\n\n</details>") == questions


@by_name
def test_links_lead_to_notebooks(path: Path) -> None:
    text = "".join("".join(cell["source"]) for cell in cells(path, "markdown"))
    for name in re.findall(r"\]\((\w+\.ipynb)\)", text):
        assert (path.parent / name).is_file()


@by_name
def test_it_is_a_page_of_the_documentation(path: Path) -> None:
    pytest.importorskip("mkdocs")
    page = runpy.run_path(str(ROOT / "scripts" / "notebook_pages.py"))["Page"](path)
    assert f"notebooks/{path.stem}.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for cell in cells(path, "code"):
        assert "".join(cell["source"]) in page.text
    assert set(re.findall(r"\]\(([\w-]+\.(?:png|svg))\)", page.text)) == set(page.pictures)
    assert ".ipynb)" not in page.text
    assert 'class="dataframe"' not in page.text  # for which the site has no rules
