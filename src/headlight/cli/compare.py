"""The command `compare`."""

from pathlib import Path
from typing import Annotated

import typer

from headlight.catalogue.writers import RESULT
from headlight.cli.help import examples
from headlight.cli.printing import command_line, say, say_json, show

COMPARE_EXAMPLES = examples(
    "headlight compare base/ fine-tuned/ --out differences/",
    ("headlight compare bert/ roberta/ --match behaviour", "models of two shapes"),
    ("headlight compare step-0/ step-500/ step-1000/", "when does each behaviour arise?"),
)


def compare(
    runs: Annotated[list[str], typer.Argument(help=f"Folders of surveys, or their {RESULT}.")],
    match: Annotated[
        str, typer.Option("--match", help="Matching of heads: by place, or by behaviour.")
    ] = "place",
    kind: Annotated[
        str | None, typer.Option("--kind", help="Kind of attention, where surveys have several.")
    ] = None,
    names: Annotated[
        str | None, typer.Option("--names", help="Display names of the runs, with commas.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the result, its page and its tables.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the run in --out first.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print all differences as JSON.")] = False,
) -> None:
    """Compare the heads of surveys: of models, checkpoints, corpora or precisions."""
    from headlight.api import compare as compared
    from headlight.engine.folder import RunFolder
    from headlight.engine.progress import announced
    from headlight.findings.what_was_read import what_was_read
    from headlight.reports.report import write_files
    from headlight.result import save
    from headlight.views.result_contents import findings, summary, tables
    from headlight.views.result_terminal import study_terminal

    folder = RunFolder(path=out, overwrite=overwrite)
    folder.check_free()
    called = names.split(",") if names else []
    with announced("comparing heads"):
        result = compared(*runs, match=match, kind=kind, names=called)
    result.attrs["command"] = command_line()
    if json:
        all_tables = tables(result)
        changes = all_tables["changes"].frame.to_dict("records") if "changes" in all_tables else []
        read = {"read": what_was_read(result).sentence, "summary": summary(result)}
        say_json({**read, "findings": findings(result), "changes": changes})
    else:
        show(study_terminal(result))
    with folder.opened() as mine:
        if mine.output is not None:
            with announced("writing the page"):
                save(result, mine.output.place / RESULT)
                page = write_files(result, mine.output)
            if not json:
                say(f"report: {page}")
