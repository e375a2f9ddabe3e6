"""Commands of studies."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.catalogue import Study, find_study, refused
from headlight.catalogue.writers import REPORT, run_contents
from headlight.cli.config_file import ConfigFile
from headlight.cli.help import HelpfulCommand, examples
from headlight.cli.model_options import NAMED, NamedLoadOptions, layers_of
from headlight.cli.printing import command_line, say, say_json, show
from headlight.cli.run_options import RunOptions
from headlight.cli.setting_options import takes_settings
from headlight.files import storable
from headlight.settings import StudySettings

if TYPE_CHECKING:
    import xarray


def add_study(program: typer.Typer, study: Study) -> None:
    """Add the command of a study, under the heading of what it reads."""
    panel = study.source.panel
    program.command(
        study.command, cls=HelpfulCommand, epilog=_examples(study), rich_help_panel=panel
    )(_command(study))


def add_refusal(program: typer.Typer, name: str) -> None:
    """Add a command that says why a study of another package is not available."""

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
    """Return the command of a study; its options are the settings of the study."""
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
        settings.check_command()
        # Before torch is imported, which takes seconds.
        study.check_files(source, settings)
        heads = getattr(settings, "heads", None)
        load.check(default=study.source.default_model, layers=settings.layers, heads=heads)

        from headlight.engine.folder import RunFolder
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
        from headlight.engine.progress import announced
        from headlight.reports.study_run import run_study

        if settings.layers is not None:
            kind = getattr(settings, "kind", None)
            settings = settings.replace(layers=layers_of(model, settings.layers, kind))
        with announced(f"{study.command}: reading with {model}"):
            result = run_study(study, source, settings, model, folder, command=command_line())
        if run.json:
            say_json(_for_machines(result, run.out))
            return

        from headlight.views.result_terminal import study_terminal

        show(study_terminal(result))
        say(f"report: {location(run.out) / REPORT}")

    command.__doc__ = (
        f"{study.sentence}\n\n"
        f"{study.papers}. Writes {', '.join(run_contents())} and config.yaml into --out, "
        "and prints a short table."
    )
    command.__name__ = study.name
    return command


def _for_machines(result: "xarray.Dataset", out: str) -> dict[str, Any]:
    """Return the result in the form that programs read."""
    from headlight.findings.what_was_read import what_was_read
    from headlight.views.result_contents import findings, summary

    read = what_was_read(result)
    names = ("stage", "model", "revision", "kind", "corpus", "examples", "tokens")
    attributes = {name: result.attrs[name] for name in names if name in result.attrs}
    numbers = {
        name: value if isinstance(value, str | int | float) else value.item()
        for name, value in attributes.items()
    }
    sentences = {
        "read": read.sentence,
        "cautions": list(read.cautions),
        "findings": findings(result),
    }
    return {**sentences, **numbers, "folder": storable(out), "summary": summary(result)}
