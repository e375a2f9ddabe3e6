"""Readings of a prompt beside a picture: tiny multimodal models of random weights."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from PIL import Image

import headlight
from headlight.encode.pictures import place_name
from headlight.errors import UnsupportedModelError, UsageError
from picture_material import PROMPT, llava, picture, qwen
from studies.command import Command
from views.browsers import CHROMIUM, Opened

FAMILIES = {
    "llava": (llava, hf.LlavaForConditionalGeneration, "<image>", (4, 4)),
    "qwen": (
        qwen,
        hf.Qwen2VLForConditionalGeneration,
        "<|vision_start|><image><|vision_end|>",
        (5, 6),
    ),
}
"""Function that writes a model and makes its processor; class; tokens before patches; grid."""


@pytest.fixture(params=FAMILIES)
def family(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model and its processor, which is given where it cannot be loaded."""
    write, network, before, grid = FAMILIES[request.param]
    processor = write(tmp_path / "model")
    if request.param == "qwen":
        load = SimpleNamespace(from_pretrained=lambda _, **__: processor)
        monkeypatch.setattr("headlight.capture.picture_prompts.AutoProcessor", load)
    eager = network.from_pretrained(tmp_path / "model", attn_implementation="eager").eval()
    names = [f"image 1 {row}×{column}" for row in range(grid[0]) for column in range(grid[1])]
    return SimpleNamespace(
        model=headlight.load(tmp_path / "model"),
        processor=processor,
        eager=eager,
        before=before,
        names=names,
        image=picture(tmp_path / "a.png"),
    )


def inputs_of(family: Any, prompt: str, image: Any = None) -> Any:
    opened = Image.open(family.image).convert("RGB") if image is None else image
    return family.processor(text=[prompt], images=[opened], return_tensors="pt")


@pytest.mark.slow
def test_cells_are_those_of_the_whole_model(family: Any) -> None:
    with_head = headlight.load(family.eager, family.processor.tokenizer)
    reading = with_head.read(PROMPT, image=family.image).dataset
    with torch.no_grad():
        own = family.eager(**inputs_of(family, family.before + PROMPT), output_attentions=True)
    np.testing.assert_allclose(reading.weight, torch.stack(own.attentions)[:, 0], atol=1e-6)
    bare = family.model.read(PROMPT, image=family.image, residual=True).dataset
    np.testing.assert_allclose(bare.weight, reading.weight, atol=1e-6)


@pytest.mark.slow
def test_keys_are_named_by_patch_and_word(family: Any) -> None:
    reading = family.model.read(PROMPT, image=family.image).dataset
    tokens, segments = (reading[f"key_{name}"].values.tolist() for name in ("token", "segment"))
    assert [each for each in tokens if each.startswith("image 1 ")] == family.names
    assert reading.query_token.values.tolist() == tokens
    own = family.processor.tokenizer.tokenize(PROMPT)
    assert tokens[-len(own) :] == own
    assert segments[-len(own) :] == ["prompt"] * len(own)
    assert segments.count("image") == len(family.names)
    assert set(segments) <= {"image", "prompt", "template"}
    words = reading.key_word.values[-len(own) :].tolist()
    assert words[-1] == words[-2] == words[0] + 4  # the question mark is of the last word
    assert reading.attrs.get("special", 0) == 0
    share = reading.head_number.sel(statistic="image", measure="weight")
    at = reading.key_segment.values == "image"
    np.testing.assert_allclose(share, reading.weight[..., at].sum("key").mean("query"), atol=1e-5)


@pytest.mark.slow
def test_a_picture_stands_where_the_prompt_has_its_token(family: Any) -> None:
    prompt = f"What {family.before} is in the picture?"
    reading = family.model.read(prompt, image=Image.open(family.image)).dataset
    assert reading.key_segment.values[0] == "prompt"
    with torch.no_grad():
        own = family.eager(**inputs_of(family, prompt), output_attentions=True).attentions
    np.testing.assert_allclose(reading.weight, torch.stack(own)[:, 0], atol=1e-6)
    with pytest.raises(UsageError, match="2 places for a picture"):
        family.model.read(family.before * 2 + PROMPT, image=family.image)


