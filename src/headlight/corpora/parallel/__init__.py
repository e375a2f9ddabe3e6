"""Sentences with their translations, one pair at a time."""
