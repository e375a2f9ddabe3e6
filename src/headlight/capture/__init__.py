"""Attention as a model computes it, for every model that uses transformers' attention interface.

``CapturedModel(transformer).sites`` are the attention modules in the order in which they run, each
with its output projection, found by tracing.  ``with model.capture(sites) as recorder`` runs
``recorder.visit(record)`` for each of them while the model runs, with a ``LayerRecord``: weights α,
values v(x), inputs x, which keys each query may see, and the site.  With
``model.run_backward(batch, objective)`` a record also has ∂L/∂α, of the loss of the objective.
``with attention_replaced(model, …)`` the model works with attention matrices of the caller.
``with heads_removed(model, …)`` it works without some heads.
``with attention_with_graph(model) as attention`` a model can be trained by its attention.
``with model.capture(sites, residual=True)`` records also say what the output is added to.
``attribute(model, batch)`` returns contributions of input tokens to hidden tokens.
"""

from headlight.capture.attention_graph import attention_with_graph
from headlight.capture.attention_replacement import Replacement, Replacements, attention_replaced
from headlight.capture.attention_site import AttentionSite
from headlight.capture.attribution import Attribution, attribute
from headlight.capture.captured_model import CapturedModel
from headlight.capture.classifier_classes import Classes
from headlight.capture.frozen_norms import FrozenMap
from headlight.capture.head_removal import Heads, heads_removed
from headlight.capture.hooks import Place
from headlight.capture.loading import load_model
from headlight.capture.model_objective import default_objective
from headlight.capture.objectives import (
    NOTHING,
    CausalLanguageModel,
    MaskedLanguageModel,
    Objective,
    OwnObjective,
    Prepared,
    Reduction,
    SequenceToSequence,
)
from headlight.capture.output_projection import Projection
from headlight.capture.record import LayerRecord
from headlight.capture.recorder import Recorder
from headlight.capture.residual_connection import (
    FeedForwardSite,
    NoResidualSite,
    Residual,
    ResidualSite,
)
from headlight.settings.attribution import AttributionSettings
from headlight.vocabulary import Kind

__all__ = [
    "NOTHING",
    "AttentionSite",
    "Attribution",
    "AttributionSettings",
    "CapturedModel",
    "CausalLanguageModel",
    "Classes",
    "FeedForwardSite",
    "FrozenMap",
    "Heads",
    "Kind",
    "LayerRecord",
    "MaskedLanguageModel",
    "NoResidualSite",
    "Objective",
    "OwnObjective",
    "Place",
    "Prepared",
    "Projection",
    "Recorder",
    "Reduction",
    "Replacement",
    "Replacements",
    "Residual",
    "ResidualSite",
    "SequenceToSequence",
    "attention_replaced",
    "attention_with_graph",
    "attribute",
    "default_objective",
    "heads_removed",
    "load_model",
]
