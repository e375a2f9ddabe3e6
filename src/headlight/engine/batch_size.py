"""Batch size: tokens in a batch, on a CPU, and on a GPU by the measures of a layer."""

from headlight.capture import CapturedModel
from headlight.engine.max_length import text_length
from headlight.study_settings.models import ModelSettings

BATCH_TOKENS = 2048

SCORE_BYTES = 1 << 30
"""Bytes that the measures of a layer fill on a GPU, where no batch size is set."""


def batch_tokens(model: CapturedModel, settings: ModelSettings) -> int:
    """Return the number of tokens of a batch: the one that is set, or one that suits the device.

    On a GPU, batch × heads × length² numbers of 4 bytes for each measure fill `SCORE_BYTES` at the
    maximal length; of a language model's predictions, batches are those of a CPU, for a vocabulary
    fills more.  How much memory is free does not matter, so that a resumed run has the same
    batches.

    Args:
        model: Part of the model that runs.
        settings: Settings of the study; they may have a maximal length, and measures.
    """
    if settings.batch_tokens is not None:
        return settings.batch_tokens
    predicts_words = settings.required_head in ("language_model", "any", None)
    if predicts_words or model.transformer.device.type == "cpu":
        return BATCH_TOKENS
    measures = len(getattr(settings, "measures", None) or ("weight",))
    heads = max(site.heads for site in model.sites)
    return max(BATCH_TOKENS, SCORE_BYTES // (4 * heads * measures * text_length(model, settings)))
