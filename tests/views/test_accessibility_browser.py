"""Pages of all kinds as axe sees them, light and dark, on a desk and on a telephone."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from transformers import LlamaConfig, LlamaForCausalLM

import headlight
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as survey
from headlight.views.parts import Comparison, Drawing, Section, Table
from headlight.views.pictures import BarRow, HeadMap, Mark, bars, head_map
from headlight.views.reading.routes_page import routes_page
from headlight.views.result_page import result_page
from headlight.views.section_pages import SectionPage, section_page
from long_cases import mostly_long
from studies.models import subject, texts, tokenizer
from views.browsers import needs_browser, settle
from views.sample_results import survey_sample
from views.sample_routes import sample_routes

pytestmark = needs_browser

BELOW_THE_BUTTON = """() => {
  const button = document.querySelector(".theme").getBoundingClientRect(), words = [];
  const texts = document.createTreeWalker(document.querySelector("header"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    const lies = (box) => box.right > button.left && box.left < button.right
      && box.bottom > button.top && box.top < button.bottom;
    if (texts.currentNode.parentElement.closest(".theme")) continue;
    if ([...range.getClientRects()].some(lies)) words.push(texts.currentNode.data);
  }
  return words;
}"""
"""The words of the head of a page that the button of colours lies on."""


def study_of_all_parts() -> str:
    """Return a page with maps, bars, tables, comparisons and notes, as studies and papers have."""
    shares = np.random.default_rng(0).random((3, 4))
    row = BarRow("L0H1 to [SEP]", [Mark("one", 0.4, 0.3, 0.5), Mark("two", 0.8, 0.7, 0.9)])
    drawings = [
        Drawing("map", "", "Shares.", lambda: head_map([HeadMap("Share", shares)])),
        Drawing("bars", "Bars.", "Bars.", lambda: bars([row])),
    ]
    frame = pd.DataFrame({"layer": range(9), "head": range(9), "share": np.linspace(0, 1, 9)})
    tables = [Table("long", "All", frame), Table("short", "Some", frame.head(2))]
    sections = [
        Section("one", "One", "What it is.", "A paper, Table 1", drawings, tables),
        Section("two", "Two", "What else.", "", comparisons=[Comparison("share", 0.4, 0.5)],
                notes=["Of one seed."]),
    ]  # fmt: skip
    page = SectionPage("Heads", "Ours.", sections, [("examples", "3")], [("three", "no data")],
                       findings=["L0H1 is the most."], terms=[("weight", "α", "V.")])  # fmt: skip
    return section_page(page)


def comparison() -> str:
    """Return the page of two surveys, of which one has read half of the other's texts."""
    settings = SurveySettings(measures=("weight", "norm"), token_types=0)
    read = texts(24, longest=14, seed=1)
    one, other = (
        survey(part, subject("bert"), settings, progress=False) for part in (read, read[:12])
    )
    return result_page(headlight.compare(one, other))


def sources() -> str:
    """Return the page of one answer and three passages."""
    words = tokenizer("llama")
    config = LlamaConfig(vocab_size=len(words), hidden_size=16, intermediate_size=16,
                         num_hidden_layers=2, num_attention_heads=2)  # fmt: skip
    model = headlight.load(LlamaForCausalLM(config).eval(), words)
    passages = ["the sea is old.", "the lake is full.", "the river is near the mill."]
    answered = model.sources("is the lake full?", passages, answer="the lake is full.",
                             chosen=["L1H0", "L0H1"], orders=1, masks=0, predict=False)  # fmt: skip
    return result_page(answered.dataset)


def gallery(folder: Path, page: str) -> Path:
    """Return a page of the gallery of one survey, by its pattern."""
    headlight.gallery([survey_sample(2, 3)], folder / "gallery")
    return next((folder / "gallery").glob(page))


PAGES = {
    "report": lambda: result_page(survey_sample(3, 4)),
    "report of many layers": lambda: result_page(survey_sample(18, 3)),
    "comparison": comparison,
    "sources": sources,
    "study": study_of_all_parts,
    "routes": lambda: routes_page(sample_routes()),
}
"""Pages that are one file each; those of a gallery read what lies beside them."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", mostly_long([*PAGES, "index.html", "*/index.html"], "study", "index.html")
)
def test_all_can_use_a_page(browser, tmp_path, kind):
    path = tmp_path / "page.html" if kind in PAGES else gallery(tmp_path, kind)
    if kind in PAGES:
        path.write_text(PAGES[kind](), encoding="utf-8")
    for width in (1440, 390):
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
            )
            page = context.new_page()
            page.goto(path.as_uri())
            settle(page, 400)  # pages draw themselves when they have been loaded
            problems = Axe().run(page).response["violations"]
            assert [(each["id"], each["nodes"][0]["target"]) for each in problems] == []
            assert page.evaluate(BELOW_THE_BUTTON) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            context.close()
