"""What is refused in the place of one text, by every command and function that reads one."""

import json
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    PreTrainedModel,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
    ViTConfig,
    ViTModel,
    Wav2Vec2Config,
    Wav2Vec2Model,
)

import headlight
from headlight.corpora import Chat, Document, open_corpus
from headlight.errors import CorpusError, UsageError
from headlight.reading.edits import Edit
from headlight.reading.head_removal import each_head_removed
from headlight.reading.model import Model
from speech_material import tiny_whisper, wav
from studies.command import Command

PLACE: dict[str, Any] = {"layer": 0, "head": 0}
FUNCTIONS: dict[str, Callable[..., object]] = {
    "read": lambda model, *texts: model.read(*texts),
    "routes": lambda model, *texts: model.routes(*texts),
    "explain": lambda model, *texts: model.explain(*texts, **PLACE),
    "alternatives": lambda model, *texts: model.alternatives(*texts, **PLACE),
    "flow": lambda model, *texts: model.flow(*texts),
    "predict": lambda model, *texts: model.predict(*texts),
    "what_if": lambda model, *texts: model.what_if(*texts, edits=Edit(change="uniform", layer=0)),
    "each_head_removed": lambda model, *texts: list(each_head_removed(model, *texts)),
}
COMMANDS = ("read", "routes", "explain", "alternatives", "predict")
CHAT = [{"role": "user", "content": "Who sat?"}, {"role": "assistant", "content": "The cat."}]
NO_TEMPLATE, AS_JSON = (
    r"has no chat template; .*Chat\.of\(messages, template=False\)",
    r"is the JSON of a chat; .*json\.loads",
)
SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}
PICTURE: dict[str, Any] = {"image_size": 16, "patch_size": 8}


@pytest.fixture(scope="module")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_whisper(tmp_path_factory.mktemp("whisper"))


def describer() -> PreTrainedModel:
    """A model that describes pictures: its decoder reads text, and its encoder does not."""
    decoder = BertConfig(**SMALL, vocab_size=8000, is_decoder=True, add_cross_attention=True)
    configs = ViTConfig(**SMALL, **PICTURE), decoder
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(*configs)
    config.decoder_start_token_id = config.pad_token_id = 0
    return VisionEncoderDecoderModel(config)


def listener() -> PreTrainedModel:
    convolutions = {"conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2)}
    places = {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}
    return Wav2Vec2Model(
        Wav2Vec2Config(**SMALL, **convolutions, num_feat_extract_layers=2, **places)
    )


OTHERS: dict[str, tuple[Callable[[], PreTrainedModel], str]] = {
    "pictures": (lambda: ViTModel(ViTConfig(**SMALL, **PICTURE)), "reads pictures; give .*image="),
    "sound": (listener, "needs input_values"),
    "descriptions": (describer, "needs pixel_values"),
}
STUDIES: dict[str, Callable[[Any], object]] = {
    "survey": lambda model: headlight.survey(["the cat"], model=model),
    "dependency": lambda model: headlight.dependency(model=model),
    "circuits": lambda model: headlight.circuits(model=model),
    "word_map": lambda model: model.word_map(["the", "cat"], **PLACE),
}


@pytest.mark.parametrize("name", [*FUNCTIONS, "dependency", "circuits", "word_map"])
def test_a_model_that_hears_is_asked_for_sound(name: str, whisper: Path) -> None:
    model = headlight.load(whisper, head="any")
    ask = STUDIES[name] if name in STUDIES else lambda model: FUNCTIONS[name](model, "Hello")
    with pytest.raises(UsageError, match=r"reads speech; give .*audio="):
        ask(model)


@pytest.mark.parametrize("name", [*FUNCTIONS, *STUDIES])
@pytest.mark.parametrize("kind", OTHERS)
def test_a_model_of_other_inputs_reads_no_text(name: str, kind: str) -> None:
    build, part = OTHERS[kind]
    torch.manual_seed(0)
    model = headlight.load(build().eval(), headlight.load().tokenizer)
    if kind == "descriptions":  # whose trial input is of another size
        vars(model)["kinds"] = ("encoder", "decoder", "cross")
    ask = STUDIES[name] if name in STUDIES else lambda model: FUNCTIONS[name](model, "Hello")
    with pytest.raises(UsageError, match=part):
        ask(model)


@pytest.mark.slow
@pytest.mark.words
@pytest.mark.parametrize("name", ["predict", "what_if", "each_head_removed"])
def test_a_translator_predicts_words_of_a_second_text(name: str) -> None:
    translator = headlight.load("headlight-translator", head="any")
    with pytest.raises(UsageError, match="predicts words of a second text"):
        FUNCTIONS[name](translator, "Ein Haus.")


@pytest.fixture(scope="module")
def model() -> Model:
    return headlight.load(head="any")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("texts", "part"),
    [
        ([""], "^the text is empty;"),
        ([[]], "^the text is empty;"),
        ([" \n\t"], "^the text is empty but for blanks;"),
        (["the cat", ""], "^the second text is empty;"),
        (["the cat", "  "], "^the second text is empty but"),
        ([[""]], "one string, not a list"),
        ([CHAT], NO_TEMPLATE),
        ([CHAT[0]], NO_TEMPLATE),
        ([{"messages": CHAT}], NO_TEMPLATE),
        ([json.dumps(CHAT)], AS_JSON),
        ([json.dumps(CHAT, indent=2)], AS_JSON),
        (["\n".join([json.dumps({"messages": CHAT})] * 2)], AS_JSON),
        (["the cat", json.dumps(CHAT)], f"^the second text {AS_JSON}"),
        (["the cat", CHAT], "^the second text is messages of a chat"),
        ([CHAT, "the cat"], "a chat is read by itself"),
        ([Chat.of(CHAT, template=False), "the cat"], "a chat is read by itself"),
    ],
)
def test_what_is_no_text(model: Model, name: str, texts: list[Any], part: str) -> None:
    with pytest.raises(UsageError, match=part):
        FUNCTIONS[name](model, *texts)


