"""The command `merge`."""

from headlight.cli.help import examples
from headlight.cli.printing import say
from headlight.cli.run_argument import Run, existing_run
from headlight.errors import RunError, UsageError

MERGE_EXAMPLES = examples(
    "headlight merge run/",
    "headlight merge /shared/run",
)


def merge(run: Run) -> None:
    """Make the result from what workers have measured; missing parts are measured first.

    The settings are those of the run's config.yaml.
    """
    from headlight import files
    from headlight.catalogue import studies
    from headlight.cli.program import app
    from headlight.engine.blocks import read_plan
    from headlight.engine.file_names import PLAN
    from headlight.engine.folder import CONFIG
    from headlight.engine.pass_folders import plans
    from headlight.result import RESULT

    folder = existing_run(run)
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
    files.open_file(config, refuse_links=True, error=RunError).close()
    words = [study.command, "--config", str(config), "--out", run, "--workers", "join"]
    # A joining worker measures what is missing; the last one merges and writes the report.
    app(words, standalone_mode=False)
