"""Chats by every door: functions, commands, files, pages, a survey."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headlight
from encode.small_tokenizers import chat_tokenizer, decoder
from headlight.corpora import Chat
from headlight.errors import UsageError
from headlight.findings.candidates import last_word
from headlight.findings.route_tracing import ways_to
from headlight.findings.statistics import statistics_of
from headlight.findings.what_was_read import notes_of_reading, what_was_read
from headlight.reading.model import Model
from headlight.reading.view_functions import FUNCTIONS
from headlight.result import load
from headlight.serve.functions import FUNCTIONS as FUNCTIONS_OF_APP, Workspace
from headlight.views.reading.packing import pack
from headlight.views.reading.page import parse_page
from headlight.vocabulary import SEGMENTS
from studies.command import Command

END = "<|endoftext|>"
TEMPLATE = (
    "{% for m in messages %}" + END + "{{ m.role }}\n{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}" + END + "assistant\n{% endif %}"
)
CHAT = [
    {"role": "system", "content": "the sea is old"},
    {"role": "user", "content": "is the lake full?"},
    {"role": "assistant", "content": "the lake is full, the sea is full."},
    {"role": "user", "content": f"the river {END} is"},
]
_load = headlight.load  # the fixture has the name of the package
_survey = headlight.survey


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return chat_tokenizer(TEMPLATE)


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Model:
    return _load(decoder(tokenizer, max_position_embeddings=2048), tokenizer)


@pytest.fixture(scope="module")
def folder(model: Model, tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decoder")
    model.transformer.save_pretrained(path)  # type: ignore[operator]
    tokenizer.save_pretrained(path)
    return path


@pytest.mark.parametrize("messages", [CHAT, CHAT * 10, {"messages": CHAT}])
def test_shares_of_segments_are_sums_of_cells(model: Model, messages: Any) -> None:
    data = model.read(messages).dataset
    ids = model.tokenizer.apply_chat_template(Chat.of(messages).with_contents(  # type: ignore[union-attr]
        Chat.of(messages).contents))["input_ids"]  # fmt: skip
    assert [*data["key_token"].values] == model.tokenizer.convert_ids_to_tokens(ids)  # type: ignore[union-attr]
    segments = data["key_segment"].values
    assert {*segments} == {*SEGMENTS}
    for name in ("weight", "norm"):
        cells = data[name].transpose("layer", "head", "query", "key").values.astype(float)
        sums = cells.sum(-2) / cells.sum((-1, -2))[..., None]
        whole = 0.0
        for segment in SEGMENTS:
            number = data["head_number"].sel(statistic=segment, measure=name).values
            expected = sums[..., segments == segment].sum(-1)
            np.testing.assert_allclose(number, expected, rtol=1e-5)
            whole += number
        np.testing.assert_allclose(whole, 1, rtol=1e-5)


def test_texts_without_segments_have_no_such_rows(model: Model) -> None:
    names = {str(row.name) for row, _ in statistics_of(model.read("the sea is old").dataset)}
    assert not names & {*SEGMENTS}
    assert "key_segment" not in model.read("the sea is old").dataset


def test_what_is_typed_into_a_message_is_said(model: Model) -> None:
    data = model.read(CHAT).dataset
    assert data.attrs["special"] == 1
    (note,) = notes_of_reading(data)
    assert note.startswith("1 special token is written in the messages, where the model cannot")
    assert notes_of_reading(model.read(CHAT[:3]).dataset) == []


@pytest.mark.slow
def test_files_keep_the_chat(model: Model, tmp_path: Path) -> None:
    reading = model.read(CHAT)
    segments = reading.dataset["key_segment"].values.tolist()
    reading.save(tmp_path / "a.nc")
    kept = load(tmp_path / "a.nc", stage="reading")
    assert kept["key_segment"].values.tolist() == segments
    reading.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["keys"]["segments"] == segments
    reading.save(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert parse_page(page)["key_segment"].values.tolist() == segments
    assert "<title>Chat: is the lake full?" in page
    assert repr(reading).startswith("<Reading of 'Chat: is the lake full?' by")


@pytest.mark.slow
def test_every_question_takes_messages(model: Model) -> None:
    tokens = [*model.read(CHAT).dataset["query_token"].values]
    for answer in (model.routes(CHAT), model.flow(CHAT, methods=("rollout",))):
        assert [*answer.dataset["query_token"].values] == tokens
        assert answer.dataset.attrs["text"].startswith(f"{END}system\nthe sea is old\n")
    explained = model.explain(CHAT, layer=1, head=0).dataset
    assert explained.attrs["text"] == model.read(CHAT).dataset.attrs["text"]
    # A prediction follows the beginning of an answer; a chat that says otherwise is left alone.
    predicted = model.predict(CHAT).dataset
    answer = f"{END}assistant\n"
    assert predicted.attrs["text"].endswith(answer)
    left = Chat(Chat.of(CHAT).messages, answer=False)
    assert not model.predict(left).dataset.attrs["text"].endswith(answer)
    assert not model.predict(CHAT[:3]).dataset.attrs["text"].endswith(answer)
    generation = model.generate(CHAT, max_new_tokens=2).dataset
    assert generation.attrs["text"].endswith(answer)
    segments = [*generation["key_segment"].values]
    assert segments[-2:] == ["answer", "answer"]
    assert segments.count("answer") == 2
    assert {*segments} == {*SEGMENTS, "answer"}


UNUSUAL = {
    "typed control tokens": [{"role": "user", "content": f"{END} system\nis {END}"}],
    "Unicode": [{"role": "user", "content": "ü 😀 \u202eالماء\u200d the sea"}],
    "an empty message": [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "is the lake full?"},
    ],
    "40 turns": [CHAT[1 + number % 2] for number in range(79)],
}


@pytest.mark.slow
@pytest.mark.parametrize("messages", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_chats_are_read_generated_from_and_asked_for_sources(
    model: Model, messages: list[dict[str, str]]
) -> None:
    tokenizer: Any = model.tokenizer
    for answer in (False, True):
        rendered = tokenizer.apply_chat_template(messages, add_generation_prompt=answer)
        ids = rendered["input_ids"]
        data = (
            model.generate(messages, max_new_tokens=2) if answer else model.read(messages)
        ).dataset
        assert data["key_token"].values.tolist()[: len(ids)] == [
            tokenizer.convert_ids_to_tokens(each) for each in ids
        ]
        assert data.sizes["key"] == len(ids) + 2 * answer
        assert set(data["key_segment"].values) <= {*SEGMENTS, "answer"}
    quick: dict[str, Any] = {"chosen": ("L0H0",), "masks": 0, "orders": 1, "predict": False}
    passages = ["the lake is old.", "the sea is old.", "the river is near."]
    sources = model.sources(messages, passages, answer="the sea", **quick).dataset
    assert sources["passage_text"][0].values.tolist() == passages
    assert np.isfinite(sources["log_probability"]).all()


def test_a_chat_opens_on_what_somebody_has_said(model: Model) -> None:
    chat = Chat(Chat.of(CHAT).messages, answer=True)  # whose last words are the template's
    data = model.read(chat).dataset
    at = last_word(data)
    assert data["query_segment"].values[at] == "user"
    said = data["query_segment"].values[at + 1 :] == "user"
    assert not any(map(str.isalnum, "".join(data["query_token"].values[at + 1 :][said][1:])))
    assert pack(data).header["kinds"]["decoder"]["cell"][0] == at
    assert model.routes(chat).dataset.attrs["token"] == at


def loops(values: Any, segments: Any) -> dict[str, float]:
    """Return sums by segment, and that of the first token, as loops."""
    sums = {"first token": float(values[0])}
    for at in range(1, len(values)):
        sums[segments[at]] = sums.get(segments[at], 0.0) + float(values[at])
    return sums


@pytest.mark.slow
def test_routes_flow_and_predictions_are_summed_by_segment(model: Model, tmp_path: Path) -> None:
    segments = model.read(CHAT).dataset["query_segment"].values.tolist()
    routes = model.routes(CHAT)
    about = routes.dataset.attrs
    ways = ways_to(routes.dataset, about["token"], about["layer"], least=0.01)
    written = json.loads(routes.save(tmp_path / "r.json").read_text())
    for column, values in (("takes", ways.direct), ("input", ways.passing[0])):
        sums = {row["segment"]: row[column] for row in written["by_segment"]}
        assert sums == pytest.approx(loops(values, segments))
        assert sum(sums.values()) == pytest.approx(1)
    assert written["segments"] == segments
    assert "By segment: first token " in routes.save(tmp_path / "r.html").read_text()

    flow = model.flow(CHAT, methods=("rollout", "alti"))
    followed = flow.dataset["share"].isel(layer=-1, query=-1)
    for row in flow.as_json()["by_segment"]:
        values = followed.sel(map="alti").values
        assert row["ALTI"] == pytest.approx(loops(values, segments)[row["segment"]])
    assert "by segment" in flow.save(tmp_path / "f.html").read_text()

    predicted = model.predict(CHAT)
    data = predicted.dataset
    frame = predicted.to_dataframe("segment")
    sums = dict(zip(frame["segment"], frame["sum"], strict=True))
    biases = sums.pop("all biases")
    own = (data["token_total"] + data["position_total"]).values
    assert sums == pytest.approx(loops(own, data["token_segment"].values))
    assert sum(sums.values()) + biases == pytest.approx(predicted.logit, abs=1e-5)
    words = " ".join(str(message["content"]) for message in CHAT).replace(END, "").split()
    assert data["word_text"].values.tolist() == words  # and nothing of the template
    assert "What each segment adds" in predicted.save(tmp_path / "p.html").read_text()
    assert predicted.as_json()["segment"]
    for answer in (model.predict("the sea is"), model.flow("the sea is"), model.routes("the sea")):
        written = answer.as_json()
        assert not written.get("by_segment") and "segment" not in written  # noqa: PT018


def test_what_if_reads_the_tokens_of_the_reading(model: Model) -> None:
    data = model.read(CHAT).dataset
    weights = [1.0, *[0.0] * (data.sizes["key"] - 1)]
    edit = {"change": "weights", "layer": 0, "head": 0, "query": 3, "weights": weights}
    for changed in ({"change": "uniform", "layer": 0, "head": 1}, edit):
        *_, last = FUNCTIONS["what_if"](model, data, {"kind": "decoder", "edits": [changed]})
        assert "result" in last


@pytest.mark.slow
def test_a_survey_has_rows_of_segments(model: Model, tmp_path: Path) -> None:
    chats = [CHAT, CHAT[1:3], [{"role": "user", "content": "the sea"}]]
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in chats))
    result = _survey(str(path), model=model, measures=("weight",))
    shares = result["behaviour_share"].sel(measure="weight")
    for name in SEGMENTS:
        alone = []
        for chat in chats:
            data = model.read(chat).dataset
            weight = data["weight"].transpose("layer", "head", "query", "key").values
            own = data["key_segment"].values == name
            alone.append(weight[..., own].sum(-1).mean(-1))
        np.testing.assert_allclose(shares.sel(behaviour=name), np.mean(alone, 0), rtol=1e-4)
    assert "1 special token is written in the messages" in what_was_read(result).sentence
    again = _survey(chats, model=model, measures=("weight",))
    np.testing.assert_array_equal(again["behaviour_share"], result["behaviour_share"])
    # A text among them has no segments, whatever batch it is in.
    mixed = _survey([*chats, "the sea"], model=model, measures=("weight",))
    together = mixed["behaviour_share"].sel(measure="weight")
    np.testing.assert_allclose(
        together.sel(behaviour="user"), shares.sel(behaviour="user"), rtol=1e-6
    )
    plain = _survey(["the sea is old"], model=model, measures=("weight",))
    assert not {*plain["behaviour"].values} & {*SEGMENTS}


@pytest.mark.slow
def test_the_command_reads_a_chat(headlight: Command, folder: Path, tmp_path: Path) -> None:
    path, page = tmp_path / "chat.json", tmp_path / "chat.html"
    path.write_text(json.dumps(CHAT))
    options = ("--chat", path, "--model", folder)
    code, said, complained = headlight("read", *options, "--html", page)
    assert code == 0
    lines = said[said.index("by segment") :].splitlines()
    assert [line.split()[0] for line in lines[2:6]] == [*SEGMENTS]
    assert "1 special token is written in the messages" in complained
    assert {*parse_page(page.read_text())["key_segment"].values} == {*SEGMENTS}
    out = tmp_path / "chat.nc"
    assert headlight("read", *options, "--system", "the old mill", "--out", out)[0] == 0
    assert "the old mill" in load(out, stage="reading").attrs["text"]
    assert headlight("read", *options, "--no-template", "--out", out)[0] == 0
    assert load(out, stage="reading").attrs["text"] == "\n\n".join(m["content"] for m in CHAT)
    assert headlight("predict", *options)[0] == 0


@pytest.mark.parametrize(
    ("content", "arguments", "part"),
    [
        ("{", (), "is not JSON"),
        (json.dumps({"messages": CHAT}) + "\n" + json.dumps(CHAT), (), "with a chat a line"),
        ('{"text": "the sea"}', (), "message 1 has no role"),
        (json.dumps([{"role": "tool", "content": "3"}]), (), "message 1 has the role 'tool'"),
        (json.dumps(CHAT), ("the sea",), "a text and --chat are both to be read"),
        (None, ("--system", "a"), "name its --chat"),
        (None, ("the sea", "--no-template"), "name its --chat"),
        (None, (), "there is nothing to read"),
    ],
)
@pytest.mark.parametrize("command", ["read", "predict"])
def test_refusals_of_commands(
    headlight: Command, tmp_path: Path, command: str, content: str | None,
    arguments: tuple[str, ...], part: str,
) -> None:  # fmt: skip
    path = tmp_path / "chat.json"
    if content is not None:
        path.write_text(content)
        arguments = (*arguments, "--chat", str(path))
    assert part in headlight.refused(command, *arguments, code=2)
    assert "cannot be read" in headlight.refused(command, "--chat", tmp_path / "no.json", code=2)


@pytest.mark.slow
@pytest.mark.parametrize("sent", [CHAT, json.dumps(CHAT), json.dumps({"messages": CHAT}, indent=1)])
def test_the_app_reads_messages(model: Model, sent: Any) -> None:
    workspace = Workspace(model, longest=100)
    name = FUNCTIONS_OF_APP["read"](workspace, {"text": sent}, lambda *_: None)["reading"]
    data = workspace.readings[name].dataset
    assert {*data["key_segment"].values} == {*SEGMENTS}
    told = FUNCTIONS_OF_APP["predict"](workspace, {"text": sent}, lambda *_: None)
    assert told["text"].endswith(f"{END}assistant\n")
    with pytest.raises(UsageError, match=r"has \d+ tokens, and this app takes 10"):
        FUNCTIONS_OF_APP["read"](Workspace(model, longest=10), {"text": sent}, lambda *_: None)


@pytest.mark.parametrize(
    ("sent", "part"),
    [
        ("\n".join([json.dumps(CHAT)] * 2), "no JSON of one chat"),
        ([{"role": "tool", "content": "a"}], "has the role 'tool'"),
        ([], "the text is empty"),
    ],
)
def test_the_app_refuses_other_messages(model: Model, sent: Any, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        FUNCTIONS_OF_APP["read"](Workspace(model, longest=100), {"text": sent}, lambda *_: None)


def test_a_chat_is_no_transcript(model: Model) -> None:
    with pytest.raises(UsageError, match=r"speech is read with one transcript, .* and chats"):
        model.read(CHAT, audio="a.wav")
