"""Similarity of two texts: their cosine as a sum over pairs of tokens, by heads, and by removal.

With attention weights, statistics of norms and slopes as constants, an embedding is the sum of what
each token adds, e = Σ_i c_i + b.  So the cosine of two is Σ_ij ⟨c_i, c_j⟩ / (‖e_a‖ ‖e_b‖) and what
positions and biases add.  What a pair of words is worth to the model, removal says.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
import xarray
from jaxtyping import Float64
from torch import Tensor

from headlight.capture import CapturedModel
from headlight.capture.linear_network.logit_decomposition import Decomposition
from headlight.capture.one_text import one_text
from headlight.capture.sentence_embedding import (
    Embedding,
    Pooling,
    embed,
    embedding_parts,
    projection_parts,
)
from headlight.catalogue.question_settings import SimilaritySettings
from headlight.corpora import SentencePair
from headlight.encode import Encoded, token_names
from headlight.errors import UnsupportedModelError, UsageError
from headlight.observations.variables import Variable, described, long_names, with_slots
from headlight.reading.origin import origin
from headlight.reading.prediction_targets import Place
from headlight.reading.question_functions import answers
from headlight.reading.text_result import TextResult
from headlight.reading.word_removal import Word, is_punctuation, without_word, words_of
from headlight.reduce import Slots
from headlight.result import csv_text

VARIABLES = long_names(
    {
        "cosine": Variable("cosine of the two embeddings"),
        "norm": Variable("length of the embedding"),
        "pair_part": Variable("what a pair of tokens adds to the cosine"),
        "word_part": Variable("what a pair of words adds to the cosine"),
        "bias": Variable("what positions and biases add, by themselves and with tokens"),
        "head_part": Variable("what a head writes directly into the cosine, by text"),
        "rest_part": Variable("what embeddings, feed-forward layers and biases write, by text"),
        "part": Variable("what a pair of words adds, the largest first"),
        "without_cosine": Variable("cosine of the texts without both words"),
        "term": Variable("cosine of a pair of texts, and its terms"),
        "mean": Variable("the same, mean over pairs of texts", interval="signed"),
    }
)

TERMS = ("cosine", "first pair", "other pairs", "special tokens", "biases")
"""Terms of a pair of texts, the cosine first, which is the sum of the others."""

SIDES = ("a", "b")
WHOLE = Place(None, "text", masked=False, classes=False, at_end=False)
"""Place of an embedding, which is of the whole text."""


@dataclass(frozen=True, eq=False)
class Similarity(TextResult):
    """Similarity of two texts, as a sum, or of several pairs of texts in short.

    `dataset` has ``cosine`` and its parts: ``pair_part[a_token, b_token]`` and ``bias`` add up to
    it, and so do for each text ``head_part[side, layer, head]`` and ``rest_part``.  ``word_part``
    sums the pieces of words, ``part`` and ``without_cosine`` are of the largest pairs.  Of several
    pairs of texts it has ``term[text_pair, name]`` and their means.
    """

    dataset: xarray.Dataset
    called: ClassVar[str] = "a similarity is"
    question: ClassVar[str] = "similarity"

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each of the largest pairs of words, or for each pair of texts."""
        from headlight.views.reading.similarity import frame_of

        return frame_of(self.dataset)

    def to_csv(self) -> str:
        """Return the table of pairs as CSV."""
        return csv_text(self.to_dataframe())

    def as_json(self) -> dict[str, Any]:
        """Return what stands out, the table of pairs, and every number by the name of its axes."""
        from headlight.views.reading.similarity import findings

        numbers = {
            str(name): {"dims": list(values.dims), "values": _plain(values.values)}
            for name, values in self.dataset.variables.items()
        }
        rows = self.to_dataframe().astype(object)
        pairs = rows.where(rows.notna(), None).to_dict("records")
        said = {"findings": findings(self.dataset), "pairs": pairs}
        return super().as_json() | said | {"variables": numbers}

    def __str__(self) -> str:
        from headlight.views.reading.similarity import findings

        return " ".join(findings(self.dataset))

    __repr__ = __str__


def _plain(values: np.ndarray) -> Any:
    plain = values.astype(object)
    if values.dtype.kind == "f":
        plain[~np.isfinite(values)] = None
    return plain.tolist()


