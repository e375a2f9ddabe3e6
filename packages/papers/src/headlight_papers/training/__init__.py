"""Training of many models, in one process or several, each kept in a file when it is finished."""

import hashlib
import json
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from headlight import files
from headlight.capture import CapturedModel
from headlight.capture.torch_settings import one_thread
from headlight.errors import ResultError, RunError, UsageError, setting
from headlight.files import Location, make_folder, remove_partials
from headlight.processes import safe_start, usable_cores
from headlight.result import calculated_with
from headlight.run import show_progress
from headlight.tensor_files import load_tensors, save_tensors

__all__ = [
    "JobRunner",
    "ModelStore",
    "NamedJob",
    "begin_folder",
    "choose_processes",
    "one_thread",
    "run_all",
    "run_stages",
]

Job = TypeVar("Job")
Asked = TypeVar("Asked", contravariant=True)


@runtime_checkable
class JobRunner(Protocol[Asked]):
    """Trains models, and keeps each when it is finished.

    It is sent to other processes whole, by pickle; so are the jobs.
    """

    def is_done(self, job: Asked, /) -> bool:
        """Whether this model is there already."""

    def run(self, job: Asked, /) -> None:
        """Train a model and keep it."""


def choose_processes(processes: int | None, model: CapturedModel) -> int | None:
    """Return the number of models that train at once beside one in use: one on an accelerator.

    Args:
        processes: how many are asked for; None for as many as there are cores.
        model: the one that is used.

    Raises:
        UsageError: several are asked for where one process alone has the device.
    """
    device = model.transformer.device
    if device.type == "cpu":
        return processes
    if processes not in (None, 1):
        raise UsageError(
            f"{setting('processes')} is {processes}, and {model} is on {device}, which one "
            f"process uses; leave {setting('processes')} out."
        )
    return 1


def run_stages(
    trainer: JobRunner[Job], stages: Sequence[Sequence[Job]], processes: int | None, *, show: bool
) -> None:
    """Train all models that are not there yet, stage after stage, with progress.

    Args:
        trainer: what trains them.
        stages: models; those of a later stage may need those of earlier ones.
        processes: how many train at a time; None for as many as there are cores.
        show: whether to say how far it has come.

    Raises:
        RunError: a process was ended from outside.
    """
    jobs = [job for stage in stages for job in stage]
    finished = sum(map(trainer.is_done, jobs))
    has_bar = show and finished < len(jobs)
    with show_progress(len(jobs), unit="models") if has_bar else nullcontext() as progress:
        if progress and finished:
            progress.skip(finished, 0)
        for stage in stages:
            run_all(
                trainer,
                stage,
                processes or usable_cores(),
                lambda _: progress.advance(1, 0) if progress else None,
            )


def run_all(
    trainer: JobRunner[Job], jobs: Sequence[Job], processes: int, done: Callable[[Job], object]
) -> None:
    """Train all models of the list that are not there yet; none may need another of the list.

    Every process has one thread, so that a model is the same to the last bit however many there
    are.

    Args:
        trainer: what trains them.
        jobs: the models.
        processes: how many train at a time; 1 stays in this process.
        done: is called with each when it is finished.

    Raises:
        RunError: a process was ended from outside.
    """
    waiting = [job for job in jobs if not trainer.is_done(job)]
    if processes == 1 or len(waiting) < 2:
        for job in waiting:
            with one_thread():
                trainer.run(job)
            done(job)
        return
    context = multiprocessing.get_context("spawn")  # torch does not survive a fork
    with (
        safe_start(),
        ProcessPoolExecutor(
            min(processes, len(waiting)), context, initializer=_enter, initargs=(trainer,)
        ) as pool,
    ):
        with _without_script():
            futures = {pool.submit(_run, job): job for job in waiting}
        try:
            for future in as_completed(futures):
                future.result()
                done(futures[future])
        except BrokenProcessPool as problem:
            raise RunError(
                "a process that trained a model was ended from outside, perhaps for want of "
                f"memory; go on with {setting('resume=True')} and fewer {setting('processes')}."
            ) from problem
        finally:
            pool.shutdown(cancel_futures=True)  # models that are begun are finished, and kept


@contextmanager
def _without_script() -> Iterator[None]:
    """Within the block new processes do not run the script of the first one.

    They would, to know what is defined in it, and begin all over again where it says nothing of
    ``__main__``.  Nothing that is sent to them is defined there.
    """
    script = sys.modules["__main__"]
    attributes = vars(script)
    hidden: dict[str, Any] = {
        name: attributes.pop(name) for name in ("__spec__", "__file__") if name in attributes
    }
    script.__spec__ = None
    try:
        yield
    finally:
        attributes.update(hidden)


