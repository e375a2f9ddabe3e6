"""Tasks of sentence pairs, as papers read them."""

__all__ = ["pair_tasks"]