@answers("similarity")
def similarity(
    model: CapturedModel,
    text: str | Iterable[SentencePair | tuple[str, str]],
    pair: str | None = None,
    *,
    settings: SimilaritySettings,
    command: str | None = None,
) -> Similarity:
    """Decompose the cosine of two embeddings into what each pair of tokens adds.

    Texts are embedded by the model's own rule, as the files of a SentenceTransformer say it; where
    nothing says one, by the mean over all tokens.  Attention weights, statistics of norms and
    slopes are constants of each text.

    Args:
        model: encoder or decoder, whose head is left out.
        text: first text; or pairs of texts, as tuples of two or as an open corpus of pairs.
        pair: second text.
        settings: settings of the answer; users name each by itself.
        command: command of the request, for the record.

    Returns:
        Similarity, whose ``dataset`` holds a cosine and its parts; of several pairs of texts it has
        a row for each in ``term``, and their means in ``mean``.

        - ``cosine`` (): cosine of the two embeddings
        - ``norm`` (side): length of each embedding, before it is normalised
        - ``pair_part`` (a_token × b_token): what a pair of tokens adds
        - ``bias`` (): what positions and biases add, by themselves and with tokens
        - ``word_part`` (a_word × b_word): what a pair of words adds
        - ``part``, ``without_cosine`` (pair): what the largest pairs of words add, and the cosine
          of the texts without both words
        - ``head_part`` (side × layer × head), ``rest_part`` (side): what heads, and all else, write
          directly into the cosine; of each side they add up to it

    Raises:
        UsageError: no second text, an empty or too long text, no tokenizer, or a model that does
            not read one text alone.
        ModelError: the files that say how texts are embedded are damaged.
        UnsupportedModelError: the embedding is not a sum over tokens (it is pooled by a maximum,
            say), or its parts do not add up.

    Source: parts of embeddings: Modarressi et al. (2023), DecompX, without the sharing of biases.
    """
    if model.reader() is not model or model.has_decoder_inputs or model.reads_twice:
        raise UsageError(
            f"{model} is no single encoder or decoder of texts; name one that embeds texts, such "
            "as sentence-transformers/all-MiniLM-L6-v2."
        )
    base = model.base()
    pooling = Pooling.of(base)
    if isinstance(text, str):
        if pair is None:
            raise UsageError("a similarity is that of two texts; give a second one.")
        dataset = _of_two_texts(_Compared.of(base, text, pair, pooling), settings.number)
        title, first = "Why two texts are alike", text
    else:
        texts = list(_texts_of(text, pair))
        dataset = _of_pairs(base, texts, pooling)
        title, first = f"Similarity of {len(texts)} pairs of texts", ""
    about = origin(
        model,
        first,
        pair,
        title=title,
        stage="similarity",
        pooling=pooling.name,
        assumed=int(pooling.is_assumed),
        command=command or "",
    )
    return Similarity(dataset.assign_attrs(about))


def _texts_of(pairs: Iterable[Any], pair: str | None) -> Iterable[tuple[str, str, str]]:
    """Yield both texts of each pair, and its label or nothing."""
    if not isinstance(pairs, Iterable):
        raise UsageError("a similarity is that of two texts, or of pairs of texts; give strings.")
    if pair is not None:
        raise UsageError("pairs of texts have second texts of their own; leave the other out.")
    count = 0
    for count, row in enumerate(pairs, 1):
        if isinstance(row, SentencePair) and row.second is not None:
            yield row.first, row.second, row.label or ""
        elif isinstance(row, tuple) and len(row) == 2:
            yield *row, ""
        else:
            raise UsageError(f"pair {count} is not of two texts; give (text, other text).")
    if not count:
        raise UsageError("there is no pair of texts; give at least one.")


