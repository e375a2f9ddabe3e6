"""Commands of studies and of questions of one text, and settings read from a file."""

import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.catalogue import Study, find_study, refused
from headlight.catalogue.questions import Question
from headlight.cli.help import HelpfulCommand, examples
from headlight.cli.options import (
    LOAD,
    NAMED,
    NO_CHAT,
    RUN,
    ChatOptions,
    LoadOptions,
    NamedLoadOptions,
    Read,
    RunOptions,
    SecondText,
    layers_of,
)
from headlight.cli.printing import (
    command_line,
    demand_place,
    say,
    say_json,
    show,
    text_argument,
)
from headlight.cli.setting_options import takes_settings
from headlight.errors import UnknownNameError, UsageError, flag
from headlight.files import storable
from headlight.settings import Settings, StudySettings

if TYPE_CHECKING:
    import xarray

    from headlight.corpora import Chat

LARGEST = 1 << 20
"""Bytes of a file of options."""

ON_THE_COMMAND_LINE = {
    "trust_remote_code": "runs code that comes with a model",
    "out": "says where files are written",
    "overwrite": "removes files",
    "workers": "starts processes, on other machines too",
}
"""Options that only who runs the command may set, and what each does.

Files of options are handed on, and `merge` reads the one that lies in the folder of a run.
"""


def _load(context: Any, path: Path | None) -> Path | None:
    """Make what the file says the defaults of all parameters that come after this one."""
    if path is not None:
        params = {str(each.name): each for each in context.command.params if each.name != "config"}
        values = _flat(_read(path))
        for name in values:
            if name not in params:
                raise UnknownNameError(f"option of {context.info_name}", name, params)
            if name in ON_THE_COMMAND_LINE:
                raise UsageError(
                    f"{path} sets {name}, which {ON_THE_COMMAND_LINE[name]}; take it out of the "
                    f"file, and give {flag(name)} on the command line if you want it."
                )
        context.default_map = {
            name: _typed(value, getattr(params[name], "multiple", False))
            for name, value in values.items()
        }
    return path


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=_load,
        is_eager=True,
        help="YAML or TOML file with options; those on the command line take precedence.",
        rich_help_panel=RUN,
    ),
]


def _read(path: Path) -> Mapping[str, Any]:
    """Read the options of a file."""
    from headlight import files

    try:
        text = files.read(path, most=LARGEST, error=UsageError).decode()
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path} is not UTF-8; convert it first.") from problem
    options = _toml(path, text) if path.suffix == ".toml" else _yaml(path, text)
    if not isinstance(options, Mapping):
        raise UsageError(f"{path} holds no options; write lines such as max_length: 128.")
    return options


def _toml(path: Path, text: str) -> Any:
    try:
        return tomllib.loads(text)
    except Exception as problem:  # numbers of a thousand digits, brackets in brackets in ...
        raise UsageError(f"{path} is no TOML: {_in_one_line(problem)}.") from problem


def _yaml(path: Path, text: str) -> Any:
    import yaml

    try:
        repeated = any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text))
        content = yaml.safe_load(text)
    except Exception as problem:  # also dates, numbers and nesting that Python does not have
        raise UsageError(f"{path} is no YAML: {_in_one_line(problem)}.") from problem
    if repeated:  # which can be made to stand for any amount of data
        raise UsageError(f"{path} repeats a value by its name (*name); write it out.")
    return {} if content is None else content


