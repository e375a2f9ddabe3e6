"""Predictions without each word, against a loop that reads one shortened text at a time."""

import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headlight
from headlight.capture.one_text import one_text
from headlight.catalogue.embedded_models import embedded_models
from headlight.chats import as_read
from headlight.encode import Encoded
from headlight.reading.prediction import Prediction, predict
from headlight.reading.prediction_targets import Place
from headlight.reading.word_removal import Word, without_word
from headlight.views.reading import prediction as prediction_page
from headlight.views.reading.prediction_answer import chance, told_apart, word_frame
from page_words import words_when_open
from reading.test_prediction import OTHER, TEXT, subject
from studies.classifiers import classifier

QUICK = {"bert": {"position": 3}, "gpt2": {}, "llama": {}, "t5": {"pair": OTHER}}


def left_places(
    words: Any, word: int, place: int, *, of_side: bool, masked: bool
) -> tuple[list[int], int]:
    """Return the places that stay without a word, and where it predicts; none if it stays."""
    left = [at for at in range(len(words)) if words[at] != word]
    if not of_side:
        return left, place
    gone = [at for at in range(len(words)) if words[at] == word]
    if (place in gone) if masked else (min(gone) > place):
        return [], 0
    return left, sum(at <= place for at in left) - 1


def loop(model: Any, found: Prediction, text: Any, pair: str | None = None) -> dict[Any, float]:
    """Return the probability of the target by side and number of the word, one text at a time."""
    about, probabilities = found.dataset.attrs, {}
    model, example = one_text(model, as_read(text, predicts=True), pair, None, purpose="a test")
    network, tokenizer, place = model.transformer, model.tokenizer, int(about["position"])
    masked = model.head.language == "masked" or bool(about["classes"])
    number = tokenizer.convert_tokens_to_ids(about["target"])
    if about["classes"]:
        number = {name: at for at, name in network.config.id2label.items()}[about["target"]]
    sides = {"text": (example.ids, example.words), "target": (example.target, example.target_words)}
    for side, (ids, words) in sides.items():
        for word in range(max(words, default=-1) + 1):
            of_side = side == about["position_side"] and place >= 0
            left, moved = left_places(words, word, place, of_side=of_side, masked=masked)
            pieces = [ids[at] for at in range(len(words)) if words[at] == word]
            marks = [unicodedata.category(letter)[0] for letter in tokenizer.decode(pieces).strip()]
            if not left or tokenizer.mask_token_id in pieces or set(marks) == {"P"}:
                continue
            if of_side and moved < 0:
                continue
            inputs = {"input_ids": torch.tensor([example.ids])}
            if example.target:
                inputs["decoder_input_ids"] = torch.tensor([example.target])
            inputs["decoder_input_ids" if side == "target" else "input_ids"] = torch.tensor(
                [[ids[at] for at in left]]
            )
            if side == "text" and any(example.segments):
                inputs["token_type_ids"] = torch.tensor([[example.segments[at] for at in left]])
            with torch.no_grad():
                logits = network(**inputs).logits[0]
            row = logits if place < 0 else logits[moved]
            probabilities[side, word] = float(row.double().softmax(-1)[number])
    return probabilities


