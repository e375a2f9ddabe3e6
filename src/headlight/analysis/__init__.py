"""A model at work on a corpus: what is planned, the passes of the model, and who observes it."""

__all__ = ["folder", "plan", "runner", "settings", "text_plan"]
