"""Decorator of the exhibits of this paper."""

from headlight_papers.papers.exhibit import exhibits_of
from headlight_papers.papers.jain2019 import published

exhibit = exhibits_of(published.SOURCE, "labelled")
