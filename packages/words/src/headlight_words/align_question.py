"""The question of word alignment to a model, which is its method `align`."""

from headlight.catalogue.questions import Question
from headlight_words.word_alignment import AlignerSettings

ALIGN = Question(
    name="align",
    sentence="Link the words of sentences and their translations.",
    settings=AlignerSettings,
    answered="headlight_words.word_alignment.directions",
    is_command=False,
    of_one_text=False,
)
"""The row of the question, by an entry point of the group ``headlight.questions``."""
