"""Training of the small models of papers: losses, encoders of texts, and one loop."""

from headlight.capture.torch_settings import one_thread
from headlight_words.training.jobs import JobRunner, choose_processes, run_all, run_stages
from headlight_words.training.model_store import ModelStore, NamedJob, begin_folder

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
