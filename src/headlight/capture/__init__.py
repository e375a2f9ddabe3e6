"""Attention as a model computes it, for every model that uses transformers' attention interface.

``Subject(transformer).sites`` are the attention modules in the order in which they run, each with
its output projection, found by tracing.  ``with subject.capture(sites) as recorder`` runs
``recorder.visit(record)`` for each of them while the model runs, with a ``LayerRecord``: weights α,
values v(x), inputs x, which keys each query may see, and the site.
"""

from headlight.capture.record import Kind as Kind, LayerRecord as LayerRecord, Site as Site
from headlight.capture.session import Recorder as Recorder
from headlight.capture.subject import Subject as Subject
