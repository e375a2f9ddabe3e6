"""Models with the predictions of a classifier and other attention."""
