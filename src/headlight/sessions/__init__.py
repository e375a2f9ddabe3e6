"""Whole runs: a study from its source to the files in its folder, and galleries of surveys."""
