"""Gold relations, and heads that predict them."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.corpora import PUNCTUATION_RELATION, Sentence
from headlight_words.corpora import ROOT
from headlight_words.studies.dependency import Offsets, Possessive, Relations

NO_RELATION = -1
NO_GOVERNOR = -3
"""Governor in padding, which no prediction equals."""
UNLABELLED = "_"
POSSESSIVES = ("poss", "nmod:poss")
"""The relation of a possessor to what is possessed, in Stanford and in Universal Dependencies."""
CLITICS = ("'s", "s'", "’s", "s’")
"""Markers of the possessor; the authors' code knows the first two."""


@dataclass(frozen=True, eq=False)
class Gold:
    """The trees of a batch; words are counted from 0, and −1 is the root.

    Attributes:
        governor: Governor of every word.
        relation: Number of every word's relation; −1 for words that are not evaluated: padding, and
            words whose governor was cut off.
        possessor: Words for which the prediction of the next word may count in place of their own.
        lengths: Number of words kept of each sentence.
        cut: Number of words kept whose governor was cut off.
        lost: Number of words that were cut off themselves.
        relations: Number of relations.
        any_possessor: Whether there is any possessor.
    """

    governor: Int64[Tensor, "batch word"]
    relation: Int64[Tensor, "batch word"]
    possessor: Bool[Tensor, "batch word"]
    lengths: Int64[Tensor, " batch"]
    cut: Int64[Tensor, " batch"]
    lost: Int64[Tensor, " batch"]
    relations: int
    any_possessor: bool

    @cached_property
    def present(self) -> Bool[Tensor, "batch word"]:
        """Return the mask of positions that hold a word."""
        places = torch.arange(self.governor.shape[1], device=self.governor.device)
        return places < self.lengths[:, None]

    @cached_property
    def members(self) -> Float[Tensor, "batch word relation"]:
        """Return 1 where an evaluated word has the relation, else 0."""
        codes = torch.arange(self.relations, device=self.relation.device)
        return (self.relation[..., None] == codes).float()


@dataclass(frozen=True, slots=True)
class TreebankSummary:
    """Summary of one reading of a treebank.

    Attributes:
        relations: Names of relations, the most frequent first; in alphabetical order among equals.
        digest: 12 hex digits of the words and the trees.
    """

    relations: tuple[str, ...]
    digest: str


def summarize(sentences: Iterable[Sentence], naming: Relations) -> TreebankSummary:
    """Read a treebank once, without a model.

    Raises:
        CorpusError: A sentence has no tree.
    """
    counts: Counter[str] = Counter()
    digest = hashlib.sha256()
    for sentence in sentences:
        names = relation_names(sentence, naming)
        counts.update(names)
        # Words may hold lone surrogates, which cannot be encoded otherwise.
        digest.update(repr((sentence.words, sentence.heads, names)).encode(errors="replace"))
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    return TreebankSummary(tuple(ordered), digest.hexdigest()[:12])


def relation_names(sentence: Sentence, naming: Relations) -> tuple[str, ...]:
    """Return the relation of every word; without any, ``punct`` or ``_`` by its characters.

    Raises:
        CorpusError: The sentence has no tree.
    """
    sentence.require_tree()
    if not sentence.relations:
        return tuple(
            PUNCTUATION_RELATION if sentence.is_punctuation(word) else UNLABELLED
            for word in range(len(sentence))
        )
    # `nmod:of` is a subtype of `nmod`, which other treebanks may not tell apart.
    if naming == "base":
        return tuple(relation.partition(":")[0] for relation in sentence.relations)
    return sentence.relations


def gold_of(
    sentences: Sequence[Sentence],
    lengths: Sequence[int],
    codes: Mapping[str, int],
    *,
    naming: Relations = "full",
    possessive: Possessive = "clark",
    device: torch.device | str = "cpu",
) -> Gold:
    """Return the trees of some sentences.

    Args:
        sentences: Sentences with their trees.
        lengths: Number of words kept of each sentence, from the first.
        codes: Number of every relation.
        naming: Form of the names: full, or cut at the colon.
        possessive: Treatment of possessors: with ``clark``, they may be found by the clitic after
            them.
        device: Device of the tensors.
    """
    width = max(lengths, default=0) or 1  # an axis of no words has no largest
    rows = [
        _row(sentence, count, codes, naming)
        for sentence, count in zip(sentences, lengths, strict=True)
    ]
    possessors = [
        _possessors(sentence, count) if possessive == "clark" else []
        for sentence, count in zip(sentences, lengths, strict=True)
    ]

    def padded(lists: Iterable[list[int]], fill: int) -> Int64[Tensor, "batch word"]:
        filled = [entries + [fill] * (width - len(entries)) for entries in lists]
        return torch.tensor(filled, dtype=torch.int64, device=device).reshape(-1, width)

    def numbers(counts: Iterable[int]) -> Int64[Tensor, " batch"]:
        return torch.tensor(list(counts), dtype=torch.int64, device=device)

    return Gold(
        governor=padded((governor for governor, _ in rows), NO_GOVERNOR),
        relation=padded((relation for _, relation in rows), NO_RELATION),
        possessor=_mark(possessors, width, device),
        lengths=numbers(lengths),
        cut=numbers(relation.count(NO_RELATION) for _, relation in rows),
        lost=numbers(
            len(sentence) - count for sentence, count in zip(sentences, lengths, strict=True)
        ),
        relations=len(codes),
        any_possessor=any(possessors),
    )


