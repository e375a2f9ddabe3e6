"""Attention as a model computes it, for every model that uses transformers' attention interface.

``Subject(transformer).sites`` are the attention modules in the order in which they run, each with
its output projection, found by tracing.  ``with subject.capture(sites) as recorder`` runs
``recorder.visit(record)`` for each of them while the model runs, with a ``LayerRecord``: weights α,
values v(x), inputs x, which keys each query may see, and the site.  With
``subject.run_backward(batch, objective)`` a record also has ∂L/∂α, of the loss of the objective.
``with attention_replaced(subject, …)`` the model works with attention matrices of the caller.
``attribute(subject, batch)`` is what input tokens contribute to hidden ones.
"""

from headlight.capture.attribution import Attribution, AttributionSettings, attribute
from headlight.capture.heads import default_objective
from headlight.capture.loading import load_subject
from headlight.capture.masking import MaskedLanguageModel
from headlight.capture.next_token import CausalLanguageModel, SequenceToSequence
from headlight.capture.objective import NOTHING, Objective, OwnObjective, Prepared, Reduction
from headlight.capture.record import Kind, LayerRecord, Projection, Site
from headlight.capture.replacement import Replacement, Replacements, attention_replaced
from headlight.capture.session import Recorder
from headlight.capture.subject import Subject

__all__ = [
    "NOTHING",
    "Attribution",
    "AttributionSettings",
    "CausalLanguageModel",
    "Kind",
    "LayerRecord",
    "MaskedLanguageModel",
    "Objective",
    "OwnObjective",
    "Prepared",
    "Projection",
    "Recorder",
    "Reduction",
    "Replacement",
    "Replacements",
    "SequenceToSequence",
    "Site",
    "Subject",
    "attention_replaced",
    "attribute",
    "default_objective",
    "load_subject",
]