@dataclass(frozen=True, eq=False)
class _Compared:
    """Two texts with their embeddings, and what pairs of their tokens and words add.

    Attributes:
        model: Model without a head.
        pooling: Rule of the model.
        examples: Both texts.
        words: Words of both.
        embeddings: Embeddings of both.
        sums: Cosine as a sum over each text, the other's embedding being a constant.
        cosine: Cosine of the embeddings.
        pair_part: What pairs of tokens add.
        word_part: What pairs of words add.
    """

    model: CapturedModel
    pooling: Pooling
    examples: tuple[Encoded, Encoded]
    words: tuple[list[Word], list[Word]]
    embeddings: tuple[Embedding, Embedding]
    sums: tuple[Decomposition, Decomposition]
    cosine: float
    pair_part: Float64[np.ndarray, "a_token b_token"]
    word_part: Float64[np.ndarray, "a_word b_word"]

    @classmethod
    def of(cls, model: CapturedModel, a: str, b: str, pooling: Pooling) -> "_Compared":
        example, other = (
            one_text(model, text, None, None, purpose="texts are embedded")[1] for text in (a, b)
        )
        first = embedding_parts(model, example, pooling)
        second = embedding_parts(model, other, pooling)
        scale = float(first.whole.norm() * second.whole.norm())
        if not scale > 0:
            raise UnsupportedModelError(
                f"{model} embeds a text as zeros, or as no finite numbers; neither has a cosine."
            )
        words = (_words(model, example), _words(model, other))
        pair_part = (first.tokens @ second.tokens.T / scale).numpy()
        word_part = np.zeros((len(words[0]), len(words[1])))
        for i, j in np.ndindex(*word_part.shape):
            word_part[i, j] = pair_part[np.ix_(words[0][i].places, words[1][j].places)].sum()
        return cls(
            model=model,
            pooling=pooling,
            examples=(example, other),
            words=words,
            embeddings=(first, second),
            sums=(
                projection_parts(model, example, first, second.whole / scale),
                projection_parts(model, other, second, first.whole / scale),
            ),
            cosine=float(first.whole @ second.whole) / scale,
            pair_part=pair_part,
            word_part=word_part,
        )

    @property
    def largest(self) -> list[tuple[int, int]]:
        """Return the pairs of words by the size of what they add."""
        order = np.argsort(-np.abs(self.word_part), axis=None, kind="stable")
        rows, columns = np.unravel_index(order, self.word_part.shape)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    @property
    def terms(self) -> list[float]:
        """Return the numbers of `TERMS`."""
        whole, words = float(self.pair_part.sum()), float(self.word_part.sum())
        first = float(self.word_part[self.largest[0]]) if self.word_part.size else 0.0
        return [self.cosine, first, words - first, whole - words, self.cosine - whole]

    def without(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """Return the cosines without both words of each pair; NaN where a text has no other."""
        first = {number: self._without(0, number) for number in {pair[0] for pair in pairs}}
        second = {number: self._without(1, number) for number in {pair[1] for pair in pairs}}
        shortened = [(first[i], second[j]) for i, j in pairs]
        return [float(a @ b / (a.norm() * b.norm())) for a, b in shortened]

    def _without(self, side: int, number: int) -> Float64[Tensor, " dim"]:
        left = without_word(self.examples[side], self.words[side][number], WHOLE)
        if left is None or max(left.example.words) < 0:
            return torch.full_like(self.embeddings[side].whole, torch.nan)
        return embed(self.model, left.example, self.pooling)[0]


def _words(model: CapturedModel, example: Encoded) -> list[Word]:
    """Return the words of a text, without the punctuation marks at their ends."""
    tokenizer: Any = model.tokenizer
    words = []
    for word in words_of(model, example, WHOLE):
        marks = [is_punctuation(tokenizer.decode([example.ids[at]]).strip()) for at in word.places]
        if not all(marks):  # a dash of two pieces is no word
            places = word.places[marks.index(False) : len(marks) - marks[::-1].index(False)]
            name = tokenizer.decode([example.ids[at] for at in places]).strip()
            words.append(replace(word, places=places, text=name))
    return words


def _of_two_texts(two: _Compared, number: int) -> xarray.Dataset:
    pairs = two.largest[:number]
    sites = [parts.site for parts in two.sums[0].heads]
    head_part = np.full((2, len(sites), max(site.heads for site in sites)), np.nan)
    for at, decomposition in enumerate(two.sums):
        for layer, parts in enumerate(decomposition.heads):
            head_part[at, layer, : len(parts.direct)] = parts.direct.sum(-1).numpy()
    variables: dict[str, Any] = {
        "cosine": ((), two.cosine),
        "norm": ("side", [float(embedding.whole.norm()) for embedding in two.embeddings]),
        "pair_part": (("a_token", "b_token"), two.pair_part),
        "bias": ((), two.cosine - two.pair_part.sum()),
        "word_part": (("a_word", "b_word"), two.word_part),
        "part": ("pair", [float(two.word_part[pair]) for pair in pairs]),
        "without_cosine": ("pair", two.without(pairs)),
        "head_part": (("side", "layer", "head"), head_part),
        "rest_part": ("side", two.cosine - np.nansum(head_part, (1, 2))),
    }
    coordinates: dict[str, Any] = {
        "side": list(SIDES),
        "layer": [site.layer for site in sites],
        "head": range(head_part.shape[2]),
    }
    for at, side in enumerate(SIDES):
        names = token_names(two.model.tokenizer, two.examples[at].ids)
        coordinates[f"{side}_token_text"] = (f"{side}_token", names)
        texts = np.array([word.text for word in two.words[at]], dtype=str)
        coordinates[f"{side}_word_text"] = (f"{side}_word", texts)
        numbers = np.full(len(names), -1)
        for word_number, named in enumerate(two.words[at]):
            numbers[list(named.places)] = word_number
        coordinates[f"{side}_word_of"] = (f"{side}_token", numbers)
        coordinates[f"pair_{side}"] = ("pair", np.array([row[at] for row in pairs], dtype=int))
    return described(variables, coordinates, VARIABLES)


def _of_pairs(
    model: CapturedModel, texts: Sequence[tuple[str, str, str]], pooling: Pooling
) -> xarray.Dataset:
    """Return the terms of several pairs of texts, their means, and the first pairs of words."""
    terms, firsts = [], []
    for number, (a, b, _) in enumerate(texts, 1):
        try:
            two = _Compared.of(model, a, b, pooling)
        except UsageError as problem:
            raise UsageError(f"pair {number}: {problem.marked()}") from problem
        terms.append(two.terms)
        firsts.append(("", ""))
        for i, j in two.largest[:1]:
            firsts[-1] = (two.words[0][i].text, two.words[1][j].text)
    values = np.array(terms)
    slots = Slots.of(np.arange(len(values)), values).compute()
    variables = {"term": (("text_pair", "name"), values)}
    columns = (*zip(*texts, strict=True), *zip(*firsts, strict=True))
    names = ("a_text", "b_text", "label", "a_first", "b_first")
    coordinates = {"name": list(TERMS)} | {
        name: ("text_pair", np.array(column, dtype=str))
        for name, column in zip(names, columns, strict=True)
    }
    means = with_slots("mean", ("name",), slots["mean"], slots)
    return described(variables | means, coordinates, VARIABLES)
