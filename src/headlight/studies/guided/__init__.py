"""Models of single words that are given the attention of others, frozen."""
