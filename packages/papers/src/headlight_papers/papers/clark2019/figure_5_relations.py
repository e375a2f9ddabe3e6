"""Figure 5: heads with a linguistic job, drawn as lines on sentences."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import pandas
from jaxtyping import Float

from headlight.corpora import Sentence
from headlight.errors import CorpusError
from headlight.views.parts import Comparison, LinkDrawing, Section, attention_lines, windowed
from headlight_papers.papers.clark2019 import Settings, published
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.results import load_antecedents, load_dependencies, stem
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.paper_numbering import head_name
from headlight_papers.papers.reproduction import Reproduction
from headlight_words.corpora import CoreferenceDocument, open_coreference, open_treebank
from headlight_words.findings.coreference import systems_table
from headlight_words.findings.dependency import best_heads

SHORTEST, LONGEST = 6, 14
"""Words in a sentence that can be drawn."""
CANDIDATES = 60
"""Sentences that are examined for each drawing."""
FEWEST = 20
"""Words of a relation, for its best head to mean anything."""
ROOM = 48
"""Tokens of a document that can be drawn."""

START, END = "[CLS]", "[SEP]"
"""Special tokens around a sentence, as they are written."""

Map = Float[np.ndarray, "query key"]

Annotated = TypeVar("Annotated", Sentence, CoreferenceDocument)


@exhibit("figure-5", "Figure 5", "dependency")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Heads with a linguistic job."""
    source = reproduction.sources.dependency[0]
    best = best_heads(
        load_dependencies(reproduction, source), _measure(reproduction), min_count=FEWEST
    )
    links = [_Link.find(best, relation) for _, relation, _ in published.FIGURE_5[:-1]]
    documents = reproduction.sources.coreference[:1]
    read = "".join(f" and on a document of {stem(path)}" for path in documents)
    drawings = [drawn for link in links if link for drawn in _drawn(reproduction, source, link)]
    resolver = _resolver(reproduction)
    if resolver:
        drawings += _coreferent(reproduction, reproduction.sources.coreference[0], resolver)
    comparisons = [
        _comparisons(row, link)
        for row, link in zip(published.FIGURE_5, [*links, resolver], strict=True)
    ]
    return Section(
        explanation="For each relation the best head, on a sentence of the treebank that it gets "
        "right. Left attends, right is attended to. Red: the words that the relation is about; "
        "last, mentions of one document and the antecedents that the best head of coreference "
        "finds, however small their weights.",
        drawings=[
            writer.picture(
                partial(attention_lines, drawings, columns=3),
                f"Attention between words, on sentences of {stem(source)}{read}.",
                "; ".join(f"{drawing.title}: {', '.join(drawing.notes)}" for drawing in drawings),
            )
        ]
        if drawings
        else [],
        comparisons=comparisons,
        notes=[
            model_note(reproduction),
            f"Sentences of the treebank have {LONGEST} words at most; a relation is left out if "
            f"the treebank has fewer than {FEWEST} words of it, or the head gets none of the "
            f"first {CANDIDATES} short sentences right.",
            published.AUXPASS_ERRATUM,
        ],
    )


def _word_maps(
    reproduction: Reproduction[Settings],
    texts: Iterable[Annotated],
    link: "_Link",
    max_length: int | None = None,
) -> Iterator[tuple[Annotated, Map]]:
    """Yield the texts that the model can read, with the weights of a head between their words."""
    measure = next(iter(reproduction.forward_measures), "weight")
    options: dict[str, Any] = {"measure": measure, "kind": reproduction.kind}
    options |= {"layer": link.layer, "head": link.head, "max_length": max_length}
    for text in texts:
        try:
            weights = reproduction.model.word_map(text.words, **options)
        except CorpusError:  # it has words that the tokenizer does not keep
            continue
        yield text, weights


def _measure(reproduction: Reproduction[Settings]) -> str:
    # Drawing single sentences takes a forward pass only, where a measure without gradients exists.
    return next(iter(reproduction.forward_measures), reproduction.settings.measures[0])


@dataclass(frozen=True)
class _Link:
    """Relation with the head that finds it best."""

    relation: str
    layer: int
    head: int
    direction: str
    accuracy: float

    @property
    def title(self) -> str:
        return f"Head {head_name(self.layer, self.head)}"

    @staticmethod
    def find(best: pandas.DataFrame, relation: str) -> "_Link | None":
        """Find the relation itself, or the nearest one of Universal Dependencies."""
        for name in (relation, published.TABLE_1[relation].universal):
            rows = best[best["relation"] == name]
            if len(rows):
                row = rows.iloc[0]
                place = int(row["layer"]), int(row["head"])
                return _Link(name, *place, str(row["direction"]), float(row["accuracy"]))
        return None


