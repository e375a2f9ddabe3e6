"""Options of a run: its folder, its workers, and its name in titles."""

from dataclasses import dataclass
from typing import Annotated

import typer

from headlight.cli.setting_options import Options

RUN = "The run"


@dataclass(frozen=True, kw_only=True)
class FolderOptions(Options):
    """Options of the folder of a run, and of an existing run in it."""

    out: Annotated[
        str, typer.Option(help="Folder of the run.", metavar="PATH", rich_help_panel=RUN)
    ]
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the run in --out.", rich_help_panel=RUN)
    ] = False
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Remove the run in --out first.", rich_help_panel=RUN),
    ] = False


@dataclass(frozen=True, kw_only=True)
class RunOptions(FolderOptions):
    """Options of a run of a study, which several processes may share."""

    out: Annotated[
        str,
        typer.Option(
            help="Folder of the run, or its address in a store (s3://bucket/folder).",
            metavar="PATH",
            rich_help_panel=RUN,
        ),
    ]
    workers: Annotated[
        str | None,
        typer.Option(
            help="Processes that share the run: a number, auto, ray or ray://HOST:PORT for those "
            "of a cluster, or join to add this process to a run that others share.",
            metavar="N|auto|ray|join",
            rich_help_panel=RUN,
        ),
    ] = None
    corpus_name: Annotated[
        str | None,
        typer.Option(
            help="Display name of the corpus. Default: the end of its path.",
            rich_help_panel=RUN,
        ),
    ] = None
    json: Annotated[
        bool,
        typer.Option("--json", help="Print a summary of the result as JSON.", rich_help_panel=RUN),
    ] = False
