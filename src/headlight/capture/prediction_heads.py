"""Heads of models, which predict pieces of a vocabulary, or classes.

Classes of transformers stand in its tables, and what inherits from one of them predicts the same.
Code that comes with a checkpoint names its class in the configuration.  Other code is told by the
shape of its output for a trial input.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoModelForImageTextToText,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForSpeechSeq2Seq,
    AutoModelForTokenClassification,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
    MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES as OF_PICTURES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as BESIDE_PICTURES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED,
    MODEL_FOR_PRETRAINING_MAPPING_NAMES as PRETRAINING,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as SEQUENCES,
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES as OF_SEQUENCES,
    MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES as SPEECH,
    MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES as OF_TOKENS,
)

from headlight.capture.trial_inputs import FAILURES, trial_inputs
from headlight.errors import UnsupportedModelError

Task = Literal["sequence", "token"]
"""Unit that is put into a class: a whole text, or each of its tokens."""

LanguageHead = Literal["masked", "causal", "sequence_to_sequence", "speech"]


@dataclass(frozen=True)
class Head:
    """Head of a model, of a classifier or of a language model.

    Attributes:
        task: Task of a classifier; None for other models.
        language: Sort of a language model; None for other models.
        loader: Class of transformers that loads the head, if any.
    """

    task: Task | None = None
    language: LanguageHead | None = None
    loader: Any = None

    def __bool__(self) -> bool:
        return self.task is not None or self.language is not None


NO_HEAD = Head()

_MASKED = Head(None, "masked", AutoModelForMaskedLM)
_TABLES: tuple[tuple[Head, Mapping[str, str]], ...] = (
    (Head("sequence", None, AutoModelForSequenceClassification), OF_SEQUENCES),
    (Head("sequence", None, AutoModelForImageClassification), OF_PICTURES),
    (Head("token", None, AutoModelForTokenClassification), OF_TOKENS),
    (Head(None, "sequence_to_sequence", AutoModelForSeq2SeqLM), SEQUENCES),
    (Head(None, "speech", AutoModelForSpeechSeq2Seq), SPEECH),
    (_MASKED, MASKED),
    (Head(None, "causal", AutoModelForCausalLM), CAUSAL),
)
_SEEING = Head(None, "causal", AutoModelForImageTextToText)
_SEEING_TWICE = Head(None, "sequence_to_sequence", AutoModelForImageTextToText)


def named_head(config: Any, architecture: str) -> Head:
    """Return the head of a class by its name, as ``architectures`` of a configuration gives it.

    Args:
        config: Configuration of the model.
        architecture: Name of a class of transformers, or of code that the configuration names.
    """
    head = _listed_head(config, architecture)
    # Further heads, such as that of the next sentence, may stand beside the masked one.
    beside_others = architecture in PRETRAINING.values() and config.model_type in MASKED
    return _MASKED if beside_others and not head else head


def _listed_head(config: Any, architecture: str) -> Head:
    """Return the head of a class that puts out its logits alone."""
    class_map = getattr(config, "auto_map", None) or {}
    for head, names in _TABLES:
        mapped = str(class_map.get(head.loader.__name__, "")).rpartition(".")[-1]
        if architecture in names.values() or architecture == mapped:
            return head
    if architecture in BESIDE_PICTURES.values():
        return _SEEING_TWICE if config.is_encoder_decoder else _SEEING
    return NO_HEAD


def head_of(network: Any) -> Head:
    """Return the head of a model: of its class, or of a class that this inherits from.

    Args:
        network: Model of transformers, or of code by others.
    """
    head = _listed_head(network.config, type(network).__name__)
    if head:
        return head
    of_transformers = (
        ancestor for ancestor in type(network).__mro__ if _is_of_transformers(ancestor)
    )
    heads = (_listed_head(network.config, ancestor.__name__) for ancestor in of_transformers)
    inherited = next(filter(None, heads), NO_HEAD)
    if inherited or _is_of_transformers(type(network)):
        return inherited
    return _head_by_output(network)


def _is_of_transformers(kind: type) -> bool:
    return kind.__module__.startswith("transformers.")


def _head_by_output(network: Any) -> Head:
    """Return the head that the shape of the logits shows."""
    config = network.config
    logits, inputs = _trial(network)
    if logits is None:
        return NO_HEAD
    width, classes = logits.shape[-1], getattr(config, "num_labels", None)
    if logits.dim() == 2:
        return Head("sequence") if len(logits) == 1 and width == classes else NO_HEAD
    ids = inputs.get("decoder_input_ids", inputs.get("input_ids"))
    if ids is None or logits.dim() != 3 or logits.shape[1] != ids.shape[1]:
        return NO_HEAD
    if width not in _sizes_of_vocabulary(network):
        return Head("token") if width == classes else NO_HEAD
    if "decoder_input_ids" in inputs:
        sound = "input_features" in inputs
        return Head(None, "speech" if sound else "sequence_to_sequence")
    # What a model predicts at the first token changes with the last one only if it sees that.
    changed = torch.cat([ids[:, :-1], ids[:, :1]], 1)
    first, after = logits[0, 0], _logits(network, {**inputs, "input_ids": changed})[0, 0]
    sees_last = bool((after - first).norm() > ROUNDING * first.norm())
    return Head(None, "masked" if sees_last else "causal")


ROUNDING = 1e-4
"""Part of the size of logits; a model whose logits differ by more has read another text."""


def _sizes_of_vocabulary(network: Any) -> set[int | None]:
    embeddings = network.get_input_embeddings()
    size = getattr(network.config.get_text_config(), "vocab_size", None)
    return {size, getattr(embeddings, "num_embeddings", size)} - {None}


def _trial(network: Any) -> tuple[Tensor | None, dict[str, Any]]:
    """Return the logits of the first trial input that the model takes, and this input."""
    try:
        for inputs in trial_inputs(network):
            try:
                return _logits(network, inputs), inputs
            except FAILURES:
                continue
    except (UnsupportedModelError, *FAILURES):
        pass
    return None, {}


def _logits(network: Any, inputs: Mapping[str, Any]) -> Any:
    with torch.inference_mode():
        logits = getattr(network(**inputs), "logits", None)
    return logits if isinstance(logits, Tensor) else None
