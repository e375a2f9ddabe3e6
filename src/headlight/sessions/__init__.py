"""A whole run of a study: its model, its workers, and the files that it leaves."""
