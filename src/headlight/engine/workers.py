"""Workers: other processes that work on a run while this one does, here or on a cluster."""

import os
import subprocess
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import yaml

from headlight import files
from headlight.capture import CapturedModel
from headlight.capture.plain_modules import PlainModel
from headlight.catalogue import Study
from headlight.engine.configuration_file import write_configuration
from headlight.engine.folder import JOIN, OpenFolder, RunFolder
from headlight.engine.pass_folders import remove_partials
from headlight.engine.ray_workers import ray_workers
from headlight.errors import HeadlightWarning, RunError, UsageError
from headlight.processes import SAFE_PATH, python_command

PATIENCE = 10.0
"""Seconds that a process is given to end before it is killed."""
OUTPUT = ".out"
"""Suffix of the file of a worker's output: the table of the result, which shows that it ran."""
KILLED = -9
"""Exit code of a process that the system kills; not on Windows."""


def check_workers(study: Study, source: Any, folder: RunFolder, objects: Sequence[str]) -> None:
    """Refuse what several processes cannot do.

    Args:
        study: Study that is run.
        source: Source that it reads.
        folder: Folder of the run.
        objects: Names of arguments that only this process has.

    Raises:
        UsageError: the study does not go through a corpus once, or the corpus cannot be opened by
            other processes.
    """
    if not folder.shared:
        return
    if not study.on_shards:
        raise UsageError(
            f"{study.name} trains models after it has read the corpus, which workers cannot share; "
            "leave out workers."
        )
    if source is not None and (not isinstance(source, str | Path) or str(source) == "-"):
        raise UsageError(
            "each worker reads the corpus by itself; give a path or hf:NAME, or leave out workers."
        )
    if objects:
        raise UsageError(
            f"{', '.join(objects)} cannot be handed to other processes; leave out workers."
        )


@contextmanager
def other_workers(
    study: Study,
    configuration: Mapping[str, Any],
    folder: OpenFolder,
    model: CapturedModel,
    join: Callable[[], None],
    *,
    progress: bool,
) -> Iterator[None]:
    """Run other workers: those of a cluster until all is done, local ones while the block lasts.

    Args:
        study: Study that is run.
        configuration: Configuration that repeats the run, as a config file holds it; it is written
            for those who join, or ask how far the run is.
        folder: Open folder of the run.
        model: Model, which each process loads again.
        join: Entry point of a worker on a cluster, which goes there by name.
        progress: Whether the progress of the workers is shown.

    Raises:
        RunError: a process ended with success, but without output.
        UsageError: no other process can load the model.
    """
    if folder.shared and isinstance(model.transformer, PlainModel):
        raise UsageError(
            f"{model} is code of this process, which no other can load; leave out workers."
        )
    if folder.shared and folder.output is not None:
        write_configuration(configuration, folder.output)
    if folder.request.on_ray:
        ray_workers(join, folder, show=progress)
    with local_workers(study, configuration, folder, model):
        yield


@contextmanager
def local_workers(
    study: Study, configuration: Mapping[str, Any], folder: OpenFolder, model: CapturedModel
) -> Iterator[None]:
    """Run processes that join the run in the folder, as long as the block lasts.

    Each is the command of the study with ``--workers join``.  This process does what they had not
    finished when they ended.

    Args:
        study: Study that is run.
        configuration: Configuration that repeats the run, as a config file holds it.
        folder: Open folder of the run.
        model: Model, which each process loads again; of several GPUs each takes another.

    Raises:
        RunError: a process ended with success, but without output.
    """
    others = folder.request.processes - 1
    if not others:
        yield
        return
    with TemporaryDirectory() as scratch, ExitStack() as stack:
        options = {name: value for name, value in configuration.items() if name != "study"}
        config = Path(scratch) / "config.yaml"
        files.write(config, yaml.safe_dump(options, allow_unicode=True).encode())
        command = ["-m", "headlight", study.command]
        command += ["--config", str(config), "--out", str(folder.place), "--workers", JOIN]
        command += ["--trust-remote-code"] if model.trust_remote_code else []
        logs = [Path(scratch) / f"{number}.log" for number in range(others)]
        started = []
        for number, log in enumerate(logs):
            output = stack.enter_context(log.with_suffix(OUTPUT).open("wb"))
            errors = stack.enter_context(log.open("wb"))
            place = ["--device", device_of(model.transformer.device, number + 1)]
            started.append(_start([*command, *place], output, errors))
        try:
            yield
        finally:
            ended = [(log, process.poll()) for process, log in zip(started, logs, strict=True)]
            _end(started)
            if isinstance(folder.place, Path):
                remove_partials(folder.place)
        folder.tidy()  # who had just begun may have left a sign of life
        for log, code in ended:
            if code:
                warnings.warn(
                    f"a worker ended early, and others did its work: {_why(log, code)}",
                    HeadlightWarning,
                    stacklevel=2,
                )
        if any(code == 0 and not log.with_suffix(OUTPUT).stat().st_size for log, code in ended):
            raise RunError(
                "a worker ended without a result and without a word, as if another program ran in "
                "place of headlight; see what python -P -m headlight --version says.  Others did "
                "its work: their result is kept."
            )


def _why(log: Path, code: int) -> str:
    """Return why a worker ended early: its last line, or the likely reason why it was killed."""
    if code == KILLED:
        return (
            "it was killed, as systems do when memory is exhausted; start fewer workers, or allow "
            "fewer tokens in a batch."
        )
    lines = files.read(log).decode(errors="replace").strip().splitlines() or ["it said nothing"]
    return lines[-1]


def device_of(device: torch.device, number: int) -> str:
    """Return the device of a worker's model: workers take several GPUs in turn."""
    if device.type != "cuda":
        return device.type
    return f"cuda:{((device.index or 0) + number) % torch.cuda.device_count()}"


def _start(arguments: Sequence[str], output: Any, errors: Any) -> subprocess.Popen[bytes]:
    # One thread each: workers fill the cores already, and the last bits depend on the number.
    threads = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    return subprocess.Popen(
        python_command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        env={**os.environ, **threads, SAFE_PATH: "1"},
        start_new_session=True,  # Ctrl-C is for the first process, which ends the others
    )


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
