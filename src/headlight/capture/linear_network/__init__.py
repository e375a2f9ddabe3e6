"""A model as a linear network of what is added in it, with the constants of one run."""
