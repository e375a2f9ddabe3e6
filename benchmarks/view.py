"""The page of a reading: how large it is, and what a browser spends on it.

The pages of other views of the same weights stand beside it, if HEADLIGHT_VIEWERS names the Python
in which bertviz, circuitsvis and inspectus are installed.  BertViz's page loads its libraries from
a server; they come from the folder HEADLIGHT_SCRIPTS instead, so that no network is timed.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np
import xarray
from playwright.sync_api import TimeoutError
from tests.views.browsers import CHROMIUM, chromium

import headlight
from headlight.views import reading_page

LAYERS = HEADS = 12
ROUNDS = 12
VIEWERS, SCRIPTS = "HEADLIGHT_VIEWERS", "HEADLIGHT_SCRIPTS"
PATIENCE = 120.0
"""Seconds that a page of others may take until it is drawn."""
RESTING = 0.02
"""Seconds of computing within a second, below which a page is drawn."""
LONGEST = 256
"""Tokens that the embedded model can read."""
TEXTS = (
    "The lighthouse keeper had not slept for two nights when the storm reached the harbour, and "
    "nobody in the village knew why the lamp stayed dark. ",
    "Engineers measured the bridge again in spring; its cables, they wrote, carried a third more "
    "than the plans of 1931 had ever allowed for in winter. ",
)
"""Read by the embedded model; what its heads do with both is put side by side."""

Row = tuple[str, str, str, str]


def reading(tokens: int) -> xarray.Dataset:
    """A reading of as many heads as BERT-base has: of two texts, one head beside the other.

    Of more tokens than the embedded model can read, all maps stand twice beside and below
    themselves, with half the size.
    """
    if tokens > LONGEST:
        return _twice(reading(tokens // 2))
    model = headlight.load()
    assert model.tokenizer is not None  # noqa: S101 - the embedded model has one
    found = []
    for text in TEXTS:
        ids = model.tokenizer(20 * text)["input_ids"][1 : tokens - 1]
        found.append(model.read(model.tokenizer.decode(ids)).dataset)
    length = min(tokens, *(each.sizes["key"] for each in found))
    first, second = (each.isel(query=slice(length), key=slice(length)) for each in found)
    variables: dict[str, Any] = {}
    for name, variable in first.data_vars.items():
        values = [variable.values, second[name].values]
        if "head" in variable.dims:
            values = [np.concatenate(values, 1)[:, :HEADS]] * 2
        variables[str(name)] = (variable.dims, np.concatenate(values))
    tokens_of = {name: first[name] for name in first.coords if name not in ("layer", "head")}
    coordinates: dict[Any, Any] = {**tokens_of, "layer": range(LAYERS), "head": range(HEADS)}
    return xarray.Dataset(variables, coords=coordinates, attrs=first.attrs)


def _twice(found: xarray.Dataset) -> xarray.Dataset:
    wide = xarray.concat([found / 2, found / 2], dim="key", data_vars="minimal")
    return xarray.concat([wide, wide], dim="query", data_vars="minimal").assign_attrs(found.attrs)


def worked(process: int) -> float:
    """Seconds that the main thread of a process has computed until now, whatever else runs."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9


