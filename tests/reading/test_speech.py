"""Readings of speech: a tiny Whisper of random weights, and noise."""

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

import headlight
from headlight.errors import UsageError
from headlight.reading.model import Model
from speech_material import POSITIONS, SECONDS, tiny_whisper, wav
from studies.command import Command
from views.browsers import CHROMIUM, Opened, settle

TEXT = "The cat sat."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_whisper(tmp_path_factory.mktemp("whisper"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return headlight.load(folder)


@pytest.mark.slow
def test_words_and_frames_are_those_of_the_model(folder: Path, tmp_path: Path) -> None:
    model = headlight.load(folder)
    audio = wav(tmp_path / "a.wav")
    found = model.read(TEXT, audio=audio).dataset
    heard = int(np.ceil(SECONDS / 0.02))
    assert list(found.key_token.values) == [f"{0.02 * n:.2f} s" for n in range(heard)]
    assert found.attrs["transcript"] == "given"
    # The model itself, on features of the same sound.
    seen: list[dict[str, torch.Tensor]] = []
    hook = model.transformer.register_forward_pre_hook(
        lambda _, args, given: seen.append(given), with_kwargs=True
    )
    model.read(TEXT, audio=audio, layers=[0])
    hook.remove()
    eager = type(model.transformer).from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        own = eager(**seen[-1], output_attentions=True)
    assert seen[-1]["input_features"].shape == (1, 8, 2 * POSITIONS)
    for kind, name in (("cross", "cross"), ("encoder", "encoder"), ("decoder", "decoder")):
        part = model.read(TEXT, audio=audio, kind=kind).dataset  # type: ignore[arg-type]
        expected = torch.stack(getattr(own, f"{name}_attentions"))[:, 0].numpy()
        sizes = (heard,) if kind == "encoder" else (expected.shape[2],)
        keys = heard if kind != "decoder" else expected.shape[3]
        np.testing.assert_allclose(part.weight, expected[:, :, : sizes[0], :keys], atol=1e-5)


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        (TEXT, "none.wav", "there is no audio file"),
        (TEXT, "long.wav", r"lasts 1\.2 s, and 1 s at most"),
        (TEXT, "bytes.wav", r"samples of 8 bits; .* 16000 Hz"),
        (TEXT, "text.wav", "cannot be read as sound"),
        (None, "a.wav", "cannot transcribe; give the text, or load .* saved with its head"),
    ],
)
def test_what_cannot_be_heard_is_refused(
    folder: Path, tmp_path: Path, text: str | None, name: str, sentence: str
) -> None:
    wav(tmp_path / "a.wav")
    wav(tmp_path / "long.wav", 1.2)
    wav(tmp_path / "bytes.wav", width=1)
    (tmp_path / "text.wav").write_text("no sound", encoding="utf-8")
    with pytest.raises(UsageError, match=sentence):
        headlight.load(folder, head="none").read(text, audio=tmp_path / name)


@pytest.mark.slow
def test_what_the_model_hears_is_read_as_the_tokens_that_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their text would be cut into others."""
    hearing = headlight.load(tiny_whisper(tmp_path / "model"), head="language_model")
    tokenizer: Any = hearing.tokenizer
    names = ["the", "##ctions", "ho", "##me", "in"]
    ids = torch.tensor([tokenizer.convert_tokens_to_ids([*names, "[SEP]"])])
    monkeypatch.setattr(type(hearing.transformer), "generate", lambda *_: ids)
    reading = hearing.read(audio=wav(tmp_path / "a.wav"), kind="decoder").dataset
    assert reading["query_token"].values.tolist()[-len(names) :] == names
    assert tokenizer.tokenize(reading.attrs["text"]) != names
    assert reading["query_word"].values.tolist()[-len(names) :] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("sound", [np.zeros(1600), torch.zeros(1600), {"array": [0.0]}])
def test_samples_are_no_recording(model: Model, sound: Any) -> None:
    with pytest.raises(UsageError, match=f"no {type(sound).__name__}; write its samples into one"):
        model.read(TEXT, audio=sound)


def test_models_of_text_hear_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reads no speech"):
        headlight.load().read(TEXT, audio=wav(tmp_path / "a.wav"))
    with pytest.raises(UsageError, match="nothing to read"):
        headlight.load().read()


def test_the_command_reads_speech(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    command, written = Command(monkeypatch, capsys), tmp_path / "reading.json"
    audio = wav(tmp_path / "a.wav")
    code, _, complained = command(
        "read", TEXT, "--audio", str(audio), "--model", str(folder), "--json", str(written)
    )
    assert code == 0, complained
    said = json.loads(written.read_text(encoding="utf-8"))
    assert said["keys"]["tokens"][1] == "0.02 s"
    assert said["keys"]["times"][:2] == [0.0, 0.02]
    assert "times" not in said["queries"]
    code, _, complained = command("read")
    assert code == 2
    assert "give a text, --chat, --audio, or --image" in complained


@pytest.mark.parametrize("kind", ["cross", "encoder"])
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_view_has_an_axis_of_time(
    model: Model, browser: Any, tmp_path: Path, kind: Literal["cross", "encoder"]
) -> None:
    reading = model.read(TEXT, audio=wav(tmp_path / "a.wav", 0.98), kind=kind)
    reading.save(tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.page
    frames = page.eval_on_selector_all("#text button", "all => all.map(each => each.title)")
    assert frames == [f"{0.02 * n:.2f} s" for n in range(49)]
    labels = page.eval_on_selector_all("#text button", "all => all.map(each => each.textContent)")
    assert labels == [""] * len(frames)
    ticks = page.eval_on_selector_all("[data-tick]", "all => all.map(each => each.dataset.tick)")
    assert ticks == ["0 s", "0.5 s"]
    # A cell is found again where it is drawn: the right end of the map is the end of the sound.
    page.locator("label", has_text="maps").first.click()
    page.locator(".map canvas").first.scroll_into_view_if_needed()
    box = page.locator(".map canvas").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.999, box["y"] + box["height"] * 0.99)
    said = page.text_content("#readout")
    assert "→ \u20680.96 s" in said
    page.evaluate("document.getElementById('lines-box').open = true")
    settle(page, 50)
    assert opened.complaints == []
    page.context.close()
