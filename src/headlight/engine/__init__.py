"""A model at work on a corpus: what is planned, how it is run, resumed and shared."""
