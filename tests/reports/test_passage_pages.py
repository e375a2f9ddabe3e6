"""Pages of the texts on which heads do what the report of a survey says."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headlight
from headlight.errors import RunError, UsageError
from headlight.findings import highlights, passage_of
from headlight.reports import study_run
from headlight.views import parse_page
from studies.models import attending_to_itself, texts
from views.pages import Page

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return texts(6, longest=30, seed=2)


def survey(corpus, out: Path, **settings):
    model = attending_to_itself()
    return headlight.survey(corpus, model=model, out=out, progress=False, **settings)


def links(folder: Path) -> list[str]:
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    addresses = [element.attributes.get("href", "") for element in page.all("a")]
    return [address for address in addresses if address.startswith("pages/")]


@pytest.mark.slow
def test_the_report_leads_to_the_text_of_a_passage_at_its_head(corpus, tmp_path):
    result = survey(corpus, tmp_path / "run", pages=50)
    of_heads = [each for each in highlights(result) if each.head is not None]
    passages = [(each, passage_of(result, each.kind, each.layer, each.head)) for each in of_heads]
    shown = {
        f"#h={each.layer}-{each.head}&q={found.place}": (each, found)
        for each, found in passages
        if found
    }
    assert ("current", 1, 2) in [
        (each.kind, each.layer, each.head) for each, found in shown.values()
    ]
    found = links(tmp_path / "run")
    assert {re.sub(r"^[^#]*", "", address) for address in found} == set(shown)
    for address in found:
        name, _, state = address.partition("#")
        each, passage = shown[f"#{state}"]
        page = (tmp_path / "run" / name).read_text(encoding="utf-8")
        row = parse_page(page).weight.sel(layer=each.layer, head=each.head, query=passage.place)
        kept = [token.place for token in passage.tokens]
        weights = [token.weight for token in passage.tokens]
        np.testing.assert_allclose(row.values[kept], weights, atol=0.01)
        assert '"report":"../report.html"' in page


@pytest.mark.slow
def test_a_run_that_has_ended_gets_its_pages(corpus, tmp_path):
    survey(corpus, tmp_path / "run")
    assert links(tmp_path / "run") == []
    assert not (tmp_path / "run" / "pages").exists()
    survey(corpus, tmp_path / "run", resume=True, pages=1)
    assert {address.partition("#")[0] for address in links(tmp_path / "run")} == {"pages/1.html"}


@pytest.mark.slow
def test_pages_stay_with_the_run_that_they_are_of(corpus, tmp_path):
    run = tmp_path / "run"
    survey(corpus, run, pages=1)
    before = links(run)
    survey(corpus, run, resume=True)
    assert links(run) == before != []
    survey(corpus, run, resume=True, pages=1)
    assert links(run) == before
    (run / "pages" / "mine.html").write_text("mine")
    survey(corpus, run, overwrite=True)
    assert links(run) == []
    assert [each.name for each in (run / "pages").iterdir()] == ["mine.html"]


@pytest.mark.slow
def test_a_corpus_that_changes_before_its_pages_are_written_is_one_sentence(
    corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, run, write = tmp_path / "corpus.txt", tmp_path / "run", study_run.write_pages
    source.write_text("\n\n".join(corpus))

    def changed(*given: Any) -> Any:
        source.write_text("another text")
        return write(*given)

    with monkeypatch.context() as patch:
        patch.setattr(study_run, "write_pages", changed)
        with pytest.raises(RunError, match="since it was surveyed: 1 of 1 texts"):
            survey(source, run, pages=1)
    assert (run / "result.nc").exists()
    source.write_text("\n\n".join(corpus))
    survey(source, run, pages=1, resume=True)
    assert links(run)


@pytest.mark.slow
def test_there_are_no_pages_of_texts_that_are_private(corpus, tmp_path):
    survey(corpus, tmp_path / "run", passages=False, pages=3)
    assert not (tmp_path / "run" / "pages").exists()


@pytest.mark.parametrize("source", ["-", iter(["a text"])])
def test_a_corpus_that_can_be_read_once_is_refused_before_it_is_read(source, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a text")))
    with pytest.raises(UsageError, match="read again"):
        survey(source, tmp_path / "run", pages=1)
    assert not (tmp_path / "run" / "result.nc").exists()
