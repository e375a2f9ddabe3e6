"""The table of questions of one text: methods, commands, files and terminal of one row agree."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from rich.console import Console

import headlight
from headlight.catalogue.questions import QUESTIONS
from headlight.catalogue.writers import writers
from headlight.cli.program import app
from headlight.cli.setting_options import options_of
from headlight.errors import UnknownNameError, UsageError
from headlight.reading.model import Model
from headlight.result import load
from headlight.settings import default_of
from headlight.views.parts import Table
from headlight.views.terminal import TOP, terminal
from reading.test_generation import decoder

PROGRAM: Any = typer.main.get_command(app)
TEXT = "The cat sat on the [MASK]."


@pytest.fixture(scope="module")
def model() -> Model:
    return headlight.load(head="any")


SUBJECTS = {
    "read": [
        *("model", "text", "pair", "audio", "image"),
        *("ids", "prompt", "attention_mask", "position_ids"),
    ],
    "flow": ["model", "text", "pair", "image"],
    "sources": ["model", "question", "context", "answer"],
}
"""Arguments of methods before their settings, where they are not one text or two."""
SHOWN = [name for name, row in QUESTIONS.items() if row.of_one_text and row.shown]
"""Questions of one text whose answers are shown in sections."""
MADE_OF_A_MEASURE = {"residual"}
"""Settings of `read` which the command sets by the measure that is shown."""


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_method_and_the_command_have_the_settings(name: str) -> None:
    question = QUESTIONS[name]
    parameters = inspect.signature(getattr(Model, name)).parameters
    subject = SUBJECTS.get(name, ["model", "text", "pair"])
    assert list(parameters)[: len(subject)] == subject
    settings = {
        key: parameter.default for key, parameter in parameters.items() if key not in subject
    }
    assert settings == {
        key: default_of(question.settings, key) for key in question.settings.hints()
    }
    doc = getattr(Model, name).__doc__
    assert all(f"{key}: " in doc for key in parameters)
    assert doc.index("Args:") < doc.index("Returns:") < doc.index("Raises:")
    if question.is_command:
        options = {each.name for each in PROGRAM.commands[name].params}
        wanted = {option.name for option in options_of(question.settings)} - MADE_OF_A_MEASURE
        assert {*wanted, "top", "html", "json", "out"} <= options


@pytest.mark.slow
def test_settings_may_be_arrays_ranges_and_switches(model: Model) -> None:
    reading = model.read(TEXT, layers=np.array([1, 0]), heads=[np.int64(2)], queries=range(2))
    assert reading.dataset["layer"].values.tolist() == [0, 1]
    assert reading.dataset.sizes["head"] == 1
    assert "attribution" not in model.read(TEXT, layers=(0,), attribution=False).dataset
    quick = {"directions": 2}
    assert "attribution" in model.read(TEXT, layers=(0,), attribution=quick).dataset


def asked(name: str, model: Model) -> Model:
    """Return a model that answers the question: an encoder generates nothing."""
    return decoder() if name == "generate" else model


def settings_of(name: str) -> dict[str, Any]:
    """Return the settings without which a question has no answer."""
    other = TEXT.replace("cat", "dog")
    return {"patch": {"compare_text": other}, "similarity": {"pair": other}}.get(name, {})


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_an_answer_has_all_its_files_and_sentences(name: str, model: Model, tmp_path: Path) -> None:
    question = QUESTIONS[name]
    answer = getattr(asked(name, model), name)(TEXT, **settings_of(name))
    for suffix in writers(name):
        assert answer.save(tmp_path / f"answer{suffix}").stat().st_size > 0
    assert json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))["text"] == TEXT
    assert load(tmp_path / "answer.nc").attrs["text"] == TEXT
    assert question.view.findings(answer.dataset)
    with pytest.raises(UsageError, match="saved as"):
        answer.save(tmp_path / "answer.txt")


def returned(name: str) -> dict[str, list[str]]:
    """Return the dimensions of the variables of an answer, as its method says them."""
    said = getattr(Model, name).__doc__.partition("Returns:")[2].partition("Raises:")[0]
    groups = re.findall(r"((?:``\w+``, )*``\w+``) \(([^)]*)\)", " ".join(said.split()))
    return {
        variable: dims.split(" × ") if dims else []
        for variables, dims in groups
        for variable in re.findall(r"\w+", variables)
    }


OTHER = TEXT.replace("cat", "dog")
ALL_VARIABLES: dict[str, dict[str, Any]] = {
    "read": {"residual": True, "attribution": {"directions": 2}},
    "generate": {"predict": True, "max_new_tokens": 2},
    "patch": {"compare_text": OTHER},
    "routes": {"compare_text": OTHER},
    "predict": {"against": "dog"},
    "explain": {"layer": 1, "key": 1, "against_key": 2},
    "similarity": {"pair": OTHER},
    "sources": {
        "context": ["the cat sat", "the dog ran"],
        "answer": "the dog",
        "chosen": ["L0H0"],
        "masks": 1,
    },
}
"""Settings with which an answer has all its variables."""


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_method_says_what_its_answer_holds_and_over_what(name: str, model: Model) -> None:
    answers = decoder() if name in ("generate", "sources") else model
    data = getattr(answers, name)(TEXT, **ALL_VARIABLES.get(name, {})).dataset
    held = {
        variable: list(values.dims)
        for variable, values in data.data_vars.items()
        if not variable.endswith(("_by_slot", "_slot_weights"))  # results.md speaks of those
    }
    said = returned(name) | (returned("read") if name == "generate" else {})
    missing = said.keys() - held.keys()
    assert missing == ({"block_norm", "layer_norm", "attribution"} if name == "generate" else set())
    assert {variable: said[variable] for variable in held} == held


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_setting_that_there_is_not_is_refused(name: str, model: Model) -> None:
    with pytest.raises(UnknownNameError, match=f"setting of {name}"):
        getattr(model, name)(TEXT, lager=1)


def printed(table: Table, width: int = 60, **how: Any) -> str:
    console = Console(width=width, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(terminal(table, **how))
    return capture.get()


HEADS = pd.DataFrame(
    {
        "layer": np.repeat(range(4), 8),
        "head": list(range(8)) * 4,
        "weight": [*np.zeros(29), 0.8, 0.9, -0.95],
        "text": ["x" * 30] * 32,
    }
)


def test_heads_stand_in_the_order_of_their_first_number_and_not_of_their_place() -> None:
    text = printed(Table("heads", "All heads", HEADS), whole="in the files")
    rows = [line.split() for line in text.splitlines()[2:]]
    assert rows[0][:3] == ["3", "6", "0.900"]
    assert rows[1][:3] == ["3", "5", "0.800"]
    assert "−0.950" not in text
    nearest = printed(Table("heads", "", HEADS, smallest_first=True)).splitlines()
    assert nearest[1].split()[:3] == ["3", "7", "−0.950"]
    assert f"{len(HEADS) - TOP} more rows in the files" in text


def test_rows_that_are_no_heads_stand_as_they_are() -> None:
    frame = pd.DataFrame({"layer": range(30), "weight": np.linspace(0, 1, 30)})
    assert printed(Table("layers", "", frame)).splitlines()[1].split() == ["0", "0"]


def test_intervals_follow_their_rows() -> None:
    around = {"weight": [0.0] * 29 + [0.01, 0.02, 0.0]}
    lines = printed(Table("heads", "", HEADS, around=around)).splitlines()
    assert "0.02" in lines[1]
    assert "0.01" in lines[2]


def test_words_become_narrower_before_numbers_are_left_out() -> None:
    text = printed(Table("heads", "", HEADS), width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert "0.900" in text
    narrow = " ".join(printed(Table("heads", "", HEADS), width=22).split())
    assert narrow.endswith("more rows and 1 more column")


def test_sums_are_of_all_rows() -> None:
    frame = pd.DataFrame({"part": list("abcd"), "score": [4.0, -3.0, 2.0, 1.0]})
    lines = printed(Table("parts", "", frame, {"score": "+.1f"}, sums=("score",)), most=2)
    assert "2 others" in lines
    assert lines.split("2 others")[1].split()[:3] == ["+3.0", "sum", "+4.0"]
