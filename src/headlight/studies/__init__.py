"""Studies of a corpus: each a folder of its own, and independent of the others."""

from headlight.catalogue import Study, find_study, studies

__all__ = ["Study", "find_study", "studies"]
