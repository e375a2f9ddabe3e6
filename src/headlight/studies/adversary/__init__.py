"""Models with the answers of a classifier and other attention."""
