"""A model made ready to be captured."""

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import torch
import xarray
from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headlight.capture.attention import (
    digest_of_tokenizer,
    digest_of_weights,
    identity_of,
    unwrapped,
)
from headlight.capture.backward import (
    NotFiniteError,
    check_differentiable,
    explained,
    frozen,
    own_precision,
    require_finite,
    require_fitting,
)
from headlight.capture.batching import check_batching, task_of, trial_example
from headlight.capture.listener import Listener, Viewer
from headlight.capture.objectives import Objective, Prepared, only_predicted
from headlight.capture.record import AttentionSite, require_all_heads
from headlight.capture.residual_stream import (
    NoResidualSite,
    ResidualSite,
    StreamPlaces,
    find_stream,
    followed,
)
from headlight.capture.residual_tracing import ResidualCheck, trace_residuals
from headlight.capture.session import Recorder, recorder_of, recording
from headlight.capture.sites import trace
from headlight.capture.trial_inputs import trial_inputs
from headlight.encode.batch import Batch, collate
from headlight.encode.examples import Encoded
from headlight.encode.pictures import EncodedPicture, EncodedPrompt
from headlight.encode.speech import EncodedSpeech
from headlight.errors import HeadlightError, UnsupportedModelError, UsageError, setting
from headlight.vocabulary import MODEL_LABEL, Kind, base_name

# Not Self, which the checker of types at run time knows in classes that it decorates as a whole.
_Model = TypeVar("_Model", bound="CapturedModel")
NO_LAYER = "no layer is selected; name at least one, or leave layers out for all."
VERIFIED = 128
"""Tokens of the example on which a model is verified: all layers of it are held at once, which for
512 tokens of SmolLM2 were 920 MB, more than the rest of a survey."""
OF_TEXT = {"input_ids", "attention_mask", "token_type_ids", "decoder_input_ids", "use_cache"}
"""Arguments of a forward pass that a text gives."""
_TRIAL_FAILURES = (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError)


