"""Documents with gold coreference."""
