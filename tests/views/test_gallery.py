"""A gallery: its files, what it refuses, and its pages in a real browser, opened from disk."""

import json
import re
from html import unescape
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import headlight
from headlight.errors import UsageError
from headlight.result import load
from headlight.views.gallery import Shown, gallery_files
from headlight.views.result_contents import headline
from headlight.views.titles import model_name
from headlight.vocabulary import base_name
from page_words import words_when_open
from study_runs import StudyRuns
from views.browsers import Opened, needs_browser
from views.pages import Page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&"
MOST = 1_000_000


@pytest.fixture(scope="module")
def survey(study_runs: StudyRuns) -> xr.Dataset:
    return load(study_runs.folder("survey") / "result.nc")


@pytest.fixture(scope="module")
def hostile(survey) -> xr.Dataset:
    """The same of another model, whose every token is an attack, and whose numbers are others."""
    changed = survey.copy(deep=True)
    for name in ("token_text", "top_token"):
        texts = np.full(changed[name].shape, HOSTILE, dtype=object)
        changed[name] = changed[name].dims, texts
    changed["neighbour"] = changed["neighbour"] / 2
    changed.attrs |= {"model": f"evil{HOSTILE}", "corpus": HOSTILE}
    return changed


@pytest.fixture(scope="module")
def site(study_runs, hostile, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    headlight.gallery([study_runs.folder("survey"), hostile], folder)
    return folder


@pytest.mark.slow
def test_each_head_has_a_small_file_of_its_own_and_reports_lie_beside(site, study_runs):
    folders = sorted(path.name for path in site.iterdir() if path.is_dir())
    assert len(folders) == 2
    for name in folders:
        heads = sorted(path.name for path in (site / name / "heads").iterdir())
        assert heads == ["L1H0.js", "L1H1.js", "L3H0.js"]
        files = [site / name / "index.html", site / name / "heads.js"]
        files += (site / name / "heads").iterdir()
        assert sum(path.stat().st_size for path in files[:2]) < MOST
        assert all(path.stat().st_size < MOST for path in files)
    reports = list(site.glob("*/report.html"))
    assert [path.read_bytes() for path in reports] == [
        (study_runs.folder("survey") / "report.html").read_bytes()
    ]


def test_texts_are_data_and_no_markup(site):
    for path in site.rglob("*.js"):
        assert not {"<", ">"} & set(path.read_text(encoding="utf-8"))
    for path in site.glob("**/index.html"):
        page = Page(path.read_text(encoding="utf-8"))
        assert not page.all("img")
        assert not [name for each in page.elements for name in each.attributes if name[:2] == "on"]


@pytest.mark.slow
def test_cards_tell_surveys_of_one_model_apart(survey, hostile):
    settings = json.loads(survey.attrs["settings"])
    half = json.dumps({**settings, "dtype": "float16"})
    later = survey.assign_attrs(settings=half, created="2027-01-02T03:04:05", corpus="b.txt")
    files = dict(gallery_files([Shown(survey), Shown(later), Shown(hostile)]))
    _, *cards = files["index.html"].decode().split('<li><p class="eyebrow" dir="auto">')
    first, second, other = (
        " ".join(unescape(re.sub("<[^>]*>", " ", card.partition("</li>")[0])).split())
        for card in cards
    )
    name = model_name(survey.attrs)
    answer = headline(survey).title
    for card, corpus in ((first, base_name(survey.attrs["corpus"])), (second, "b.txt")):
        assert card.startswith(f"{name} {answer} {corpus}: ")
    made = survey.attrs["created"][:16].replace("T", " ")
    assert f"Precision {settings['dtype']}; made {made}." in first
    assert "Precision float16; made 2027-01-02 03:04." in second
    assert "Precision" not in other
    assert len(words_when_open(files["index.html"].decode())) < 300


@pytest.mark.slow
def test_what_is_no_survey_and_a_folder_that_is_in_use_are_refused(study_runs, tmp_path):
    with pytest.raises(UsageError, match="is of distances, and a gallery shows the heads"):
        headlight.gallery([xr.Dataset(attrs={"stage": "distances"})], tmp_path / "a")
    with pytest.raises(UsageError, match="name the folder of at least one"):
        headlight.gallery([], tmp_path / "a")
    assert not (tmp_path / "a").exists()
    (tmp_path / "mine").write_text("text")
    with pytest.raises(UsageError, match="holds something already"):
        headlight.gallery([study_runs.folder("survey")], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]


def local(shown: Opened) -> bool:
    """Whether a page asked for nothing but files that lie beside it."""
    return all(url.startswith("file:") for url in shown.requests)


class TestInABrowser:
    pytestmark = needs_browser

    def test_a_search_finds_heads_of_all_models_and_leads_to_them(self, site, browser, survey):
        shown = Opened(browser, site / "index.html")
        shown.page.fill("#search", "previous in layer > 2")
        shown.page.wait_for_selector("#results tbody tr")
        rows = shown.page.locator("#results tbody tr").all_inner_texts()
        value = survey["neighbour"].sel(offset=-1, measure="weight", layer=3, head=0)
        assert [row.split("\t")[0] for row in rows] == ["L3H0", "L3H0"]
        assert [row.split("\t")[2] for row in rows] == [
            f"{100 * float(value):.1f}%",
            f"{50 * float(value):.1f}%",
        ]
        assert "evil</script>" in rows[1]  # as text
        shown.page.click("#results tbody a")
        shown.page.wait_for_selector("[data-part=card][data-head=L3H0]")
        assert shown.complaints == []
        assert local(shown)

    @pytest.mark.parametrize(
        ("search", "heads"),
        [
            ("layer = 1", {"L1H0", "L1H1"}),
            ("norm previous >= 0%", {"L1H0", "L1H1", "L3H0"}),
            ("entropy > 100", set()),
            ("evil previous", {"L1H0", "L1H1", "L3H0"}),
            ("nothing of this kind", None),
        ],
    )
    def test_conditions(self, site, browser, search, heads):
        shown = Opened(browser, site / "index.html", f"#search={search.replace(' ', '+')}")
        shown.page.wait_for_function("document.getElementById('message').textContent !== ''")
        names = shown.page.locator("#results tbody th").all_inner_texts()
        assert set(names) == (heads or set())
        models = 1 if search.startswith("evil") else 2  # its name is in the search
        assert len(names) == models * len(heads or ())
        said = shown.text("#message")
        assert ("Nothing is called" in said) == (heads is None)

    def test_a_head_has_an_address_and_keys_lead_to_the_next(self, site, browser, hostile):
        folder = next(path for path in site.iterdir() if path.name.startswith("evil"))
        shown = Opened(browser, folder / "index.html", "#L1H1")
        assert shown.text("[data-part=name]") == "L1H1"
        scripts = shown.page.locator("script[src]").evaluate_all("all => all.map(s => s.src)")
        assert [Path(each).name for each in scripts] == ["heads.js", "L1H1.js"]  # on demand
        card = shown.text("[data-part=card]")
        assert "alert(1)" in card  # a text, which did not run
        value = hostile["neighbour"].sel(offset=-1, measure="weight", layer=1, head=1)
        assert f"{100 * float(value):.1f}%" in card
        shown.page.keyboard.press(".")
        shown.page.wait_for_selector("[data-part=card][data-head=L3H0]")
        assert shown.address == "#L3H0"
        shown.page.keyboard.press("[")
        shown.page.wait_for_selector("[data-part=card][data-head=L1H0]")
        shown.page.select_option("select[name=horizontal]", "previous.norm")
        shown.page.select_option("select[name=vertical]", "previous.weight")
        heads = [(1, 0), (1, 1), (3, 0)]
        norms, weights = (
            [float(hostile["neighbour"].sel(offset=-1, measure=name, layer=at, head=head))
             for at, head in heads]
            for name in ("norm", "weight")
        )  # fmt: skip
        assert shown.page.locator(".scatter circle title").all_text_contents() == [
            f"L{at}H{head}: to the previous token, norm {100 * norm:.1f}%, "
            f"to the previous token, weight {100 * weight:.1f}%"
            for (at, head), norm, weight in zip(heads, norms, weights, strict=True)
        ]
        places = shown.page.locator(".scatter circle").evaluate_all(
            "all => all.map((each) => [Number(each.getAttribute('cx')), -each.getAttribute('cy')])"
        )
        for place, values in zip(zip(*places, strict=True), (norms, weights), strict=True):
            for one, other in permutations(range(3), 2):
                if values[one] - values[other] > 0.002:  # the page rounds to tenths of a percent
                    assert place[one] > place[other]
        shown.page.locator(".scatter circle").nth(2).dispatch_event("click")
        shown.page.wait_for_selector("[data-part=card][data-head=L3H0]")
        assert shown.complaints == []
        assert local(shown)

    def test_a_report_opens_at_a_head_and_follows_the_grid(self, study_runs, browser):
        page = browser.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{(study_runs.folder('survey') / 'report.html').as_uri()}#L3H0")
        page.wait_for_selector("[data-part=card][data-head=L3H0]")
        # The card is what is seen, and not the cell of the grid that has the same name.
        seen = "(({ top }) => 0 <= top && top < 300)(arguments[0].getBoundingClientRect())"
        card = page.locator("[data-part=name]").element_handle()
        page.wait_for_function(f"(node) => (function () {{ return {seen}; }})(node)", arg=card)
        page.locator("#L1H0").click()
        page.wait_for_selector("[data-part=card][data-head=L1H0]")
        rows = page.locator("[data-part=card] .lines tbody tr").count()
        assert rows >= 2
        assert complaints == []
        page.close()
