"""Decorator of the exhibits of this paper."""

from headlight_papers.papers.exhibit import exhibits_of
from headlight_papers.papers.kobayashi2021 import SOURCE

exhibit = exhibits_of(SOURCE)
