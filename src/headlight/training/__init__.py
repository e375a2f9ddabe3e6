"""Training many models: one by one or in processes, each kept in a file when it is finished."""

from headlight.training.jobs import Trainer, one_thread, run_all, run_stages
from headlight.training.kept import KeptModels, NamedJob, begin_folder

__all__ = [
    "KeptModels",
    "NamedJob",
    "Trainer",
    "begin_folder",
    "one_thread",
    "run_all",
    "run_stages",
]
