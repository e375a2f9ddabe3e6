"""Carrying out a measurement over a whole corpus: shards, checkpoints, progress; without torch."""

from headlight.run.engine import run
from headlight.run.example import Example
from headlight.run.progress import Progress, announced, show_progress
from headlight.run.shard_runner import BatchJob
from headlight.run.shared_run import run_shared
from headlight.run.state import State

__all__ = [
    "BatchJob",
    "Example",
    "Progress",
    "State",
    "announced",
    "run",
    "run_shared",
    "show_progress",
]
