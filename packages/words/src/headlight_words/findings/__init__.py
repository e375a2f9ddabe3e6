"""Sentences of the studies of annotated and parallel text."""
