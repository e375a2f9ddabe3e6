"""Training many models: one by one or in processes, each kept in a file when it is finished."""

from headlight.capture.precision import one_thread
from headlight_papers.training.jobs import JobRunner, choose_processes, run_all, run_stages
from headlight_papers.training.store import ModelStore, NamedJob, begin_folder

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
