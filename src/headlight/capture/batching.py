"""Batches checked against single texts, and the tasks of models.

Whether a model reads a text in a padded batch as it reads the text alone.
A model that drops its attention mask, counts padding as positions, or takes statistics over a batch
gives other numbers for a text beside others.  Two short texts show it: together, the shorter one
padded, and the shorter one alone.
"""

from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES as OF_SEQUENCES,
    MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES as OF_TOKENS,
)

from headlight.capture.attention import unreplaced
from headlight.capture.record import AttentionSite, LayerRecord
from headlight.capture.tracer import TOLERANCE
from headlight.capture.trial_inputs import dummy_inputs
from headlight.encode.batch import Batch
from headlight.encode.examples import Encoded
from headlight.encode.pictures import EncodedPicture
from headlight.encode.speech import EncodedSpeech
from headlight.errors import UnsupportedModelError

LONG, SHORT = 12, 7
"""Tokens of the two texts; of a decoder's text that belongs to each, one less."""


def check_batching(model: Any, example: Encoded) -> float:
    """Compare a short text in a padded batch with the same text alone.

    Args:
        model: a `CapturedModel`, which reads it.
        example: of whose tokens both texts are made, repeated where it is shorter.

    Returns:
        The largest difference of a layer: for the weights, half the sum of absolute differences
        over keys, averaged over rows; for the values, relative to their norm.

    Raises:
        UnsupportedModelError: a layer attends to other than the tokens of the texts, padding gets
            weight, or the difference is more than rounding.
    """
    if model.reads_twice:
        model = model.encoder()
    longest = min(LONG, model.longest or LONG)
    short = _resized(example, min(SHORT, longest - 1))
    together = model.collate([_resized(example, longest), short])
    with unreplaced(model.transformer):
        beside, alone = _records(model, together), _records(model, model.collate([short]))
    worst = 0.0
    for padded, own in zip(beside, alone, strict=True):
        queries, keys = _mask(padded.site, together)
        _check_tokens(model.name, padded, queries, keys)
        _check_padding(model.name, padded, queries, keys)
        error = _difference(padded, own, queries[1], keys[1])
        allowed = TOLERANCE.get(own.weight.dtype, 1e-1)
        if not error <= allowed:
            raise UnsupportedModelError(
                f"{model} reads a text in a batch otherwise than alone: {_place(own.site)} "
                f"differs by {error:.1e} (allowed {allowed:.0e}), so results would depend on the "
                "texts beside it; mend its mask, its positions, or what it computes over a batch."
            )
        worst = max(worst, error)
    return worst


def trial_example(model: Any) -> Encoded | None:
    """Return an example of the ids that tracing takes; None for a model that reads no text."""
    try:
        inputs = dummy_inputs(model.transformer)
    except UnsupportedModelError:
        return None
    if "input_ids" not in inputs:
        return None
    ids = tuple(inputs["input_ids"][0].tolist())
    blank = (0,) * len(ids)
    example = Encoded("a trial input", ids, blank, blank, blank)
    if not model.has_decoder_inputs:
        return example
    return replace(example, target=ids, target_categories=blank, target_words=blank)


def _resized(example: Encoded, tokens: int) -> Encoded:
    """The example cut or repeated to this many tokens; sound and pictures are taken as a whole."""
    names = ["target", "target_categories", "target_words"]
    sizes = dict.fromkeys(names, tokens - 1)
    if not isinstance(example, EncodedSpeech | EncodedPicture):
        sizes |= dict.fromkeys(["ids", "segments", "categories", "words"], tokens)
    changed = {name: (getattr(example, name) * size)[:size] for name, size in sizes.items()}
    return replace(example, **changed)


def _records(model: Any, batch: Batch) -> list[LayerRecord]:
    records: list[LayerRecord] = []
    with model.capture(site for site in model.sites if site.kind in model.kinds) as recorder:
        recorder.visit = records.append
        with torch.inference_mode(), model.running(batch.names):
            model.transformer(**model.inputs(batch))
    return records


def _mask(site: AttentionSite, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the masks of queries and keys that are tokens, as ``batch token``."""
    source, target = batch.attention_mask, batch.target_mask
    if target is None or site.kind == "encoder":
        return source, source
    return target, source if site.kind == "cross" else target


def _check_tokens(name: str, record: LayerRecord, queries: Tensor, keys: Tensor) -> None:
    shape = record.weight.shape
    if (len(shape), shape[0], *shape[2:]) == (4, len(queries), queries.shape[1], keys.shape[1]):
        return
    raise UnsupportedModelError(
        f"{name}: in {_place(record.site)} {shape[2]} queries attend to {shape[3]} keys in each of "
        f"{shape[0]} sequences, where the batch has {len(queries)} texts of {queries.shape[1]} and "
        f"{keys.shape[1]} tokens (prefixes, prompts, windows or pooled tokens, say), so its rows "
        "and columns have no names; take a part or a setting of the model that attends to tokens."
    )


def _check_padding(name: str, record: LayerRecord, queries: Tensor, keys: Tensor) -> None:
    """Refuse weight of tokens on padding, however little."""
    outside = queries[:, None, :, None].bool() & ~keys[:, None, None].bool()
    lost = record.weight.where(outside, 0).sum(-1)
    if bool(lost.any()):
        raise UnsupportedModelError(
            f"{name} attends to padding: in {_place(record.site)} a token gives up to "
            f"{float(lost.max()):.0%} of its weight to it, so results would depend on the texts "
            "beside it; hand the attention mask on to its attention."
        )


def _difference(padded: LayerRecord, own: LayerRecord, queries: Tensor, keys: Tensor) -> float:
    """Return the difference between the second text of a batch and the same text alone."""
    rows, columns = queries.bool().cpu(), keys.bool().cpu()
    weight, alone, value, wanted = (
        each.cpu().double()  # not every device has float64
        for each in (padded.weight[1], own.weight[0], padded.value[1], own.value[0])
    )
    by_row = (weight[:, rows][..., columns] - alone).abs().sum(-1) / 2
    value = value[:, columns]
    apart = torch.linalg.vector_norm(value - wanted) / torch.linalg.vector_norm(wanted)
    return max(float(by_row.mean()), float(apart))


def _place(site: AttentionSite) -> str:
    return f"{site.kind} layer {site.layer} ({site.name})"


Task = Literal["sequence", "token"]
"""Whether a whole text is put into a class, or each of its tokens."""

CLASSIFIERS: dict[Task, Any] = {
    "sequence": AutoModelForSequenceClassification,
    "token": AutoModelForTokenClassification,
}


def task_of(architecture: str) -> Task | None:
    """Return the task of a class of transformers; None if it is no classifier.

    Args:
        architecture: name of the class, as ``architectures`` of a configuration gives it.
    """
    if architecture in OF_SEQUENCES.values():
        return "sequence"
    return "token" if architecture in OF_TOKENS.values() else None
