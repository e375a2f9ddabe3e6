"""The names that everything shares: kinds of attention, categories, choices; without torch."""

from typing import Literal

Kind = Literal["encoder", "decoder", "cross"]
"""Which attention: of an encoder, of a decoder, or of a decoder to an encoder."""

ValueBias = Literal["include", "exclude"]
"""Whether T of effective attention has the value bias in it."""

NormPooling = Literal["norms", "vectors"]
"""How norms are joined over the pieces of a word: their sum, or the norm of the summed vectors."""

QueryPooling = Literal["mean", "first", "max"]
"""How the pieces of the attending word are joined."""

Embeddings = Literal["sum", "output"]
"""What an input token is: the sum of its embeddings, or what the first block is given."""

CATEGORIES = ("cls", "sep", "punctuation", "other")
"""Token categories; an index into this tuple stands for one of them."""
