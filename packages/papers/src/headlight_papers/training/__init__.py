"""Training of the small models of papers: losses, encoders of texts, and one loop."""

from headlight.capture.torch_settings import one_thread

__all__ = ["one_thread"]
