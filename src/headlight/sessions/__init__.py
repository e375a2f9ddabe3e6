"""A whole run of a study: its model, its workers, and the files that it leaves."""

from headlight.sessions.session import join_run, run_study

__all__ = ["join_run", "run_study"]
