"""What every token after every layer is made of: the routes from the input to it, by heads."""

import xarray

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
