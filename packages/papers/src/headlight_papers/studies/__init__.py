"""Studies that serve one paper: each a folder of its own, found by its entry point."""
