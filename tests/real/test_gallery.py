"""One gallery of two encoders, a decoder and all attention of a model of speech, from disk."""

import shutil
from pathlib import Path

import pytest

import headlight
from real.models import MODELS, needs_models
from real.test_speech import SENTENCES, say
from views.browsers import Opened, chromium, needs_browser

pytestmark = [
    *needs_models,
    *needs_browser,
    pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="no espeak-ng to say words with"),
]
MOST = 1_000_000
TEXTS = [
    "The keeper of the lighthouse had not slept for two nights, and the keeper was old.",
    "Mrs. Ravenhill laughed at a tortoise; the tortoise did not wake.",
]
SPEECH = {
    "encoder": {"to the next frame", "to final silence", "mean distance, frames"},
    "decoder": {"to the next token", "mean distance, tokens"},
    "cross": {"to final silence", "to the first frame"},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert MODELS is not None
    spoken = tmp_path_factory.mktemp("recordings")
    for number, text in enumerate(SENTENCES):
        say(text, spoken / f"{number}.wav")
        (spoken / f"{number}.txt").write_text(text, encoding="utf-8")
    options = {"measures": ["weight", "norm"], "progress": False}
    names = ("minilm", "smollm2")
    whisper = Path(MODELS) / "whisper"
    results = [
        headlight.survey(TEXTS, **options),
        *(headlight.survey(TEXTS, model=Path(MODELS) / name, **options) for name in names),
        headlight.survey(spoken, model=whisper, kind="all", **options),
    ]
    folder = tmp_path_factory.mktemp("gallery") / "site"
    headlight.gallery(results, folder)
    return folder


def test_it_opens_from_disk_with_all_models(site: Path) -> None:
    folders = {path.name for path in site.iterdir() if path.is_dir()}
    assert {"minilm", "smollm2", *(f"whisper-{kind}" for kind in SPEECH)} < folders
    assert len(folders) == 6
    for folder in folders:
        sizes = [path.stat().st_size for path in (site / folder).rglob("*") if path.is_file()]
        assert max(sizes) < MOST
    heads = {name: len(list((site / name / "heads").iterdir())) for name in folders}
    assert heads["minilm"] == 6 * 12
    assert heads["smollm2"] == 30 * 9
    assert [heads[f"whisper-{kind}"] for kind in SPEECH] == [4 * 6] * 3
    with chromium() as browser:
        for scheme, width in (("light", 1440), ("dark", 390)):
            size = {"width": width, "height": 900}
            shown = Opened(browser, site / "index.html", viewport=size, color_scheme=scheme)
            assert f"6 surveys, {sum(heads.values())} heads" in shown.page.inner_text("header")
            shown.page.fill("#search", "whisper previous in layer > 2")
            shown.page.wait_for_selector("#results tbody tr")
            names = shown.page.locator("#results tbody th").all_inner_texts()
            assert names
            assert all("L3H" in name for name in names)
            assert {name.split()[0] for name in names} <= set(SPEECH)
            shown.page.click("#results tbody a")
            shown.page.wait_for_selector("[data-part=card][data-head]")
            for folder in sorted(folders):
                first = sorted((site / folder / "heads").iterdir())[-1].stem
                head = Opened(
                    browser, site / folder / "index.html", f"#{first}",
                    viewport=size, color_scheme=scheme,
                )  # fmt: skip
                head.page.wait_for_selector(f"[data-part=card][data-head={first}]")
                assert head.text("[data-part=name]").replace(" ", "-") == first
                said = set(head.page.locator("[data-part=card] tbody th").all_text_contents())
                labels = SPEECH.get(folder.removeprefix("whisper-"), {"to the previous token"})
                # A label may say of how few rows the number is.
                assert all(any(each.startswith(label) for each in said) for label in labels), (
                    sorted(said)
                )
                assert head.page.evaluate("document.documentElement.scrollWidth") <= width
                assert head.complaints == []
                assert all(url.startswith("file:") for url in head.requests)
                head.page.context.close()
            assert shown.complaints == []
            assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
