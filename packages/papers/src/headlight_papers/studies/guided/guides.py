"""Guides of attention: what models that read whole texts give to each token."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.analysis.classifiers.importance import (
    AttentionImportance,
    random_source,
    share_of_rows,
)
from headlight.analysis.classifiers.plan import Classified, LabelPositions
from headlight.analysis.classifiers.predictor import CapturedPredictor
from headlight.capture import AttentionSite, CapturedModel, attribute, load_model
from headlight.encode import length_batches
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight_papers.studies.guided import GuidedSettings, of_model
from headlight_papers.studies.guided.models import GuidedText

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
    """Texts, or all words of the sentences of a tagger, in order, with what every guide gives them.

    Raises:
        UsageError: a further model has another tokenizer.
    """
    made = [list(_plain(each, model, sites, settings, itself=tagger)) for each in examples]
    rows = _of_words if tagger else _of_texts
    if settings.measures:
        for text, word, name, weight in _measured(examples, model, sites, settings, rows):
            made[text][word].weights[name] = weight
    for other in settings.also:
        reader = _also(other, model)
        places = reader.sites_of(sites[0].kind, settings.layers)
        alone = settings.replace(measures=("weight",))
        for text, word, _, weight in _measured(examples, reader, places, alone, rows):
            made[text][word].weights[of_model(other)] = weight
    return [word for words in made for word in words]


def _plain(
    example: Classified,
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    *,
    itself: bool,
) -> Iterator[GuidedText]:
    """A text, or the words of a sentence, with the guides that need no model."""
    stream = Texts.of(model.collate([example]), [example], sites[0].kind).text_ids[0]
    tokens = tokens_of(example)
    ids = np.array(example.ids, dtype=np.int64)[tokens]
    for word, label in enumerate(example.labels):
        drawn = random_source(settings.seed, stream, draw=word).random(len(ids))
        weights = {"uniform": share(np.ones(len(ids))), "random": share(drawn)}
        if itself:
            weights["itself"] = share(np.array(tokens) == example.places[word])
        yield GuidedText(ids, label, stream, weights)


def tokens_of(example: Classified) -> list[int]:
    """The places of all but special tokens; of a text without others, of these."""
    words = [place for place, word in enumerate(example.words) if word >= 0]
    return words or list(range(len(example.ids)))


def share(sizes: Any) -> Weights:
    """Sizes as a distribution, even where there is nothing."""
    size = np.abs(np.asarray(sizes, dtype=np.float64))
    whole = size.sum()
    found = size / whole if whole > 0 else np.full(len(size), 1 / len(size))
    return found.astype(np.float32)


def _measured(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    rows_of: Callable[..., dict[str, Rows]],
) -> Iterator[tuple[int, int, str, Weights]]:
    """Number of the text, that of the word, measure, and what it gives the tokens."""
    for chosen in length_batches(examples, settings.batch_tokens):
        some = [examples[at] for at in chosen]
        for name, rows in rows_of(some, model, sites, settings).items():
            values = rows.detach().cpu().double().numpy()
            for row, at in enumerate(chosen):
                for word in range(len(examples[at].labels)):
                    yield at, word, name, share(values[row, word][tokens_of(examples[at])])


def _of_texts(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
) -> dict[str, Rows]:
    """Return each measure's values for the tokens of a batch, in one row for each text."""
    batch = model.collate(examples)
    texts = Texts.of(batch, examples, sites[0].kind)
    rows, found = texts.rows(settings.rows), {}
    if of_attention := _of_attention(settings):
        seen = AttentionImportance(rows, of_attention)
        with model.capture(sites) as recorder:
            recorder.visit = seen.visit
            model.run(batch)
        found = seen.found()
    if "gradient_input" in settings.measures:
        positions = LabelPositions(examples, model.transformer.device)
        predictor = CapturedPredictor(model, batch, positions, model.sites_of(sites[0].kind))
        found["gradient_input"] = predictor.gradient_input()
    if "attribution" in settings.measures:
        given = attribute(model, batch, settings.attribution, kind=sites[0].kind)
        found["attribution"] = share_of_rows(given.contribution[-1], rows)
    return {name: values[:, None] for name, values in found.items()}


def _of_attention(settings: GuidedSettings) -> list[str]:
    """Return the measures of every head and row that are asked for."""
    return [name for name in settings.measures if name in ("weight", "norm", "effective")]


def _of_words(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
) -> dict[str, Rows]:
    """Return the rows of a tagger, for each word; arbitrary behind a sentence's last word."""
    batch, kind = model.collate(examples), sites[0].kind
    longest = max(len(example.labels) for example in examples)
    places = torch.tensor(
        [[example.places[min(at, len(example.places) - 1)] for at in range(longest)]
         for example in examples],
        device=model.transformer.device,
    )  # fmt: skip
    rows = torch.arange(len(examples), device=places.device)[:, None]
    seen = AttentionImportance(None, _of_attention(settings))
    with model.capture(sites) as recorder:
        recorder.visit = seen.visit
        model.run(batch)
    found = {name: given[rows, places] for name, given in seen.found().items()}
    if "gradient_input" in settings.measures:
        found["gradient_input"] = torch.stack(
            [_gradient(examples, batch, model, sites, word) for word in range(longest)], 1
        )
    if "attribution" in settings.measures:
        given = attribute(model, batch, settings.attribution, kind=kind).contribution[-1]
        found["attribution"] = share_of_rows(given[rows, places], None)
    return found


def _gradient(
    examples: Sequence[Classified],
    batch: Batch,
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    word: int,
) -> Float[Tensor, "batch key"]:
    """Compute the gradient of one word's predictions in each sentence; of the last if shorter."""
    alone = []
    for example in examples:
        at = min(word, len(example.labels) - 1)
        alone.append(replace(example, labels=(example.labels[at],), places=(example.places[at],)))
    positions = LabelPositions(alone, model.transformer.device)
    predictor = CapturedPredictor(model, batch, positions, model.sites_of(sites[0].kind))
    return predictor.gradient_input()


def _also(name: str, model: CapturedModel) -> CapturedModel:
    """A further classifier, which reads the same tokens.

    Raises:
        UsageError: its tokenizer is another one.
    """
    found = load_model(name, head="classification", device=str(model.transformer.device))
    own: Any = model.tokenizer
    theirs: Any = found.tokenizer
    if theirs is None or theirs.get_vocab() != own.get_vocab():
        raise UsageError(
            f"{name} has not the tokenizer of {model.name}, so that its attention goes to other "
            "tokens; leave it out of also (--also)."
        )
    return found
