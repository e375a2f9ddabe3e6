"""Results as files: the report of a run, pages of the texts in it, and galleries of surveys."""

__all__ = ["gallery", "passage_pages", "report", "study_run"]
