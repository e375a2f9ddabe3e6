"""What a model says without one of its heads, or without all heads of a layer."""
