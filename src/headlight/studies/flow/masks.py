"""Texts in which some tokens are replaced by the mask token."""

from dataclasses import replace

import numpy as np

from headlight.capture import MaskedLanguageModel
from headlight.encode import Encoded, Examples
from headlight.engine.plan import StudyPlan
from headlight.vocabulary import CATEGORIES

OTHER = CATEGORIES.index("other")


def masked(plan: StudyPlan[Encoded], rate: float, seed: int) -> Examples:
    """Return the texts with masks, as many in each as `MaskedLanguageModel` says.

    Raises:
        UsageError: there is no mask token.
    """
    chosen = MaskedLanguageModel.from_tokenizer(
        plan.model.tokenizer, rate=rate, mask_share=1.0, random_share=0.0, seed=seed
    )

    def mask(example: Encoded) -> Encoded:
        hidden, _ = chosen.hide(np.array(example.ids, np.int64))
        categories = np.where(hidden == chosen.mask_id, OTHER, example.categories)
        return replace(example, ids=tuple(hidden.tolist()), categories=tuple(categories.tolist()))

    assert isinstance(plan.examples, Examples)  # noqa: S101 - made of texts
    return plan.examples.changed(mask)
