"""Settings of studies and readings, checked and explained; without torch."""

from headlight.settings.base import (
    AUTO,
    CHOSEN,
    NO_EFFECT,
    REPEATED,
    AtLeast0,
    AtLeast1,
    Range,
    Settings,
    StudySettings,
    choices,
    entries,
    require_choice,
    require_distinct,
    require_place,
    require_range,
)

__all__ = [
    "AUTO",
    "CHOSEN",
    "NO_EFFECT",
    "REPEATED",
    "AtLeast0",
    "AtLeast1",
    "Range",
    "Settings",
    "StudySettings",
    "choices",
    "entries",
    "require_choice",
    "require_distinct",
    "require_place",
    "require_range",
]
