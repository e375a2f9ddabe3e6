"""Backward passes, and checks of numbers and ids.

One backward pass that yields the gradients of attention weights, from the last layer down.
The graph begins as late as it can: at the queries of the first attention that is wanted.  Nothing
below them is differentiated, and no parameter is, so that autograd keeps little and computes less
than in training.

The one rule about NaN and infinity: what a model computes is finite, or is refused.
A sum leaves out what is missing, and would leave such an example out without a word.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from headlight.capture.record import LayerRecord, require_all_heads, whole_weight
from headlight.errors import CaptureError, HeadlightError, ModelError, UsageError, setting
from headlight.settings.flow import MatrixPrecision
from headlight.tensors import Visible
from headlight.vocabulary import Kind

_ADVICE = {
    torch.float16: "numbers beyond 65,504 overflow in float16; load the model in bfloat16 or "
    f"float32 ({setting('dtype=')})",
    torch.float64: "look at its weights",
}
_OTHERWISE = f"look at its weights, or load it in a wider precision ({setting('dtype=')})"


class NotFiniteError(CaptureError):
    """A model has computed NaN or infinity.

    Args:
        what: was computed.
        dtype: of the model.
        row: which sequence of the batch, from 0.
    """

    def __init__(self, what: str, dtype: torch.dtype, row: int) -> None:
        super().__init__(what, dtype, row)
        self.what, self.dtype, self.row = what, dtype, row

    def marked(self) -> str:
        """Return the sentence, about the sequence by its number."""
        return self.of(f"sequence {self.row + 1} of the batch")

    def of(self, text: str) -> str:
        """The sentence, about this text."""
        named = str(self.dtype).removeprefix("torch.")
        advice = _ADVICE.get(self.dtype, _OTHERWISE)
        return (
            f"{text}: {self.what} is not finite (NaN or infinity, in {named}), and so has no "
            f"mean; {advice}."
        )


_LATER: ContextVar[list[Tensor] | None] = ContextVar("later", default=None)


@contextmanager
def answered_later() -> Iterator[list[Tensor]]:
    """Within the block, do not wait for what a device answers to `holds`; yields the answers."""
    answers: list[Tensor] = []
    token = _LATER.set(answers)
    try:
        yield answers
    finally:
        _LATER.reset(token)


def holds(answer: Shaped[Tensor, ""]) -> bool:
    """Return whether something holds; within `answered_later`, yes where a device is asked.

    Who opens such a block does all of it again unless `all_hold`.

    Args:
        answer: true, or 1, where it holds.
    """
    later = _LATER.get()
    if later is None or answer.device.type == "cpu":
        return bool(answer == 1)
    later.append(answer)
    return True


def all_hold(answers: list[Tensor], device: torch.device) -> bool:
    """Return whether all answers are yes, for which the host waits once."""
    return bool((torch.stack([each.to(device) for each in answers]) == 1).all())


def require_finite(what: str, values: Tensor) -> None:
    """Refuse numbers that are not finite; the first axis is the batch.

    Raises:
        NotFiniteError: some are not.
    """
    if not _are_finite(values):
        raise NotFiniteError(what, values.dtype, _first_row(~values.isfinite()))


def _are_finite(values: Tensor) -> bool:
    """Return whether all values are finite: their sum shows it, unless finite ones overflow.

    A sum takes a fraction of the time of looking at each value.
    """
    total = values.detach().sum(dtype=torch.promote_types(values.dtype, torch.float32))
    return holds(torch.add(1, total, alpha=0)) or bool(values.isfinite().all())


def require_finite_attention(
    place: tuple[Kind, int], context: Tensor, weight: Tensor, value: Tensor, visible: Visible | None
) -> None:
    """Refuse attention that is not finite, wherever it is not padding.

    The context is looked at first: it is small, and finite only if weights and values are.

    Args:
        place: kind and layer, for the message.
        context: what the attention puts out.
        weight: α.
        value: v(x).
        visible: which keys each query may attend to; None for all.

    Raises:
        NotFiniteError: some attention is not.
    """
    if _are_finite(context):
        return
    queries = ~weight.isfinite().all(-1).all(1)
    keys = ~value.isfinite().all(-1).all(1)
    if visible is not None:
        queries = queries & visible.any(2)
        keys = keys & visible.any(1)
    bad = queries.any(1) | keys.any(1)
    if bool(bad.any()):
        what = f"the attention of {place[0]} layer {place[1]}"
        raise NotFiniteError(what, context.dtype, _first_row(bad))


def explained(
    problem: NotFiniteError, network: nn.Module, name: str, texts: tuple[str, ...]
) -> HeadlightError:
    """The refusal that a user should see: which text it is, or that the weights are to blame.

    Args:
        problem: what was found.
        network: the model.
        name: what the user calls it.
        texts: the names of the sequences in the batch, as far as they are known.
    """
    for parameter, values in network.named_parameters():
        if not bool(whole_weight(values).isfinite().all()):
            return ModelError(
                f"the weights of {name} hold NaN or infinity ({parameter}); copy them again, or "
                "train the model again."
            )
    if problem.row < len(texts):
        return CaptureError(problem.of(texts[problem.row]))
    return problem


def _first_row(bad: Tensor) -> int:
    return int(bad.flatten(1).any(1).nonzero()[0]) if bad.ndim > 1 else int(bad.nonzero()[0])


class GradientTape:
    """The gradients that one batch still waits for, and where its graph begins.

    It holds no tensor of the graph but the leaves, so graph and tape die together.

    Args:
        visit: is given each record, with its gradient, while the backward pass runs.
    """

    def __init__(self, visit: Callable[[LayerRecord], object]) -> None:
        self._visit = visit
        self._leaves: list[Tensor] = []
        self._waiting: dict[int, LayerRecord] = {}

    def rooted(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments of an attention function, of which the weights can be differentiated."""
        query, key, *others = arguments
        if query.requires_grad or key.requires_grad:
            return arguments
        leaf = query.detach().requires_grad_()
        self._leaves.append(leaf)
        return (leaf, key, *others)

    def watch(self, index: int, record: LayerRecord) -> None:
        """Wait for the gradient of the weights in `record`, the site of number `index`."""
        weight = record.weight
        self._waiting[index] = replace(
            record,
            weight=weight.detach(),
            value=record.value.detach(),
            input=None if record.input is None else record.input.detach(),
            gate=None if record.gate is None else record.gate.detach(),
            residual=record.residual and record.residual.detached(),
        )
        if weight.requires_grad:
            weight.register_hook(partial(self._on_gradient, index))  # type: ignore[no-untyped-call]

    def run(self, losses: Float[Tensor, " batch"]) -> None:
        """Run backward once; every record that waits is visited on the way.

        Raises:
            CaptureError: the losses do not depend on the weights that some attention returned.
        """
        if self._leaves and losses.requires_grad:
            torch.autograd.grad(losses.sum(), self._leaves, allow_unused=True)
        if self._waiting:
            name = self._waiting[max(self._waiting)].site.name
            raise CaptureError(
                f"{name}: the loss does not depend on the weights that this attention returned, so "
                "they have no gradient; use a loss that does, or leave this layer out."
            )

    def _on_gradient(self, index: int, gradient: Tensor) -> None:
        """A hook of the weights: their gradient is complete."""
        record = self._waiting.pop(index)
        gradient = gradient.detach()
        if record.visible is not None:  # a weight that is zero by the mask is no variable
            gradient = gradient.masked_fill(~record.visible[:, None], 0.0)
        site = record.site
        require_finite(f"the gradient by the attention of {site.kind} layer {site.layer}", gradient)
        self._visit(replace(record, gradient=gradient))


