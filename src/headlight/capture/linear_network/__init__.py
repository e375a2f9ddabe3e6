"""A model as a linear network of what is added in it, with the constants of one run."""

from headlight.capture.linear_network.addends import Addend, AddendKind, Part, gradients, parts_of
from headlight.capture.linear_network.network import Attended, LinearPass, linear_pass
from headlight.capture.linear_network.slopes import Slope

__all__ = [
    "Addend",
    "AddendKind",
    "Attended",
    "LinearPass",
    "Part",
    "Slope",
    "gradients",
    "linear_pass",
    "parts_of",
]
