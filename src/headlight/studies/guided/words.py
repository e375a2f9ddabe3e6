"""What a tagger that reads whole sentences gives to each token, word by word."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.analysis.classifiers.importance import (
    AttentionImportance,
    random_source,
    share_of_rows,
)
from headlight.analysis.classifiers.plan import Classified, LabelPositions
from headlight.analysis.classifiers.predictor import CapturedPredictor
from headlight.capture import AttentionSite, CapturedModel, attribute
from headlight.encode import length_batches
from headlight.encode.batch import Batch
from headlight.studies.guided.guides import Weights, also_measured, share, tokens_of
from headlight.studies.guided.models import GuidedText
from headlight.studies.guided.settings import GuidedSettings

Rows = Float[Tensor, "batch word key"]


def guided_words(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
) -> list[GuidedText]:
    """Every word of the sentences, in order, with the row that every guide gives it.

    Raises:
        UsageError: a further model has another tokenizer.
    """
    made = [list(_plain(example, model, sites, settings)) for example in examples]
    if settings.measures:
        for text, word, name, weight in _measured(examples, model, sites, settings):
            made[text][word].weights[name] = weight
    for name, reader, places, alone in also_measured(model, sites, settings):
        for text, word, _, weight in _measured(examples, reader, places, alone):
            made[text][word].weights[name] = weight
    return [word for words in made for word in words]


def _plain(
    example: Classified,
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
) -> Iterator[GuidedText]:
    """The words of a sentence with the guides that need no model."""
    stream = Texts.of(model.collate([example]), [example], sites[0].kind).text_ids[0]
    tokens = tokens_of(example)
    ids = np.array(example.ids, dtype=np.int64)[tokens]
    for word, label in enumerate(example.labels):
        drawn = random_source(settings.seed, stream, draw=word).random(len(ids))
        weights = {
            "uniform": share(np.ones(len(ids))),
            "random": share(drawn),
            "itself": share(np.array(tokens) == example.places[word]),
        }
        yield GuidedText(ids, label, stream, weights)


def _measured(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
) -> Iterator[tuple[int, int, str, Weights]]:
    """Number of the sentence, that of the word, measure, and what it gives the tokens."""
    for chosen in length_batches(examples, settings.batch_tokens):
        some = [examples[at] for at in chosen]
        for name, rows in _rows(some, model, sites, settings).items():
            values = rows.detach().cpu().double().numpy()
            for row, at in enumerate(chosen):
                for word in range(len(examples[at].labels)):
                    yield at, word, name, share(values[row, word][tokens_of(examples[at])])


def _rows(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
) -> dict[str, Rows]:
    """What each measure gives the tokens of a batch for each word; behind the last it is any."""
    batch, kind = model.collate(examples), sites[0].kind
    longest = max(len(example.labels) for example in examples)
    places = torch.tensor(
        [[example.places[min(at, len(example.places) - 1)] for at in range(longest)]
         for example in examples],
        device=model.transformer.device,
    )  # fmt: skip
    rows = torch.arange(len(examples), device=places.device)[:, None]
    seen = AttentionImportance(None, settings.measures)
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
    """That of the predictions of one word of each sentence; of shorter ones the last."""
    alone = []
    for example in examples:
        at = min(word, len(example.labels) - 1)
        alone.append(replace(example, labels=(example.labels[at],), places=(example.places[at],)))
    positions = LabelPositions(alone, model.transformer.device)
    predictor = CapturedPredictor(model, batch, positions, model.sites_of(sites[0].kind))
    return predictor.gradient_input()
