"""The command `compare`."""

from pathlib import Path
from typing import Annotated

import typer

from headlight.cli.help import examples
from headlight.cli.printing import say, say_json, show

COMPARE_EXAMPLES = examples(
    "headlight compare base/ fine-tuned/ --out differences/",
    ("headlight compare bert/ roberta/ --match behaviour", "models of two shapes"),
    ("headlight compare step-0/ step-500/ step-1000/", "when does each behaviour arise?"),
)


def compare(
    runs: Annotated[list[str], typer.Argument(help="Folders of surveys, or their result.nc.")],
    match: Annotated[
        str, typer.Option("--match", help="Heads beside each other: by place, or by behaviour.")
    ] = "place",
    kind: Annotated[
        str | None, typer.Option("--kind", help="Of attention, where surveys have several.")
    ] = None,
    names: Annotated[
        str | None, typer.Option("--names", help="What the runs are called, with commas.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the result, its page and its tables.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the run in --out first.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print all that differs as JSON.")] = False,
) -> None:
    """Say which heads differ between surveys: of models, checkpoints, corpora or precisions."""
    from headlight.analysis.folder import RunFolder
    from headlight.api import compare as compared
    from headlight.findings.what_was_read import what_was_read
    from headlight.result import RESULT, save
    from headlight.sessions.reports import write_page
    from headlight.views.result_page import findings, summary, tables
    from headlight.views.study_terminal import study_terminal

    folder = RunFolder(path=out, overwrite=overwrite)
    folder.check_free()
    called = names.split(",") if names else []
    found = compared(*runs, match=match, kind=kind, names=called)
    if json:
        shown = tables(found)
        changes = shown["changes"].frame.to_dict("records") if "changes" in shown else []
        read = {"read": what_was_read(found).sentence, "summary": summary(found)}
        say_json({**read, "findings": findings(found), "changes": changes})
    else:
        show(study_terminal(found))
    with folder.opened() as mine:
        if mine.output is not None:
            save(found, mine.output.place / RESULT)
            page = write_page(found, mine.output)
            if not json:
                say(f"report: {page}")
