"""Attention as a model computes it, for every model that uses transformers' attention interface.

``Subject(transformer).sites`` are the attention modules in the order in which they run, each with
its output projection, found by tracing.  ``with subject.capture(sites) as recorder`` runs
``recorder.visit(record)`` for each of them while the model runs, with a ``LayerRecord``: weights α,
values v(x), inputs x, which keys each query may see, and the site.
"""

from headlight.capture.loading import load_subject
from headlight.capture.record import Kind, LayerRecord, Projection, Site
from headlight.capture.session import Recorder
from headlight.capture.subject import Subject

__all__ = ["Kind", "LayerRecord", "Projection", "Recorder", "Site", "Subject", "load_subject"]
