"""Texts as documents."""
