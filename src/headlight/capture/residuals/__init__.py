"""What happens to the output of an attention module within its layer, found by tracing."""