def renderer(browser: Any) -> int:
    """The process of the page that was opened last."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return max(int(each["id"]) for each in found if each["type"] == "renderer")


def spent(page: Any, process: int, act: Callable[[int], None]) -> float:
    """Milliseconds of the main thread for one interaction: the median over rounds."""
    found = []
    for number in range(ROUNDS):
        before = worked(process)
        act(number)
        page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        found.append(worked(process) - before)
    return 1000 * float(np.median(found))


def interactions(page: Any) -> dict[str, Callable[[int], None]]:
    """What people do, each a little otherwise from round to round."""
    box = page.locator(".panel canvas").first.bounding_box()
    heads = page.locator("#picker").bounding_box()

    def cell(number: int) -> None:
        page.mouse.move(box["x"] + 30 + 9 * number, box["y"] + 30 + 7 * number)

    def head(number: int) -> None:
        page.mouse.click(heads["x"] + 40 + 17 * number, heads["y"] + 40 + 11 * number)

    def measure(number: int) -> None:
        page.keyboard.press("123"[number % 3])

    def least(number: int) -> None:
        page.evaluate(
            "value => { const slider = document.getElementById('least'); slider.value = value; "
            "slider.dispatchEvent(new Event('input')); }",
            0.02 * (1 + number),
        )

    return {
        "nothing, for comparison": lambda _: None,
        "point at another cell": cell,
        "choose another head": head,
        "another measure": measure,
        "another threshold": least,
    }


def rows_of(browser: Any, tokens: int, most: int, folder: Path) -> list[Row]:
    """Size, time of loading and of interactions for a text of this length."""
    found, path = reading(tokens), folder / "page.html"
    began = time.perf_counter()
    path.write_text(reading_page(found), encoding="utf-8")
    written = time.perf_counter() - began
    size = path.stat().st_size / 1e6
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    began = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    loaded = time.perf_counter() - began
    process = renderer(browser)
    computed = worked(process)
    shape = f"{LAYERS} × {HEADS} heads, {found.sizes['key']} tokens"
    kept = page.locator("#bound").inner_text().partition("; ")[2].partition(",")[0]
    aims = ("≤ 5 MB", "≤ 1.5 s") if tokens < 200 else ("", "")
    rows: list[Row] = [
        (f"size, {tokens} tokens", f"{size:.2f} MB", aims[0], f"{shape}; {kept or 'all cells'}"),
        (f"writing, {tokens} tokens", f"{written:.1f} s", "", "without reading the text"),
        (
            f"loading, {tokens} tokens",
            f"{loaded:.2f} s",
            aims[1],
            f"until everything is drawn; the main thread computed for {computed:.2f} s",
        ),
    ]
    page.wait_for_timeout(2000)  # what is prepared while nothing else is to be done
    for name, act in interactions(page).items():
        cost = spent(page, process, act)
        rows.append((f"{name}, {tokens} tokens", f"{cost:.1f} ms", f"≤ {most} ms", "main thread"))
    page.close()
    return rows


def others(browser: Any, folder: Path) -> list[Row]:
    """Size and time of loading of other views of the weights of 127 tokens."""
    found = reading(127)
    np.savez(
        folder / "weights.npz",
        weights=found.weight.values,
        tokens=found.query_token.values.astype(str),
    )
    script = Path(__file__).with_name("other_viewers.py")
    command = [os.environ[VIEWERS], str(script), str(folder / "weights.npz"), str(folder)]
    subprocess.run(command, check=True)
    names = ("bertviz", "circuitsvis", "inspectus")
    return [row for name in names for row in rows_of_other(browser, name, folder)]


def rows_of_other(browser: Any, name: str, folder: Path) -> list[Row]:
    path = folder / f"{name}.html"
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.set_default_timeout(1000 * PATIENCE)
    page.route("https://**/*", _answer)
    began = time.perf_counter()
    process, drawn = None, False
    try:
        page.goto(path.as_uri())
        process = renderer(browser)
        drawn = _rest(page, process, began)
    except TimeoutError:
        process = process or renderer(browser)
    computed = worked(process)
    remark = f"the main thread computed for {computed:.1f} s"
    said = f"{time.perf_counter() - began:.1f} s" if drawn else f"over {PATIENCE:.0f} s"
    page.close()
    return [
        (f"size, {name}", f"{path.stat().st_size / 1e6:.1f} MB", "", "weights only, 127 tokens"),
        (f"loading, {name}", said, "", remark),
    ]


def _answer(route: Any) -> None:
    asked = Path(os.environ.get(SCRIPTS, ".")) / Path(urlparse(route.request.url).path).name
    if asked.is_file():
        route.fulfill(path=asked)
    else:
        route.abort()


def _rest(page: Any, process: int, began: float) -> bool:
    """Wait until the main thread has nothing to do for a second; whether it came to that."""
    while time.perf_counter() - began < PATIENCE:
        before = worked(process)
        page.evaluate("() => new Promise(done => requestAnimationFrame(done))")
        page.wait_for_timeout(1000)
        if worked(process) - before < RESTING:
            return True
    return False


def runs() -> bool:
    """Whether there is a browser."""
    return CHROMIUM is not None


def main() -> list[Row]:
    """The rows of the table."""
    with chromium() as browser, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = [
            row
            for tokens, most in ((127, 16), (504, 33))
            for row in rows_of(browser, tokens, most, folder)
        ]
        return own + (others(browser, folder) if VIEWERS in os.environ else [])
