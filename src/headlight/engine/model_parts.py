"""The part of a model that a study runs: its tokenizer, its encoder, its attention modules."""

from typing import Any

from headlight.capture import AttentionSite, CapturedModel
from headlight.capture.one_text import require_reader
from headlight.errors import UsageError
from headlight.result.kinds import ALL
from headlight.study_settings.models import ModelSettings
from headlight.vocabulary import Kind


def check_tokenizer(model: CapturedModel) -> Any:
    """Return the tokenizer of a model of text, or of a model of speech that reads transcripts.

    Raises:
        UsageError: it has none, or reads something else.
    """
    if not model.hears:
        require_reader(model)
    return model.require_tokenizer("a study reads text")


def encoder_for_one_text(model: CapturedModel, kind: Kind | None) -> CapturedModel:
    """Return the part of a model that reads a single text: of an encoder-decoder the encoder.

    Raises:
        UsageError: attention of a decoder that reads a second text is requested, or the model reads
            no text.
    """
    model = model.reader()
    require_reader(model)
    if not model.has_decoder_inputs:
        return model
    if kind in ("decoder", "cross"):
        raise UsageError(
            f"{kind} attention of {model} needs two texts per example, and here is one; "
            "choose the encoder."
        )
    return model.encoder()


def choose_sites(model: CapturedModel, settings: ModelSettings) -> tuple[Kind, list[AttentionSite]]:
    """Return the selected kind of attention, the first if there are several, and its modules.

    Raises:
        UsageError: there is no such kind or layer, or no layer is requested.
    """
    first = model.kinds[0]
    kinds = model.kinds if settings.kind == ALL else (settings.kind or first,)
    sites = [site for kind in kinds for site in model.sites_of(kind, settings.layers)]
    return kinds[0], sites
