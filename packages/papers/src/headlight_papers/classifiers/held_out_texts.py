"""Texts to learn from, and others that are held out to measure on."""

import hashlib
import json
from collections.abc import Sequence
from itertools import islice

import numpy as np

from headlight.capture import Classes
from headlight.engine.classifier_plan import plan_classifier_study
from headlight.engine.corpus_attributes import share_read
from headlight.engine.example import NOTHING_SEEN, digest_with
from headlight.engine.labelled_texts import Classified
from headlight.engine.plan import StudyPlan
from headlight.errors import CorpusError, setting
from headlight.study_settings.classifiers import ClassifierSettings

HELD_OUT = 0.2
"""Share of texts that are held out where no others are named."""

Texts = list[Classified]


def split_texts(
    plan: StudyPlan[Classified],
    classes: Classes,
    settings: ClassifierSettings,
    held_out: str | None,
) -> tuple[Texts, Texts, dict[str, int | float]]:
    """Return training texts, held-out texts for all measurements, and counts of both.

    Args:
        plan: Plan of the study; its examples are read once.
        classes: Classes of the model.
        settings: Settings of the study.
        held_out: Source of held-out texts; None for a fifth of the texts, drawn with the seed.

    Raises:
        CorpusError: There are too few texts, or all training texts are of one class.
    """
    training = list(islice(plan.examples, plan.max_examples))
    counts = [plan.examples.counts]
    ended = len(training) == plan.max_examples
    share = share_read(plan.corpus, counts[0].documents if ended else None)
    if held_out is None:
        if len(training) < 2:
            raise CorpusError(
                f"{plan.source} holds {len(training)} texts, and some are held out; "
                f"{plan.if_empty} Else give more, or others with {setting('held_out=')}."
            )
        order = np.random.default_rng(settings.seed).permutation(len(training))
        cut = max(1, round(HELD_OUT * len(training)))
        training, tried = (
            [training[at] for at in sorted(places)] for places in (order[cut:], order[:cut])
        )
    else:
        other, _ = plan_classifier_study(plan.name, plan.title, held_out, plan.model, settings)
        tried = list(islice(other.examples, plan.max_examples))
        counts.append(other.examples.counts)
        for part, name in ((training, plan.source), (tried, held_out)):
            if not part:
                raise CorpusError(f"{name}: no example could be made of it; {plan.if_empty}")
    labels = {label for example in training for label in example.labels}
    if len(labels) < 2:
        only = classes.names[min(labels)]
        raise CorpusError(
            f"{plan.source}: all {len(training)} texts to learn from are of the class {only!r}; "
            "give texts of at least two."
        )
    read = {
        **share,
        "examples": len(training),
        "held_out": len(tried),
        "tokens": sum(len(text.ids) for text in (*training, *tried)),
        **{
            name: sum(part_counts.not_read()[name] for part_counts in counts)
            for name in counts[0].not_read()
        },
    }
    return training, tried, read


def digest_of(*parts: Sequence[Classified]) -> str:
    """Return the digest of texts and labels."""
    digest = NOTHING_SEEN
    for part in parts:
        for example in part:
            digest = digest_with(digest, example)
        labels = json.dumps([example.labels for example in part])
        digest = hashlib.sha256(f"{digest} {labels}".encode()).hexdigest()
    return digest
