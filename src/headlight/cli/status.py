"""`headlight status` and `headlight merge`: runs that several processes share."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.cli.help import examples
from headlight.cli.printing import say, say_json
from headlight.errors import RunError, UsageError

if TYPE_CHECKING:
    from headlight.files import Location

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
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Say how far a run has come, and how many processes are at it.

    Reads names of files and some bytes for each block, wherever the workers are.
    """
    found = _status(_existing(run))
    if json:
        say_json(found)
        return
    for each in found["passes"]:
        say(
            f"{each['pass']}: {each['blocks']:,} blocks measured "
            f"({each['examples']:,} examples), {each['workers']} workers at others"
        )
    if found["alone"]:
        say("begun by one process without workers")
    say("finished: result.nc is there" if found["finished"] else "not finished")


def merge(run: Run) -> None:
    """Make the result of what workers have measured; what is missing is measured first.

    The settings are those of the run's config.yaml.
    """
    from headlight import files
    from headlight.analysis.folder import CONFIG
    from headlight.catalogue import studies
    from headlight.cli.application import app
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
