"""Model made ready to be captured."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
import xarray
from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel

from headlight.capture.attention_site import AttentionSite
from headlight.capture.attention_tracing import trace
from headlight.capture.batching_check import (
    check_batching,
    check_predictions,
    padding_watched,
    resized,
    trial_example,
)
from headlight.capture.differentiation import check_differentiable, frozen
from headlight.capture.finite_numbers import NotFiniteError, explained, require_finite
from headlight.capture.loaded_model import LoadedModel
from headlight.capture.objectives import Objective, Prepared
from headlight.capture.picture_patches import Viewer
from headlight.capture.predicted_positions import only_predicted
from headlight.capture.recorder import Recorder, recorder_of, recording
from headlight.capture.residual_connection import NoResidualSite, ResidualSite, followed
from headlight.capture.residual_stream import StreamPlaces, find_stream
from headlight.capture.residual_tracing import ResidualCheck, trace_residuals
from headlight.capture.tensor_parallel import require_all_heads
from headlight.capture.torch_settings import own_precision
from headlight.capture.trial_inputs import FAILURES, trial_inputs
from headlight.encode.batch import Batch, collate
from headlight.encode.examples import Encoded
from headlight.encode.picture_prompts import EncodedPrompt
from headlight.encode.pictures import EncodedPicture
from headlight.encode.speech import EncodedSpeech
from headlight.errors import HeadlightError, ModelError, UnsupportedModelError, UsageError
from headlight.vocabulary import Kind

# Not Self, which the checker of types at run time knows in classes that it decorates as a whole.
_Model = TypeVar("_Model", bound="CapturedModel")
NO_LAYER = "no layer is selected; name at least one, or leave layers out for all."
VERIFIED = 128
"""Number of tokens of the example on which a model is verified: all layers of it are held at once,
which for 512 tokens of SmolLM2 were 920 MB, more than the rest of a survey."""
NO_PADDING = "no padding token is defined"
"""Part of the message of transformers' classifying decoders when given several texts at once."""
OF_TEXT = {"input_ids", "attention_mask", "token_type_ids", "decoder_input_ids", "use_cache"}
"""Arguments of a forward pass that a text gives."""


