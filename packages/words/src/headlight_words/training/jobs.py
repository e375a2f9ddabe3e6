"""Training of many models, in one process or several."""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch

from headlight.capture import CapturedModel
from headlight.capture.torch_settings import one_thread
from headlight.engine.progress import show_progress
from headlight.errors import RunError, UsageError, setting
from headlight.processes import safe_start, usable_cores

Job = TypeVar("Job")
Asked = TypeVar("Asked", contravariant=True)


@runtime_checkable
class JobRunner(Protocol[Asked]):
    """Trainer of models, which keeps each when it is finished.

    It is sent to other processes whole, by pickle; so are the jobs.
    """

    def is_done(self, job: Asked, /) -> bool:
        """Whether this model is there already."""

    def run(self, job: Asked, /) -> None:
        """Train a model and keep it."""


def choose_processes(processes: int | None, model: CapturedModel) -> int | None:
    """Return the number of models that train at once beside one in use: one on an accelerator.

    Args:
        processes: Requested number of processes; None for one per core.
        model: Model in use.

    Raises:
        UsageError: Several processes are requested where one alone has the device.
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
        trainer: Trainer of the models.
        stages: Jobs of each stage; models of a later stage may need those of earlier stages.
        processes: Number of models that train at a time; None for one per core.
        show: Whether to show progress.

    Raises:
        RunError: A process was ended from outside.
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
    """Train all models of the list that are not there yet; no model may need another of the list.

    Every process has one thread, so that a model is the same to the last bit however many there
    are.

    Args:
        trainer: Trainer of the models.
        jobs: Models to train.
        processes: Number of models that train at a time; 1 stays in this process.
        done: Function called with each job when it is finished.

    Raises:
        RunError: A process was ended from outside.
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
    """Keep new processes, within the block, from running the script of the first.

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
"""Trainer of a worker process, handed over when the process began."""


def _enter(trainer: JobRunner[Any]) -> None:
    global _trainer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process is told, and ends the others
    torch.set_num_threads(1)
    _trainer = trainer


def _run(job: Any) -> None:
    assert _trainer is not None  # noqa: S101
    _trainer.run(job)
