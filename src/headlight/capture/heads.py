"""Language-model head of a model, and its training objective."""

from typing import Any, Literal

from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSpeechSeq2Seq,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED,
    MODEL_FOR_PRETRAINING_MAPPING_NAMES as PRETRAINING,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as SEQUENCES,
    MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES as SPEECH,
)

from headlight.capture.captured_model import CapturedModel
from headlight.capture.objectives.language_models import (
    CausalLanguageModel,
    MaskedLanguageModel,
    SequenceToSequence,
)
from headlight.capture.objectives.objective import Objective, Reduction
from headlight.errors import MissingHeadError

Head = Literal["masked", "causal", "sequence_to_sequence", "speech"]

LOADERS: dict[Head, Any] = {
    "masked": AutoModelForMaskedLM,
    "causal": AutoModelForCausalLM,
    "sequence_to_sequence": AutoModelForSeq2SeqLM,
    "speech": AutoModelForSpeechSeq2Seq,
}


def head_of(config: Any, architecture: str) -> Head | None:
    """The language-model head of a class of transformers; None if it has none.

    Args:
        config: of the model.
        architecture: name of the class, as ``architectures`` of a configuration gives it.
    """
    if architecture in SEQUENCES.values():
        return "sequence_to_sequence"
    if architecture in SPEECH.values():
        return "speech"
    if architecture in MASKED.values():
        return "masked"
    if architecture in CAUSAL.values():
        return "causal"
    # Further heads, such as that of the next sentence, stand beside the masked one.
    both = architecture in PRETRAINING.values() and config.model_type in MASKED
    return "masked" if both else None


def default_objective(
    model: CapturedModel, *, reduction: Reduction = "sum", seed: int = 0
) -> Objective:
    """Return the training objective of the model, by its head.

    Args:
        model: loaded with its language-model head.
        reduction: over the predicted tokens of a sequence.
        seed: which tokens are hidden from a masked language model.

    Raises:
        MissingHeadError: the model has no language-model head.
        UsageError: a masked language model comes without a mask token.
    """
    network = model.transformer
    head = head_of(network.config, type(network).__name__)
    if head is None or head == "speech":  # whose loss needs the sound
        raise MissingHeadError(
            f"{model.name} is a {type(network).__name__}, which has no language-model head and so "
            "no loss; load it with head='language_model', or give an objective of your own."
        )
    if head == "masked":
        return MaskedLanguageModel.of(model.tokenizer, reduction=reduction, seed=seed)
    made = CausalLanguageModel if head == "causal" else SequenceToSequence
    return made(reduction=reduction)