@pytest.mark.parametrize(
    "text",
    ['[{"role": "user"}]', '{"a": 1}', "[1]", "[", '[{"role": "a", "content": "b"}] is JSON', "{}"],
)
def test_json_that_is_no_chat_is_a_text(model: Model, text: str) -> None:
    assert model.read(text, layers=[0]).dataset.attrs["text"] == text


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("texts", [("",), ("  ",), ("the cat", "")])
def test_commands_say_that_a_text_is_empty(
    headlight: Command, command: str, texts: tuple[str, ...]
) -> None:
    assert "text is empty" in headlight.refused(command, *texts, code=2)


def test_a_transcript_and_a_text_to_compare_may_not_be_empty(
    headlight: Command, tmp_path: Path, whisper: Path
) -> None:
    sound = wav(tmp_path / "a.wav")
    refused = headlight.refused("read", "", "--audio", sound, "--model", whisper, code=2)
    assert "the text is empty" in refused
    compared = ("read", "the cat", "--compare-text", "", "--html", tmp_path / "a.html")
    assert "the text to compare with is empty" in headlight.refused(*compared, code=2)
    with pytest.raises(UsageError, match="the text is empty"):
        _load(whisper).read("", audio=sound)


_load, _survey = headlight.load, headlight.survey  # the fixture has the name of the package


@pytest.mark.parametrize("command", COMMANDS)
def test_the_name_of_a_file_is_no_text(
    headlight: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two words.txt").write_text("the cat")
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    wav(tmp_path / "a.wav")
    for name, part in (
        ("two words.txt", f"`headlight {command} - < 'two words.txt'`, or `headlight survey '"),
        ("folder", "folder is a folder here: `headlight survey folder`"),
        (str(tmp_path / "folder"), "is a folder here"),
        ("a.png", "a.png is a picture"),
        ("a.wav", "`headlight read --audio a.wav`"),
    ):
        refused = headlight.refused(command, name, code=2)
        assert part in refused
        assert f"| headlight {command} -`" in refused
    assert "two words.txt is a file" in headlight.refused(
        command, "the cat", "two words.txt", code=2
    )


@pytest.mark.slow
def test_what_only_looks_like_a_name_is_a_text(
    headlight: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cat.txt").write_text("the cat")
    for text in ("wiki.txt", ".", "a" * 300, "cat.txt is here", "https://a.example/cat.txt"):
        assert headlight("read", text, "--layers", "0")[0] == 0
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"cat.txt\n")))
    assert headlight("read", "-", "--layers", "0")[0] == 0
    assert _load().read("cat.txt", layers=[0]).dataset.attrs["text"] == "cat.txt"


@pytest.mark.parametrize(
    ("name", "rows", "column"),
    [
        ("a.jsonl", [{"messages": CHAT}], None),
        ("a.jsonl", [{"id": 1, "messages": CHAT}], None),
        ("a.jsonl", [{"id": 1, "chat": CHAT}], "chat"),
        ("a.jsonl", [{"text": "the cat", "messages": CHAT}], "messages"),
        ("a.jsonl", [{"chat": {"messages": CHAT}}], None),
    ],
)
def test_lines_of_messages_are_chats(
    tmp_path: Path, name: str, rows: list[Any], column: str | None
) -> None:
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (document,) = open_corpus(tmp_path / name, column=column)
    assert document == Document(f"{tmp_path / name}:1", document.paragraphs, Chat.of(CHAT))


@pytest.mark.parametrize("rows", [[{"text": json.dumps(CHAT)}], [CHAT]])
def test_a_chat_in_the_place_of_a_text_is_refused(tmp_path: Path, rows: list[Any]) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(CorpusError, match=r"a.jsonl:1(\[0\])?: .*chats are read from lines"):
        list(open_corpus(tmp_path / "a.jsonl"))


def test_a_list_of_chats_is_a_corpus() -> None:
    (document,) = open_corpus([CHAT])
    assert document.chat == Chat.of(CHAT)
    with pytest.raises(CorpusError, match=r"text 0: .*from Python as a list of messages each"):
        list(open_corpus(CHAT))


def test_chats_are_no_paragraphs(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"text 0: here is a chat, .*without pairs"):
        _survey([CHAT], model=_load(), pairs=True, out=str(tmp_path / "run"))
