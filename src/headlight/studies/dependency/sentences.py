"""Sentences of the treebank in which the best heads find relations, for the report."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import xarray

from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.sentences import LONGEST, Shown, sentences_dataset
from headlight.capture import AttentionSite, LayerRecord
from headlight.capture.one_text import capture_one
from headlight.encode import EncodedSentence
from headlight.findings.dependency import best_heads
from headlight.studies.dependency import DependencySettings
from headlight.studies.dependency.observer import DependencyObserver
from headlight.studies.dependency.predictions import DIRECTIONS, is_correct

READ, LOOKED_AT = 40, 400
"""Short sentences that are read once more, and sentences among which they are looked for."""

VARIABLES = {
    "sentence_word": ("word of a sentence in which the best head finds the relation", "1"),
    "sentence_found": ("place of the governor that it predicts for a word of the relation", "1"),
    "sentence_right": ("whether that is the governor", "1"),
}
"""Long name and unit of every variable."""


def best_sentences(
    result: xarray.Dataset,
    plan: StudyPlan[EncodedSentence],
    settings: DependencySettings,
    codes: Mapping[str, int],
    one: Pass,
) -> xarray.Dataset:
    """For each measure and relation a sentence in which its best head finds it.

    The first short sentences are read once more, one by one, when it is known which heads are best;
    a relation that is found in none of them has no sentence.

    Args:
        result: Of the pass.
        plan: Of the study.
        settings: What is asked.
        codes: The number of every relation.
        one: The pass; there is no sentence for what does not run forward alone.
    """
    best = []
    if one.forward_alone:
        best = best_heads(result, min_count=1).query("relation in @codes").to_dict("records")
    layers = {row["layer"] for row in best}
    sites = [site for site in plan.sites if site.layer in layers]
    kept: dict[tuple[str, str], Shown] = {}
    for example in _short(plan) if best else ():
        for row, shown in _seen(example, plan, sites, settings, codes, best):
            at = row["measure"], row["relation"]
            if shown.better_than(kept.get(at)):
                kept[at] = shown
    return sentences_dataset(kept, result, "relation", VARIABLES)


def _short(plan: StudyPlan[EncodedSentence]) -> Iterator[EncodedSentence]:
    first = islice(plan.examples, LOOKED_AT)
    return islice((each for each in first if len(each.sentence) <= LONGEST), READ)


def _seen(
    example: EncodedSentence,
    plan: StudyPlan[EncodedSentence],
    sites: Sequence[AttentionSite],
    settings: DependencySettings,
    codes: Mapping[str, int],
    best: Sequence[dict[Any, Any]],
) -> Iterator[tuple[dict[Any, Any], Shown]]:
    """Yield the predictions of each of the best heads for a sentence that has its relation."""
    measures = list(dict.fromkeys(row["measure"] for row in best))
    batch = plan.model.collate([example])
    observer = DependencyObserver(batch, [example], sites, settings, measures, codes)
    gold = observer.gold

    def look(record: LayerRecord) -> tuple[int, dict[str, tuple[np.ndarray, np.ndarray]]]:
        made = {
            measure: (found[0].cpu().numpy(), is_correct(found, gold)[0].cpu().numpy())
            for measure, found in observer.predictions(record).items()
        }
        return record.site.layer, made

    by_layer = dict(capture_one(plan.model, example, sites, look))
    relation = gold.relation[0].cpu().numpy()
    for row in best:
        asked = relation == codes[row["relation"]]
        if asked.any():
            at = row["head"], DIRECTIONS.index(row["direction"])
            found, right = (part[at] for part in by_layer[row["layer"]][row["measure"]])
            yield row, Shown.of(example.sentence.words[: example.kept], asked, found, right)