def agree(model: Any, found: Prediction, text: Any, pair: str | None = None) -> None:
    wanted = loop(model, found, text, pair)
    values = found.dataset["left_out_probability"].values
    assert len(values) == len(wanted) > 0
    np.testing.assert_allclose(values, [*wanted.values()], rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("family", QUICK)
def test_words_are_left_out_as_by_a_loop(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = QUICK[family]
    found = predict(subject(family), TEXT, target="mill", **asked)
    agree(subject(family), found, TEXT, asked.get("pair"))
    monkeypatch.setattr("headlight.reading.word_removal.BATCH_TOKENS", 1)
    again = predict(subject(family), TEXT, target="mill", **asked)
    for name in ("left_out_probability", "left_out_first"):
        if name == "left_out_first":
            assert again[name].values.tolist() == found[name].values.tolist()
        else:
            np.testing.assert_allclose(again[name], found[name], rtol=1e-6)


def test_the_embedded_models_are_read_without_words_of_several_pieces() -> None:
    model = headlight.load(head="any")
    text = "The lighthouse-keeper's cat sat on the [MASK], unbelievably."
    agree(model, model.predict(text), text)
    pair = "It was on the [MASK], unbelievably."
    agree(model, found := model.predict("The cat sat.", pair), "The cat sat.", pair)
    assert "“sat.”" in word_frame(found.dataset)["word"].tolist()
    reader = headlight.load(str(embedded_models()["headlight-classifier"]), head="any")
    agree(reader, reader.predict("A fine film."), "A fine film.")


@pytest.mark.parametrize("tokens", [False, True])
def test_words_of_a_class(tokens: bool) -> None:
    made = classifier(tokens)
    asked = {"position": 2} if tokens else {}
    found = predict(made, TEXT, **asked)
    agree(made, found, TEXT)


def test_a_place_within_a_text_is_followed() -> None:
    found = predict(subject("llama"), TEXT, target="mill", position=3)
    agree(subject("llama"), found, TEXT)
    words = word_frame(found.dataset)
    *before, last = words["predicts"].tolist()
    assert last
    assert not any(before)


def test_texts_of_one_word() -> None:
    found = predict(subject("gpt2"), "river")
    assert word_frame(found.dataset)["predicts"].tolist() == [True]
    assert " predicts “" in prediction_page.findings(found.dataset)[0]
    place = Place(0, "text", masked=False, classes=False, at_end=True)
    bare = Encoded("a text", (5,), (0,), (3,), (0,))
    assert without_word(bare, Word("text", (0,), "river"), place) is None
    whole = replace(place, index=None)
    assert without_word(bare, Word("text", (0,), "river"), whole) is None
    alone = predict(subject("bert"), "river", position=1)
    assert alone.dataset.sizes["word"] == 0
    assert alone.to_dataframe("word").empty
    assert len(prediction_page.headline(alone.dataset).pictures) == 1


def test_of_many_words_those_that_add_most_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = predict(subject("llama"), TEXT, target="mill")
    monkeypatch.setattr("headlight.reading.word_removal.MOST_WORDS", 2)
    found = predict(subject("llama"), TEXT, target="mill")
    values = found["left_out_probability"].values
    known = np.flatnonzero(np.isfinite(values))
    added = found["token_total"].values + found["position_total"].values
    sizes = np.abs(added)[1 : len(values) + 1]  # the first is no word
    assert known.tolist() == sorted(np.argsort(-sizes)[:2].tolist())
    np.testing.assert_allclose(values[known], whole["left_out_probability"].values[known])
    said = prediction_page.headline(found.dataset).pictures[0].note
    assert "2 were left out" in said or len(values) == 2
    assert len(json.loads(found.to_json())["word"]) == 2


# ---------------------------------------------------------------- in words


def changed(
    values: dict[str, float], probability: float = 0.96, predicted: str = "mill", **names: str
) -> Any:
    """Return a prediction whose words have these numbers, the last of them the predicting one."""
    found = predict(subject("gpt2"), TEXT, target="mill").dataset.copy(deep=True)
    found = found.isel(word=slice(0, len(values)))
    found["word_text"] = ("word", [*values])
    found["left_out_probability"] = ("word", [*values.values()])
    firsts = [names.get(name, "mill") for name in values]
    found["left_out_first"] = ("word", firsts)
    found["word_predicts"] = ("word", [False] * (len(values) - 1) + [True])
    return found.assign_attrs(
        probability=probability, predicted=predicted, target="mill", against=""
    )


@pytest.mark.parametrize(
    ("prediction", "words"),
    [
        (
            ({"The": 0.9, "France": 0.09, "city": 0.02, "of": 0.0}, 0.96, "mill"),
            "“mill” (96%) rests on “France” and “city”: without “France” it is 9%, and “Rome” "
            "comes first.",
        ),
        (
            ({"The": 0.9, "France": 0.75, "of": 0.0}, 0.96, "mill"),
            "“mill” (96%) rests on “France”: without “France” it is 75%, and “Rome” comes first.",
        ),
        (
            ({"The": 0.9, "city": 0.8, "of": 0.0}, 0.96, "mill"),
            "“mill” (96%) rests on no single word: without “city”, which it needs most, it is "
            "still 80%.",
        ),
        (
            ({"The": 0.02, "city": 0.31, "of": 0.0}, 0.08, "sand"),
            "“mill” (8%) rests on “The”: without “The” it is 2%.",
        ),
        (
            ({"The": 0.07, "city": 0.31, "of": 0.0}, 0.08, "sand"),
            "“mill” (8%) is held back by “city”: without “city” it is 31%.",
        ),
        (
            ({"The": 0.97, "city": 0.98, "of": 0.0}, 0.96, "mill"),
            "“mill” (96%) rests on no single word: without any one of them it is no less likely.",
        ),
    ],
)
def test_titles(prediction: Any, words: str) -> None:
    values, probability, predicted = prediction
    found = changed(values, probability, predicted, France="Rome")
    assert prediction_page.findings(found)[0] == words
    assert prediction_page.headline(found).title == words


def test_a_title_says_which_of_two_comes_first() -> None:
    found = predict(subject("llama"), TEXT, target="mill", against="sand").dataset
    share = found["left_out_probability"] / (
        found["left_out_probability"] + found["left_out_against"]
    )
    frame = word_frame(found)
    np.testing.assert_allclose(frame["probability"], share)
    whole = 1 / (1 + np.exp(-float(found["logit"])))
    np.testing.assert_allclose(frame["probability"] - frame["change"], whole, rtol=1e-6)
    assert "“mill” rather than “sand” (" in prediction_page.findings(found)[0]


def test_two_texts_are_named_by_the_words_that_differ() -> None:
    other = TEXT.replace("river", "mill")
    found = predict(subject("gpt2"), TEXT, target="sand", compare_text=other).dataset
    assert "left_out_probability" not in found
    title = prediction_page.headline(found).title
    assert "likely with “river”, and " in title
    assert title.endswith(" with “mill”.")
    (first, second) = prediction_page.headline(found).pictures[0].bars
    assert (first.label, second.label) == ("with “river”", "with “mill”")


def test_the_parts_beside_the_words_add_up() -> None:
    for family in QUICK:
        found = predict(subject(family), TEXT, target="mill", **QUICK[family]).dataset
        parts = [
            *prediction_page._feed_forward(found),
            *prediction_page._whole_heads(found),
            *prediction_page._others(found),
        ]
        first = prediction_page.first_of_decoder(found)
        taken = 0.0 if first is None else float(np.nansum(found["head_direct"].values[..., first]))
        whole = sum(value for _, value in parts) + taken
        assert whole == pytest.approx(float(found["logit"]), abs=1e-5)


def test_equal_words_are_told_apart() -> None:
    assert told_apart(["of", "city", "of"]) == ["“of” (first)", "“city”", "“of” (last)"]
    three = told_apart(["the", "a", "the", "sea", "the", "a", "the"])
    assert three[2:5:2] == ["“the” (before “sea”)", "“the” (3 of 4)"]


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (0.96, "96%"), (0.0936, "9%"), (0.0017, "0.2%"), (0.00003, "0.003%"),
        (1e-9, "<0.001%"), (0.9991, "99.9%"), (1.0, ">99.9%"), (0.9949, "99%"),
    ],
)  # fmt: skip
def test_probabilities_in_words(probability: float, words: str) -> None:
    assert chance(probability) == words


def test_a_page_begins_with_its_answer(tmp_path: Path) -> None:
    model = headlight.load(head="any")
    found = model.predict("The cat sat on the [MASK], and the dog lay by the door of the house.")
    page = found.save(tmp_path / "found.html").read_text()
    shown = words_when_open(page)
    assert len(shown) <= 200
    title = prediction_page.headline(found.dataset).title
    assert title in " ".join(shown)
    assert found.as_json()["findings"][0] == title
    assert str(found).startswith(title)
    stored = headlight.open(found.save(tmp_path / "found.nc"))
    np.testing.assert_array_equal(stored["left_out_probability"], found["left_out_probability"])
