"""Sentences with gold trees."""
