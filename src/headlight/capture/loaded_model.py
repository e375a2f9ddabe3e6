"""Model with its inputs: ids, padding, sound."""

import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headlight.capture.model_identity import digest_of_tokenizer, digest_of_weights, identity_of
from headlight.capture.prediction_heads import Head, head_of
from headlight.capture.sound_features import SoundListener
from headlight.capture.tokenizer_check import require_fitting
from headlight.capture.wrapped_models import unwrap
from headlight.encode.batch import Batch
from headlight.errors import UsageError, setting
from headlight.vocabulary import MODEL_LABEL, base_name


def _let_experts_run(network: PreTrainedModel) -> None:
    """Compute the experts of a model in float64 one by one.

    The product of grouped matrices, which transformers computes them by, has no float64.
    """
    if network.dtype != torch.float64:
        return
    for module in network.modules():
        config: Any = getattr(module, "config", None)
        if getattr(config, "_experts_implementation", None) == "grouped_mm":
            config._experts_implementation = "eager"


# Not Self, which the checker of types at run time knows in classes that it decorates as a whole.
Loaded = TypeVar("Loaded", bound="LoadedModel")


@dataclass(eq=False, repr=False)
class LoadedModel:
    """Model with its tokenizer and its inputs.

    Attributes:
        transformer: Model of transformers, in evaluation mode.
        tokenizer: Tokenizer of the model; None for models of pictures or sound.
        name: Name of the model, as given by the user.
        revision: Commit of the hub, or digest of the weights.
        tokenizer_problem: Reason why there is no tokenizer, where that is known.
        trust_remote_code: Whether the user let code run that comes with the model, so that workers
            which load it again may do so as well.
        quantisation: Type of a GGUF file that its weights were rounded to, such as ``Q4_1``; empty
            where they were not.
        label: Name of the model in titles; by default the end of its name.
    """

    transformer: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None = None
    name: str = "model"
    revision: str = "unknown"
    tokenizer_problem: str = ""
    trust_remote_code: bool = False
    quantisation: str = ""
    label: str = ""
    _fitting: Any = field(default=None, init=False, repr=False)
    _promised: bool = field(default=False, init=False, repr=False)
    _digests: tuple[str, str] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.transformer = unwrap(self.transformer)
        _let_experts_run(self.transformer)

    def __repr__(self) -> str:
        """Return a short text: a model and its tokenizer would print a hundred lines."""
        kind = type(self.transformer).__name__
        dtype = str(self.transformer.dtype).removeprefix("torch.")
        return f"<{type(self).__name__} {self}: {kind}, {dtype}, {self.transformer.device}>"

    def __str__(self) -> str:
        """Return the name in sentences: as users named the model, or the end of its path."""
        return self.label or base_name(self.name)

    @property
    def origin(self) -> dict[str, str]:
        """Return the attributes by which a result names its model."""
        attributes = {"model": self.name, "revision": self.revision}
        more = {"quantisation": self.quantisation, MODEL_LABEL: self.label}
        return attributes | {name: value for name, value in more.items() if value}

    def called(self: Loaded, label: str | None) -> Loaded:
        """Return the model with another name in titles; None leaves that as it is."""
        return self if label is None else replace(self, label=label)

    @cached_property
    def head(self) -> Head:
        """Return what the model predicts, if anything."""
        return head_of(self.transformer)

    @property
    def hears(self) -> bool:
        """Return whether the model hears: its encoder reads sound, its decoder a transcript."""
        return self.transformer.main_input_name == "input_features" and self.has_decoder_inputs

    @property
    def sees(self) -> bool:
        """Return whether the model reads pictures alone, as an encoder of patches does."""
        takes_pixels = self.transformer.main_input_name == "pixel_values"
        return takes_pixels and not (self._accepts("input_ids") or self._is_encoder_decoder())

    @cached_property
    def listener(self) -> SoundListener:
        """Return the audio input, which turns sound into what the model reads.

        Raises:
            UsageError: the model reads something else.
        """
        if not self.hears:
            raise UsageError(f"{self} reads no speech; give a model that does, such as Whisper.")
        return SoundListener.from_model(self.transformer, self.name)

    def inputs(self, batch: Batch, *, side: str = "right") -> dict[str, Any]:
        """Return the arguments of the forward pass, for a batch of texts padded on `side`.

        Segments go to models that have more than one; positions are given where padding on the
        left would move them; nothing is cached.
        """
        if batch.arguments is not None:
            return dict(batch.arguments)
        config: Any = self.transformer.config
        arguments: dict[str, Any] = {
            "input_ids": batch.input_ids,
            "attention_mask": batch.attention_mask,
        }
        if batch.features is not None:
            arguments = {str(self.transformer.main_input_name): batch.features}
        if (getattr(config, "type_vocab_size", 0) or 0) > 1 and self._accepts("token_type_ids"):
            arguments["token_type_ids"] = batch.token_type_ids
        arguments |= self._position_arguments(batch, side)
        if batch.target_ids is not None:
            arguments["decoder_input_ids"] = batch.target_ids
            arguments["decoder_attention_mask"] = batch.target_mask
        if self.reads_twice:  # what the encoder does not see, the decoder does not see either
            first = torch.ones_like(batch.attention_mask[:, :1])
            target_mask = torch.cat([first, batch.attention_mask[:, :-1]], 1)
            arguments["decoder_attention_mask"] = target_mask
        if getattr(config, "use_cache", False) and not self._is_bare_encoder():
            arguments["use_cache"] = False
        return arguments

    def base(self: Loaded) -> Loaded:
        """Return the model without its head, as a model of its own that shares the weights.

        A model that is not built of a base and a head (T5, say) stays what it is.  The two cannot
        be captured at the same time.
        """
        base = self.transformer.base_model
        has_base = isinstance(base, PreTrainedModel) and base is not self.transformer
        return self._part(base) if has_base else self

    def encoder(self: Loaded) -> Loaded:
        """Return the encoder of an encoder-decoder model, as a model of its own."""
        return self._part(self.transformer.get_encoder())

    def _part(self: Loaded, network: PreTrainedModel) -> Loaded:
        return replace(self, transformer=network)

    def identity(self) -> dict[str, str]:
        """Return name and revision, and all that results depend on; see `identity_of`."""
        digests = self._digests or (
            digest_of_weights(self.transformer),
            digest_of_tokenizer(self.tokenizer),
        )
        if self._promised:
            self._digests = digests
        weights, tokenizer = digests
        attributes = {"model": self.name, "revision": self.revision}
        return attributes | identity_of(self.transformer, weights=weights, tokenizer=tokenizer)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Promise that weights and tokenizer stay within the block: `identity` reads them once."""
        within, self._promised = self._promised, True
        try:
            yield
        finally:
            self._promised = within
            self._digests = self._digests if within else None

    def require_tokenizer(self, purpose: str) -> PreTrainedTokenizerBase:
        """Return the tokenizer, or refuse a model without one.

        Args:
            purpose: Purpose of the tokenizer, as the end of a sentence: ``a study reads text``.

        Raises:
            UsageError: there is no tokenizer.
            ModelError: the tokenizer does not fit the model.
        """
        if self.tokenizer is None:
            why = f" ({self.tokenizer_problem})" if self.tokenizer_problem else ""
            reads = self.transformer.main_input_name == "input_ids"  # and not pictures or sound
            cure = f"; name one with {setting('tokenizer=')}" if reads else ""
            raise UsageError(f"{self} has no tokenizer{why}, and {purpose}{cure}.")
        if self._fitting is not self.tokenizer:
            require_fitting(self.tokenizer, self.transformer, self.name)
            self._fitting = self.tokenizer
        return self.tokenizer

    def require_translator(self) -> None:
        """Refuse a model that has no decoder which reads a translation.

        Raises:
            UsageError: the model has no such decoder.
        """
        if not self.has_decoder_inputs:
            raise UsageError(
                f"{self} has no decoder that attends to a source; name a translation model, "
                "such as Helsinki-NLP/opus-mt-de-en."
            )

    @property
    def has_decoder_inputs(self) -> bool:
        """Return whether a forward pass needs a second text for the decoder."""
        return self._is_encoder_decoder() and not self.reads_twice

    @property
    def reads_twice(self) -> bool:
        """Return whether the model itself gives the decoder the encoder's text, one place later.

        So do the classifiers of texts among encoder-decoders (BART, T5); the class is read off
        where the decoder reaches the end of the text.
        """
        return self._is_encoder_decoder() and self.head.task == "sequence"

    @property
    def padding(self) -> int:
        """Return the id that fills the gaps of a batch.

        It is the model's own, by which decoders that classify find the last token of a text; else
        that of the tokenizer, and failing that any id, since it is masked.
        """
        config = self.transformer.config.get_text_config()
        size = getattr(config, "vocab_size", None) or torch.inf  # some take any character
        ids = (getattr(holder, "pad_token_id", None) for holder in (config, self.tokenizer))
        return next((pad_id for pad_id in ids if isinstance(pad_id, int) and 0 <= pad_id < size), 0)

    @property
    def longest(self) -> int | None:
        """Return the most tokens of a text, or transcript, that the model says that it can take.

        Special tokens are included.  What its tokenizer declares counts only where the model has no
        number of positions: files of tokenizers often say how long the texts of a training were.
        """
        config = self.transformer.config
        named = "max_target_positions" if self.hears else "max_position_embeddings"
        positions = getattr(config, named, None)
        if isinstance(positions, int) and self._counts_positions():
            # These count from behind the padding id, and so lose the places before it.
            positions -= (getattr(config, "pad_token_id", None) or 0) + 1
        declared = getattr(self.tokenizer, "model_max_length", None)
        # Models with relative positions say -1, tokenizers without a limit 10^30.
        numbers = [n for n in (positions, declared) if isinstance(n, int | float)]
        return next((int(n) for n in numbers if 0 < n < 10**9), None)

    @property
    def decoder_start(self) -> int | None:
        """Return the id with which the decoder begins; None where no second text is needed.

        Raises:
            UsageError: the configuration of an encoder-decoder model does not say.
        """
        if not self.has_decoder_inputs:
            return None
        start = getattr(self.transformer.config, "decoder_start_token_id", None)
        if start is None:
            raise UsageError(
                f"the configuration of {self} has no decoder_start_token_id; set it, so that "
                "a text can be given to the decoder."
            )
        return int(start)

    def require_positions(self, positions: Sequence[int]) -> None:
        """Refuse position ids that the model does not take; there may be none.

        Raises:
            UsageError: the model takes none, or has no such position.
        """
        if positions and not self._accepts("position_ids"):
            raise UsageError(f"{self} takes no position_ids; leave them out.")
        most = getattr(self.transformer.config.get_text_config(), "max_position_embeddings", None)
        if isinstance(most, int) and 0 < most <= max(positions, default=0):
            raise UsageError(
                f"{self} has positions 0 to {most - 1}, and not {max(positions)}; give others."
            )

    def _position_arguments(self, batch: Batch, side: str) -> dict[str, torch.Tensor]:
        """Return the position ids of a batch, where the model does not count them itself."""
        if side == "left" and self._accepts("position_ids") and not self._counts_positions():
            return {"position_ids": (batch.attention_mask.cumsum(-1) - 1).clamp(min=0)}
        return {} if batch.position_ids is None else {"position_ids": batch.position_ids}

    def _accepts(self, argument: str) -> bool:
        return argument in inspect.signature(self.transformer.forward).parameters

    def _counts_positions(self) -> bool:
        """Return whether the model itself finds positions past padding (RoBERTa and its kin)."""
        count = "create_position_ids_from_input_ids"  # of embeddings, or a function beside them
        return any(
            hasattr(module, count) or hasattr(sys.modules.get(type(module).__module__), count)
            for module in self.transformer.modules()
        )

    def _is_encoder_decoder(self) -> bool:
        return bool(self.transformer.config.is_encoder_decoder) and not self._is_bare_encoder()

    def _is_bare_encoder(self) -> bool:
        return bool(self.transformer.config.is_encoder_decoder) and not self._accepts(
            "decoder_input_ids"
        )

    def check_evaluation(self) -> None:
        """Refuse a model in training mode.

        Raises:
            UsageError: the model is in training mode.
        """
        if any(module.training for module in self.transformer.modules()):
            raise UsageError(
                f"{self} is in training mode, where dropout changes attention at random; call "
                "model.eval() first."
            )
