"""The command `status`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.catalogue.writers import RESULT
from headlight.cli.help import examples
from headlight.cli.printing import say, say_json
from headlight.cli.run_argument import Run, existing_run
from headlight.errors import UsageError

if TYPE_CHECKING:
    from headlight.files import Location

STATUS_EXAMPLES = examples(
    "headlight status run/",
    "headlight status s3://bucket/run --json",
)


def status(
    run: Run,
    json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
) -> None:
    """Show the progress of a run, and the number of its processes.

    Reads file names and a few bytes of each block, on any machine that sees the folder.
    """
    run_status = _status(existing_run(run))
    if json:
        say_json(run_status)
        return
    for row in run_status["passes"]:
        say(
            f"{row['pass']}: {row['blocks']:,} blocks measured "
            f"({row['examples']:,} examples), {row['workers']} workers at others"
        )
    if run_status["alone"]:
        say("begun by one process without workers")
    say(f"finished: {RESULT} is there" if run_status["finished"] else "not finished")


def _status(folder: "Location") -> dict[str, Any]:
    from headlight.engine.blocks import blocks_done, examples_in, read_plan
    from headlight.engine.checkpoint import FILE
    from headlight.engine.claims import workers_in
    from headlight.engine.pass_folders import plans

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