def test_the_named_patch_is_the_one_that_changes(family: Any) -> None:
    rows, columns = (1 + int(each) for each in family.names[-1].split(" ")[-1].split("×"))
    plain = Image.new("RGB", (8 * columns, 8 * rows), "gray")
    for row, column in ((0, 1), (2, 3), (rows - 1, 0)):
        changed = plain.copy()
        changed.paste("white", (8 * column, 8 * row, 8 * column + 8, 8 * row + 8))
        examples = []
        for each in (plain, changed):
            kept: list[Any] = []
            model = family.model
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(
                    "headlight.reading.readers.read_example",
                    lambda _, example, *__, kept=kept, **___: kept.append(example),
                )
                model.read(PROMPT, image=each)
            examples += kept
        before, after = (each.arguments["inputs_embeds"][0] for each in examples)
        place = int((before - after).abs().amax(-1).argmax())
        assert place_name(examples[1].ids[place]) == f"image 1 {row}×{column}"


@pytest.mark.slow
def test_what_is_not_read_beside_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    llava(tmp_path / "model")
    model, image = headlight.load(tmp_path / "model"), picture(tmp_path / "a.png")
    chat = [{"role": "user", "content": PROMPT}]
    for text, sentence in (
        (chat, "a picture is read alone or beside one text, without sound, chats"),
        (" ", "empty but for blanks"),
        ("", "the prompt is empty"),
        ("a " * 3000, "tokens, more than 2048"),
    ):
        with pytest.raises(UsageError, match=sentence):
            model.read(text, image=image)
    with pytest.raises(UsageError, match="there is no picture"):
        model.read(PROMPT, image=tmp_path / "none.png")
    assert "image" in model.read(image=image).dataset.attrs  # by the encoder of pictures alone
    assert model.read(PROMPT).dataset.sizes["key"] == 6  # by the language model alone
    model.transformer.config.vision_config.patch_size = 4
    with pytest.raises(UnsupportedModelError, match="16 image tokens for a picture of 8 × 8"):
        model.read(PROMPT, image=image)
    (tmp_path / "model" / "processor_config.json").unlink()
    with pytest.raises(UsageError, match="does not write this prompt and picture"):
        model.read(PROMPT, image=image)


@pytest.mark.slow
def test_the_command_reads_a_prompt_beside_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    llava(tmp_path / "model")
    command, image = Command(monkeypatch, capsys), str(picture(tmp_path / "a.png"))
    read = ("read", PROMPT, "--image", image, "--model", str(tmp_path / "model"))
    code, shown, complaint = command(*read, "--json", str(tmp_path / "a.json"))
    assert code == 0, complaint
    assert re.search(r"^image +16 ", shown, re.MULTILINE)
    keys = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["keys"]
    assert keys["tokens"][0] == "image 1 0×0"
    assert keys["tokens"][16] == "What"
    for more in (["--measure", "attribution"], ["--compare-text", "b", "--html", "a.html"]):
        code, _, complaint = command(*read, *more)
        assert code == 2
        assert "a picture is read alone or beside one text" in " ".join(complaint.split())


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_words_stand_below_the_picture(browser: Any, tmp_path: Path) -> None:
    llava(tmp_path / "model")
    model = headlight.load(tmp_path / "model")
    reading = model.read(PROMPT, image=picture(tmp_path / "a.png"))
    reading.save(tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.page
    assert page.locator("#bars image").count() == 2
    assert page.locator('#bars rect[data-patch="weight"]').count() == 22
    page.locator('#bars rect[data-patch="norm"][data-token="20"]').click()
    assert "“picture”" in re.sub("[\u2068\u2069]", "", page.text_content("#bars-said"))
    title = page.locator('#bars rect[data-patch="weight"][data-token="6"] title').text_content()
    assert title.startswith("image 1 1×2: ")
    assert opened.complaints == []
    page.context.close()
