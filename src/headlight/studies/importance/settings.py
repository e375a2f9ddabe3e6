"""Settings of gradient importance."""

from dataclasses import dataclass

from headlight.analysis.settings import TextSettings


@dataclass(frozen=True, kw_only=True)
class ImportanceSettings(TextSettings):
    """What the importance of attention depends on, besides model, corpus and objective."""