def _comparisons(row: tuple[str, str, float], link: _Link | None) -> Comparison:
    name, relation, accuracy = row
    label = (
        relation if link is None or link.relation == relation else f"{relation} ({link.relation})"
    )
    note = f"there head {name}" + (
        f", here {link.title.removeprefix('Head ')}"
        if link
        else "; too few words here have this relation"
    )
    return Comparison(label, accuracy, None if link is None else 100 * link.accuracy, "%", note)


def _drawn(reproduction: Reproduction, source: str, link: _Link) -> Iterator[LinkDrawing]:
    """Yield the sentence in which the head finds most words of the relation, if it finds any."""
    best: tuple[int, Sentence, Map] | None = None
    short = (
        sentence
        for sentence in open_treebank(source, invalid=reproduction.settings.invalid)
        if SHORTEST <= len(sentence) <= LONGEST and link.relation in sentence.relations
    )
    read = _word_maps(reproduction, short, link)
    whole = (mapped for mapped in read if len(mapped[1]) == len(mapped[0]) + 2)
    for sentence, weights in islice(whole, CANDIDATES):
        right = _right(sentence, weights, link)
        if right and (best is None or right > best[0]):
            best = right, sentence, weights
    if best is None:
        return
    _, sentence, weights = best
    words = [START, *sentence.words, END]
    dependents = _dependents(sentence, link.relation)
    governors = [sentence.heads[word] for word in dependents]
    attending = governors if link.direction == "head" else [word + 1 for word in dependents]
    note = f"{100 * link.accuracy:.1f}% accuracy at the {link.relation} relation"
    faint = (0, len(words) - 1)
    yield LinkDrawing(link.title, words, words, weights, [note], highlighted=attending, faint=faint)


def _dependents(sentence: Sentence, relation: str) -> list[int]:
    """Return the numbers, from 0, of words that stand in the relation to another word."""
    return [
        word
        for word, name in enumerate(sentence.relations)
        if name == relation and sentence.heads[word]
    ]


def _right(sentence: Sentence, weights: Map, link: _Link) -> int:
    """Return the number of words of the relation that are found, minus those that are not."""
    # Neither special tokens nor the word itself can be its governor.
    inner = weights[1:-1, 1:-1].copy()
    np.fill_diagonal(inner, -np.inf)
    scores = inner if link.direction == "dependent" else inner.T
    hits = [
        int(scores[word].argmax()) == sentence.heads[word] - 1
        for word in _dependents(sentence, link.relation)
    ]
    return 2 * sum(hits) - len(hits)


def _resolver(reproduction: Reproduction[Settings]) -> _Link | None:
    """Return the head that finds most antecedents of the first corpus, if there is one."""
    for source in reproduction.sources.coreference[:1]:
        systems = systems_table(load_antecedents(reproduction, source), _measure(reproduction))
        for _, row in systems.dropna(subset="layer").iloc[:1].iterrows():
            place = int(row["layer"]), int(row["head"])
            return _Link("coreference", *place, str(row["direction"]), float(row["all"]) / 100)
    return None


def _coreferent(
    reproduction: Reproduction[Settings], source: str, link: _Link
) -> Sequence[LinkDrawing]:
    """Draw the beginning of a document in which the best head finds an antecedent."""
    documents = open_coreference(source, invalid=reproduction.settings.invalid)
    room = min(ROOM, reproduction.model.longest or ROOM)
    read = _word_maps(reproduction, documents, link, room)
    for document, weights in islice(read, CANDIDATES):
        links = _link_mentions(document, weights, link.direction)
        if links:
            words = [START, *document.words[: len(weights) - 2], END]
            notes, faint = [f"{100 * link.accuracy:.1f}% of antecedents found"], (0, len(words) - 1)
            drawn = LinkDrawing(link.title, words, words, weights, notes, links=links, faint=faint)
            return [windowed(drawn)]
    return []


def _link_mentions(
    document: CoreferenceDocument, weights: Map, direction: str
) -> list[tuple[int, int]]:
    """Link mentions to the earlier mention that they attend to most, if it is of the same chain."""
    mentions = [candidate for candidate in document.mentions if candidate.last < len(weights) - 2]
    links = []
    for number, mention in enumerate(mentions):
        earlier = [candidate for candidate in mentions[:number] if candidate.head < mention.head]
        if not earlier:
            continue
        scores = [
            weights[mention.head + 1, candidate.head + 1]
            if direction == "mention"
            else weights[candidate.head + 1, mention.head + 1]
            for candidate in earlier
        ]
        chosen = earlier[int(np.argmax(scores))]
        if chosen.chain == mention.chain:
            pair = (mention.head + 1, chosen.head + 1)
            links.append(pair if direction == "mention" else pair[::-1])
    return links
