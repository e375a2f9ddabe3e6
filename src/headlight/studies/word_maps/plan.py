"""What is read for probes: which sentences, by which model, with which of its attention."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from headlight.analysis.settings import BATCH_TOKENS
from headlight.capture import AttentionSite, CapturedModel, Kind
from headlight.corpora import Sentence
from headlight.encode import Counts, EncodedSentence, Examples, sentences as encode_sentences
from headlight.errors import UsageError
from headlight.studies.word_maps.index import index_of
from headlight.studies.word_maps.observer import NumberedSentence, numbered
from headlight.studies.word_maps.store import Index

LONGEST_DEFAULT = 512


@dataclass(frozen=True, kw_only=True)
class FeatureSettings:
    """How attention between words is read off; everything that features depend on.

    Attributes:
        max_length: tokens per sentence, special ones included; by default what the model takes, at
            most 512.
        overflow: a longer sentence is ``skip``ped, ``truncate``d or an ``error``.
        unencodable: a sentence with a word that the tokenizer drops is an ``error`` or ``skip``ped.
        queries: how the pieces of the attending word are joined: ``mean`` (Clark et al. 2019,
            Section 4.1), ``first`` (their released code) or ``max``.
        pooling: of norms over the pieces of the attended word: ``norms`` or ``vectors``.
        batch_tokens: tokens in a batch, padding included. The result does not depend on it.
    """

    max_length: int | None = None
    overflow: str = "skip"
    unencodable: str = "error"
    queries: str = "mean"
    pooling: str = "norms"
    batch_tokens: int = BATCH_TOKENS


@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """What is to be read, by whom, and how.

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
    examples: Examples
    index: Index
    digest: str
    counts: Counts
    settings: FeatureSettings

    @property
    def heads(self) -> int:
        """Heads of all layers together."""
        return sum(site.heads for site in self.sites)

    def columns(self) -> dict[int, slice]:
        """Where the heads of each layer are among all heads."""
        ends = np.cumsum([site.heads for site in self.sites]).tolist()
        return {
            site.layer: slice(end - site.heads, end)
            for site, end in zip(self.sites, ends, strict=True)
        }

    def numbered(self) -> Iterator[NumberedSentence]:
        """The sentences once more, with their places."""
        examples = encoded(self.examples)
        return (numbered(example, number) for number, example in enumerate(examples))

    def signature(self, measure: str) -> dict[str, Any]:
        """All that the maps of a measure depend on."""
        settings = asdict(self.settings)
        del settings["batch_tokens"]
        return {
            "measure": measure,
            "model": self.model.name,
            "revision": self.model.revision,
            "dtype": str(self.model.transformer.dtype).removeprefix("torch."),
            "kind": self.kind,
            "corpus_digest": self.digest,
            "annotation_digest": self.index.digest,
            **settings,
        }


def plan_study(
    sentences: Iterable[Sentence], model: CapturedModel, settings: FeatureSettings | None = None
) -> FeaturePlan:
    """Encode all sentences and take down what they say; the model does not run yet.

    Args:
        sentences: with gold heads; they are read again later.
        model: the model.
        settings: see `FeatureSettings`.

    Raises:
        UsageError: there is no tokenizer, the sentences can be read only once, or a setting is
            wrong.
        CorpusError: there is no sentence, or one without heads.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
    """
    tokenizer: Any = model.tokenizer
    if tokenizer is None:
        raise UsageError(f"{model.name} has no tokenizer, and probes read sentences.")
    if iter(sentences) is sentences:
        raise UsageError(
            "the sentences can be read only once, and are needed several times; give a list, or "
            "what open_treebank returns."
        )
    model = model.encoder() if model.has_decoder_inputs else model
    chosen = settings or FeatureSettings()
    chosen = replace(chosen, max_length=_length(model, chosen.max_length))
    examples = encode_sentences(
        sentences,
        tokenizer,
        max_length=chosen.max_length or LONGEST_DEFAULT,
        overflow=chosen.overflow,
        unencodable=chosen.unencodable,
    )
    index, digest = index_of(encoded(examples))
    kind = model.kinds[0]
    sites = model.sites_of(kind)
    return FeaturePlan(model, kind, sites, examples, index, digest, examples.counts, chosen)


def encoded(examples: Examples) -> Iterator[EncodedSentence]:
    """The sentences among the examples, which is all of them."""
    return (example for example in examples if isinstance(example, EncodedSentence))


def _length(model: CapturedModel, asked: int | None) -> int:
    longest = model.longest
    if asked is None:
        return min(LONGEST_DEFAULT, longest or LONGEST_DEFAULT)
    if longest is not None and asked > longest:
        raise UsageError(
            f"max_length is {asked}, and {model.name} takes at most {longest} tokens; allow fewer."
        )
    return asked
