"""Candidates: what of a result a ranking, a title or a finding may be made of.

A number can be true and say nothing, since it could not be otherwise.  Whoever ranks heads, names
one or makes a sentence of what is largest asks here, so that all leave out the same:

* measures that are one in a result, as effective attention is the weight in short texts;
* numbers that follow from others, or are what others leave to 100%;
* what rests on few rows, on unknown tokens, or on the template of a chat taken for words;
* heads that do no more than the others, as all do where a text is so short that there is no choice;
* tokens that are unknown, special or of a template, or that only one of two texts has;
* differences of less than ten points.
"""

from collections.abc import Collection

import numpy as np
import xarray as xr

from headlight.catalogue import Statistic, statistic
from headlight.findings.category_shares import share
from headlight.findings.equal_measures import equal_layers, equal_to_weight
from headlight.findings.estimates import Estimate
from headlight.findings.statistics import OF_READING, masked, measures_of, numbers_of, rests_on_few
from headlight.findings.token_names import category_name, parked, pieces_of
from headlight.findings.variables import observed
from headlight.vocabulary import CATEGORIES, TEMPLATE

MOST = 0.5
"""A head that gives a target more than this share of its weight is a head for it."""

APART = 0.1
"""Two shares differ if they are so far apart: ten points."""

WORTH_SAYING = 0.3
"""A head that gives no neighbour such a share of its weight is not spoken of for it."""

MANY_UNKNOWN, MOSTLY_UNKNOWN = 0.1, 0.5
"""Shares of unknown tokens: above the first they are spoken of, and tokens are not compared with
each other, since all of them look alike; above the second no head is ranked for anything."""

ONE_WORD = 0.5
"""Share of texts of one word above which nothing is said of pieces of words."""

NEARLY, SAME = 0.01, 0.98
"""Effective attention is nearly the weight where no share is further from it than the first, and
they correlate at least so much in every head."""

UNKNOWN_TOKENS = frozenset({"[UNK]", "<unk>"})
"""Names that vocabularies have for a token that the tokenizer does not know."""

BOTH = ("weight", "effective")
"""Measures that are one where texts have no more tokens than a head has dimensions."""

NOT_UNDERSTOOD = (
    "Nothing is said of what heads do: the tokenizer does not know most of these tokens."
)
"""Sentence in the place of findings where most tokens are unknown."""

_REST = ("other", "missing")
"""Rows that are what the others leave."""


# ---------------------------------------------------------------- measures


def coincides(result: xr.Dataset, measure: str) -> bool:
    """Return whether a measure equals another one in a result, so that nothing is ranked by it.

    Args:
        result: Reading, or result of any study, of one kind of attention.
        measure: Measure of attention; ``""`` for a number that belongs to no measure.
    """
    if measure != BOTH[1]:
        return False
    if set(BOTH) <= set(result.data_vars):
        return all(equal_layers(result))
    return bool(equal_to_weight(result)) or _is_nearly_weight(result)


def agree_by_construction(measure: str, other: str) -> bool:
    """Return whether two measures agree by construction, at least in short texts."""
    return {measure, other} == set(BOTH)


def _is_nearly_weight(result: xr.Dataset) -> bool:
    """Return whether nearly all texts of a survey are so short that both measures are one."""
    weight, effective = (
        np.stack([share(result, name, category) for category in CATEGORIES]) for name in BOTH
    )
    apart = np.abs(weight - effective)
    related = observed(result, "effective_correlation_by_head")
    alike = np.isnan(related) | (related >= SAME)
    return bool(np.isfinite(apart).any() and np.nanmax(apart) <= NEARLY and alike.all())


# ---------------------------------------------------------------- numbers of heads


def is_ranked(result: xr.Dataset, row: Statistic, measure: str = "") -> bool:
    """Return whether heads may be ranked by a row, and a head be named for it.

    Args:
        result: Survey or reading, of one kind of attention.
        row: Row of the table of statistics.
        measure: Measure of the row; ``""`` for all, or for a row that belongs to no measure.
    """
    return not (
        row.name in _REST
        or rests_on_few(result, row)
        or coincides(result, measure or row.about)
        or why_of_tokens(result, row)
    )


def is_understood(result: xr.Dataset) -> bool:
    """Return whether the tokenizer knows most tokens, so that heads may be spoken of at all."""
    return unknown_share(result) <= MOSTLY_UNKNOWN


def why_of_tokens(result: xr.Dataset, row: Statistic) -> str:
    """Return why the tokens of a result forbid ranking heads by a row; empty where they do not."""
    has_many = unknown_share(result) > MANY_UNKNOWN
    if not is_understood(result) or (row.compares and has_many):
        return "tokens that the tokenizer does not know look alike to the model"
    if row.name == "subword" and is_of_single_words(result):
        return "most texts are one word"
    if row.name == "subword" and _has_template(result):
        return "the template of a chat writes its tokens without blanks, and they are no words"
    return ""


