"""The commands `reproduce PAPER`, one for each paper, with the options that it takes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from headlight.cli.config_file import ConfigFile
from headlight.cli.help import HelpfulCommand, examples
from headlight.cli.model_options import LOAD, LoadOptions
from headlight.cli.printing import command_line, complain, names, say, show
from headlight.cli.run_options import FolderOptions
from headlight.cli.setting_options import takes_settings
from headlight.errors import UsageError
from headlight_papers.papers import NAMES, find_paper, find_settings
from headlight_papers.papers.settings import PaperSettings
from headlight_papers.papers.sources import Sources, titled_sources
from headlight_papers.papers.translations import languages_of

if TYPE_CHECKING:
    from headlight.views.parts import Section
    from headlight_papers.papers.exhibit import ExhibitSpec

REPRODUCE_EXAMPLES = examples(
    ("headlight reproduce --list", "the papers"),
    ("headlight reproduce clark2019 --help", "the options of one of them"),
    ("headlight reproduce clark2019 --list", "the exhibits, and what each needs"),
    ("headlight reproduce clark2019 --data corpora/", "embedded model; folders by name"),
)

EXAMPLES = {
    "clark2019": (
        "--data corpora/",
        "--model bert-base-uncased --dependency ptb.conll",
        "--only table-1,figure-5 --dependency en_ewt-ud-dev.conllu --resume",
    ),
    "kobayashi2020": (
        "--model bert-base-uncased --text wiki/",
        "--model Helsinki-NLP/opus-mt-de-en --text wiki/ --kind cross",
        "--only table-3,figure-7 --translator Helsinki-NLP/opus-mt-de-en "
        "--translations test.de --translations-target test.en --gold gold.talp",
    ),
    "brunner2020": ("--pairs hf:glue:mrpc:validation --compare ./fine-tuned",),
    "yang2020": ("--tagged conll2000/train.txt --word-vectors glove.txt",),
    "jain2019": ("--labelled hf:stanfordnlp/sst2 --labelled hf:stanfordnlp/imdb",),
    "wiegreffe2019": ("--labelled hf:stanfordnlp/imdb --word-vectors glove.txt",),
    "kobayashi2021": ("--model bert-base-uncased --text wiki/",),
    **dict.fromkeys(
        ("abnar2020", "modarressi2022", "ferrando2022", "modarressi2023"),
        ("--model ./my-classifier --text reviews.txt",),
    ),
}

NO_PAPER = f"no paper is named; name one of {', '.join(NAMES)}."

MODELS_OF_ITS_OWN = "trains models of its own and "

SWITCHES = ("--list", "--resume", "--overwrite", "--trust-remote-code")
"""Options that take no value."""


class PapersGroup(TyperGroup):
    """Command `reproduce`: options may stand before the paper, and are the paper's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the paper first."""
        place = _place_of_paper(args)
        if place < len(args):
            find_settings(args[place])
        elif not {*args} & {"--list", "-h", "--help"}:
            raise UsageError(NO_PAPER)
        return super().parse_args(
            ctx, [*args[place : place + 1], *args[:place], *args[place + 1 :]]
        )


class PaperCommand(HelpfulCommand):
    """Command of one paper."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Say whose options those are that it does not take."""
        flags = _flags(self)
        for flag in (argument.partition("=")[0] for argument in args):
            others = [
                str(command.name)
                for command in ctx.parent.command.commands.values()
                if flag.startswith("--") and flag not in flags and flag in _flags(command)
            ]
            if others:
                trains = "" if find_settings(str(self.name)).models else MODELS_OF_ITS_OWN
                raise UsageError(
                    f"{self.name} {trains}does not take {flag}, an option of {', '.join(others)}; "
                    "leave it out."
                )
        return super().parse_args(ctx, args)


def _flags(command: Any) -> set[str]:
    return {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}


def _place_of_paper(args: Sequence[str]) -> int:
    """Return the index of the first argument that is no option, nor the value of one."""
    place = 0
    while place < len(args) and args[place].startswith("-"):
        has_value = "=" in args[place] or args[place] in (*SWITCHES, "-h", "--help")
        place += 1 if has_value else 2
    return place


def papers_app() -> typer.Typer:
    """Make the command with a command for each paper."""
    app = typer.Typer(cls=PapersGroup, rich_markup_mode="rich")
    app.callback(invoke_without_command=True)(_papers)
    for name in NAMES:
        epilog = examples(
            *(f"headlight reproduce {name} {words}" for words in ("--list", *EXAMPLES[name]))
        )
        app.command(name, cls=PaperCommand, epilog=epilog)(_paper_command(name))
    return app


