"""Medium that a source holds: pictures or speech."""

from pathlib import Path
from typing import Literal

from headlight.corpora.corpus import Corpus
from headlight.corpora.files import files
from headlight.corpora.pictures import is_picture
from headlight.corpora.speech import is_sound
from headlight.errors import CorpusError


def medium_of(source: object) -> Literal["pictures", "speech"] | None:
    """Return the medium of a source: nothing but pictures, or sound; None for all else.

    Args:
        source: Corpus, or a file, folder or pattern; see `open_recordings`.
    """
    if isinstance(source, Corpus):
        return source.kind if source.kind in ("pictures", "speech") else None
    if not isinstance(source, str | Path) or source == "-" or ":" in str(source):
        return None
    try:
        paths = files(source)
    except CorpusError:
        return None
    if all(map(is_picture, paths)):
        return "pictures"
    return "speech" if any(map(is_sound, paths)) else None