def check_differentiable(model: nn.Module, name: str) -> None:
    """Refuse weights through which nothing can be differentiated.

    Raises:
        UsageError: they were made in inference mode.
        UnsupportedModelError: each process has a part of them.
    """
    require_all_heads(model, "gradients and contributions")
    if any(parameter.is_inference() for parameter in model.parameters()):
        raise UsageError(
            f"the weights of {name} were made under torch.inference_mode, so that nothing can be "
            "differentiated; load the model outside of it."
        )


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """No parameter of `model` wants a gradient within the block; afterwards as before."""
    wanting = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in wanting:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in wanting:
            parameter.requires_grad_(True)


_UNLIKELY = "a \ue000\U0010fffd"
"""A text with characters that no vocabulary has."""

_IN_EVERY_TEXT = ("cls", "sep", "bos", "eos", "unk", "pad", "mask")


def require_fitting(tokenizer: Any, network: nn.Module, name: str) -> None:
    """Refuse a tokenizer that would fail in the middle of a corpus.

    Raises:
        ModelError: the model has no vectors for some tokens, a text cannot be encoded, or the
            longest length is no number.
    """
    longest = tokenizer.model_max_length
    if not isinstance(longest, int | float):
        raise ModelError(
            f"model_max_length in the tokenizer of {name} is {longest!r}, which is no number; "
            "correct tokenizer_config.json."
        )
    beyond = _tokens_beyond(tokenizer, network)
    if beyond:
        raise ModelError(
            f"the tokenizer of {name} has {len(beyond)} tokens for which the model has no vector "
            f"({beyond[0]!r}, say); give the model its own tokenizer, or resize_token_embeddings."
        )
    try:
        tokenizer(_UNLIKELY)
    except Exception as problem:  # the tokenizers library raises nothing more precise
        reason = str(problem).strip().partition("\n")[0].rstrip(". ")
        raise ModelError(
            f"the tokenizer of {name} cannot encode every text ({reason}); give it a token for "
            "unknown words."
        ) from problem


def _tokens_beyond(tokenizer: Any, network: Any) -> list[str]:
    """The tokens that a text may have and the model cannot look up.

    Some models ship special tokens without vectors, for pictures, say, which no text has.
    """
    try:
        rows = network.get_input_embeddings().num_embeddings
    except (AttributeError, NotImplementedError):  # models of other inputs, or of several
        return []
    beyond = {token: number for token, number in tokenizer.get_vocab().items() if number >= rows}
    added = tokenizer.added_tokens_decoder
    used = {getattr(tokenizer, f"{each}_token_id", None) for each in _IN_EVERY_TEXT}
    return sorted(
        token
        for token, number in beyond.items()
        if number in used or not (number in added and added[number].special)
    )


@contextmanager
def matrix_precision(name: MatrixPrecision) -> Iterator[None]:
    """Within the block, products of float32 matrices of the whole process have this precision."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def own_precision(device: torch.device) -> Iterator[None]:
    """Within the block no autocast of the host program is in force, on this device and the CPU.

    It would compute attention and measures in half precision, and nothing in the result would say
    so.
    """
    with ExitStack() as switched_off:
        for kind in {device.type, "cpu"}:
            if torch.amp.is_autocast_available(kind):
                switched_off.enter_context(torch.autocast(kind, enabled=False))
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Within the block torch computes in one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
