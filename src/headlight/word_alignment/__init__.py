"""Which words of a sentence and its translation belong together, as a model sees it.

`soft` makes matrices between target and source words of cross-attention, `input_measures` of
gradients and of predictions without a word; `extract` makes links of them; `aligner` does all of it
for a stream of pairs.
"""

from headlight.word_alignment.settings import (
    AlignerSettings,
    InputMeasureSettings,
    LinkSettings,
)

__all__ = ["AlignerSettings", "InputMeasureSettings", "LinkSettings"]
