"""Slopes by which activations are made linear, where a model is taken for a linear network."""

from typing import Literal

Slope = Literal["zero_origin", "chord", "derivative"]
"""How an activation is made linear.

``zero_origin``
    act(x) / x: the line through the origin (DecompX, Modarressi et al. 2023, Section 2).
``chord``
    (act(x) - act(b)) / (x - b), with b the bias of the linear map before: the integrated gradients
    from b to x in closed form (Kobayashi et al. 2024).
``derivative``
    act'(x): the tangent.
"""
