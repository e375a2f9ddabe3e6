"""Antecedents found without a model: the nearest mention, the same head word, four sieves.

Source: Clark et al. (2019), Section 4.3 and Table 2.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Int64

from headlight_papers.studies.coreference import SieveName, TaskSettings
from headlight_papers.studies.coreference.sieves import SIEVES
from headlight_papers.studies.coreference.task import AntecedentTask

BASELINES = ("nearest", "head match", "rule-based")
"""The baselines, in the order of Table 2."""

NOTHING = -1
Picks = Int64[np.ndarray, " mention"]
"""The mention picked for each one evaluated, as an index into `task.mentions`; or `NOTHING`."""


def pick_nearest(
    task: AntecedentTask, allowed: Bool[np.ndarray, "mention candidate"] | None = None
) -> Picks:
    """The earlier mention whose head word is nearest.

    Of two mentions with one head word it is the one that begins later, or is shorter; both have the
    same claim to be right, since head words are compared.
    """
    chosen = task.earlier if allowed is None else task.earlier & allowed
    if not len(task.mentions):
        return np.empty(len(task), dtype=np.int64)
    places = np.argsort(task.heads, kind="stable")
    rank = np.empty_like(places)
    rank[places] = np.arange(len(places))
    best = np.where(chosen, rank, NOTHING).max(axis=1)
    return np.where(best < 0, NOTHING, places[best])


def pick_by_sieves(task: AntecedentTask, sieves: Sequence[SieveName]) -> Picks:
    """The nearest earlier mention that satisfies the first sieve that any satisfies."""
    picks = np.full(len(task), NOTHING, dtype=np.int64)
    for name in sieves:
        alike = SIEVES[name](task.mentions, task.words, task.tags)
        found = pick_nearest(task, alike[task.evaluated])
        picks = np.where(picks == NOTHING, found, picks)
    return picks


def baseline_picks(task: AntecedentTask, settings: TaskSettings) -> Mapping[str, Picks]:
    """Return the picks of every baseline of `BASELINES`; all look at earlier mentions only."""
    fallback: tuple[SieveName, ...] = (
        ("anything",) if settings.head_match_otherwise == "nearest" else ()
    )
    return {
        "nearest": pick_nearest(task),
        "head match": pick_by_sieves(task, ("head", *fallback)),
        "rule-based": pick_by_sieves(task, settings.sieves),
    }


def is_correct(task: AntecedentTask, picks: Picks) -> Bool[np.ndarray, " mention"]:
    """Whether the head word of each pick is that of an antecedent: the yardstick of the heads."""
    if not len(task.mentions):
        return np.zeros(len(task), dtype=bool)
    picked = task.antecedent_words()[np.arange(len(task)), task.heads[picks]]
    correct: Bool[np.ndarray, " mention"] = picked & (picks != NOTHING)
    return correct
