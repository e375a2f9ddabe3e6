"""The reference, as mkdocs builds it, answers what can be asked of a model, and how."""

import html
import re
from pathlib import Path

import pytest

from headlight.catalogue.questions import QUESTIONS, Question, questions

ROOT = Path(__file__).resolve().parents[2]
NAMED = {
    "headlight": "::: headlight.reading.model",
    "words": "::: headlight_words.word_alignment.directions",
    "settings": "::: headlight_words.word_alignment",
}
"""Pages of the reference that name what is built here, with the lines that do."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of nothing but some pages of the reference."""
    build = pytest.importorskip("mkdocs.commands.build").build
    load_config = pytest.importorskip("mkdocs.config").load_config
    folder = tmp_path_factory.mktemp("reference")
    pages = folder / "docs" / "reference"
    pages.mkdir(parents=True)
    for name, line in NAMED.items():
        source = "headlight" if name == "headlight" else "words"
        written = (ROOT / "docs" / "reference" / f"{source}.md").read_text(encoding="utf-8")
        entry = re.search(rf"^{re.escape(line)}\n(?: {{4}}.*\n)*", written, re.MULTILINE)
        assert entry, f"{source}.md does not name {line}"
        (pages / f"{name}.md").write_text(f"# {name}\n\n{entry[0]}", encoding="utf-8")
    settings = load_config(
        str(ROOT / "mkdocs.yml"),
        docs_dir=str(folder / "docs"),
        site_dir=str(folder / "site"),
        nav=None,
        strict=False,
        hooks=[str(ROOT / "scripts" / "reference_pages.py")],
    )
    build(settings)
    return folder / "site" / "reference"


def words_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def section_of(site: Path, question: Question) -> str:
    """What the reference says of a question: of a method, or of the function behind it."""
    if question.name not in QUESTIONS:
        page = site / question.answered / f"{question.name}.html"
        return page.read_text(encoding="utf-8")
    page = (site / "headlight.reading.model" / "Model-class.html").read_text(encoding="utf-8")
    (start,) = re.finditer(f'id="headlight.reading.model.Model.{question.name}"', page)
    following = re.search(r'id="headlight\.reading\.model\.Model\.\w+"', page[start.end() :])
    return page[start.start() : start.end() + following.start() if following else None]


@pytest.mark.long
@pytest.mark.papers
@pytest.mark.parametrize("name", questions())
def test_each_question_is_in_the_reference(name: str, site: Path) -> None:
    question = questions()[name]
    section = section_of(site, question)
    said = words_of(section)
    for title in ("Parameters:", "Returns:", "Raises:"):
        assert title in said, title
    parameters = section
    if name not in QUESTIONS:  # it takes them as those of a class, and of the bases that it names
        assert question.settings.__name__ in said
        pages = [site / each.__module__ / f"{each.__name__}-class.html" for each in
                 question.settings.__mro__]  # fmt: skip
        written = [page.read_text(encoding="utf-8") for page in pages if page.is_file()]
        assert all(base.__name__ in written[0] for base in question.settings.__bases__)
        parameters = "".join(written)
    for setting in question.settings.hints():
        assert f">{setting}</code>" in parameters or f">{setting}</span>" in parameters, setting
    if name in QUESTIONS and name != "sources":
        assert re.search(r"\((?:\w+ × )*\w+\):", said.partition("Returns:")[2])


@pytest.mark.long
def test_constants_and_functions_of_the_page_stand_beside_it(site: Path) -> None:
    overview = words_of((site / "headlight.html").read_text(encoding="utf-8"))
    assert "load" in overview
    assert "Model" in overview
