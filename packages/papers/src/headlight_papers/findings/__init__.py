"""Sentences of the studies that serve one paper."""
