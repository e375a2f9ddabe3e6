"""Hidden states of a batch after one layer; what comes after that layer does not run."""

from collections.abc import Collection
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from headlight.capture.captured_model import NO_LAYER, CapturedModel
from headlight.capture.finite_numbers import require_finite
from headlight.capture.hooks import first_tensor, hooked
from headlight.capture.trial_inputs import dummy_inputs
from headlight.encode.batch import Batch
from headlight.errors import UnsupportedModelError, UsageError

States = Float[Tensor, "batch token size"]


def all_hidden_states(model: CapturedModel, batch: Batch) -> tuple[States, ...]:
    """Return the hidden states of every token: the embeddings, and the output of each layer.

    Args:
        model: Model that reads one text.
        batch: Batch of texts.

    Raises:
        UnsupportedModelError: there is not one hidden state per token after each layer.
    """
    output = model.run(batch, output_hidden_states=True)
    return _require_states(output, model, batch.input_ids)


def trial_hidden_states(model: CapturedModel) -> tuple[States, ...]:
    """Return the hidden states of two short texts that differ in their last token alone.

    Raises:
        UnsupportedModelError: there is not one hidden state per token after each layer, or the
            model does not read text.
    """
    ids = _trial_ids(model)
    output = _run_trial(model, ids, output_hidden_states=True)
    return _require_states(output, model, ids)


def hidden_layers(model: CapturedModel, chosen: Collection[int] | None = None) -> list[int]:
    """Return the numbers of layers after which there are hidden states: 0 are the embeddings.

    Args:
        model: Model that reads one text.
        chosen: Numbers of layers requested; None for all.

    Raises:
        UsageError: the model has not all of these layers, or none is requested.
        UnsupportedModelError: see `trial_hidden_states`.
    """
    depth = len(trial_hidden_states(model)) - 1
    layers = list(range(depth + 1)) if chosen is None else sorted(set(chosen))
    if not layers:
        raise UsageError(NO_LAYER)
    missing = [layer for layer in layers if not 0 <= layer <= depth]
    if missing:
        raise UsageError(
            f"{model} has no hidden states after {missing[0]} layers: it has {depth} layers."
        )
    return layers


def _trial_ids(model: CapturedModel) -> Int64[Tensor, "batch token"]:
    first: Tensor | None = dummy_inputs(model.transformer).get("input_ids")
    if first is None:
        raise UnsupportedModelError(f"{model} reads no text; take another model.")
    second = first.clone()
    second[:, -1] = first[:, 0]
    return torch.cat([first, second])


def _run_trial(model: CapturedModel, ids: Int64[Tensor, "batch token"], **options: Any) -> Any:
    with torch.inference_mode(), model.running(("a trial input",)):
        return model.transformer(input_ids=ids, **options)


def _require_states(
    output: Any, model: CapturedModel, ids: Int64[Tensor, "batch token"]
) -> tuple[States, ...]:
    states = getattr(output, "hidden_states", None)
    if not states or any(state.shape[:2] != ids.shape for state in states):
        raise UnsupportedModelError(
            f"{model} does not give out one hidden state per layer for each token; take "
            "another model."
        )
    return tuple(states)


class _ReachedError(Exception):
    """Signal that the hidden states are there, and the pass need not go on."""

    def __init__(self, states: Tensor) -> None:
        super().__init__()
        self.states = states


class HiddenStates:
    """Hidden states of a model that runs up to one of its layers.

    Which module puts out the hidden states of the layer is found in a trial, by its output: nothing
    about architectures is listed.  Where no module does, all of the model runs.

    Args:
        model: Model that reads one text.
        layer: Number of layers that have run; 0 are the embeddings.

    Raises:
        UsageError: the model has no such layer.
        UnsupportedModelError: see `trial_hidden_states`.
    """

    def __init__(self, model: CapturedModel, layer: int) -> None:
        hidden_layers(model, [layer])
        self._model = model
        self._layer = layer
        self._place = _place_of(model, layer)

    def __call__(self, batch: Batch) -> States:
        """Return the hidden states of all tokens; those of padding mean nothing.

        Raises:
            UnsupportedModelError: see `all_hidden_states`.
            CaptureError: a hidden state is not finite.
        """
        states = self._run_to_layer(batch)
        if states is None or states.shape[:2] != batch.input_ids.shape:
            states = all_hidden_states(self._model, batch)[self._layer]
        with self._model.running(batch.names):
            real = batch.attention_mask.bool()[..., None]
            require_finite(f"a hidden state after {self._layer} layers", states.where(real, 0))
        return states

    def _run_to_layer(self, batch: Batch) -> Tensor | None:
        """Return the output of the module, after which the pass ends."""
        if self._place is None:
            return None
        module, last = self._place
        calls = 0

        def stop(_: nn.Module, __: object, output: Any) -> None:
            nonlocal calls
            calls += 1
            output_state = first_tensor(output)
            if calls == last and output_state is not None:
                raise _ReachedError(output_state)

        with hooked([(module.register_forward_hook, stop)]):
            try:
                self._model.run(batch)
            except _ReachedError as reached:
                return reached.states
        return None


def _place_of(model: CapturedModel, layer: int) -> tuple[nn.Module, int] | None:
    """Return the module that puts out the hidden states of a layer, and the number of its call.

    One of the texts of the trial is padded, since another module may put out the same except for
    padding.
    """
    ids = _trial_ids(model)
    padded = torch.ones_like(ids)
    padded[1, -2:] = 0
    output = _run_trial(model, ids, attention_mask=padded, output_hidden_states=True)
    wanted = _require_states(output, model, ids)[layer]
    modules = list(model.transformer.modules())
    calls = dict.fromkeys(modules, 0)
    places: list[tuple[nn.Module, int]] = []

    def compare(module: nn.Module, _: object, output: Any) -> None:
        calls[module] += 1
        state = first_tensor(output)
        if state is not None and state.shape == wanted.shape and torch.equal(state, wanted):
            places.append((module, calls[module]))

    with hooked((module.register_forward_hook, compare) for module in modules):
        _run_trial(model, ids, attention_mask=padded)
    return places[0] if places else None
