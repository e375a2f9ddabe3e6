"""Decorator of the exhibits of this paper."""

from headlight_papers.papers.exhibit import exhibits_of
from headlight_papers.papers.kobayashi2020 import published

exhibit = exhibits_of(published.SOURCE)