_trainer: JobRunner[Any] | None = None
"""In a process of its own: what was handed over when it began."""


def _enter(trainer: JobRunner[Any]) -> None:
    global _trainer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process is told, and ends the others
    torch.set_num_threads(1)
    _trainer = trainer


def _run(job: Any) -> None:
    assert _trainer is not None  # noqa: S101
    _trainer.run(job)


@runtime_checkable
class NamedJob(Protocol):
    """One model that is trained."""

    @property
    def name(self) -> str:
        """Return the name of its file: no other model of the folder has it."""


KeptJob = TypeVar("KeptJob", bound=NamedJob)


class ModelStore(Generic[KeptJob]):
    """Store of trained models: each has one file in the folder, whole or not at all."""

    folder: Path
    """Folder of the files."""

    def path(self, job: KeptJob) -> Path:
        """The file of a model, with its parameters and what was measured."""
        return self.folder / f"{job.name}.safetensors"

    def is_done(self, job: KeptJob) -> bool:
        """Whether the model is there, undamaged."""
        try:
            load_tensors(self.path(job))
        except ResultError:
            return False
        return True

    def measured(self, job: KeptJob) -> dict[str, Any]:
        """Return the measurements of a finished model."""
        return load_tensors(self.path(job))[1]

    def parameters(self, job: KeptJob) -> dict[str, Tensor]:
        """Return the parameters of a finished model, by name."""
        arrays, _ = load_tensors(self.path(job))
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def save(
        self, job: KeptJob, parameters: Mapping[str, Tensor], measured: dict[str, Any]
    ) -> None:
        """Write the file of a model that is finished."""
        arrays = {name: tensor.numpy() for name, tensor in parameters.items()}
        save_tensors(self.path(job), arrays, measured)


def begin_folder(place: Path, about: Mapping[str, Any]) -> Path:
    """The folder of models that depend on the same, without what a killed process left half done.

    Args:
        place: the folder of all such folders.
        about: everything that the models depend on besides their jobs, as JSON.

    Raises:
        RunError: it cannot be made.
    """
    text = json.dumps(dict(about) | calculated_with(), sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    folder = make_folder(place / key, error=RunError)
    remove_partials(folder)
    return folder


@dataclass(frozen=True)
class JsonCache:
    """A folder of results, by what they depend on; without a folder nothing is cached.

    Attributes:
        folder: where the files go.
        about: what all of them depend on, as JSON.
    """

    folder: Location | None = None
    about: Mapping[str, Any] | None = None

    def get_or_compute(self, key: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
        """The cached result for this key, or else a new one, which is then cached.

        Args:
            key: what the result depends on besides `about`, as JSON.
            compute: returns the result, which JSON can hold; NaN is allowed.

        Raises:
            RunError: the folder cannot be written.
        """
        if self.folder is None:
            return compute()
        if (entry := self._entry(key)) is not None:
            return entry["result"]
        result = compute()
        plain = json.loads(json.dumps(result))
        text = self._text(key)
        content = json.dumps({"of": json.loads(text), "result": plain, "digest": _digest(plain)})
        files.make_folder(self.folder, error=RunError)
        files.write(_path(self.folder, text), content.encode(), error=RunError)
        return result

    def has(self, key: Mapping[str, Any]) -> bool:
        """Whether the result for this key is cached."""
        return self._entry(key) is not None

    def _text(self, key: Mapping[str, Any]) -> str:
        return json.dumps({"about": self.about, "key": key}, sort_keys=True)

    def _entry(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        if self.folder is None:
            return None
        text = self._text(key)
        entry = _read(_path(self.folder, text))
        same = entry is not None and json.dumps(entry.get("of"), sort_keys=True) == text
        return entry if same else None


def _path(folder: Location, text: str) -> Location:
    return folder / f"{sha256(text.encode()).hexdigest()[:24]}.json"


def _read(path: Location) -> dict[str, Any] | None:
    """The content of a file; None if there is none, or it is damaged."""
    try:
        content = files.read_json(path)
    except (ResultError, ValueError):
        return None
    if not isinstance(content, dict) or "result" not in content:
        return None
    digest = _digest(content["result"])
    return content if content.get("digest", digest) == digest else None  # older files have none


def _digest(result: Any) -> str:
    return sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