@dataclass(eq=False, repr=False)
class CapturedModel(LoadedModel):
    """Model with its tokenizer and attention sites; see `LoadedModel` for its attributes."""

    _traced_on: Mapping[str, Any] | None = field(default=None, init=False, repr=False)
    _trial: Mapping[str, Any] | None = field(default=None, init=False, repr=False)

    @cached_property
    def sites(self) -> list[AttentionSite]:
        """Return every run of an attention module in one forward pass, in order.

        Raises:
            UnsupportedModelError: the attention cannot be captured exactly.
        """
        self.check_evaluation()
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
            except FAILURES as problem:
                first = first or problem
        raise UnsupportedModelError(
            f"{self} does not run on a trial input ({first}); give `trace` an input of your own."
        ) from first

    @property
    def _trial_network(self) -> Any:
        # A head that reads a text twice would hide the kinds of attention.
        return self.transformer.base_model if self.reads_twice else self.transformer

    def headless(self: _Model) -> _Model:
        """Return the model for what no head is asked: to compute one takes time.

        The head stays where the model was traced on the caller's inputs, or reads a text twice.
        """
        return self if self.reads_twice or self._traced_on is not None else self.base()

    def trace(self, inputs: Mapping[str, Any]) -> list[AttentionSite]:
        """Find `sites` on the caller's inputs, for a model without a trial input."""
        self.check_evaluation()
        with self.running():
            self.sites = trace(self.transformer, inputs)
        self._traced_on = inputs
        vars(self).pop("residuals", None)  # they are of the sites found before
        return self.sites

    @cached_property
    def residuals(self) -> dict[AttentionSite, ResidualSite | NoResidualSite]:
        """Return the site of each attention's output in the residual stream, traced on first use.

        A layer that could not be followed has a `NoResidualSite` with the reason.

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
            UnsupportedModelError: the equation does not hold.
        """
        with self.running(batch.names):
            trace(self.transformer, self.inputs(batch))

    def verify_on(self, examples: Iterable[Encoded]) -> Batch | None:
        """Check Eq. 3 and padding on the first suitable example; no capture may be open.

        Returns:
            The batch of its first tokens; None if no example is suitable.

        Raises:
            UnsupportedModelError: see `verify` and `verify_batching`.
        """
        example = next((candidate for candidate in examples if candidate.shows_its_kinds), None)
        if example is None:
            return None
        batch = self.collate([shortened(example)])
        self.verify(batch)
        self.verify_batching(example)
        return batch

    def verify_batching(self, example: Encoded | None = None) -> float | None:
        """Check that the model reads a text in a padded batch as it reads the text alone.

        With a head, it has to predict the same of both.

        Args:
            example: Example of whose tokens two short texts are made; by default a trial input.

        Returns:
            The largest difference, see `check_batching`; None where the model does not read such
            texts alone.

        Raises:
            UnsupportedModelError: padding gets weight, keys are other than tokens, or there is a
                difference beyond rounding.
        """
        tried = trial_example(self) if example is None else example
        if tried is None:
            return None
        try:
            return max(check_batching(self, tried), check_predictions(self, tried))
        except HeadlightError:
            raise
        except FAILURES:  # the model needs a picture, say, or what else two short texts lack
            return None

    def verify_residuals(self, batch: Batch, sites: Iterable[AttentionSite] | None = None) -> None:
        """Check on real input that the parts add up to the output of the attention blocks.

        A block to whose sum the feed-forward is added as well was checked on the trial input only.

        Raises:
            UnsupportedModelError: the parts do not, or a layer could not be followed.
        """
        check = ResidualCheck()
        chosen = [self.sites[number] for number in self.numbers_of(sites)]
        with self.capture(chosen, residual=True) as recorder:
            recorder.visit = check.visit
            with check.watching(followed(self.residuals[site]).output for site in chosen):
                self.run(batch)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Return the kinds of attention that the model has: ``encoder``, ``decoder``, ``cross``.

        A model that reads its text twice has the first alone, since the positions of its decoder
        are those of the text moved by one.
        """
        kinds = {"encoder"} if self.reads_twice else {site.kind for site in self.sites}
        return tuple(kind for kind in ("encoder", "decoder", "cross") if kind in kinds)

    def sites_of(self, kind: Kind, layers: Iterable[int] | None = None) -> list[AttentionSite]:
        """Return the sites of one kind, all or those of the layers requested.

        Raises:
            UsageError: the model has no attention of that kind, or no such layer, or no layer is
                requested.
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
            model_numbers = (
                f" (of the model: {', '.join(map(str, numbers.values()))})" if numbers else ""
            )
            raise UsageError(
                f"{self} has no {kind} layer {missing[0]}: its layers are 0 to "
                f"{len(sites) - 1}{model_numbers}."
            )
        return [site for site in sites if site.layer in chosen]

    def own_numbers(self, kind: Kind) -> dict[int, int]:
        """Return the model's own number of each layer that attends; empty where both agree.

        Hybrids have layers of other sorts between those that attend.
        """
        sites = [site for site in self.sites if site.kind == kind]
        numbers = [site.own_number for site in sites if site.own_number is not None]
        rising = len(numbers) == len(sites) and sorted(set(numbers)) == numbers
        numbers_by_layer = dict(enumerate(numbers)) if rising else {}
        return (
            numbers_by_layer
            if any(layer != number for layer, number in numbers_by_layer.items())
            else {}
        )

    def with_coordinates(self, result: xarray.Dataset, kind: Kind) -> xarray.Dataset:
        """Return a result with the model's own numbers of its layers and of shared keys and values.

        ``model_layer`` is there where `own_numbers` has any.  ``kv_head``, the head of keys and
        values that a head uses, is there where several heads share one: along ``head``; also along
        ``layer``, and NaN for heads that a layer lacks, where layers differ in it.
        """
        layers = result["layer"].values.tolist() if "layer" in result.coords else []
        numbers = self.own_numbers(kind) if layers else {}
        if numbers and numbers.keys() >= set(layers):
            described = {"long_name": "number of the layer in the model", "units": "1"}
            own = ("layer", [numbers[layer] for layer in layers], described)
            result = result.assign_coords(model_layer=own)
        sites = {site.layer: site for site in self.sites if site.kind == kind}
        grouped = any(site.kv_heads < site.heads for site in self.sites)
        if not (layers and grouped and "head" in result.coords and sites.keys() >= set(layers)):
            return result
        described = {"long_name": "head of keys and values that the head uses", "units": "1"}
        heads, chosen = result["head"].values, [sites[layer] for layer in layers]
        groups = [np.where(heads < s.heads, heads * s.kv_heads // s.heads, np.nan) for s in chosen]
        if all(np.array_equal(group, groups[0]) for group in groups):
            return result.assign_coords(kv_head=("head", groups[0].astype(int), described))
        return result.assign_coords(kv_head=(("layer", "head"), np.array(groups), described))

    @cached_property
    def stream(self) -> StreamPlaces:
        """Return the modules that receive the input of each block; empty where none is found."""
        network = self._trial_network
        try:
            with self.running(("a trial input",)):
                return find_stream(network, self._trial or next(trial_inputs(network)))
        except (HeadlightError, *FAILURES):
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
        added to, and what that output is; with `stream`, what entered the block, where that is
        found.

        Raises:
            CaptureError: the model is being captured already, or runs otherwise than when traced.
            UnsupportedModelError: the residual is requested, and what a layer does with the output
                of its attention could not be followed.
            UsageError: the model is in training mode, or a site is not one of its `sites`.
        """
        self.check_evaluation()
        wanted = self.numbers_of(sites)
        chosen = [self.sites[number] for number in sorted(wanted)] if residual else []
        residuals = {site: followed(self.residuals[site]) for site in chosen}
        places = self.stream if stream else None
        with recording(
            self.transformer, self.sites, wanted, residuals=residuals, stream=places
        ) as recorder:
            yield recorder

    def numbers_of(self, sites: Iterable[AttentionSite] | None) -> frozenset[int]:
        """Return the places of these sites among all `sites`; for None, all places.

        Raises:
            UsageError: a site is not among the `sites` of the model.
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
        """Return the examples as one batch, on the model's device and with its padding.

        Sound is read from its files now.
        """
        batch = collate(examples, pad_id=self.padding, device=self.transformer.device)
        if isinstance(examples[0], EncodedPrompt):
            return replace(batch, arguments=examples[0].arguments)
        if visible := [example for example in examples if isinstance(example, EncodedPicture)]:
            return replace(batch, features=self.viewer.features(visible))
        spoken = [example for example in examples if isinstance(example, EncodedSpeech)]
        if not spoken:
            return batch
        features, audible_frames = self.listener.features(spoken)
        return replace(batch, features=features, heard=audible_frames)

    @property
    def sees_beside_text(self) -> bool:
        """Return whether the model reads pictures beside a text, in the place of image tokens."""
        return getattr(self.transformer.config, "image_token_id", None) is not None

    @property
    def inputs_beside_text(self) -> list[str]:
        """Return the inputs of a forward pass that no text gives, such as ``pixel_values``."""
        arguments = inspect.signature(self.transformer.forward).parameters
        main = self.transformer.main_input_name
        if "input_ids" not in arguments and main != "input_ids":
            return [main] if isinstance(main, str) else list(main)
        if self._traced_on is None:
            _ = self.sites  # tracing finds the trial input
        needed = {
            name
            for name, parameter in arguments.items()
            if parameter.default is parameter.empty
            and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        }
        return sorted((needed | set(self._trial or ())) - OF_TEXT)

    @cached_property
    def viewer(self) -> Viewer:
        """Return the input for pictures, which turns them into what the model reads.

        Raises:
            UsageError: the model reads something else, or does not say how.
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
        return Viewer.from_model(self.transformer, self.sites[0].module, self.name)

    def vision(self: _Model) -> _Model:
        """Return the model that reads pictures: itself, or its tower beside one for text.

        A model that has neither is refused by `viewer`.
        """
        tower = self if self.sees else self.transformer.get_encoder(modality="image")
        return self._part(tower) if isinstance(tower, PreTrainedModel) else self

    def reader(self: _Model) -> _Model:
        """Return the model that reads a text alone: itself, or the tower beside a picture tower.

        Models that compare texts and pictures (CLIP, SigLIP) have towers, and run on both at once.
        """
        compares = hasattr(self.transformer, "get_text_features") and not self.sees_beside_text
        tower = getattr(self.transformer, "text_model", None) if compares else None
        return self._part(tower) if isinstance(tower, PreTrainedModel) else self

    def language(self: _Model) -> _Model:
        """Return the language model behind an encoder of pictures; else the model itself."""
        part = self.transformer.get_decoder()
        return self._part(part) if isinstance(part, PreTrainedModel) else self

    @contextmanager
    def running(self, texts: tuple[str, ...] = ()) -> Iterator[None]:
        """Let the model run on these texts within the block, in its own precision.

        Raises:
            CaptureError: the model computes numbers that are not finite.
            ModelError: its weights are not finite, or it cannot tell padding from texts.
        """
        try:
            with own_precision(self.transformer.device):
                yield
        except NotFiniteError as problem:
            raise explained(problem, self.transformer, self.name, texts) from problem
        except ValueError as problem:
            if NO_PADDING not in str(problem):
                raise
            raise ModelError(
                f"{self} takes the class of a text from its last token before the padding, and its "
                "configuration names no padding, so it reads no two texts at once; write "
                "pad_token_id into it (config.json; model.config of a model in memory), of a token "
                "that ends no text."
            ) from problem

    def run(self, batch: Batch, *, side: str = "right", **options: Any) -> Any:
        """Run one forward pass, for what is recorded on the way.

        Args:
            batch: Batch that the model reads.
            side: Side on which the batch is padded.
            options: Other arguments of the forward pass, such as ``output_hidden_states``.

        Returns:
            The output of the model.

        Raises:
            CaptureError: attention is captured, and is not finite.
            UnsupportedModelError: attention is captured, and padding gets weight.
        """
        with torch.inference_mode(), self.running(batch.names), padding_watched(self, batch):
            return self.transformer(**self.inputs(batch, side=side), **options)

    def run_backward(
        self, batch: Batch, objective: Objective, *, side: str = "right"
    ) -> Float[Tensor, " batch"]:
        """Run one forward and one backward pass within a `capture`; records come with gradients.

        Records come during the backward pass, so from the last layer to the first.  Gradients are
        those of the sum of the losses with respect to every single weight, as if it could change
        alone; where a query cannot see a key they are 0.  Parameters get none, and no graph is left
        behind.  The gradients of a model in float16 can vanish; bfloat16 keeps their range.

        Args:
            batch: Batch as collated, or as the objective has prepared it.
            objective: Objective whose loss is differentiated.
            side: Side on which the batch is padded.

        Returns:
            The loss of each sequence, in nats.

        Raises:
            UsageError: no capture is open, or the objective does not fit the model.
            CaptureError: a number is not finite, or a loss does not depend on the weights of a
                site.
            UnsupportedModelError: padding gets weight.
        """
        recorder = recorder_of(self.transformer)
        check_differentiable(self.transformer, self.name)
        prepared = batch if isinstance(batch, Prepared) else objective.prepare(batch)
        with (
            self.running(batch.names),
            frozen(self.transformer),
            torch.inference_mode(mode=False),  # a caller's would make tensors without a graph
            torch.enable_grad(),
            padding_watched(self, batch),
            recorder.open_tape() as tape,
            only_predicted(self.transformer, objective, prepared),
        ):
            output = self.transformer(**self.inputs(prepared, side=side))
            losses = objective.loss(output, prepared)
            require_finite("the loss", losses)
            del output  # nothing needs the logits of the whole vocabulary any more
            tape.run(losses)
        return losses.detach()


def shortened(example: Encoded) -> Encoded:
    """Return the first tokens of an example, on which a model is verified.

    A text keeps its end, from which some classifiers take the class.
    """
    size = max(len(example.ids), len(example.target))
    if type(example) is Encoded and size > VERIFIED:
        return resized(example, VERIFIED)
    return example.beginning(VERIFIED)