def _in_one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Values by the names of their parameters."""
    values_by_name: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{before}{key}".replace("-", "_")
        if isinstance(value, Mapping):
            values_by_name |= _flat(value, f"{name}_")
        elif value is not None:
            values_by_name[name] = _plain(name, value)
    return values_by_name


def _plain(name: str, value: Any) -> Any:
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, bool | int | float | str | date) for each in values):
        raise UsageError(f"{name} is a list of lists, or no value at all; write {name}: [1, 2].")
    return value


def _typed(value: Any, is_repeated: bool) -> Any:
    """A value as it would be typed: a list with commas, or as several values."""
    if is_repeated:
        return value if isinstance(value, list) else [value]
    return ",".join(map(str, value)) if isinstance(value, list) else value


def add_study(program: typer.Typer, study: Study) -> None:
    """Add the command of a study, under the heading of what it reads."""
    panel = study.source.panel
    program.command(
        study.command, cls=HelpfulCommand, epilog=_examples(study), rich_help_panel=panel
    )(_command(study))


def add_refusal(program: typer.Typer, name: str) -> None:
    """Add a command that says why a study of another package cannot be had."""

    @program.command(
        name.replace("_", "-"),
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        add_help_option=False,
    )
    def command(arguments: typer.Context) -> None:
        find_study(name)

    command.__doc__ = refused()[name]


def _examples(study: Study) -> str:
    return examples(
        *((f"headlight {study.command} {words}".strip(), note) for words, note in study.examples)
    )


def _command(study: Study) -> Callable[..., None]:
    """The command of a study; its options are the settings of the study."""
    in_folder = RunOptions(out=f"headlight-{study.command}")

    @takes_settings(settings=study.settings)
    def command(
        source: Annotated[str | None, typer.Argument(help=study.source.argument)] = None,
        config: ConfigFile = None,
        load: NamedLoadOptions = NAMED,
        run: RunOptions = in_folder,
        *,
        settings: StudySettings,
    ) -> None:
        _run(find_study(study.name), source, load, run, settings)

    command.__doc__ = (
        f"{study.sentence}\n\n"
        f"{study.papers}. Writes report.html, result.nc, CSV tables and config.yaml into --out, "
        "and prints a short table."
    )
    command.__name__ = study.name
    return command


def _run(
    study: Study,
    source: str | None,
    load: NamedLoadOptions,
    run: RunOptions,
    settings: StudySettings,
) -> None:
    settings.check_command()
    study.check_files(source, settings)  # before anything slow is imported
    heads = getattr(settings, "heads", None)
    load.check(default=study.source.default_model, layers=settings.layers, heads=heads)

    from headlight.analysis.folder import REPORT, RunFolder
    from headlight.files import location

    folder = RunFolder(
        path=run.out,
        resume=run.resume,
        overwrite=run.overwrite,
        workers=run.workers,
        corpus_name=run.corpus_name,
    )
    folder.check_free()

    model = load.load(
        default=study.source.default_model, layers=settings.layers, head=settings.required_head
    )
    from headlight.run import announced
    from headlight.sessions.session import run_study

    if settings.layers is not None:
        kind = getattr(settings, "kind", None)
        settings = settings.replace(layers=layers_of(model, settings.layers, kind))
    with announced(f"{study.command}: reading with {model}"):
        result = run_study(study, source, settings, model, folder, command=command_line())
    if run.json:
        say_json(_for_machines(result, run.out))
        return

    from headlight.views.result_page import study_terminal

    show(study_terminal(result))
    say(f"report: {location(run.out) / REPORT}")


def _for_machines(result: "xarray.Dataset", out: str) -> dict[str, Any]:
    """Return the result in the form that programs read."""
    from headlight.findings.what_was_read import what_was_read
    from headlight.views.result_page import findings, summary

    read = what_was_read(result)
    names = ("stage", "model", "revision", "kind", "corpus", "examples", "tokens")
    attributes = {name: result.attrs[name] for name in names if name in result.attrs}
    numbers = {
        name: value if isinstance(value, str | int | float) else value.item()
        for name, value in attributes.items()
    }
    first = {"read": read.sentence, "cautions": list(read.cautions), "findings": findings(result)}
    return {**first, **numbers, "folder": storable(out), "summary": summary(result)}


FILES = {".html": "html", ".json": "json"}
"""Options of files by suffix; others are written by --out."""


def add_question(program: typer.Typer, question: Question, panel: str) -> None:
    """Add the command of a question."""
    epilog = examples(
        *((f"headlight {question.name} {words}", note) for words, note in question.examples)
    )
    make = program.command(question.name, cls=HelpfulCommand, epilog=epilog, rich_help_panel=panel)
    make(_question_command(question))


def _question_command(question: Question) -> Callable[..., None]:
    """Return the command of a question; its options are the settings of the question."""
    others = [each for each in question.suffixes if each not in FILES]

    @takes_settings(settings=question.settings)
    def command(
        text: Read = None,
        pair: SecondText = None,
        chat: ChatOptions = NO_CHAT,
        top: Annotated[int, typer.Option(min=1, help="Rows shown of each table.")] = 10,
        html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
        json: Annotated[Path | None, typer.Option(help="Write every number as JSON.")] = None,
        out: Annotated[
            Path | None,
            typer.Option(help=f"Write a file, by its suffix: {', '.join(others)}."),
        ] = None,
        load: LoadOptions = LOAD,
        *,
        settings: Settings,
    ) -> None:
        demand_place(html, ".html")
        demand_place(json, ".json")
        demand_place(out, *question.suffixes)
        subject = chat.subject(text, question.name)
        if subject is None:
            raise UsageError("there is nothing to read; give a text, or --chat.")
        _run_question(question, (subject, pair), top, (html, json, out), load, settings)

    command.__doc__ = question.sentence
    command.__name__ = question.name
    return command


def _run_question(
    question: Question,
    texts: "tuple[str | Chat, str | None]",
    top: int,
    places: tuple[Path | None, ...],
    load: LoadOptions,
    settings: Settings,
) -> None:
    text, pair = texts
    pair = None if pair is None else text_argument(pair, question.name, "second text")
    if (other := getattr(settings, "compare_text", None)) is not None:
        other = text_argument(other, question.name, "text to compare with")
        settings = settings.replace(compare_text=other)
    layer, head = (getattr(settings, name, None) for name in ("layer", "head"))
    layers = getattr(settings, "layers", None) if layer is None else (layer,)
    heads = None if head is None else (head,)
    model = load.load(layers=layers, heads=heads, head=question.head)
    from headlight.run import announced
    from headlight.views.result_page import answer_terminal

    if layer is None and layers is not None:
        settings = settings.replace(
            layers=layers_of(model, layers, getattr(settings, "kind", None))
        )
    with announced(f"{question.name}: reading the text with {model}"):
        answer = question.answer(model, text, pair, settings=settings, command=command_line())
        # Files before the terminal, which may be a pipe that closes early.
        written = [answer.save(path) for path in places if path is not None]
    show(answer_terminal(question.view, answer.dataset, top))
    for path in written:
        say(f"written: {path}")
