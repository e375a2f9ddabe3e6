"""Fixtures of small tokenizers."""

from encode.small_tokenizers import *  # noqa: F403 - fixtures are found by their names
