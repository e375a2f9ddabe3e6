"""Decorator of the exhibits of this paper."""

from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.exhibit import exhibits_of

exhibit = exhibits_of(published.SOURCE)
