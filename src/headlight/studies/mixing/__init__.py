"""How much of a token comes from its context, layer by layer (Kobayashi et al. 2021)."""