def candidates(result: xr.Dataset, row: Statistic, measure: str = "") -> Estimate:
    """Return the numbers of a row by layer and head; NaN for heads that may not be named for it.

    Args:
        result: Survey or reading, of one kind of attention.
        row: Row of the table of statistics.
        measure: Measure of the row; ``""`` for rows that belong to no measure.
    """
    numbers = numbers_of(result, row, measure)
    named = np.full(numbers.value.shape, is_ranked(result, row, measure))
    if row.unit == "share":
        named &= above_others(numbers)
    if row.follows:
        before = np.nan_to_num(numbers_of(result, statistic(row.follows), measure).value)
        named &= (before <= MOST) & (numbers.value - before >= APART)
    return masked(numbers, named)


def above_others(numbers: Estimate, scale: float = 1.0) -> np.ndarray:
    """Return which numbers are ten points above the mean of the others; a lone number always is.

    Args:
        numbers: Numbers of any shape.
        scale: Largest possible value, of which ten points are a tenth.
    """
    is_known = np.isfinite(numbers.value)
    number = int(is_known.sum())
    if number < 2:
        return np.asarray(is_known)
    others = (numbers.value[is_known].sum() - numbers.value) / (number - 1)
    return np.asarray(is_known & (numbers.value - others >= APART * scale))


def differ(number: float, other: float, scale: float = 1.0) -> bool:
    """Return whether two numbers are ten points of the largest possible value apart."""
    return bool(abs(number - other) >= APART * scale)


def uniform_share(result: xr.Dataset) -> float:
    """Return the share that a key gets of attention that makes no difference; 0 if unknown."""
    entropy = float(observed(result, "entropy_uniform", ()))
    return float(np.exp(-entropy)) if np.isfinite(entropy) else 0.0


# ---------------------------------------------------------------- tokens


def unknown_share(result: xr.Dataset) -> float:
    """Return the share of the tokens that the tokenizer does not know."""
    unknown, tokens = (result.attrs.get(name, 0) for name in ("unknown", "tokens"))
    return float(unknown) / float(tokens) if tokens else 0.0


def is_of_single_words(result: xr.Dataset) -> bool:
    """Return whether most texts are one word, as proteins and reactions are, and labels."""
    one_word, examples = (result.attrs.get(name, 0) for name in ("one_word", "examples"))
    return bool(one_word > ONE_WORD * examples)


def _has_template(result: xr.Dataset) -> bool:
    """Return whether the template of a chat has written some of the tokens."""
    if OF_READING in result or "key_segment" in result.coords:
        return bool(of_template(result, "key_segment"))
    row = statistic(TEMPLATE)
    return any(
        np.isfinite(numbers_of(result, row, name).value).any() for name in measures_of(result, row)
    )


def unknown(result: xr.Dataset, tokens: str) -> list[int]:
    """Return the places of tokens that the tokenizer does not know.

    Args:
        result: Reading, or another result of one text.
        tokens: Coordinate of the tokens, such as ``key_token``.
    """
    return [at for at, token in enumerate(result[tokens].values) if str(token) in UNKNOWN_TOKENS]


def are_mostly_unknown(result: xr.Dataset, tokens: str) -> bool:
    """Return whether the tokenizer does not know most tokens of a text, so that nothing is said.

    Args:
        result: Result of one text.
        tokens: Coordinate of the tokens, such as ``key_token``.
    """
    return len(unknown(result, tokens)) > MOSTLY_UNKNOWN * result[tokens].size


def unsaid(result: xr.Dataset, side: str) -> list[int]:
    """Return the places of tokens that no title and no finding is about.

    These are where attention is parked, unknown tokens, and those of the template of a chat.

    Args:
        result: Reading, or another result of one text, of one kind of attention.
        side: ``query`` or ``key``.
    """
    places = {*parked(result, side), *unknown(result, f"{side}_token")}
    return sorted(places | set(of_template(result, f"{side}_segment")))


def of_template(result: xr.Dataset, segments: str) -> list[int]:
    """Return the places of tokens that the template of a chat has written.

    Args:
        result: Result of one text.
        segments: Coordinate with the named segment of each token.
    """
    names = result[segments].values if segments in result.coords else ()
    return [at for at, name in enumerate(names) if str(name) == TEMPLATE]


def last_word(reading: xr.Dataset) -> int:
    """Return the place of the last query that is a word; the last query where none is.

    For a picture it is the position of the class, which is made of the whole picture.  For a chat
    it is the last word that a message says, and not the template.
    """
    names = [*map(category_name, reading["query_category"].values)]
    if reading.attrs.get("kind") == "encoder" and "picture" in reading.attrs and "cls" in names:
        return names.index("cls")
    hidden, not_named = parked(reading, "query"), unsaid(reading, "query")
    words = [at for at, name in enumerate(names) if name == "other" and at not in hidden]
    words = [at for at in words if at not in not_named] or words
    texts = [piece.text for piece in pieces_of(reading, "query_token")]
    words = [at for at in words if any(map(str.isalnum, texts[at]))] or words
    return int((words or [reading.sizes["query"] - 1])[-1])


def largest_said(values: np.ndarray, hidden: Collection[int]) -> list[int]:
    """Return the places of positive values that may be said, the largest first.

    Args:
        values: Value of each token.
        hidden: Places that are left out, as `unsaid` returns them.
    """
    order = np.argsort(-np.nan_to_num(values), kind="stable").tolist()
    return [at for at in order if at not in hidden and values[at] > 0]
