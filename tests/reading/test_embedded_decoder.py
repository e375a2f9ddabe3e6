"""The embedded decoder: what it is, what it was trained on, and that it answers from passages."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headlight as root
from headlight.catalogue.embedded_models import EMBEDDED_DECODER, embedded_models
from headlight.encode.passage_prompts import Prompt
from studies.command import Command

FOLDER = embedded_models()[EMBEDDED_DECODER]
SCRIPTS = Path(__file__).parents[2] / "scripts"
QUESTION, PASSAGES = "Where is the key?", ["The key is in the shed.", "The door is green."]

pytestmark = [
    pytest.mark.skipif(not (FOLDER / "config.json").exists(), reason="no embedded decoder here"),
    pytest.mark.skipif(not SCRIPTS.exists(), reason="scripts are not here"),
]


@pytest.fixture(scope="module")
def story_texts() -> Iterator[Any]:
    """The script that writes texts."""
    sys.path.insert(0, str(SCRIPTS))
    import story_texts

    yield story_texts
    sys.path.remove(str(SCRIPTS))


@pytest.fixture(scope="module")
def model() -> root.Model:
    return root.load(EMBEDDED_DECODER)


def test_it_is_small_enough_to_ship() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 4e6


def test_it_turns_positions_and_its_heads_share_keys(model: root.Model) -> None:
    config: Any = model.transformer.config
    assert config.model_type == "llama"
    assert config.num_key_value_heads < config.num_attention_heads
    assert config.tie_word_embeddings


def test_the_same_number_gives_the_same_text(story_texts: Any) -> None:
    for number in range(100):
        once, again = story_texts.text(number), story_texts.text(number)
        assert once == again
        assert once != story_texts.text(number, seed=1)


def test_every_kind_of_fact_names_its_words_alone(story_texts: Any) -> None:
    for kind in story_texts.KINDS:
        story_texts.check(kind)


def test_answers_stand_in_one_passage(story_texts: Any) -> None:
    for number in range(200):
        asked = story_texts.held_out(number)
        answer = asked.answer.removeprefix("in ").removesuffix("'s").lower()
        assert answer in asked.passages[asked.source].lower(), asked


def test_texts_are_written_as_they_will_be_asked(story_texts: Any) -> None:
    asked = story_texts.held_out(0)
    prompt = Prompt.from_question(asked.question, asked.passages)
    assert prompt.written(None, range(3), range(3))[0] == asked.prompt


def test_pairs_that_are_held_out_are_in_no_text_to_train_on(story_texts: Any) -> None:
    asker = story_texts.Asker(story_texts.Random(0))
    for _ in range(200):
        assert not any(story_texts.is_held_out(fact.fields, fact.kind) for fact in asker.facts(3))


@pytest.mark.slow
def test_it_answers_what_it_never_read(story_texts: Any, model: root.Model) -> None:
    import pretrain_decoder

    asked = [story_texts.held_out(number, alike=False) for number in range(100)]
    right = pretrain_decoder.answered(model.transformer, model.tokenizer, asked)
    assert sum(right) >= 90


@pytest.mark.slow
def test_the_first_command_is_answered(headlight: Command) -> None:
    passages = [word for passage in PASSAGES for word in ("--context", passage)]
    code, said, _ = headlight("sources", QUESTION, *passages)
    assert code == 0
    words = " ".join(said.split())
    assert words.startswith("The answer came from passage 1:")
    assert "answered “in the shed”" in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "taken"),
    [("The capital of France is", EMBEDDED_DECODER), ("The cat sat on [MASK].", "headlight-small")],
)
def test_predict_takes_the_model_that_can(headlight: Command, text: str, taken: str) -> None:
    code, said, _ = headlight("predict", text)
    assert code == 0
    assert f"{taken} after “" in said or f"{taken} reading “" in said


@pytest.mark.slow
def test_it_knows_a_capital(model: root.Model) -> None:
    assert "Paris" in str(model.predict("The capital of France is"))


@pytest.mark.slow
def test_it_has_heads_that_copy(model: root.Model) -> None:
    scores = root.circuits(model=model, parts=["repeated"], progress=False)
    induction = scores["repeated"].sel(behaviour="prefix_matching", measure="weight")
    assert float(induction.max()) > 0.3
