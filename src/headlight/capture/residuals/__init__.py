"""Path of an attention module's output within its layer, found by tracing."""
