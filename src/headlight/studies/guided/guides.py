"""What models that read whole texts give to each token, as attention for those that do not."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32

from headlight.analysis.batch_texts import Texts
from headlight.analysis.classifiers.importance import random_source, token_importance
from headlight.analysis.classifiers.plan import Classified, LabelPositions
from headlight.capture import AttentionSite, CapturedModel, load_model
from headlight.encode import length_batches
from headlight.errors import UsageError
from headlight.studies.guided.models import GuidedText
from headlight.studies.guided.settings import GuidedSettings, of_model

Weights = Float32[np.ndarray, " token"]


def guided_texts(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
) -> list[GuidedText]:
    """Texts with what every guide gives them.

    Raises:
        UsageError: a further model has another tokenizer.
    """
    made = [
        _plain(example, stream, settings) for example, stream in _streams(examples, model, sites)
    ]
    if settings.measures:
        for text, name, weight in _measured(examples, model, sites, settings):
            made[text].weights[name] = weight
    for name, reader, places, alone in also_measured(model, sites, settings):
        for text, _, weight in _measured(examples, reader, places, alone):
            made[text].weights[name] = weight
    return made


def also_measured(
    model: CapturedModel, sites: Sequence[AttentionSite], settings: GuidedSettings
) -> Iterator[tuple[str, CapturedModel, Sequence[AttentionSite], GuidedSettings]]:
    """Of each further model the name of its guide, its places, and settings of its weights.

    Raises:
        UsageError: its tokenizer is another one.
    """
    for other in settings.also:
        reader = _also(other, model)
        places = reader.sites_of(sites[0].kind, settings.layers)
        yield of_model(other), reader, places, settings.replace(measures=("weight",))


def _streams(
    examples: Sequence[Classified], model: CapturedModel, sites: Sequence[AttentionSite]
) -> Iterator[tuple[Classified, int]]:
    for example in examples:
        texts = Texts.of(model.collate([example]), [example], sites[0].kind)
        yield example, texts.text_ids[0]


def _plain(example: Classified, stream: int, settings: GuidedSettings) -> GuidedText:
    """A text with the guides that need no model."""
    ids = np.array(example.ids, dtype=np.int64)[tokens_of(example)]
    drawn = random_source(settings.seed, stream).random(len(ids))
    weights = {"uniform": share(np.ones(len(ids))), "random": share(drawn)}
    return GuidedText(ids, example.labels[0], stream, weights)


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
) -> Iterator[tuple[int, str, Weights]]:
    """Number of the text, measure, and what it gives the tokens."""
    for chosen in length_batches(examples, settings.batch_tokens):
        some = [examples[at] for at in chosen]
        batch = model.collate(some)
        texts = Texts.of(batch, some, sites[0].kind)
        positions = LabelPositions(some, model.transformer.device)
        found = token_importance(model, batch, texts, sites, settings, positions)
        for name, values in found.items():
            rows = values.detach().cpu().double().numpy()
            for row, at in enumerate(chosen):
                yield at, name, share(rows[row][tokens_of(examples[at])])


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