@dataclass(eq=False, repr=False)
class CapturedModel:
    """A model, its tokenizer, and where its attention is.

    Attributes:
        transformer: any transformers model, in evaluation mode.
        tokenizer: its tokenizer; None for models of pictures or sound.
        name: what the user called it.
        revision: commit of the hub, or digest of the weights.
        tokenizer_problem: why there is no tokenizer, where that is known.
        trust_remote_code: whether the user let code run that comes with the model, so that workers
            which load it again may do so as well.
        quantisation: the type of a GGUF file that its weights were rounded to, such as ``Q4_1``;
            empty where they were not.
        label: what titles call it; by default the end of its name.
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
    _traced_on: Mapping[str, Any] | None = field(default=None, init=False, repr=False)
    _trial: Mapping[str, Any] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.transformer = unwrapped(self.transformer)

    def __repr__(self) -> str:
        """Short: a model and its tokenizer would print a hundred lines."""
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

    def called(self: _Model, label: str | None) -> _Model:
        """Return the model with another name in titles; None leaves that as it is."""
        return self if label is None else replace(self, label=label)

    @cached_property
    def sites(self) -> list[AttentionSite]:
        """Every run of an attention module in one forward pass, in order.

        Raises:
            UnsupportedModelError: the attention cannot be captured exactly.
        """
        self._check_evaluation()
        network = self._trial_network
        first: Exception | None = None
        for inputs in trial_inputs(network):
            try:
                with self.running(("a trial input",)):
                    sites = trace(network, inputs)
                self._trial = inputs
                return sites
            except HeadlightError:
                raise
            except _TRIAL_FAILURES as problem:
                first = first or problem
        raise UnsupportedModelError(
            f"{self} does not run on a trial input ({first}); give `trace` an input of your own."
        ) from first

    @property
    def _trial_network(self) -> Any:
        """Return the module for trial inputs: a head that reads a text twice hides the kinds."""
        return self.transformer.base_model if self.reads_twice else self.transformer

    def trace(self, inputs: Mapping[str, Any]) -> list[AttentionSite]:
        """Find `sites` on inputs of your own, for a model without a trial input."""
        self._check_evaluation()
        with self.running():
            self.sites = trace(self.transformer, inputs)
        self._traced_on = inputs
        vars(self).pop("residuals", None)
        return self.sites

    @cached_property
    def residuals(self) -> dict[AttentionSite, ResidualSite | NoResidualSite]:
        """Return the site of each attention's output in the residual stream, traced on first use.

        Where the layer could not be followed there is the reason.

        Raises:
            UnsupportedModelError: several processes share the heads.
        """
        require_all_heads(self.transformer, "the residual stream")
        network, sites, inputs = self.transformer, self.sites, self._traced_on
        if inputs is None:
            network = self._trial_network
            inputs = self._trial or next(trial_inputs(network))
        with self.running(("a trial input",)):
            return trace_residuals(network, inputs, sites)

    def verify(self, batch: Batch) -> None:
        """Check Eq. 3 of every attention module once more, on real input.

        Source: Kobayashi et al. (2020), Section 2.2, Eq. 3.

        Raises:
            UnsupportedModelError: it does not hold.
        """
        with self.running(batch.names):
            trace(self.transformer, self.inputs(batch))

    def verify_on(self, examples: Iterable[Encoded]) -> Batch | None:
        """Check Eq. 3 and padding on the first suitable one; no capture may be open.

        Returns:
            The batch of its first tokens; None if none of them is suitable.

        Raises:
            UnsupportedModelError: see `verify` and `verify_batching`.
        """
        example = next((each for each in examples if each.shows_its_kinds), None)
        if example is None:
            return None
        batch = self.collate([example.beginning(VERIFIED)])
        self.verify(batch)
        self.verify_batching(example)
        return batch

    def verify_batching(self, example: Encoded | None = None) -> float | None:
        """Check that it reads a text in a padded batch as it reads the text alone.

        Args:
            example: of whose tokens two short texts are made; by default of those of a trial input.

        Returns:
            The largest difference, see `check_batching`; None without an example, where the model
            does not read a text alone.

        Raises:
            UnsupportedModelError: padding gets weight, keys are other than tokens, or there is a
                difference beyond rounding.
        """
        if example is not None:
            return check_batching(self, example)
        trial = trial_example(self)
        try:
            return None if trial is None else check_batching(self, trial)
        except HeadlightError:
            raise
        except _TRIAL_FAILURES:  # it needs a picture, say, beside the text
            return None

    def verify_residuals(self, batch: Batch, sites: Iterable[AttentionSite] | None = None) -> None:
        """Check on real input that the parts add up to what leaves the attention blocks.

        Of a block to whose sum the feed-forward is added as well, only the trial input was checked.

        Raises:
            UnsupportedModelError: they do not, or a layer could not be followed.
        """
        check = ResidualCheck()
        chosen = [self.sites[number] for number in self.numbers_of(sites)]
        with self.capture(chosen, residual=True) as recorder:
            recorder.visit = check.visit
            with check.watching(followed(self.residuals[site]).output for site in chosen):
                self.run(batch)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention that the model has: ``encoder``, ``decoder``, ``cross``.

        Of a model that reads its text twice the first alone, since the positions of its decoder
        are those of the text moved by one.
        """
        kinds = {"encoder"} if self.reads_twice else {site.kind for site in self.sites}
        return tuple(kind for kind in ("encoder", "decoder", "cross") if kind in kinds)

    def sites_of(self, kind: Kind, layers: Iterable[int] | None = None) -> list[AttentionSite]:
        """The sites of one kind, all or those of the layers asked for.

        Raises:
            UsageError: the model has no attention of that kind, or no such layer, or no layer is
                asked for.
        """
        sites = [site for site in self.sites if site.kind == kind]
        if kind not in self.kinds:
            raise UsageError(f"{self} has no {kind} attention; it has: {', '.join(self.kinds)}.")
        if layers is None:
            return sites
        chosen = set(layers)
        if not chosen:
            raise UsageError(NO_LAYER)
        missing = sorted(chosen - {site.layer for site in sites})
        if missing:
            numbers = self.own_numbers(kind)
            own = f" (of the model: {', '.join(map(str, numbers.values()))})" if numbers else ""
            raise UsageError(
                f"{self} has no {kind} layer {missing[0]}: its layers are 0 to "
                f"{len(sites) - 1}{own}."
            )
        return [site for site in sites if site.layer in chosen]

    def own_numbers(self, kind: Kind) -> dict[int, int]:
        """Return the model's own number of each layer that attends; empty where both agree.

        Hybrids have layers of other sorts between those that attend.
        """
        sites = [site for site in self.sites if site.kind == kind]
        numbers = [site.own_number for site in sites if site.own_number is not None]
        rising = len(numbers) == len(sites) and sorted(set(numbers)) == numbers
        own = dict(enumerate(numbers)) if rising else {}
        return own if any(layer != number for layer, number in own.items()) else {}

    def with_own_numbers(self, result: xarray.Dataset, kind: Kind) -> xarray.Dataset:
        """Return a result with the coordinate ``model_layer`` where `own_numbers` has any."""
        numbers = self.own_numbers(kind) if "layer" in result.coords else {}
        layers = result["layer"].values.tolist() if numbers else []
        if not numbers or not numbers.keys() >= set(layers):
            return result
        described = {"long_name": "number of the layer in the model", "units": "1"}
        own = ("layer", [numbers[layer] for layer in layers], described)
        return result.assign_coords(model_layer=own)

    @cached_property
    def stream(self) -> StreamPlaces:
        """Return the modules that receive the input of each block; empty where none is found."""
        network = self._trial_network
        try:
            with self.running(("a trial input",)):
                return find_stream(network, self._trial or next(trial_inputs(network)))
        except (HeadlightError, *_TRIAL_FAILURES):
            return {}

    @contextmanager
    def capture(
        self,
        sites: Iterable[AttentionSite] | None = None,
        *,
        residual: bool = False,
        stream: bool = False,
    ) -> Iterator[Recorder]:
        """Record attention while the block runs the model; then the model is as it was.

        Set ``visit`` of the recorder to a function of a `LayerRecord`; it is called while the
        forward pass runs, once for each of `sites` (default: all).  Sites left out keep the fast
        attention that they had.  With `residual` records say what the output of the attention is
        added to, and what that output is; with `stream` what entered the block, where that is
        found.

        Raises:
            CaptureError: the model is being captured already, or runs otherwise than when traced.
            UnsupportedModelError: the residual is asked for, and what a layer does with the output
                of its attention could not be followed.
            UsageError: the model is in training mode, or a site is not one of its `sites`.
        """
        self._check_evaluation()
        wanted = self.numbers_of(sites)
        chosen = [self.sites[number] for number in sorted(wanted)] if residual else []
        residuals = {site: followed(self.residuals[site]) for site in chosen}
        places = self.stream if stream else None
        with recording(
            self.transformer, self.sites, wanted, residuals=residuals, stream=places
        ) as recorder:
            yield recorder

    def numbers_of(self, sites: Iterable[AttentionSite] | None) -> frozenset[int]:
        """The places of these among all `sites`; of None all places.

        Raises:
            UsageError: a site is not one of them.
        """
        order = {site: number for number, site in enumerate(self.sites)}
        chosen = self.sites if sites is None else list(sites)
        if any(site not in order for site in chosen):
            raise UsageError(
                f"a site to capture belongs to another model or trace; take it from the sites of "
                f"{self} itself."
            )
        return frozenset(order[site] for site in chosen)

    def collate(self, examples: Sequence[Encoded]) -> Batch:
        """The examples as one batch, where the model is, with its padding; sound is read now."""
        padding = getattr(self.tokenizer, "pad_token_id", None)
        batch = collate(examples, pad_id=padding or 0, device=self.transformer.device)
        if isinstance(examples[0], EncodedPrompt):
            return replace(batch, arguments=examples[0].arguments)
        if visible := [each for each in examples if isinstance(each, EncodedPicture)]:
            return replace(batch, features=self.viewer.features(visible))
        spoken = [each for each in examples if isinstance(each, EncodedSpeech)]
        if not spoken:
            return batch
        features, audible_frames = self.listener.features(spoken)
        return replace(batch, features=features, heard=audible_frames)

    @property
    def hears(self) -> bool:
        """Whether it reads speech: sound goes to its encoder, and a transcript to its decoder."""
        return self.transformer.main_input_name == "input_features" and self.has_decoder_inputs

    @property
    def sees(self) -> bool:
        """Whether it reads pictures alone, as an encoder of patches does."""
        takes_pixels = self.transformer.main_input_name == "pixel_values"
        return takes_pixels and not (self._accepts("input_ids") or self._is_encoder_decoder())

    @property
    def sees_beside_text(self) -> bool:
        """Whether it reads pictures beside a text, in the place of image tokens."""
        return getattr(self.transformer.config, "image_token_id", None) is not None

    @property
    def inputs_beside_text(self) -> list[str]:
        """Return the inputs of a forward pass that no text gives, such as ``pixel_values``."""
        arguments = inspect.signature(self.transformer.forward).parameters
        main = self.transformer.main_input_name
        if "input_ids" not in arguments and main != "input_ids":
            return [main] if isinstance(main, str) else list(main)
        if self._traced_on is None:
            _ = self.sites  # of which the trial input is known
        needed = {
            name
            for name, each in arguments.items()
            if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
        }
        return sorted((needed | set(self._trial or ())) - OF_TEXT)

    @cached_property
    def listener(self) -> Listener:
        """Return the audio input, which turns sound into what the model reads.

        Raises:
            UsageError: it reads something else.
        """
        if not self.hears:
            raise UsageError(f"{self} reads no speech; give a model that does, such as Whisper.")
        return Listener.of(self.transformer, self.name)

    @cached_property
    def viewer(self) -> Viewer:
        """Return the input for pictures, which turns them into what the model reads.

        Raises:
            UsageError: it reads something else, or does not say how.
        """
        if self._accepts("grid_thw") or self._accepts("image_grid_thw"):
            raise UsageError(
                f"{self.name} takes the patches of all its pictures as one row, in blocks that "
                "attend to themselves (grid_thw), and is not read alone; give a text beside the "
                "picture, or an encoder such as google/vit-base-patch16-224."
            )
        if not self.sees:
            raise UsageError(
                f"{self} reads no pictures; give a model that does, such as "
                "google/vit-base-patch16-224."
            )
        return Viewer.of(self.transformer, self.sites[0].module, self.name)

    def vision(self: _Model) -> _Model:
        """Return the model that reads pictures: itself, or the tower of one of text and pictures.

        What has neither is refused by `viewer`.
        """
        tower = self if self.sees else self.transformer.get_encoder(modality="image")
        return self._part(tower) if isinstance(tower, PreTrainedModel) else self

    def language(self: _Model) -> _Model:
        """Return the language model behind an encoder of pictures; else the model itself."""
        part = self.transformer.get_decoder()
        return self._part(part) if isinstance(part, PreTrainedModel) else self

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
        if side == "left" and self._accepts("position_ids") and not self._counts_positions():
            arguments["position_ids"] = (batch.attention_mask.cumsum(-1) - 1).clamp(min=0)
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

    @contextmanager
    def running(self, texts: tuple[str, ...] = ()) -> Iterator[None]:
        """Within the block the model runs on these texts, in its own precision.

        Raises:
            CaptureError: what it computes is not finite.
            ModelError: because its weights are not.
        """
        try:
            with own_precision(self.transformer.device):
                yield
        except NotFiniteError as problem:
            raise explained(problem, self.transformer, self.name, texts) from problem

    def run(self, batch: Batch, *, side: str = "right", **options: Any) -> Any:
        """One forward pass, for what is recorded on the way.

        Args:
            batch: what the model reads.
            side: where it is padded.
            options: what else the forward pass takes, such as ``output_hidden_states``.

        Returns:
            The output of the model.

        Raises:
            CaptureError: attention is captured, and is not finite.
        """
        with torch.inference_mode(), self.running(batch.names):
            return self.transformer(**self.inputs(batch, side=side), **options)

    def run_backward(
        self, batch: Batch, objective: Objective, *, side: str = "right"
    ) -> Float[Tensor, " batch"]:
        """One forward pass and one backward, within a `capture`; records come with gradients.

        They come during the backward pass, so from the last layer to the first.  Gradients are
        those of the sum of the losses with respect to every single weight, as if it could change
        alone; where a query cannot see a key they are 0.  Parameters get none, and no graph is left
        behind.  The gradients of a model in float16 can vanish; bfloat16 keeps their range.

        Args:
            batch: as collated, or as the objective has prepared it.
            objective: whose loss is differentiated.
            side: where the batch is padded.

        Returns:
            The loss of each sequence, in nats.

        Raises:
            UsageError: no capture is open, or the objective does not fit the model.
            CaptureError: a number is not finite, or a loss does not depend on the weights of a
                site.
        """
        recorder = recorder_of(self.transformer)
        check_differentiable(self.transformer, self.name)
        prepared = batch if isinstance(batch, Prepared) else objective.prepare(batch)
        with (
            self.running(batch.names),
            frozen(self.transformer),
            torch.inference_mode(mode=False),
            torch.enable_grad(),
            recorder.taped() as tape,
            only_predicted(self.transformer, objective, prepared),
        ):
            output = self.transformer(**self.inputs(prepared, side=side))
            losses = objective.loss(output, prepared)
            require_finite("the loss", losses)
            del output  # nothing needs the logits of the whole vocabulary any more
            tape.run(losses)
        return losses.detach()

    def base(self: _Model) -> _Model:
        """Return the model without its head, as a model of its own that shares the weights.

        A model that is not built of a base and a head (T5, say) stays what it is.  Only one of the
        two can be captured at a time.
        """
        return self._part(self.transformer.base_model)

    def encoder(self: _Model) -> _Model:
        """The encoder of an encoder-decoder model, as a model of its own."""
        return self._part(self.transformer.get_encoder())

    def identity(self) -> dict[str, str]:
        """Name and revision, and all that results depend on; see `identity_of`."""
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
        """Within the block nobody changes weights or tokenizer: `identity` reads them only once."""
        within, self._promised = self._promised, True
        try:
            yield
        finally:
            self._promised = within
            self._digests = self._digests if within else None

    def require_tokenizer(self, purpose: str) -> PreTrainedTokenizerBase:
        """The tokenizer.

        Args:
            purpose: what needs it, as the end of a sentence: ``a study reads text``.

        Raises:
            UsageError: there is none.
            ModelError: it is not one that the model can read with.
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
            UsageError: it has none.
        """
        if not self.has_decoder_inputs:
            raise UsageError(
                f"{self} has no decoder that attends to a source; name a translation model, "
                "such as Helsinki-NLP/opus-mt-de-en."
            )

    @property
    def has_decoder_inputs(self) -> bool:
        """Whether a forward pass wants a second text for the decoder."""
        return self._is_encoder_decoder() and not self.reads_twice

    @property
    def reads_twice(self) -> bool:
        """Whether the model itself gives the decoder the text of the encoder, one place later.

        So do the classifiers of texts among encoder-decoders (BART, T5); the class is read off
        where the decoder reaches the end of the text.
        """
        name = type(self.transformer).__name__
        return self._is_encoder_decoder() and task_of(name) == "sequence"

    @property
    def longest(self) -> int | None:
        """Tokens of a text, or transcript, that the model can take, as far as it says.

        Special ones are included.  What its tokenizer declares counts only where the model has no
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
        """The id with which the decoder begins; None where no second text is wanted.

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

    def _part(self: _Model, network: PreTrainedModel) -> _Model:
        return replace(self, transformer=network)

    def _accepts(self, argument: str) -> bool:
        return argument in inspect.signature(self.transformer.forward).parameters

    def _counts_positions(self) -> bool:
        """Whether the model finds positions by itself, past the padding (RoBERTa and its kin)."""
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

    def _check_evaluation(self) -> None:
        if any(module.training for module in self.transformer.modules()):
            raise UsageError(
                f"{self} is in training mode, where dropout changes attention at random; call "
                "model.eval() first."
            )
