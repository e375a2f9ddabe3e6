"""The widget in JupyterLab: a kernel reads a text, and its layers are seen in a browser."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

import example_data
import headlight
from views.browsers import chromium, needs_browser

pytestmark = [
    *needs_browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("jupyterlab") is None,
        reason="no JupyterLab is installed here",
    ),
]

TEXT = "the cat sees a dog"


def notebook(code):
    """A notebook of one cell."""
    cell = {
        "cell_type": "code", "id": "one", "metadata": {}, "source": code, "outputs": [],
        "execution_count": None,
    }  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel}
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def run_the_cell(page):
    """Press the keys until the cell runs: those that come before the notebook is ready are lost."""
    from playwright.sync_api import expect

    cell = page.locator(".jp-Notebook .jp-Cell").first
    prompt = cell.locator(".jp-InputPrompt")
    prompt.wait_for()
    for _ in range(60):
        cell.click()
        page.keyboard.press("Control+Enter")
        try:
            expect(prompt).to_have_text(re.compile(r"\[(\*|\d+)\]"), timeout=2_000)
        except AssertionError:
            continue
        return
    pytest.fail(f"the cell was not run; the page says: {page.inner_text('body')}")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return example_data.tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def address(model, tmp_path):
    code = f"import headlight\nheadlight.load({str(model)!r}).read({TEXT!r}).explore(height=700)"
    (tmp_path / "one.ipynb").write_text(notebook(code))
    settings = ["--no-browser", "--port=0", "--allow-root", f"--ServerApp.root_dir={tmp_path}"]
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    with subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *settings],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **own},
    ) as server:
        try:
            lines = iter(server.stderr.readline, "")
            found = filter(None, (re.search(r"http://127\S+token=\S+", line) for line in lines))
            yield next(found).group().replace("/lab?", "/lab/tree/one.ipynb?")
        finally:
            server.terminate()


@pytest.mark.long
def test_the_kernel_gives_the_layers_that_are_looked_at(address, model):
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.set_default_timeout(120_000)
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        run_the_cell(page)
        view = page.frame_locator(".jp-OutputArea iframe")
        view.locator("html[data-ready]").wait_for()
        view.get_by_role("radio", name="maps").check()
        reading = headlight.load(model).read(TEXT)
        keys = [str(token) for token in reading.dataset["key_token"].values]
        for layer in (0, 1):
            view.locator("#layer").select_option(str(layer))
            view.locator("#head").select_option("1")
            # The kernel takes its time: until a layer has come, the one before is shown.
            for _ in range(40):
                view.locator("#maps:not([aria-busy]) .panel").first.wait_for()
                view.locator("#text").get_by_text("cat", exact=True).click()
                said = view.locator("#readout").inner_text()
                assert "cat" in said
                key = re.search("→ \u2068(.+?)\u2069", said).group(1)
                shown = float(re.search(r"norm ([\d.]+)", said).group(1))
                here = {"layer": layer, "head": 1, "query": 2, "key": keys.index(key)}
                expected = float(reading.norm.sel(here))
                if shown == pytest.approx(expected, rel=0.05):
                    break
                page.wait_for_timeout(250)
            assert shown == pytest.approx(expected, rel=0.05)
        assert view.locator("#trouble").inner_text() == ""
        assert view.locator("#export-link").is_hidden()
        assert complaints == []
