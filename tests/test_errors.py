"""Refusals: settings in their sentences, as arguments of Python and as options."""

import ast
import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import torch

import headlight
import headlight.errors
from headlight.capture.finite_numbers import NotFiniteError
from headlight.catalogue import studies
from headlight.cli.setting_options import naming_options, options_of
from headlight.errors import MissingHeadError, RunError, UsageError, setting, with_head
from studies.command import Command

SOURCES = sorted(
    path
    for path in Path(headlight.__file__).parent.rglob("*.py")
    if not {"cli", "serve"} & {*path.parts}
)
"""Modules whose refusals both Python and the command line show."""

PER_DOOR = ("setting", "per_door", "with_head")
"""Functions that give each door its own words."""

IN_PYTHON_ALONE = (
    "; select one measure first, for example distance.sel(",  # an array of a result
    " was chosen of this result",
    " is split between processes",  # of a model in memory
    " must be a headlight.catalogue.",  # for who writes a package
    "a worker ended without a result",
)
"""Beginnings of refusals that no other door can come to, or that are about a shell."""

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
    """Return what is within a refusal, raised or returned, but for what doors say their own way."""
    for statement in ast.walk(_tree(path)):
        if isinstance(statement, ast.Raise) or _makes_refusal(statement):
            waiting: list[ast.AST] = [statement]
            while waiting:
                node = waiting.pop()
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in PER_DOOR:
                    continue
                waiting += ast.iter_child_nodes(node)
                yield node


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _makes_refusal(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("Error")


def test_no_refusal_speaks_to_one_of_its_readers_alone() -> None:
    """Commands, paths of modules, and arguments with their values are known at one door each."""
    pattern = re.compile(
        r"(?<![\w-])--[a-z]|\bheadlight (?:read|survey|align|serve|[a-z]+ --)|\bheadlight\.[a-z]"
        r"|\b[a-z_]+=(?:True|False|'[a-z_]+'|\"[a-z_]+\")|\bload\("
    )
    written = [
        f"{path.name}:{node.lineno}: {node.value!r}"
        for path in SOURCES
        for node in _raised(path)
        if isinstance(node, ast.Constant) and " " in str(node.value)
        if pattern.search(str(node.value)) and not str(node.value).startswith(IN_PYTHON_ALONE)
    ]
    assert not written


def test_no_refusal_quotes_another_in_the_words_of_python() -> None:
    """Within a refusal, ``{problem}`` and ``str(problem)`` of one of ours lose its other words."""
    quoted = [
        f"{path.name}:{handler.lineno}"
        for path in SOURCES
        for handler in ast.walk(_tree(path))
        if isinstance(handler, ast.ExceptHandler) and _is_ours(handler.type)
        for node in ast.walk(handler)
        if isinstance(node, ast.Raise)
        for inner in ast.walk(node)
        if (isinstance(inner, ast.FormattedValue) and _named(inner.value) == handler.name)
        or (
            isinstance(inner, ast.Call)
            and _named(inner.func) == "str"
            and [*map(_named, inner.args)] == [handler.name]
        )
    ]
    assert not quoted


def _named(node: ast.AST | None) -> str:
    return str(getattr(node, "id", ""))


def _is_ours(caught: ast.AST | None) -> bool:
    every = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return all(hasattr(headlight.errors, _named(each)) for each in every)


def test_each_door_has_words_of_its_own() -> None:
    error = MissingHeadError(f"{SENTENCE} Or {with_head('a decoder')}.")
    assert str(error).endswith("Or load a decoder with its head (head='any').")
    command = error.with_options()
    assert command.endswith("Or name a decoder that was saved with its head (--model).")
    assert error.for_app() == (
        "max length is 3, and holds it; go on with resume or out, or take kind decoder. Or start "
        "the app with a decoder that was saved with its head."
    )
    again = MissingHeadError(f"here: {error.marked()}")
    assert again.with_options() == f"here: {command}"
    for each in (str(error), command, error.for_app()):
        assert each.isprintable()


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
