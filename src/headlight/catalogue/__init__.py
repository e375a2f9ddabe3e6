"""Tables of studies, commands, questions of one text, statistics of heads, and formats.

A study is declared once, beside its settings, in this package or in another.  Other packages add
rows by entry points: a study by one of the group ``headlight.studies``, whose name is that of the
study and whose value is its row, ``package:STUDY``; a command by one of the group
``headlight.commands``, whose value is a `Command`; rows of the other tables likewise.  Nothing here
needs torch.
"""

from headlight.catalogue.distributions import DISTRIBUTIONS, IN_OTHER_DISTRIBUTIONS, Distribution
from headlight.catalogue.embedded_models import EMBEDDED_CLASSIFIER
from headlight.catalogue.questions import Question
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
from headlight.catalogue.sources import SourceKind
from headlight.catalogue.statistics import Statistic, behaviours, statistic, statistic_table
from headlight.catalogue.study import HAYSTACK, LABELLED, TEXT, TEXT_OR_LABELLED, Study
from headlight.catalogue.writers import Writer

__all__ = [
    "DISTRIBUTIONS",
    "EMBEDDED_CLASSIFIER",
    "GROUP",
    "HAYSTACK",
    "IN_OTHER_DISTRIBUTIONS",
    "LABELLED",
    "TEXT",
    "TEXT_OR_LABELLED",
    "Command",
    "Distribution",
    "Question",
    "SourceKind",
    "Statistic",
    "Study",
    "Writer",
    "behaviours",
    "cannot_be_loaded",
    "commands",
    "find_ours",
    "find_study",
    "refused",
    "register_measures",
    "statistic",
    "statistic_table",
    "studies",
]
