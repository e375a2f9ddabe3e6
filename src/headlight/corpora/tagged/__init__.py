"""Sentences of which every word has a tag."""
