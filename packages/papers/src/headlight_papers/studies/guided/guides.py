"""Guides: attention of a model for each token, given to models that read tokens alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, attribute, load_model
from headlight.encode import length_batches
from headlight.encode.batch import Batch
from headlight.engine.batch_size import batch_tokens
from headlight.engine.labelled_texts import Classified
from headlight.engine.random_numbers import random_source
from headlight.errors import UsageError, setting
from headlight.observations.classifier_outputs import LabelPositions
from headlight.observations.positions import Texts
from headlight.observations.word_importance import AttentionImportance, share_of_rows
from headlight_papers.classifiers.predictors import CapturedPredictor
from headlight_papers.studies.guided import GuidedSettings, guide_of_model


@dataclass(frozen=True, eq=False)
class GuidedText:
    """Text, or word of a sentence, with the attention of each guide to its tokens.

    Attributes:
        ids: Ids of the tokens, without special ones.
        label: Class of the text or of the word.
        stream: Number of the text; words of a sentence share one.
        weights: Distribution over the tokens, by guide; nothing for `OWN`.
    """

    ids: Int64[np.ndarray, " token"]
    label: int
    stream: int
    weights: dict[str, Float32[np.ndarray, " token"]]


Weights = Float32[np.ndarray, " token"]
Rows = Float[Tensor, "batch word key"]


def guided_texts(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    *,
    tagger: bool = False,
) -> list[GuidedText]:
    """Return texts, or all words of a tagger's sentences, in order, with the weights of all guides.

    Raises:
        UsageError: A further model has another tokenizer.
    """
    texts = [list(_plain(example, model, sites, settings, itself=tagger)) for example in examples]
    if settings.measures:
        for text, word, name, weight in _measured(examples, model, sites, settings, tagger=tagger):
            texts[text][word].weights[name] = weight
    for other in settings.also:
        reader = _load_further(other, model)
        places = reader.sites_of(sites[0].kind, settings.layers)
        alone = settings.replace(measures=("weight",))
        for text, word, _, weight in _measured(examples, reader, places, alone, tagger=tagger):
            texts[text][word].weights[guide_of_model(other)] = weight
    return [word for words in texts for word in words]


def _plain(
    example: Classified,
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    *,
    itself: bool,
) -> Iterator[GuidedText]:
    """Yield a text, or the words of a sentence, with the guides that need no model."""
    stream = Texts.of(model.collate([example]), [example], sites[0].kind).text_ids[0]
    tokens = tokens_of(example)
    ids = np.array(example.ids, dtype=np.int64)[tokens]
    for word, label in enumerate(example.labels):
        # The draw has the number of the word, so that words of a sentence get different noise.
        drawn = random_source(settings.seed, stream, draw=word).random(len(ids))
        weights = {"uniform": share(np.ones(len(ids))), "random": share(drawn)}
        if itself:
            weights["itself"] = share(np.array(tokens) == example.places[word])
        yield GuidedText(ids, label, stream, weights)


def tokens_of(example: Classified) -> list[int]:
    """Return the places of all but special tokens; of a text without others, of these."""
    words = [place for place, word in enumerate(example.words) if word >= 0]
    return words or list(range(len(example.ids)))


def share(sizes: Any) -> Weights:
    """Return sizes as a distribution, which is uniform where all are 0."""
    # Gradients may be negative; only their size says how much a token matters.
    size = np.abs(np.asarray(sizes, dtype=np.float64))
    whole = size.sum()
    # A row of zeros says nothing of any token.
    shares = size / whole if whole > 0 else np.full(len(size), 1 / len(size))
    return shares.astype(np.float32)


def _measured(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    *,
    tagger: bool,
) -> Iterator[tuple[int, int, str, Weights]]:
    """Number of the text, number of the word, measure, and weights of the tokens."""
    for chosen in length_batches(examples, batch_tokens(model, settings)):
        some = [examples[at] for at in chosen]
        for name, rows in _rows(some, model, sites, settings, tagger=tagger).items():
            values = rows.detach().cpu().double().numpy()
            for row, at in enumerate(chosen):
                for word in range(len(examples[at].labels)):
                    yield at, word, name, share(values[row, word][tokens_of(examples[at])])


def _rows(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    *,
    tagger: bool,
) -> dict[str, Rows]:
    """Return each measure's values for the tokens of a batch: a row for each text, or each word.

    The rows of a tagger are arbitrary behind a sentence's last word.
    """
    batch, kind = model.collate(examples), sites[0].kind
    longest = max(len(example.labels) for example in examples)
    joined = None if tagger else Texts.of(batch, examples, kind).rows(settings.rows)
    by_guide: dict[str, Float[Tensor, "batch ..."]] = {}
    of_attention = [name for name in settings.measures if name in ("weight", "norm", "effective")]
    if of_attention:
        importance = AttentionImportance(joined, of_attention)
        with model.capture(sites) as recorder:
            recorder.visit = importance.visit
            model.run(batch)
        by_guide |= importance.means()
    if "attribution" in settings.measures:
        contribution = attribute(model, batch, settings.attribution, kind=kind).contribution[-1]
        by_guide["attribution"] = share_of_rows(contribution, joined)
    if tagger:
        places = torch.tensor(
            [
                # Behind the last word a sentence repeats it, so that all have the same number of
                # rows.
                [example.places[min(at, len(example.places) - 1)] for at in range(longest)]
                for example in examples
            ],
            device=model.transformer.device,
        )
        texts = torch.arange(len(examples), device=places.device)[:, None]
        by_word = {name: values[texts, places] for name, values in by_guide.items()}
    else:
        by_word = {name: values[:, None] for name, values in by_guide.items()}
    if "gradient_input" in settings.measures:
        # The gradient is that of one word's prediction, and so the tagger is asked word by word.
        readings = [_select_word(examples, word) if tagger else examples for word in range(longest)]
        by_word["gradient_input"] = torch.stack(
            [_gradient(reading, batch, model, sites) for reading in readings], 1
        )
    return by_word


def _select_word(examples: Sequence[Classified], word: int) -> list[Classified]:
    """Return sentences with the label of one word alone, or of the last if they are shorter."""
    at = [min(word, len(example.labels) - 1) for example in examples]
    return [
        replace(example, labels=(example.labels[place],), places=(example.places[place],))
        for example, place in zip(examples, at, strict=True)
    ]


def _gradient(
    examples: Sequence[Classified],
    batch: Batch,
    model: CapturedModel,
    sites: Sequence[AttentionSite],
) -> Float[Tensor, "batch key"]:
    positions = LabelPositions(examples, model.transformer.device)
    predictor = CapturedPredictor(model, batch, positions, model.sites_of(sites[0].kind))
    return predictor.gradient_input()


def _load_further(name: str, model: CapturedModel) -> CapturedModel:
    """Return a further classifier, which reads the same tokens; refuse another tokenizer."""
    classifier = load_model(name, head="classification", device=str(model.transformer.device))
    tokenizer: Any = model.tokenizer
    theirs: Any = classifier.tokenizer
    if theirs is None or theirs.get_vocab() != tokenizer.get_vocab():
        raise UsageError(
            f"{name} has not the tokenizer of {model}, so that its attention goes to other "
            f"tokens; leave it out of {setting('also')}."
        )
    return classifier
