"""Which map of a text names the tokens that a prediction rests on."""
