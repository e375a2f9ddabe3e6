"""A model as a linear network of what is added in it, with the constants of one run."""

from headlight.capture.linear_network.addends import Addend, AddendKind, gradients, share, slopes_of
from headlight.capture.linear_network.decomposition import (
    Component,
    ComponentKind,
    Decomposition,
    HeadParts,
    Side,
    decompose,
)
from headlight.capture.linear_network.network import Attended, LinearPass, linear_pass

__all__ = [
    "Addend",
    "AddendKind",
    "Attended",
    "Component",
    "ComponentKind",
    "Decomposition",
    "HeadParts",
    "LinearPass",
    "Side",
    "decompose",
    "gradients",
    "linear_pass",
    "share",
    "slopes_of",
]
