"""A model at work on a corpus: what is planned, the passes of the model, and who observes it."""