def _row(
    sentence: Sentence, length: int, codes: Mapping[str, int], naming: Relations
) -> tuple[list[int], list[int]]:
    """Return governors from 0, and relations; `NO_RELATION` where the governor was cut off."""
    names = relation_names(sentence, naming)
    heads = sentence.heads[:length]
    relation = [
        # A head that truncation has cut off is no error of the attention.
        codes[name] if head <= length else NO_RELATION
        for head, name in zip(heads, names, strict=False)
    ]
    return [head - 1 for head in heads], relation


def _possessors(sentence: Sentence, length: int) -> list[int]:
    """Return possessors with their clitic right behind them."""
    return [
        word
        # The last word kept has no word behind it, and so no clitic.
        for word, relation in enumerate(sentence.relations[: max(length - 1, 0)])
        if relation in POSSESSIVES and sentence.words[word + 1] in CLITICS
    ]


def _mark(
    words: Sequence[Sequence[int]], width: int, device: torch.device | str
) -> Bool[Tensor, "batch word"]:
    marked = torch.zeros(len(words), width, dtype=torch.bool)
    for row, places in zip(marked, words, strict=True):
        row[list(places)] = True
    return marked.to(device)


DIRECTIONS: Final = ("dependent", "head")
"""Direction of attention: from the dependent to its head word, or the reverse."""
NOTHING = -2
"""No prediction; it is never right."""

OFFSETS: dict[Offsets, tuple[int, ...]] = {
    "notebook": (-3, -2, -1, 0, 1, 2),
    "strict": (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5),
}
"""Places of the baselines relative to the dependent; positive is to its right."""

WordScore = Float[Tensor, "batch head word word"]
"""A measure between words: the attending word first, the attended one second."""
Pairs = Bool[Tensor, "batch word word"]
"""Whether a word (second) is a candidate for another (first)."""


def candidates(present: Bool[Tensor, "batch word"]) -> Pairs:
    """Return the mask of pairs of two different words, padding left out."""
    itself = torch.eye(present.shape[1], dtype=torch.bool, device=present.device)
    return present[:, :, None] & present[:, None, :] & ~itself


def predict(score: WordScore, allowed: Pairs) -> Int64[Tensor, "batch head direction word"]:
    """Return the governor that each head predicts for each word (Clark et al. 2019, Section 4.2).

    By ``dependent`` it is the word that word i attends to most, the largest of row i; by ``head``
    the word that attends most to word i, the largest of column i.  Scores are compared as they are,
    with their sign; of equal scores the first counts.

    Args:
        score: Score between words; the first attends.
        allowed: Mask of permitted predictions; a word without any gets `NOTHING`.
    """
    within = score.masked_fill(~allowed[:, None], -torch.inf)
    governors = torch.stack([within.argmax(-1), within.argmax(-2)], dim=2)
    possible = torch.stack([allowed.any(-1), allowed.any(-2)], dim=1)[:, None]
    return governors.where(possible, NOTHING)


def predict_by_offset(gold: Gold, offsets: Offsets) -> Int64[Tensor, "batch offset word"]:
    """Return the word at a fixed distance from each (Clark et al. 2019, Section 4.2 and Table 1).

    As in the authors' ``notebook``, a place before the first word stands for the root, and a place
    behind the last for the last word.  With ``strict``, such a place is no prediction.
    """
    words = torch.arange(gold.governor.shape[1], device=gold.governor.device)
    shift = torch.tensor(OFFSETS[offsets], device=words.device)
    place = (words + shift[:, None]).expand(len(gold.lengths), -1, -1)
    last = (gold.lengths - 1)[:, None, None]
    if offsets == "notebook":
        return place.clamp(min=ROOT - 1).minimum(last)
    return place.where((place >= 0) & (place <= last), NOTHING)


def predict_right_branching(gold: Gold) -> Int64[Tensor, "batch 1 word"]:
    """Return the next word as governor of each, and the root of the last (Section 5, Table 3).

    Section 4.2 uses this name for the offset +1, which differs in the last word.
    """
    words = torch.arange(gold.governor.shape[1], device=gold.governor.device)
    last = (gold.lengths - 1)[:, None]
    return torch.where(words < last, words + 1, ROOT - 1)[:, None]


def is_correct(
    prediction: Int64[Tensor, "batch *any word"], gold: Gold
) -> Bool[Tensor, "batch *any word"]:
    """Whether each predicted governor is the gold one.

    A possessor before *'s* takes the prediction made for the *'s*, unless its own is the last word
    of the sentence: the exception is in the authors' code, though not in their text.
    """
    spread = (slice(None), *(None,) * (prediction.ndim - 2))
    governor = gold.governor[spread]
    direct = prediction == governor
    if not gold.any_possessor:
        return direct
    last = (gold.lengths - 1)[spread][..., None]
    by_clitic = gold.possessor[spread] & (prediction != last)
    return torch.where(by_clitic, prediction.roll(-1, dims=-1) == governor, direct)


def count_by_relation(
    hits: Bool[Tensor, "batch *any word"], gold: Gold
) -> Float[Tensor, "batch *any relation"]:
    """Count how often each relation was found, by sentence; words not evaluated do not count."""
    flat = hits.flatten(1, -2).to(gold.members.dtype) @ gold.members
    return flat.reshape(*hits.shape[:-1], gold.relations)
