"""Plan of word maps: which sentences, by which model, with which of its attention."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headlight.analysis.plan import (
    check_repeatable,
    check_tokenizer,
    choose_length,
    choose_sites,
    encoder_for_one_text,
    model_signature,
)
from headlight.analysis.settings import SentenceSettings
from headlight.capture import AttentionSite, CapturedModel, Kind
from headlight.corpora import Sentence, open_treebank
from headlight.encode import Counts, EncodedSentence, Examples, sentences as encode_sentences
from headlight_papers.studies.word_maps.observer import NumberedSentence, index_of, numbered
from headlight_papers.studies.word_maps.store import Index

TreebankSource = str | Path | Iterable[Sentence]
"""A path for `headlight.corpora.open_treebank`, what it returns, or a list of sentences."""


@dataclass(frozen=True, eq=False)
class WordMapPlan:
    """Plan of the sentences to read, the model and its attention.

    Attributes:
        model: the part of the model that runs: of an encoder-decoder the encoder.
        kind: which of its attention.
        sites: the modules.
        examples: the sentences, encoded; they can be read again.
        index: what they say.
        digest: of what the model will read.
        counts: what became of the sentences: how many were left out, and why.
        settings: with the number of tokens settled.
    """

    model: CapturedModel
    kind: Kind
    sites: list[AttentionSite]
    examples: Examples[EncodedSentence]
    index: Index
    digest: str
    counts: Counts
    settings: SentenceSettings

    @property
    def heads(self) -> int:
        """Heads of all layers together."""
        return sum(site.heads for site in self.sites)

    def columns(self) -> dict[int, slice]:
        """Return the slice of each layer's heads among all heads."""
        ends = np.cumsum([site.heads for site in self.sites]).tolist()
        return {
            site.layer: slice(end - site.heads, end)
            for site, end in zip(self.sites, ends, strict=True)
        }

    def numbered(self) -> Iterator[NumberedSentence]:
        """The sentences once more, with their places."""
        return (numbered(example, number) for number, example in enumerate(self.examples))

    def signature(self, measure: str | None = None) -> dict[str, Any]:
        """All that the maps of a measure depend on, or the maps of any measure."""
        return {
            **({} if measure is None else {"measure": measure}),
            **model_signature(self.model, self.settings),
            "kind": self.kind,
            "layers": [site.layer for site in self.sites],
            "corpus_digest": self.digest,
            "annotation_digest": self.index.digest,
        }


def plan_word_maps(
    source: TreebankSource, model: CapturedModel, settings: SentenceSettings | None = None
) -> WordMapPlan:
    """Encode all sentences and take down what they say; the model does not run yet.

    Args:
        source: sentences with gold heads; they are read again later.
        model: the model.
        settings: see `SentenceSettings`.

    Raises:
        UsageError: there is no tokenizer, the sentences can be read only once, or a setting is
            wrong.
        CorpusError: there is no sentence, or one without heads.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
    """
    tokenizer = check_tokenizer(model)
    treebank = check_repeatable(open_treebank(source))
    chosen = settings or SentenceSettings()
    model = encoder_for_one_text(model, chosen.kind)
    length = choose_length(model, chosen.max_length)
    examples = encode_sentences(
        treebank,
        tokenizer,
        max_length=length,
        overflow=chosen.overflow,
        unencodable=chosen.unencodable,
    )
    index, digest = index_of(examples)
    kind, sites = choose_sites(model, chosen)
    chosen = chosen.replace(max_length=length)
    return WordMapPlan(model, kind, sites, examples, index, digest, examples.counts, chosen)
