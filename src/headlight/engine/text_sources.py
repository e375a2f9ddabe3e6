"""Sources of studies of texts: samples, texts, recordings and pictures, opened for a model."""

from pathlib import Path
from typing import Any, TypeVar

from headlight.capture import CapturedModel
from headlight.capture.one_text import require_reader
from headlight.corpora import (
    SAMPLE_TEXT,
    Corpus,
    Source,
    find_format,
    holds_a_text_a_line,
    medium_of,
    open_corpus,
    open_pictures,
    open_recordings,
    pair_format,
)
from headlight.encode import Examples
from headlight.errors import UsageError, setting
from headlight.study_settings.texts import TextSettings

SAMPLE_LENGTH = 256
"""Maximum number of tokens of two paragraphs of the sample corpus."""

TextSource = Source | Corpus | Examples | None
"""A path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples made for the very model;
None is a sample that comes with the package: texts, or for a decoder that reads them,
translations.  For a model that hears, recordings; see `headlight.corpora.open_recordings`; for one
that sees, pictures; see `headlight.corpora.open_pictures`."""

S = TypeVar("S", bound=TextSettings)


def reads_by_line(source: object, settings: TextSettings) -> bool:
    """Whether each line of a file is a text, although no format is set; pairs need documents."""
    has_format = settings.format is not None or settings.column is not None or settings.pairs
    return not has_format and holds_a_text_a_line(source)


def open_texts(source: Source | Corpus, settings: TextSettings) -> Corpus:
    """Return the corpus, opened as the settings say; refuse a format that does not go with it.

    Raises:
        UsageError: a format of two texts meets pairs, or no files.
    """
    if isinstance(source, Corpus):
        return source
    if (two_texts := pair_format(settings.format)) is not None:
        if settings.pairs:
            raise UsageError(
                f"{settings.format} are two segments already; leave out pairs, which joins "
                "adjacent paragraphs."
            )
        if not isinstance(source, str | Path):
            raise UsageError(
                f"{settings.format} are read from files; give a path, or open them first."
            )
        return two_texts.open(str(source))
    format = "lines" if reads_by_line(source, settings) else settings.format
    return open_corpus(source, format=format, column=settings.column)


def refuse_recordings(source: Any, model: CapturedModel) -> None:
    """Refuse sound, or pictures, as the source of a model of text.

    Raises:
        UsageError: the source is of one of these media.
    """
    medium = None if isinstance(source, Examples) else medium_of(source)
    if medium == "pictures":
        raise UsageError(
            f"{source} holds pictures, and {model} reads text; name an encoder of pictures, "
            "such as google/vit-base-patch16-224."
        )
    if medium == "speech":
        raise UsageError(
            f"{source} holds recordings, and {model} reads text; name a model of speech, such "
            "as openai/whisper-tiny.en."
        )


def check_medium(source: TextSource, model: CapturedModel, settings: TextSettings) -> None:
    """Refuse a source of another medium than the model's, and settings that only texts have.

    Raises:
        UsageError: the source or a setting belongs to another medium.
    """
    if not (model.hears or model.sees):
        refuse_recordings(source, model)
        return
    if source is None:
        what = "speech" if model.hears else "pictures"
        cure = (
            "give a folder of WAV files, each with its transcript in a .txt file of the same name"
            if model.hears
            else "give a folder of PNG or JPEG files"
        )
        raise UsageError(f"{model} reads {what}, for which there is no sample; {cure}.")
    if settings.pairs or settings.format is not None:
        what = "recordings" if model.hears else "pictures"
        raise UsageError(f"{what} are no texts; leave out pairs and format.")
    if model.sees and isinstance(source, list | tuple) and isinstance(next(iter(source), ""), str):
        require_reader(model)
    if model.sees and (settings.column is not None or settings.max_length is not None):
        raise UsageError(
            f"pictures are read whole, one a file; leave out {setting('column')} and "
            f"{setting('max_length')}."
        )


def open_source(
    source: Source | Corpus | None, model: CapturedModel, settings: TextSettings
) -> Corpus:
    """Open recordings for a model that hears, pictures for one that sees, else texts."""
    if model.sees:
        return open_pictures(source)  # type: ignore[arg-type]  # refuses
    if model.hears:
        return open_recordings(source, column=settings.column)  # type: ignore[arg-type]  # refuses
    return open_texts(source, settings)  # type: ignore[arg-type]  # a sample is opened already


def sample_source(model: CapturedModel, settings: S) -> tuple[Corpus, S]:
    """Open the sample: translations for a decoder that reads them, else texts as segment pairs."""
    if model.has_decoder_inputs and settings.kind != "encoder":
        translations = find_format("translations", needed=f"the sample that {model} reads")
        if translations and translations.sample:
            return translations.open(str(translations.sample)), settings
    longest = min(SAMPLE_LENGTH, model.longest or SAMPLE_LENGTH)
    settings = settings.replace(pairs=True, max_length=settings.max_length or longest)
    return open_corpus(SAMPLE_TEXT), settings
