"""A model as a linear network of what is added in it, with the constants of one run."""

from headlight.capture.linear_network.addends import share, slopes_of
from headlight.capture.linear_network.decomposition import Decomposition, Side, decompose
from headlight.capture.linear_network.network import linear_pass

__all__ = ["Decomposition", "Side", "decompose", "linear_pass", "share", "slopes_of"]
