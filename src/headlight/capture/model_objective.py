"""Training objective of a model, by its head."""

from headlight.capture.captured_model import CapturedModel
from headlight.capture.objectives import (
    CausalLanguageModel,
    MaskedLanguageModel,
    Objective,
    Reduction,
    SequenceToSequence,
)
from headlight.errors import MissingHeadError, with_head


def default_objective(
    model: CapturedModel, *, reduction: Reduction = "sum", seed: int = 0
) -> Objective:
    """Return the training objective of the model, by its head.

    Args:
        model: Model loaded with its language-model head.
        reduction: Reduction over the predicted tokens of a sequence.
        seed: Seed of the choice of tokens that are hidden from a masked language model.

    Raises:
        MissingHeadError: the model has no language-model head.
        UsageError: a masked language model comes without a mask token.
    """
    head = model.head.language
    if head is None or head == "speech":  # whose loss needs the sound
        raise MissingHeadError(
            f"{model} is a {type(model.transformer).__name__}, which has no language-model head "
            f"and so no loss; {with_head('a language model')}."
        )
    if head == "masked":
        return MaskedLanguageModel.from_tokenizer(model.tokenizer, reduction=reduction, seed=seed)
    objective_type = CausalLanguageModel if head == "causal" else SequenceToSequence
    return objective_type(reduction=reduction)
