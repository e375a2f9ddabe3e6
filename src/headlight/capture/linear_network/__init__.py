"""Model as a linear network of its addends, with the constants of one run."""
