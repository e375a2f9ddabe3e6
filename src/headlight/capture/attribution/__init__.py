"""How much each input token contributes to each hidden token (hidden token attribution)."""

from headlight.capture.attribution.contributions import Attribution, attribute

__all__ = ["Attribution", "attribute"]
