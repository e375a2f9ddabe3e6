"""Commands about results: compare, gallery, heads, and the status of a run."""

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.cli.help import examples
from headlight.cli.printing import command_line, say, say_json, show
from headlight.errors import RunError, UsageError

if TYPE_CHECKING:
    import xarray

    from headlight.files import Location

COMPARE_EXAMPLES = examples(
    "headlight compare base/ fine-tuned/ --out differences/",
    ("headlight compare bert/ roberta/ --match behaviour", "models of two shapes"),
    ("headlight compare step-0/ step-500/ step-1000/", "when does each behaviour arise?"),
)


def compare(
    runs: Annotated[list[str], typer.Argument(help="Folders of surveys, or their result.nc.")],
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
    from headlight.analysis.folder import RunFolder
    from headlight.api import compare as compared
    from headlight.findings.what_was_read import what_was_read
    from headlight.result import RESULT, save
    from headlight.run import announced
    from headlight.sessions import write_page
    from headlight.views.result_page import findings, study_terminal, summary, tables

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
                page = write_page(result, mine.output)
            if not json:
                say(f"report: {page}")


GALLERY_EXAMPLES = examples(
    "headlight gallery run/ --out site/",
    ("headlight gallery bert/ smollm2/ --out site/ --overwrite", "two models, once more"),
)


def gallery(
    runs: Annotated[list[str], typer.Argument(help="Folders of surveys, or their result.nc.")],
    out: Annotated[str, typer.Option("--out", help="Folder for the pages.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write into a folder that is not empty.")
    ] = False,
    headvis: Annotated[
        bool, typer.Option("--headvis", help="Write the data of HeadVis as well, into headvis/.")
    ] = False,
) -> None:
    """Write the heads of surveys as pages for any web host, with a search over all models."""
    from headlight.run import announced
    from headlight.sessions import gallery as make_gallery

    with announced("writing the pages of heads"):
        place = make_gallery(runs, out, overwrite=overwrite, headvis=headvis)
    say(f"gallery: {place}")


HEADS_EXAMPLES = examples(
    "headlight heads run/ induction",
    ("headlight heads run/ sink --measure norm --json", "as JSON, all heads"),
)


def heads(
    result: Annotated[str, typer.Argument(help="Folder of a survey, or its result.nc.")],
    behaviour: Annotated[
        str | None,
        typer.Argument(help="Behaviour that ranks heads, such as induction. Default: list all."),
    ] = None,
    measure: Annotated[str | None, typer.Option(help="Measure that ranks heads.")] = None,
    without_first: Annotated[
        bool, typer.Option("--without-first", help="Exclude the first token and renormalize.")
    ] = False,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Kind of attention, where the survey has several.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows shown of the table.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print all heads as JSON.")] = False,
) -> None:
    """Rank the heads of a survey by what they do, with intervals of 95%."""
    import pandas as pd

    from headlight.catalogue import statistic, statistic_table
    from headlight.findings import heads as ranked
    from headlight.findings.estimates import undecided
    from headlight.findings.head_ranking import VALUE
    from headlight.findings.statistics import numbers_of, row_label
    from headlight.views.colour import percent_text, plus_minus
    from headlight.views.parts import Table
    from headlight.views.terminal import terminal
    from headlight.vocabulary import head_name

    survey = _survey(result, kind)
    if behaviour is None:
        say("Heads can be ranked by:")
        for row in statistic_table():
            accepted = ", ".join((row.name, *row.also))
            say(f"  {accepted}: {row_label(survey, row)}")
        return
    table = ranked(survey, behaviour, by=measure, without_first=without_first)
    if json:
        say_json(table.astype(object).where(table.notna(), None).to_dict("records"))
        return
    names = [name for name in table.columns[2:] if not name.endswith(("_low", "_high"))]
    is_share = statistic(behaviour).unit == "share"
    written = percent_text if is_share else "{:.3f}".format
    rows = [
        {"head": head_name(row["layer"], row["head"])}
        | {
            name: written(row[name])
            + plus_minus((row[f"{name}_high"] - row[f"{name}_low"]) / 2, share=is_share)
            for name in names
        }
        for row in table.head(top).to_dict("records")
    ]
    show(terminal(Table("heads", "", pd.DataFrame(rows))))
    first = measure or names[0]
    shown = "" if first == VALUE else first
    numbers = numbers_of(survey, statistic(behaviour), shown, without_first=without_first)
    every = [
        head_name(*at)
        for at in product(survey["layer"].values.tolist(), survey["head"].values.tolist())
    ]
    if sentence := undecided(numbers, every, "which is first"):
        show(sentence.strip())


def _survey(result: str, kind: str | None) -> "xarray.Dataset":
    """Return a survey that is read, of one kind of attention where that is named."""
    from headlight.api import open as open_result
    from headlight.result.kinds import of_kind
    from headlight.run import announced

    with announced("reading the survey of heads"):
        survey = open_result(result)
        return survey if kind is None else of_kind(survey, kind)


Run = Annotated[str, typer.Argument(help="Folder of the run, or its address in a store.")]

STATUS_EXAMPLES = examples(
    "headlight status run/",
    "headlight status s3://bucket/run --json",
)
MERGE_EXAMPLES = examples(
    "headlight merge run/",
    "headlight merge /shared/run",
)


def status(
    run: Run,
    json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
) -> None:
    """Show the progress of a run, and the number of its processes.

    Reads names of files and some bytes for each block, wherever the workers are.
    """
    run_status = _status(_existing(run))
    if json:
        say_json(run_status)
        return
    for each in run_status["passes"]:
        say(
            f"{each['pass']}: {each['blocks']:,} blocks measured "
            f"({each['examples']:,} examples), {each['workers']} workers at others"
        )
    if run_status["alone"]:
        say("begun by one process without workers")
    say("finished: result.nc is there" if run_status["finished"] else "not finished")


def merge(run: Run) -> None:
    """Make the result from what workers have measured; missing parts are measured first.

    The settings are those of the run's config.yaml.
    """
    from headlight import files
    from headlight.analysis.folder import CONFIG
    from headlight.catalogue import studies
    from headlight.cli import app
    from headlight.result import RESULT
    from headlight.run.blocks import PLAN, plans, read_plan

    folder = _existing(run)
    if (folder / RESULT).exists():
        say(f"{folder / RESULT} is there already")
        return
    place = next(plans(folder), None)
    if place is None:
        raise UsageError(
            f"{folder} holds no run with workers; go on with its command and --resume."
        )
    name = str(read_plan(place)[0].get("study"))
    study = studies().get(name)
    if study is None:
        raise RunError(
            f"{place / PLAN} is of {name!r}, which is no study; start over with --overwrite."
        )
    config = folder / CONFIG
    files.open_file(config, own=True, error=RunError).close()
    words = [study.command, "--config", str(config), "--out", run, "--workers", "join"]
    app(words, standalone_mode=False)


def _existing(run: str) -> "Location":
    from headlight.files import location

    folder = location(run, error=RunError)
    if not folder.exists():
        raise UsageError(f"{folder} is no folder; name that of a run.")
    return folder


def _status(folder: "Location") -> dict[str, Any]:
    from headlight.result import RESULT
    from headlight.run.blocks import blocks_done, examples_in, plans, read_plan, workers_in
    from headlight.run.checkpoint import FILE

    passes = []
    for place in plans(folder):
        signature, _ = read_plan(place)
        names = blocks_done(place)
        inner = "" if place == folder else f", {place.name}"
        passes.append(
            {
                "pass": f"{signature.get('study', 'run')}{inner}",
                "blocks": len(names),
                "examples": sum(examples_in(place, name) for name in names),
                "workers": workers_in(place),
            }
        )
    finished = (folder / RESULT).exists()
    alone = not finished and not passes and (folder / FILE).exists()
    if not (passes or finished or alone):
        raise UsageError(f"{folder} holds no run; name the folder of one.")
    return {"folder": str(folder), "finished": finished, "alone": alone, "passes": passes}
