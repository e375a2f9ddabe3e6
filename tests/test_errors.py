"""Refusals: settings in their sentences, as arguments of Python and as options."""

import ast
import copy
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import headlight
from headlight.capture.backward import NotFiniteError
from headlight.catalogue import studies
from headlight.cli.setting_options import naming_options, options_of
from headlight.errors import RunError, UsageError, setting
from studies.command import Command

SOURCES = sorted(
    path
    for path in Path(headlight.__file__).parent.rglob("*.py")
    if not {"cli", "serve"} & {*path.parts}
)
"""Modules whose refusals both Python and the command line show."""

NO_WORDS = {"FORMAT", "_FORMAT", "TEMPLATE"}
"""Constants that sentences may hold: numbers of versions, and a sentence that is found itself."""

SENTENCE = (
    f"{setting('max_length')} is 3, and holds it; go on with {setting('resume=True')} or "
    f"{setting('out=')}, or take {setting('kind=decoder')}."
)


def test_a_setting_is_an_argument_in_python_and_an_option_on_the_command_line() -> None:
    error = RunError(SENTENCE)
    assert str(error) == (
        "max_length is 3, and holds it; go on with resume=True or out=, or take kind='decoder'."
    )
    assert error.with_options() == (
        "--max-length is 3, and holds it; go on with --resume or --out, or take --kind decoder."
    )
    assert error.settings == ("max_length", "resume", "out", "kind")


def test_an_error_from_another_process_still_names_settings() -> None:
    error = copy.deepcopy(RunError(SENTENCE))  # as it is made again in another process
    assert error.with_options() == RunError(SENTENCE).with_options()
    assert str(error) == str(RunError(SENTENCE))


@pytest.mark.parametrize(
    "sentence",
    [
        "the text 'layer must be 3' has no max_length must word.",
        "pairs is no file: class_names.txt.",
        "50% {} \\1 {max_length} \ufdd0 is odd.",
    ],
)
def test_words_of_users_are_never_taken_for_settings(sentence: str) -> None:
    options = list(options_of(studies()["survey"].settings))
    with pytest.raises(UsageError) as refused, naming_options(options, ["out"]):
        raise UsageError(sentence.replace("\ufdd0 ", ""))
    assert str(refused.value) == sentence.replace("\ufdd0 ", "")


def test_nested_settings_have_the_names_of_their_options() -> None:
    options = list(options_of(studies()["survey"].settings))
    nested = next(each for each in options if len(each.path) > 1)
    with pytest.raises(UsageError) as refused, naming_options(options, ["out"]):
        raise UsageError(f"{setting(nested.path[-1])} must be 1 with {setting('out=')}.")
    assert str(refused.value) == f"{nested.flag} must be 1 with --out."


def test_an_option_that_a_command_lacks_is_not_made_up() -> None:
    with pytest.raises(UsageError) as refused, naming_options([], ["out"]):
        raise UsageError(f"{setting('weights')} are given; leave out {setting('kind=decoder')}.")
    assert str(refused.value) == "weights are given; leave out kind='decoder'."


def test_a_refusal_of_settings_is_rendered_for_who_reads_it(headlight: Command) -> None:
    refused = headlight.refused("survey", "--max-length", "0", code=2)
    assert refused == "--max-length must be at least 1, not 0."
    with pytest.raises(UsageError, match=r"^max_length must be at least 1, not 0\.$"):
        studies()["survey"].settings.from_mapping({"max_length": 0})


def _raised(path: Path) -> Iterator[ast.AST]:
    """Return what is within a statement that raises, but for calls of `setting`."""
    for statement in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(statement, ast.Raise):
            waiting: list[ast.AST] = [statement]
            while waiting:
                node = waiting.pop()
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setting":
                    continue
                waiting += ast.iter_child_nodes(node)
                yield node


def test_no_refusal_writes_a_setting_for_one_of_its_two_readers() -> None:
    names = {name for study in studies().values() for name in study.settings.hints()}
    long = "|".join(sorted(name for name in names if "_" in name))
    pattern = re.compile(rf"(?<!headlight align )(?<!headlight read )--[a-z]|\b(?:{long})\b")
    written = [
        f"{path.name}:{node.lineno}: {node.value!r}"
        for path in SOURCES
        for node in _raised(path)
        if isinstance(node, ast.Constant) and " " in str(node.value)
        if pattern.search(re.sub(r"python .*--version|: give --audio", "", str(node.value)))
    ]
    assert not written


@pytest.mark.slow
def test_the_words_of_a_refusal_are_found_by_search() -> None:
    constants = [
        f"{path.name}:{node.lineno}: {node.value.id}"
        for path in SOURCES
        for node in _raised(path)
        if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name)
        if node.value.id.strip("_").isupper() and node.value.id not in NO_WORDS
        if _is_text(path, node.value.id)
    ]
    assert not constants


def _is_text(path: Path, name: str) -> bool:
    """Whether a module of the package has a constant of that name that is text."""
    pattern = re.compile(rf"^{name}(?:: \w+)? = f?\"", re.MULTILINE)
    return any(pattern.search(each.read_text("utf-8")) for each in SOURCES)


def test_a_refusal_that_makes_its_sentence_late_names_settings_as_well() -> None:
    error = NotFiniteError("a weight", torch.float16, 2)
    assert str(error).endswith("bfloat16 or float32 (dtype=).")
    assert error.with_options().startswith("sequence 3 of the batch: a weight is not finite")
    assert error.with_options().endswith("bfloat16 or float32 (--dtype).")
