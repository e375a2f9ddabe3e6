"""The sentence pairs that the exhibits of Brunner et al. read: MRPC, CoLA and MNLI."""

from pathlib import Path

from headlight.corpora import open_sentence_pairs
from headlight.encode import Examples, sentence_pairs
from headlight.errors import UnknownNameError, UsageError
from headlight.papers.brunner2020.published import PAIR_SETS
from headlight.papers.reproduction import Study

TITLES = {"mrpc": "MRPC", "cola": "CoLA", "mnli": "MNLI"}
"""The names of the sets in the paper, in its order."""


def pair_sets(study: Study) -> dict[str, str]:
    """Name and source of every set of pairs: ``mrpc``, ``cola``, ``mnli``, then all others.

    Of two with the same name the second is called ``mrpc-2``.
    """
    named: dict[str, str] = {}
    for source, task in zip(study.sources.pairs, study.sources.tasks, strict=True):
        names = (task, *(f"{task}-{number}" for number in range(2, len(study.sources.pairs) + 1)))
        named[next(name for name in names if name not in named)] = source
    order = [*TITLES, *named]
    return dict(sorted(named.items(), key=lambda item: order.index(item[0].partition("-")[0])))


def main_set(study: Study) -> str:
    """The set of the figures of Sections 4 and 5: MRPC, as in the paper, or the first there is.

    Raises:
        UsageError: there is none.
    """
    sets = pair_sets(study)
    if not sets:
        raise UsageError("there are no sentence pairs; name some with --pairs.")
    return next(iter(sets))


def pair_title(name: str) -> str:
    """What a set is called in print: ``MRPC``; ``CoLA (2)``."""
    task, _, number = name.partition("-")
    title = TITLES.get(task, "pairs")
    return f"{title} ({number})" if number else title


def pair_source(study: Study, name: str) -> str:
    """Where a set is read from.

    Raises:
        UnknownNameError: there is no such set.
    """
    sets = pair_sets(study)
    if name not in sets:
        raise UnknownNameError("set of sentence pairs", name, sets)
    return sets[name]


def pair_length(study: Study) -> int:
    """Tokens in an example at most."""
    longest = study.model.longest
    return min(study.options.max_length, longest) if longest else study.options.max_length


def pair_examples(study: Study, name: str, *, limit: int | None = None) -> Examples:
    """The first pairs of a set as examples.

    Args:
        study: whose sets, tokenizer and options.
        name: of `pair_sets`.
        limit: pairs; by default `Options.max_pairs`.

    Raises:
        UnknownNameError: there is no such set.
    """
    wanted = study.options.max_pairs if limit is None else limit
    pairs = open_sentence_pairs(pair_source(study, name)).take(wanted)
    return sentence_pairs(pairs, study.tokenizer, max_length=pair_length(study))


def pair_note(study: Study, name: str, examples: int, tokens: int) -> str:
    """What was read of a set, and what the paper has read."""
    here = (
        f"{pair_title(name)} is {examples:,} examples of {Path(pair_source(study, name)).name}, "
        f"{tokens:,} tokens, {tokens / max(examples, 1):.0f} on average, cut off after "
        f"{pair_length(study)}"
    )
    paper = PAIR_SETS.get(name.partition("-")[0])
    if paper is None:
        return f"{here}; it is none of the paper's sets."
    return (
        f"{here}; the paper's are {paper.examples:,} of {paper.shortest} to {paper.longest} "
        f"tokens, {paper.mean} on average."
    )
