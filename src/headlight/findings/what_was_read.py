"""Summary of the corpus of a result: what was read, what was not and why, and what it can support.

Pages, the terminal and JSON say it first, in these sentences and no others.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from headlight.catalogue import find_study
from headlight.catalogue.statistics import segment_rows
from headlight.errors import UnknownNameError
from headlight.findings.candidates import MANY_UNKNOWN, is_of_single_words
from headlight.findings.estimates import estimates
from headlight.findings.phrases import listed, percent, plural
from headlight.findings.thresholds import (
    FEW_EXAMPLES,
    FEW_MENTIONS,
    FEWEST_DOCUMENTS,
    is_near_majority,
)
from headlight.result.estimate import MOVED, estimate_of, slot_coordinates
from headlight.vocabulary import CORPUS_LABEL


class Case(NamedTuple):
    """Sentences about what was read otherwise than as a whole, or not at all.

    Attributes:
        single: Sentence about one case.
        several: Sentence about several.
    """

    single: str
    several: str


CASES: Mapping[str, Case] = {
    "split": Case(
        "{texts} was longer than the limit of tokens, and is read as several examples.",
        "{texts} were longer than the limit of tokens, and are read as several examples each.",
    ),
    "too_long": Case(
        "{texts} is longer than the limit of tokens, and left out.",
        "{texts} are longer than the limit of tokens, and left out.",
    ),
    "unencodable": Case(
        "{texts} is left out, of which the tokenizer does not keep all words.",
        "{texts} are left out, of which the tokenizer does not keep all words.",
    ),
    "discarded": Case(
        "{texts} has a last paragraph without a partner, which is left out.",
        "{texts} have a last paragraph without a partner, which is left out.",
    ),
    "empty": Case(
        "{texts} holds no token, and is left out.", "{texts} hold no token, and are left out."
    ),
    "invalid": Case("{texts} is invalid, and left out.", "{texts} are invalid, and left out."),
    "blank": Case("{texts} is blank, and left out.", "{texts} are blank, and left out."),
    "other_files": Case(
        "{count:,} file of the source is of another kind, and left out.",
        "{count:,} files of the source are of other kinds, and left out.",
    ),
    "discontinuous": Case(
        "{count:,} mention has several parts, of which the one with its head word is kept.",
        "{count:,} mentions have several parts, of which the one with their head word is kept.",
    ),
    "without_words": Case(
        "{count:,} mention has no word, and is left out.",
        "{count:,} mentions have no word, and are left out.",
    ),
}
"""Sentences by the attribute of a result that counts the cases."""

GIVEN, LEAST_SUM = "weights_from", "least_row_sum"
"""Attributes of a reading of weights alone: their origin, and the smallest sum of a row below 1."""

WEIGHTS_ALONE = (
    "weights alone were given; norms, effective attention and all that follows need the model: "
    "headlight.load(…).read(…)"
)
"""Reason why such a reading has no other measure."""

COUNTED = ("examples", "sentences", "sequences", "words", "tokens")
"""Attributes that say how much was read, in the order of a page."""


@dataclass(frozen=True, slots=True)
class WhatWasRead:
    """Summary that stands before all other findings of a result.

    Attributes:
        sentence: Amount that was read, of how much, and why not all.
        cautions: Cautions on what so little, or such a model, cannot support; a sentence or two
            each.
    """

    sentence: str
    cautions: tuple[str, ...] = ()


def what_was_read(result: xr.Dataset) -> WhatWasRead:
    """Return the summary of how much was read, with cautions."""
    if "texts_read" in result.attrs:  # a comparison
        return WhatWasRead(str(result.attrs["texts_read"]))
    sentences = [*_read(result), *_joined(result), *_left_out(result), *written_special(result)]
    return WhatWasRead(" ".join(sentences), tuple(_cautions(result)))


def which_texts(runs: Sequence[xr.Dataset]) -> str:
    """Return the first sentence of a comparison: whether its runs read the same texts."""
    number = number_of_texts(runs[0])
    if _agree(runs, "corpus_digest"):
        return f"They read the same {number}."
    if same_texts(runs):
        return f"They read the same {number}, tokenized or cut otherwise."
    read = "; ".join(_read_by(run) for run in runs)
    has_digests = all("text_digest" in run.attrs for run in runs)
    others = "" if has_digests else ", or the same tokenized or cut otherwise"
    return f"They read different texts{others} ({read}): differences may be of the texts."


def same_texts(runs: Sequence[xr.Dataset]) -> bool:
    """Return whether runs read the same texts, tokenized or cut alike or otherwise."""
    return _agree(runs, "corpus_digest") or _agree(runs, "text_digest")


def number_of_texts(result: xr.Dataset) -> str:
    """Return the number of texts of a result, with their noun: ``2 texts``, ``40 pairs``."""
    return plural(examples(result), _noun(result))


def _agree(runs: Sequence[xr.Dataset], name: str) -> bool:
    return None not in (values := {run.attrs.get(name) for run in runs}) and len(values) == 1


def _read_by(run: xr.Dataset) -> str:
    corpus = run.attrs.get(CORPUS_LABEL) or PurePath(str(run.attrs.get("corpus", ""))).name
    number = number_of_texts(run)
    return f"{number} of {corpus}" if corpus else number


def counted(result: xr.Dataset) -> list[tuple[str, int]]:
    """Return the counts of what was read, as labels and numbers."""
    attributes = result.attrs
    if "held_out" in attributes:
        labels = {"examples": "texts, trained on", "held_out": "texts, held out"}
        return [(label, _count(result, name)) for name, label in labels.items()]
    if _is_pair(attributes.get("sentences")):
        learned, tested = map(int, attributes["sentences"])
        return [("sentences, trained on", learned), ("sentences, tested on", tested)]
    counts = [(name, _count(result, name)) for name in COUNTED if _is_number(attributes.get(name))]
    if "answerable" in attributes:
        questions, mentions = _count(result, "answerable"), _count(result, "mentions")
        return [("mentions asked about", questions), ("mentions", mentions), *counts]
    return counts


def examples(result: xr.Dataset) -> int:
    """Return the number of examples on which a result rests; of documents for coreference."""
    attributes = result.attrs
    if "held_out" in attributes:
        return _count(result, "held_out")
    if _is_pair(attributes.get("sentences")):
        return int(attributes["sentences"][1])
    if "answerable" in attributes:
        return _count(result, "documents") - _count(result, "documents_without")
    return _count(result, "examples")


def independent_units(result: xr.Dataset) -> int:
    """Return the number of texts, or groups of texts, from which errors are estimated."""
    return min(examples(result), int(result.sizes.get("group", examples(result))))


def has_interval(result: xr.Dataset) -> bool:
    """Return whether there are enough examples, or documents of coreference, for an interval."""
    number = examples(result)
    return number >= FEWEST_DOCUMENTS if "answerable" in result.attrs else number != 1


def unknown_tokens(result: xr.Dataset) -> Iterator[str]:
    """Yield a sentence if the tokenizer does not know many of the tokens."""
    unknown, tokens = (_count(result, name) for name in ("unknown", "tokens"))
    if unknown > MANY_UNKNOWN * tokens:
        yield (
            f"{unknown:,} of {tokens:,} tokens are unknown to the tokenizer, and look alike "
            "to the model; choose a model for this language or script."
        )


def written_special(result: xr.Dataset) -> Iterator[str]:
    """Say how many special tokens are written in the texts, and where one begins a text twice."""
    number = _count(result, "examples")
    if special := _count(result, "special"):
        verb, places = "is" if special == 1 else "are", "texts" if number else "text"
        if _of_chats(result):
            yield (
                f"{plural(special, 'special token')} {verb} written in the messages, where the "
                f"model cannot tell {'it' if special == 1 else 'them'} from those of the template."
            )
        else:
            yield (
                f"{plural(special, 'special token')} {verb} written in the {places}, and counted "
                "as other tokens, not as those that the tokenizer adds; --split-special-tokens "
                "reads the characters instead."
            )
    if doubled := _count(result, "doubled"):
        verb = "begins" if doubled == 1 else "begin"
        of_texts = f"{doubled:,} of {plural(number, _noun(result))} {verb}"
        text = of_texts if number else "The text begins"
        if _of_chats(result):
            yield f"{text} with one token twice, as the template writes it."
        else:
            yield f"{text} with the very token that the tokenizer adds, which thus is there twice."


def _of_chats(result: xr.Dataset) -> bool:
    """Return whether texts have named segments."""
    segments = set(segment_rows())
    return any(
        segments & set(map(str, np.atleast_1d(result[name].values)))
        for name in ("behaviour", "statistic")
        if name in result.coords
    )


def notes_of_reading(reading: xr.Dataset) -> list[str]:
    """Return notes on a reading: unknown and special tokens, and attention not shown."""
    notes = [*unknown_tokens(reading), *written_special(reading)]
    if others := str(reading.attrs.get("other_kinds", "")):
        notes.append(
            f"the model has {others} attention too: give the text of the decoder as the second, "
            "and --kind all."
        )
    if GIVEN in reading.attrs:
        notes.append(f"{WEIGHTS_ALONE}.")
    if LEAST_SUM in reading.attrs:
        notes.append(
            f"rows sum to less than 1, to {float(reading.attrs[LEAST_SUM]):.2g} at least (learnt "
            "sinks, padding, or keys that were cut off, say); bars are shares of their sum."
        )
    return notes


def _whole_files(result: xr.Dataset, number: int, tokens: int) -> str:
    """Return how many recordings or pictures were read; empty for texts."""
    if "pictures" in result.attrs:
        positions = plural(round(tokens / number), "position")
        return f"{plural(number, 'picture')}, of {positions} each on average"
    if "recordings" in result.attrs:
        return (
            f"{plural(number, 'recording')}, each heard as a whole window with the silence that "
            "fills it after the end"
        )
    return ""


def _read(result: xr.Dataset) -> Iterator[str]:
    """Yield sentences on what was read, and how much of it was cut."""
    attributes, settings = result.attrs, _settings(result)
    if "held_out" in attributes:
        learned, tested = _count(result, "examples"), _count(result, "held_out")
        yield (
            f"{plural(learned, 'text')} to learn from{_share(result)}; everything is measured on "
            f"{plural(tested, 'held-out text')}; {plural(_count(result, 'tokens'), 'token')} in "
            f"all{_cut(result)}."
        )
        return
    if _is_pair(attributes.get("sentences")):
        learned, tested = map(int, attributes["sentences"])
        yield f"Trained on {plural(learned, 'sentence')}, tested on {tested:,}{_share(result)}."
        return
    if "answerable" in attributes:
        yield from _mentions(result)
        return
    number, tokens = _count(result, "examples"), _count(result, "tokens")
    if not number:
        return
    if whole := _whole_files(result, number, tokens):
        first = "The first " if number == settings.get("max_examples") else ""
        yield f"{first}{whole}."
        return
    whole = plural(number, _noun(result))
    share = _share(result)
    if settings.get("max_examples") == number and share_of_corpus(result) != 1:
        whole, share = f"The first {whole}", share or " of the corpus"
    yield f"{whole}{share}, {plural(tokens, 'token')}{_cut(result)}."
    if settings.get("read_by_line"):
        yield (
            "Each line was read as a text, since no line is blank; --format paragraphs reads all "
            "lines as one document."
        )


def _joined(result: xr.Dataset) -> Iterator[str]:
    """Say of how many texts the lines or paragraphs were joined."""
    joined, lines = _count(result, "joined"), _count(result, "joined_lines")
    if not joined:
        return
    noun, number = _noun(result, whole=True), examples(result)
    whole = f"The {noun} is" if joined == number == 1 else f"All {noun}s are"
    part = f"{plural(joined, noun)} {'is' if joined == 1 else 'are'}"
    of_texts = whole if joined == number and not _count(result, "split") else part
    if not lines:
        yield f"{of_texts} of several paragraphs, which were joined by blanks."
        return
    yield (
        f"{of_texts} of several lines ({lines:,} in all), which were joined by blanks; --format "
        "lines reads each line as a text, --format raw a file with its line breaks and indentation."
    )


def share_of_corpus(result: xr.Dataset) -> float:
    """Return the approximate share of the corpus that a limit left to be read; NaN if unknown."""
    share = result.attrs.get("corpus_share")
    return float(share) if share is not None and _is_number(share) else float("nan")


def _share(result: xr.Dataset) -> str:
    """Return the share of the corpus in words; empty where all was read, or nothing is known."""
    share = share_of_corpus(result)
    if not share < 1:
        return ""
    text = percent(min(share, 0.99))
    return (
        f" ({text} of the corpus)" if text.startswith("under") else f" (about {text} of the corpus)"
    )


def _cut(result: xr.Dataset) -> str:
    """Return the share of tokens that was read, in words; empty if it is all of them."""
    truncated, tokens = _count(result, "truncated"), _count(result, "tokens")
    lost = _count(result, "lost_tokens") + _count(result, "discarded_tokens")
    if not lost:
        return ""
    settings = _settings(result)
    read = f"{percent(tokens / (tokens + lost))} of the tokens were read"
    if settings.get("pairs"):  # which are made by cutting
        return f"; {read}, as pairs are cut to one length"
    verb = "was" if truncated == 1 else "were"
    number = _count(result, "examples") + _count(result, "held_out")
    more = ", --overflow split reads all" if settings.get("overflow") == "truncate" else ""
    return f"; {truncated:,} of {number:,} {verb} cut at the limit of tokens: {read}{more}"


def _mentions(result: xr.Dataset) -> Iterator[str]:
    """Yield sentences on mentions with an antecedent to find, and on those without, and why."""
    names = ("answerable", "mentions", "cut", "opening", "without_antecedent")
    questions, mentions, cut, opening, apart = (_count(result, name) for name in names)
    documents = examples(result)
    yield (
        f"{questions:,} of {plural(mentions, 'mention')} were asked about, in {documents:,} of "
        f"{plural(_count(result, 'documents'), 'document')}{_share(result)} "
        f"({plural(_count(result, 'tokens'), 'token')} in windows)."
    )
    why = [f"{opening:,} have no antecedent in their document"] if opening else []
    if apart:
        why.append(f"{apart:,} have none in their window")
    if cut:
        limit = _settings(result).get("max_length")
        beyond = f"the {limit} tokens of a window" if limit else "the limit of tokens"
        why.append(
            f"{cut:,} lie beyond {beyond} (a larger --max-length reaches more of them, and "
            "--overlap, with several windows to a document, all)"
        )
    if why:
        yield f"Of the others, {listed(why)}."


def _left_out(result: xr.Dataset) -> Iterator[str]:
    for name, case in CASES.items():
        if count := _count(result, name):
            sentence = case.single if count == 1 else case.several
            if "recordings" in result.attrs:  # whose window is limited as well
                sentence = sentence.replace(" of tokens", "")
            yield sentence.format(count=count, texts=plural(count, _noun(result, whole=True)))


def _cautions(result: xr.Dataset) -> Iterator[str]:
    """Yield cautions on what the result can support."""
    yield from _majority(result)
    number = examples(result)
    if "answerable" in result.attrs:
        yield from _few_mentions(result, number)
    elif 0 < number < FEW_EXAMPLES:
        yield _few(result, number)
    elif _has_ends(result) is False:
        yield "No number has an interval: statements about other texts are inconclusive."
    yield from unknown_tokens(result)
    if is_of_single_words(result):
        column = _settings(result).get("column")
        labels = f", or the column {column!r} holds labels and no texts" if column else ""
        yield (
            f"{_count(result, 'one_word'):,} of {plural(number, _noun(result))} are one word: "
            f"blanks alone separate words{labels}. Nothing is said of pieces of words."
        )


def _few(result: xr.Dataset, number: int) -> str:
    """Return the caution that so few examples say little, and their intervals less."""
    noun, more = _noun(result), ""
    if "held_out" in result.attrs:
        noun, more = "held-out text", " Give more texts, or others with --held-out."
    elif _is_pair(result.attrs.get("sentences")):
        noun, more = "tested sentence", " With --train FILE all sentences of the source are tested."
    ends = _has_ends(result)
    resampled = ", and intervals are drawn from these alone" if ends else ""
    if ends is False:
        resampled = "; there is no interval, so statements about them are inconclusive"
    others = "recordings" if noun == "recording" else "texts"
    return f"Only {plural(number, noun)}: that says little of other {others}{resampled}.{more}"


def _has_ends(result: xr.Dataset) -> bool | None:
    """Return whether any number has an interval; None if the result has no place for any."""
    moved = [name.removesuffix(MOVED) for name in slot_coordinates(result) if name.endswith(MOVED)]
    if any(estimate.known for name in moved if (estimate := estimate_of(result, name)) is not None):
        return True
    ends = [
        each
        for name, each in result.data_vars.items()
        if str(name) == "low" or str(name).endswith("_low")
    ]
    if moved and not ends:
        return False
    return any(bool(end.notnull().any()) for end in ends) if ends else None


def _few_mentions(result: xr.Dataset, documents: int) -> Iterator[str]:
    questions = _count(result, "answerable")
    if questions < FEW_MENTIONS:
        names = ("layer", "head", "direction")
        candidates = int(np.prod([result.sizes.get(name, 1) for name in names]))
        yield (
            f"Only {plural(questions, 'mention')}: the best of {candidates:,} candidates (heads in "
            "either direction) is picked on them, so that chance alone finds a good one."
        )
    if not has_interval(result):
        yield (
            f"No interval is shown: it would be drawn from {plural(documents, 'document')}, fewer "
            f"than {FEWEST_DOCUMENTS}."
        )


def _majority(result: xr.Dataset) -> Iterator[str]:
    """Yield a caution if a classifier is hardly better than always predicting the same."""
    observed = estimates(result, "own_accuracy", ())
    majority = _number(result, "majority_accuracy")
    by_run = "kind" in result.coords and "majority_accuracy" in result and "accuracy" in result
    if by_run and not np.isfinite(observed.value):
        base = int(np.argmax(result["kind"].values == "base"))
        observed = estimates(result, "accuracy", ("run",)).at(base)
    accuracy = float(observed.value)
    if is_near_majority(accuracy, float(observed.low), majority):
        yield (
            f"{percent(accuracy)} of the model's predictions are correct, and {percent(majority)} "
            "would be if it always predicted the most frequent class: what follows says little "
            "of such a model."
        )


def _noun(result: xr.Dataset, *, whole: bool = False) -> str:
    """Return the noun of the counted unit: that of the source, or examples, where they differ."""
    if "recordings" in result.attrs:
        return "recording"
    try:
        noun = find_study(str(result.attrs.get("stage", ""))).source.noun
    except UnknownNameError:
        noun = "example"
    settings = _settings(result)
    if settings.get("format") in ("pairs", "translations"):
        return "pair"
    if not whole and (settings.get("pairs") or _count(result, "split")):
        return "example"
    return noun


def _parsed(result: xr.Dataset, name: str) -> Any:
    """Return an attribute that is JSON; None where it is missing or invalid."""
    try:
        return json.loads(str(result.attrs.get(name, "null")))
    except (ValueError, RecursionError):
        return None


def _settings(result: xr.Dataset) -> dict[str, Any]:
    settings = _parsed(result, "settings")
    return settings if isinstance(settings, dict) else {}


def _number(result: xr.Dataset, name: str) -> float:
    variable = result.get(name)
    return float(variable) if variable is not None and not variable.dims else float("nan")


def _count(result: xr.Dataset, name: str) -> int:
    number = result.attrs.get(name, 0)
    if name not in result.attrs and isinstance(banks := _parsed(result, "left_out"), list):
        number = sum(bank.get(name, 0) for bank in banks if isinstance(bank, dict))
    return int(number) if _is_number(number) else 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and bool(np.isfinite(value))


def _is_pair(value: object) -> bool:
    """Return whether a value counts two treebanks."""
    return isinstance(value, list | tuple | np.ndarray) and len(value) == 2
