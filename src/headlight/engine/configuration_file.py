"""The file of a run's configuration, from which it can be repeated; without torch."""

from collections.abc import Mapping
from typing import Any

import yaml

from headlight.engine.folder import CONFIG
from headlight.output_folder import OutputFolder

_HEADING = "# headlight {command} --config {file} --out FOLDER repeats this run.\n"


def write_configuration(configuration: Mapping[str, Any], output: OutputFolder) -> None:
    """Write ``config.yaml``, which repeats a run.

    Args:
        configuration: Configuration that repeats the run.
        output: Folder of the run.

    Raises:
        HeadlightError: the folder cannot be written, or somebody else's file is in the way.
    """
    command = str(configuration["study"]).replace("_", "-")
    settings = {name: value for name, value in configuration.items() if name != "study"}
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    heading = _HEADING.format(command=command, file=CONFIG)
    output.write(CONFIG, (heading + text).encode(errors="replace"))
