"""What every token after every layer is made of: the routes from the input to it, by heads."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray
from jaxtyping import Float
from torch import Tensor

from headlight import files
from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.one_text import capture_one, one_text
from headlight.encode import piece_style, unknown_id
from headlight.errors import UsageError
from headlight.measures.norm import per_head
from headlight.measures.parts import missed_without, missed_without_heads
from headlight.result import FORMAT, save, versions
from headlight.result.long_names import VARIABLES
from headlight.vocabulary import Kind

LEAST = 0.005
"""Parts of heads that are kept make up at least this share of their sum."""

SHOWN = 0.04
"""Parts of at least this share are followed (Ferrando and Voita 2024, Section 4.1)."""


class Routes:
    """What every token after every layer is made of, for one text.

    `dataset` holds, over ``layer`` and ``query`` (the token), the shares of the sum after the
    attention: ``residual`` (the token before the layer), ``bias`` (of the output projection), and
    ``rest`` (parts of heads that are too small to be kept); and over ``part`` the ``share`` of each
    part of a head that is kept, with its ``part_layer`` (the place of the layer),
    ``part_head``, ``part_query`` and ``part_key``.  Of a token they add up to 1.  ``forward`` is the share of the feed-forward layer
    in the sum that follows.
    """

    def __init__(self, dataset: xarray.Dataset) -> None:
        self.dataset = dataset

    def __repr__(self) -> str:
        """Short: the text, the model, and how many parts there are."""
        sizes, attributes = self.dataset.sizes, self.dataset.attrs
        return (
            f"<Routes of {attributes['text']!r} by {attributes['model']}: {sizes['layer']} layers, "
            f"{sizes['query']} tokens, {sizes['part']} parts of heads>"
        )
