"""All studies, each declared once beside its settings, in this package or in another.

A study of another package is found by an entry point of the group ``headlight.studies``, whose name
is that of the study and whose value its row, ``package:STUDY``; a command by one of the group
``headlight.commands``, whose value is a `Command`.  The statistics of heads are a table of the same
kind.  Nothing here needs torch.
"""

from headlight.catalogue.distributions import (
    DISTRIBUTIONS,
    PAPERS,
    WORDS,
    Distribution,
    distribution_of,
)
from headlight.catalogue.registry import (
    GROUP,
    Command,
    cannot_be_loaded,
    commands,
    find_ours,
    find_study,
    refused,
    register_measures,
    studies,
)
from headlight.catalogue.statistics import Statistic, behaviours, statistic, statistic_table
from headlight.catalogue.study import (
    EMBEDDED_CLASSIFIER,
    EMBEDDED_TRANSLATOR,
    SOURCES,
    Reads,
    SourceKind,
    Study,
)

__all__ = [
    "DISTRIBUTIONS",
    "EMBEDDED_CLASSIFIER",
    "EMBEDDED_TRANSLATOR",
    "GROUP",
    "PAPERS",
    "SOURCES",
    "WORDS",
    "Command",
    "Distribution",
    "Reads",
    "SourceKind",
    "Statistic",
    "Study",
    "behaviours",
    "cannot_be_loaded",
    "commands",
    "distribution_of",
    "find_ours",
    "find_study",
    "refused",
    "register_measures",
    "statistic",
    "statistic_table",
    "studies",
]
