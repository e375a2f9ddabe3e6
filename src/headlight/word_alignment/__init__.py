"""Alignment of the words of a sentence and its translation, as a model links them.

`soft` makes matrices between target and source words of cross-attention, and links of them;
`inputs` makes such matrices of gradients and of predictions without a word.  `aligner` does all of
it for a stream of pairs, `directions` with one model or two, and `choose` finds a layer.
"""

from headlight.word_alignment.settings import (
    AlignerSettings,
    InputMeasureSettings,
    LinkSettings,
)

__all__ = ["AlignerSettings", "InputMeasureSettings", "LinkSettings"]
