"""The format of translations, by the name that studies of texts take."""

from headlight.corpora import Format
from headlight_words.corpora import SAMPLE_TRANSLATIONS, open_parallel

TRANSLATIONS = Format(
    name="translations", open=open_parallel, holds="pairs", sample=SAMPLE_TRANSLATIONS
)
"""The row of the format, by an entry point of the group ``headlight.formats``."""