def _papers(
    listed: Annotated[bool, typer.Option("--list", help="List the papers.")] = False,
) -> None:
    """Make the tables and figures of a paper on your model and data, beside the published numbers.

    Writes index.html, and every exhibit as SVG, PNG and CSV, into --out.
    """
    for name in NAMES if listed else ():
        say(f"{name:<14} {find_settings(name).title}")


def _paper_command(name: str) -> Callable[..., None]:
    """Make the command of one paper."""
    paper = find_settings(name)
    titled = titled_sources(paper.reads).values()
    kinds = (f"{', '.join(row.patterns)} ({row.title})" for row in titled if row.folders)
    unused = {*Sources.hints()} - {*paper.reads} | {"compare", "translator"} - {*paper.models}
    unused |= set() if paper.models else {"load"}
    in_folder = FolderOptions(out=f"headlight-{name}")

    @takes_settings(without=unused, sources=Sources, settings=paper)
    def command(
        config: ConfigFile = None,
        load: LoadOptions = LOAD,
        data: Annotated[
            Path | None,
            typer.Option(
                help=f"Folder of data, with folders recognized by their names: {'; '.join(kinds)}."
            ),
        ] = None,
        compare: Annotated[
            str | None,
            typer.Option(help="Second model, such as the first one after fine-tuning."),
        ] = None,
        translator: Annotated[
            str | None,
            typer.Option(
                help="Translation model. Default: --model if it is one, else the embedded "
                "translator from German to English."
            ),
        ] = None,
        only: Annotated[
            str | None, typer.Option(help="Exhibits, such as table-1,figure-3. Default: all.")
        ] = None,
        listed: Annotated[bool, typer.Option("--list", help="List the exhibits only.")] = False,
        run: FolderOptions = in_folder,
        *,
        sources: Sources,
        settings: PaperSettings,
    ) -> None:
        from headlight_papers.papers.reproduction import reproduction_folder

        out = Path(run.out)
        folder = reproduction_folder(out, resume=run.resume, overwrite=run.overwrite)
        if not listed:
            folder.check_free()
            _check_models(load, compare, translator)
        all_sources = sources
        if data is not None:
            languages = languages_of(translator or load.model)
            all_sources = sources.or_else(Sources.found_in(data, languages, paper.reads))
        chosen = find_paper(name)  # which imports torch
        if listed:
            for spec in chosen.exhibits:
                wanting = f" (needs {' and '.join(spec.needs)})" if spec.needs else ""
                say(f"{spec.name:<12}  {spec.title}{wanting}")
            return
        wanted = None if only is None else tuple(names(only))
        needs = {need for spec in chosen.select(wanted) for need in spec.needs}

        from headlight.engine.progress import announced
        from headlight.findings.what_was_read import unknown_tokens
        from headlight_papers.papers.paper_page import reproduce

        all_sources.check(needs)
        with folder.opened(), announced(f"reproducing {name}"):
            reproduction = chosen.open(
                load.model,
                all_sources,
                settings,
                out,
                compared=compare,
                translator=translator,
                translates="translator" in needs,
                revision=load.revision,
                device=load.device,
                dtype=load.dtype,
                trust_remote_code=load.trust_remote_code,
                tokenizer=load.tokenizer,
            )
            page = reproduce(
                chosen, reproduction, wanted, command=command_line(), on_exhibit=_tell_exhibit
            )
        notes = (unknown_tokens(result) for result in reproduction.results.values())
        for note in dict.fromkeys(chain.from_iterable(notes)):  # many results are of the same text
            complain(f"note: {note}")
        say(f"page: {page}")

    command.__doc__ = f"{paper.title}.\n\nWrites index.html, and every exhibit as SVG, PNG and CSV."
    return command


def _check_models(load: LoadOptions, *others: str | None) -> None:
    load.check()
    for other in filter(None, others):
        replace(load, model=other, revision=None, tokenizer=None).check()


def _tell_exhibit(spec: "ExhibitSpec", exhibit: "Section | None") -> None:
    from headlight.views import comparison_table

    if exhibit is None:
        complain(f"{spec.name}: left out, see the page")
    else:
        show(comparison_table(exhibit))
