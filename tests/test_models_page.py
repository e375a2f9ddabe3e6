"""The script that tries every model of transformers, and the page that it writes."""

import os
import re
import runpy
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import transformers

from architectures import ARCHITECTURES, REFUSED

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "models_page.py"))
PAGE = SCRIPT["PART"].search(SCRIPT["PAGE"].read_text(encoding="utf-8"))[0]

same_version = pytest.mark.skipif(
    f"transformers {transformers.__version__} has" not in PAGE,
    reason="the page was written for another version of transformers",
)


def rows() -> tuple[dict[str, str], dict[str, str]]:
    """Of the page: the attention of the types that work, and the reason of the others."""
    works, refused = {}, {}
    for each in PAGE.splitlines():
        columns = [column.strip() for column in each.strip("|").split("|")]
        if re.fullmatch(r"`[^`]+`", columns[0]) and columns[0] != "`model_type`":
            works[columns[0].strip("`")] = columns[1]
        elif len(columns) == 3 and columns[1].isdecimal():
            refused.update(dict.fromkeys(re.findall(r"`([^`]+)`", columns[2]), columns[0]))
    return works, refused


@same_version
def test_every_type_is_on_the_page_once() -> None:
    works, refused = rows()
    assert not works.keys() & refused.keys()
    assert sorted([*works, *refused]) == SCRIPT["model_types"]()


@same_version
def test_the_page_agrees_with_the_architectures_of_the_tests() -> None:
    works, refused = rows()
    types = set(SCRIPT["model_types"]())
    assert {row.model_type for row in REFUSED} & types <= refused.keys()
    assert {row.model_type for row in ARCHITECTURES} & types <= works.keys()


@same_version
@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "t5", "laguna", "clip", "deepseek_v2", "bloom", "resnet"])
def test_the_page_says_what_is_found(name: str) -> None:
    works, refused = rows()
    found = SCRIPT["tried"](name)
    if name in refused:
        assert SCRIPT["reason_of"](found) == refused[name]
    else:
        assert SCRIPT["line"](name, found).split("|")[2].strip() == works[name]


def broken(how: str, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """What is found of a type whose model does this."""
    names = SCRIPT["tried"].__globals__

    def result_of(name: str) -> Mapping[str, Any]:
        if how == "ends":
            os._exit(1)
        if how == "takes memory":
            bytearray(names["BYTES"])
        time.sleep(60)
        return {}

    monkeypatch.setitem(names, "result_of", result_of)
    monkeypatch.setitem(names, "SECONDS", 10 if how == "takes memory" else 1)
    found: Mapping[str, Any] = SCRIPT["tried"]("bert")
    return found


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("ends", "its process ended"),
        ("never ends", "was not done within 1 seconds"),
        ("takes memory", "needs more memory than there is"),
    ],
)
def test_a_type_that_breaks_its_process_is_a_row(
    how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broken(how, monkeypatch) == {"refused": said}


def test_what_was_tried_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, calls = SCRIPT["everything"].__globals__, []

    def tried(name: str) -> dict[str, Any]:
        calls.append(name)
        if name == "gpt2" and len(calls) < 3:
            raise KeyboardInterrupt
        return {"refused": name}

    monkeypatch.setitem(names, "tried", tried)
    monkeypatch.setitem(names, "KEPT", tmp_path / "kept.jsonl")
    monkeypatch.setitem(names, "model_types", lambda: ["bert", "gpt2"])
    with pytest.raises(KeyboardInterrupt):
        SCRIPT["everything"]()
    assert SCRIPT["everything"]() == {"bert": {"refused": "bert"}, "gpt2": {"refused": "gpt2"}}
    assert calls == ["bert", "gpt2", "gpt2"]
