"""*Attention Module is Not Only a Weight* (Kobayashi et al. 2020)."""
