"""From sentences and spans to a `CoreferenceDocument`."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.corpora.brackets import Span
from headlight.corpora.mention_heads import HeadRule
from headlight.corpora.mention_kinds import KindRule
from headlight.corpora.sentence import CoreferenceDocument, Mention, Sentence


@dataclass(frozen=True, slots=True)
class Annotated:
    """A document, and what of its annotation could not be kept.

    Attributes:
        document: The document.
        torn: Mentions of several parts, of which the part with the head word was kept.
        wordless: Mentions of empty nodes only, which were left out.
    """

    document: CoreferenceDocument
    torn: int
    wordless: int


def annotated(
    name: str,
    sentences: Sequence[Sentence],
    spans: Sequence[Span],
    head_rule: HeadRule,
    kind_rule: KindRule,
) -> Annotated:
    """The document with a `Mention` for every span that has words."""
    mentions = []
    torn = 0
    for span in spans:
        parts = [(first, last) for first, last in span.parts if first <= last]
        if not parts:
            continue
        head = head_rule([word for first, last in parts for word in range(first, last + 1)])
        first, last = next((first, last) for first, last in parts if first <= head <= last)
        mentions.append(Mention(span.chain, first, last, head, kind_rule(head)))
        torn += len(parts) > 1
    # Where two mentions are one stretch, the order must not depend on the order of the brackets.
    mentions.sort(key=lambda mention: (mention.first, -mention.last, mention.chain))
    document = CoreferenceDocument(name, tuple(sentences), tuple(mentions))
    return Annotated(document, torn, len(spans) - len(mentions))
