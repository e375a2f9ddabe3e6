"""Headlight: what attention in Transformers really does, beyond the raw attention weight."""
