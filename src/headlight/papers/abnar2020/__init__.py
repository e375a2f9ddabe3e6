"""*Quantifying Attention Flow in Transformers*."""
