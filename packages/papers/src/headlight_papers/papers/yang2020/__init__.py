"""*Is Attention Points Out the Only "Path"? An Analysis on Transformers* (Yang 2020)."""
