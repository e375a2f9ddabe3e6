"""Attributes of a result about the part of its corpus that was read, and what was left out."""

import json
from dataclasses import asdict
from typing import Any, TypeVar

from headlight.corpora import Corpus
from headlight.encode import FRAME_NAMES, Encoded, piece_style, special_tokens
from headlight.encode.examples import LOST, TEXT_SUM
from headlight.encode.pictures import PATCH_NAMES
from headlight.engine.plan import StudyPlan
from headlight.engine.state import State

SHARE = "corpus_share"
"""Attribute with the approximate share of the corpus that was read, where a limit ended it."""


def share_read(corpus: Corpus[Any] | None, elements: int | None) -> dict[str, float]:
    """Return about which share of a corpus was read, as an attribute; empty if not known.

    It depends on the files and the number alone, and so is the same however a run came about.

    Args:
        corpus: Corpus that was read, if there is one.
        elements: Number of its first elements that were read; None for as many as it was limited
            to.
    """
    limit = elements if corpus is None or corpus.limit is None else corpus.limit
    share = corpus.share_of(limit) if corpus is not None and limit else None
    return {} if share is None else {SHARE: share}


E = TypeVar("E", bound=Encoded)

NOT_COUNTED = ("documents", "examples", TEXT_SUM)
"""Counts of an iteration that say nothing about what was left out."""
SELDOM = ("special", "doubled", "one_word", "joined", *LOST)
"""Counts that a result has where they are not 0."""


def corpus_attributes(plan: StudyPlan[E], state: State) -> dict[str, Any]:
    """Return the attributes of what was read, and of what was left out."""
    counts = state.counts or asdict(plan.examples.counts) | _lost_of(plan)
    if not counts.get("joined"):  # of pairs lines are units
        counts = {name: count for name, count in counts.items() if name != "joined_lines"}
    ended = plan.max_examples is not None and state.examples == plan.max_examples
    return {
        **share_read(plan.corpus, int(counts.get("documents", 0)) if ended else None),
        **({} if plan.all_kinds else category_names(plan)),
        "corpus_digest": state.digest,
        **({"text_digest": f"{counts[TEXT_SUM]:x}"} if TEXT_SUM in counts else {}),
        "examples": state.examples,
        **({"recordings": state.examples} if plan.model.hears else {}),
        **({"pictures": state.examples} if plan.model.sees else {}),
        "tokens": state.tokens,
        **{
            name: value
            for name, value in counts.items()
            if name not in NOT_COUNTED and (value or name not in SELDOM)
        },
    }


def _lost_of(plan: StudyPlan[Any]) -> dict[str, int]:
    """Return counts of what the corpus has left out, if no more of it was read than needed."""
    corpus = plan.corpus
    if corpus is None or (plan.max_examples is not None and corpus.limit is None):
        return {}
    return asdict(corpus.counts)


def category_names(plan: StudyPlan[E]) -> dict[str, str]:
    """Return the style of pieces, and the names of special tokens among keys and queries.

    Cross-attention goes from a text that begins otherwise than the one that it goes to.
    """
    if plan.model.sees:
        return {"category_names": json.dumps(PATCH_NAMES)}
    tokenizer: Any = plan.model.tokenizer
    source, target = special_tokens(tokenizer, plan.model.decoder_start)
    if plan.model.hears:
        source = dict(FRAME_NAMES)
    keys = target if plan.kind == "decoder" else source
    names = {"category_names": json.dumps(keys), "pieces": piece_style(tokenizer)}
    return names | ({"query_category_names": json.dumps(target)} if plan.kind == "cross" else {})
