"""Contribution of each input token to each hidden token (hidden token attribution)."""

from headlight.capture.attribution.contributions import Attribution, attribute

__all__ = ["Attribution", "attribute"]
