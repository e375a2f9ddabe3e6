"""Sentences of findings on a page: split, shortened, and with links to the heads they name."""

import re

from markupsafe import Markup, escape

LEAD = 2
"""Sentences above a picture."""

SHORT = 150
"""Maximum number of letters of a finding where there is room for the strongest alone."""

INTERVAL = re.compile(r" \(95%: [^()]*\)")
"""Pattern of an interval in a sentence."""

_END = re.compile(r"(?<=[.?!])(?<!al\.)(?<!e\.g\.)(?<!i\.e\.)(?<!Eq\.)(?<!cf\.) (?=\S)")
"""Blank at the end of a sentence, and not of an abbreviation."""


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text of ours."""
    return [sentence for sentence in _END.split(text) if sentence]


def title_of(finding: str) -> str:
    """Return the first sentence of a finding without intervals, and what leaves it open, if any."""
    first, *more = sentences_of(INTERVAL.sub("", finding))
    left_open = [sentence for sentence in more if "inconclusive" in sentence][:1]
    return " ".join([first] if "inconclusive" in first else [first, *left_open])


def short_sentence(text: str) -> str:
    """Return the first sentence of a finding without intervals, shortened to its claim if long."""
    first = INTERVAL.sub("", (sentences_of(text) or [""])[0])
    claim = re.split(r": | \(", first, maxsplit=1)[0]
    return first if len(first) <= SHORT or claim == first else f"{claim}."


def lead_and_rest(text: str) -> tuple[str, str]:
    """Return the sentences that stand above a picture, and those that are folded away."""
    sentences = sentences_of(text)
    return " ".join(sentences[:LEAD]), " ".join(sentences[LEAD:])


_HEAD = re.compile(r"\b(?:(?:encoder|decoder|cross) )?L\d+H\d+\b")


def whole(text: str, *, linked: bool = False) -> Markup:
    """Return a finding with its intervals.

    Args:
        text: Sentence or sentences of the finding.
        linked: Whether names of heads lead to them.
    """
    return Markup(_HEAD.sub(_link, escape(text))) if linked else escape(text)


def claim(text: str) -> Markup:
    """Return the first sentence of a finding, and a second about a head; names lead to heads."""
    first, *more = (INTERVAL.sub("", sentence) for sentence in sentences_of(text))
    parts = [Markup("<b>{}</b>").format(short_sentence(first)), *filter(_HEAD.search, more[:1])]
    return Markup(_HEAD.sub(_link, Markup(" ").join(parts)))


def _link(name: re.Match[str]) -> str:
    return f'<a href="#{name[0].replace(" ", "-")}">{name[0]}</a>'
