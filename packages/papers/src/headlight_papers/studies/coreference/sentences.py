"""Stretches of text in which the best heads find antecedents, for the report."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import xarray
from jaxtyping import Bool, Int64

from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.sentences import LONGEST, Shown, sentences_dataset
from headlight.capture import AttentionSite, LayerRecord
from headlight.capture.one_text import capture_one
from headlight_papers.findings.coreference import best_heads
from headlight_papers.studies.coreference import CoreferenceSettings
from headlight_papers.studies.coreference.observer import (
    DIRECTIONS,
    MENTION_KINDS,
    AntecedentObserver,
    is_antecedent,
)
from headlight_papers.studies.coreference.task import AntecedentExample

READ = 40
"""Windows that are read once more."""

AROUND = 2
"""Words that are shown before the first word of a stretch that has a line, and after the last."""

VARIABLES = {
    "sentence_word": ("word of a stretch of text in which the best head finds antecedents", "1"),
    "sentence_found": ("place of the word that it picks for the head word of a mention", "1"),
    "sentence_right": ("whether that is the head word of an antecedent", "1"),
}
"""Long name and unit of every variable."""


def best_sentences(
    result: xarray.Dataset,
    plan: StudyPlan[AntecedentExample],
    settings: CoreferenceSettings,
    one: Pass,
) -> xarray.Dataset:
    """For each measure and kind of mention a stretch of text in which the best head is right.

    The first windows are read once more, one by one, when it is known which heads are best.

    Args:
        result: Of the pass.
        plan: Of the study.
        settings: What is asked.
        one: The pass; there is no text for what does not run forward alone.
    """
    best = best_heads(result).to_dict("records") if one.forward_alone else []
    layers = {row["layer"] for row in best}
    sites = [site for site in plan.sites if site.layer in layers]
    kept: dict[tuple[str, str], Shown] = {}
    for example in islice(plan.examples, READ) if best else ():
        for row, shown in _seen(example, plan, sites, settings, best):
            at = row["measure"], row["mention_kind"]
            if shown.better_than(kept.get(at)):
                kept[at] = shown
    return sentences_dataset(kept, result, "mention_kind", VARIABLES)


def _seen(
    example: AntecedentExample,
    plan: StudyPlan[AntecedentExample],
    sites: Sequence[AttentionSite],
    settings: CoreferenceSettings,
    best: Sequence[dict[Any, Any]],
) -> Iterator[tuple[dict[Any, Any], Shown]]:
    """Yield the picks of each of the best heads for the mentions of a window of their kind."""
    measures = list(dict.fromkeys(row["measure"] for row in best))
    batch = plan.model.collate([example])
    observer = AntecedentObserver(batch, [example], sites, settings, measures)
    questions = observer.questions

    def look(record: LayerRecord) -> tuple[int, dict[str, tuple[np.ndarray, np.ndarray]]]:
        made = {
            measure: (picked.cpu().numpy(), is_antecedent(picked, questions).cpu().numpy())
            for measure, picked in observer.picked(record).items()
        }
        return record.site.layer, made

    by_layer = dict(capture_one(plan.model, example, sites, look))
    kinds = questions.kind.cpu().numpy()
    for row in best:
        asked = kinds[:, MENTION_KINDS.index(row["mention_kind"])]
        if asked.any():
            at = row["head"], DIRECTIONS.index(row["direction"])
            picked, right = (part[:, *at] for part in by_layer[row["layer"]][row["measure"]])
            words, query = example.task.words, example.task.query[asked]
            yield row, best_stretch(words, query, picked[asked], right[asked])


def best_stretch(
    words: tuple[str, ...],
    query: Int64[np.ndarray, " mention"],
    picked: Int64[np.ndarray, " mention"],
    right: Bool[np.ndarray, " mention"],
) -> Shown:
    """The stretch of a window in which most mentions are right, less those that are wrong.

    A mention is right in a stretch that holds also the word that is picked for it.  Of equal
    stretches it is the first.  It ends a few words from the outermost that have a line.

    Args:
        words: Of the window.
        query: The number of the head word of each mention; of mentions that share one, the last
            counts.
        picked: Of the word that is picked, −1 where there is none.
        right: Whether that is the head word of an antecedent.
    """
    query, last = np.unique(query[::-1], return_index=True)
    picked, right = picked[::-1][last], right[::-1][last]
    first = np.arange(max(len(words) - LONGEST, 0) + 1)[:, None]
    inside, reached = ((at >= first) & (at < first + LONGEST) for at in (query, picked))
    balance = (inside & reached & right).sum(1) - (inside & ~right).sum(1)
    best = int(balance.argmax())
    shown = np.flatnonzero((inside & reached)[best])
    ends = np.concatenate([query[shown], picked[shown]])
    if not len(ends):
        return Shown(0, 0, (), (), ())
    start = max(int(ends.min()) - AROUND, best)
    stop = min(int(ends.max()) + AROUND + 1, best + LONGEST)
    stretch = words[start:stop]
    asked, correct = np.zeros((2, len(stretch)), dtype=bool)
    found = np.zeros(len(stretch), dtype=np.int64)
    at = query[shown] - start
    asked[at], found[at], correct[at] = True, picked[shown] - start, right[shown]
    return Shown.of(stretch, asked, found, correct)._replace(balance=int(balance[best]))
