"""Pages to click: what docs/examples.md says is run, and leads to pages, from disk as well."""

import os
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headlight.catalogue.embedded_models import EMBEDDED
from views.browsers import Opened, needs_browser, settle

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "example_pages.py"))
PAGE = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
EXAMPLES = SCRIPT["examples"](PAGE)
TRIED = ("pair.html", "routes.html", "prediction.html", "survey", "gallery")
"""Those of the embedded model that are made here: a page of each way of being built."""


def example(output: str) -> Any:
    return next(each for each in EXAMPLES if output in each.outputs)


def test_each_block_writes_a_page_of_its_own() -> None:
    outputs = [name for each in EXAMPLES for name in each.outputs]
    assert len(EXAMPLES) > 15
    assert all(each.outputs for each in EXAMPLES)
    assert len(set(outputs)) == len(outputs)
    assert all(each.commands[-1][0] == "headlight" for each in EXAMPLES)


def test_a_block_is_left_out_for_want_of_its_model_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = example("smollm2-survey")
    assert chosen.lacks(tmp_path) == "the model build/models/smollm2"
    (tmp_path / "build/models/smollm2").mkdir(parents=True)
    assert chosen.lacks(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert example("whisper-survey").lacks(tmp_path) == "the program mkdir"
    monkeypatch.setenv("HEADLIGHT_EXAMPLES", str(tmp_path))
    shown = linked()
    assert "for want of the model build/models/minilm" in shown
    assert "](examples/" not in shown


def test_without_a_folder_the_documentation_is_as_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HEADLIGHT_EXAMPLES", raising=False)
    assert linked() == PAGE


def linked() -> str:
    """The page, as the hook of mkdocs leaves it."""
    page = SimpleNamespace(file=SimpleNamespace(src_uri="examples.md"))
    return str(SCRIPT["on_page_markdown"](PAGE, page, None, None))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (EMBEDDED / "config.json").exists():
        pytest.skip("no embedded model here")
    made, before = tmp_path_factory.mktemp("site") / "examples", Path.cwd()
    made.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_MODELS", str(made))  # where no model is
        try:
            SCRIPT["make"](made, list(TRIED))
        finally:
            os.chdir(before)
    return made


@pytest.mark.slow
def test_the_commands_write_the_pages_and_the_site_links_to_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADLIGHT_EXAMPLES", str(folder))
    names = set(SCRIPT["site_files"](folder))
    links = re.findall(r"\]\((examples/[^)]+)\)", linked())
    assert set(links) <= names
    assert {name.removesuffix(".html").split("/")[0] for name in TRIED} == {
        link.split("/")[1].removesuffix(".html") for link in links
    }
    assert any(name.endswith("/heads/L0H0.js") for name in names)


class TestInABrowser:
    pytestmark = needs_browser

    @pytest.mark.slow
    def test_pages_open_from_disk_and_ask_for_nothing_else(self, folder, browser):
        for each in TRIED:
            for path in example(each).pages(folder):
                page, complaints, requests = browser.new_page(), [], []
                page.on("pageerror", lambda error, said=complaints: said.append(str(error)))
                page.on("request", lambda request, said=requests: said.append(request.url))
                page.goto(path.as_uri())
                settle(page, 300)
                assert complaints == []
                assert {url.split(":")[0] for url in requests} <= {"file", "blob", "data"}
                links = page.locator("a[href]").evaluate_all("all => all.map((a) => a.href)")
                inside = [url for url in links if url.startswith("file:")]
                gone = [url for url in inside if not Path(path_of(url)).exists()]
                assert gone == []
                page.close()

    @pytest.mark.slow
    def test_a_gallery_leads_to_its_heads(self, folder, browser):
        shown = Opened(browser, folder / "gallery" / "index.html", "#search=previous")
        shown.page.wait_for_selector("#results tbody tr")
        shown.page.click("#results tbody a")
        shown.page.wait_for_selector("[data-part=card]")
        assert shown.complaints == []


def path_of(url: str) -> str:
    """The file that an address leads to."""
    return url.removeprefix("file://").partition("#")[0].partition("?")[0]
