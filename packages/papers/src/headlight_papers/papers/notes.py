"""Notes on model and text under an exhibit."""

from pathlib import Path

import xarray

from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.settings import TextPaperSettings
from headlight_papers.papers.text_reading import text_name


def model_name(name: str) -> str:
    """Return the name of a model; of a folder its last part."""
    return Path(name).resolve().name if Path(name).is_dir() else name


def model_note(reproduction: Reproduction) -> str:
    """Return the note on the model, beside the paper's."""
    heads = [site.heads for site in reproduction.model.sites_of(reproduction.kind)]
    heads_of_layer = str(heads[0]) if len(set(heads)) == 1 else f"{min(heads)} to {max(heads)}"
    return (
        f"Model: {model_name(reproduction.model.name)}, {len(heads)} layers of {heads_of_layer} "
        "heads; the paper's is BERT-base, 12 layers of 12."
    )


def text_notes(reproduction: Reproduction[TextPaperSettings], dataset: xarray.Dataset) -> list[str]:
    """Return notes on how model and text differ from the paper's."""
    read = (
        f"The text is {dataset.attrs['examples']} segments of at most {reproduction.max_length} "
        f"tokens from {text_name(reproduction)}; the paper's is 1,000 segments of Wikipedia (992 "
        "in the released data)."
    )
    ids = reproduction.settings.segment_ids
    released = (
        "as in the released maps of Clark et al.; Kobayashi et al. have 0 and 1."
        if ids == "zeros"
        else "as in the code of Kobayashi et al.; the released maps of Clark et al. have zeros."
    )
    return [model_note(reproduction), read, f"Segment ids are {ids}, {released}"]
