"""Rule about NaN and infinity: what a model computes is finite, or is refused.

A sum leaves out what is missing, and would leave such an example out without a word.
"""

import torch
from torch import Tensor, nn

from headlight.capture.deferred_checks import holds
from headlight.capture.tensor_parallel import whole_weight
from headlight.errors import CaptureError, HeadlightError, ModelError, setting
from headlight.tensors import Visible
from headlight.vocabulary import Kind

_ADVICE = {
    torch.float16: "numbers beyond 65,504 overflow in float16; load the model in bfloat16 or "
    f"float32 ({setting('dtype=')})",
    torch.float64: "look at its weights",
}
_OTHERWISE = f"look at its weights, or load it in a wider precision ({setting('dtype=')})"


class NotFiniteError(CaptureError):
    """Refusal of NaN or infinity that a model has computed.

    Args:
        what: Quantity that is not finite.
        dtype: Number format of the quantity.
        row: Number of the sequence in the batch, from 0.
    """

    def __init__(self, what: str, dtype: torch.dtype, row: int) -> None:
        super().__init__(what, dtype, row)
        self.what, self.dtype, self.row = what, dtype, row

    def marked(self) -> str:
        """Return the message, which names the sequence by its number."""
        return self.message_about(f"sequence {self.row + 1} of the batch")

    def message_about(self, text: str) -> str:
        """Return the message about this text."""
        named = str(self.dtype).removeprefix("torch.")
        advice = _ADVICE.get(self.dtype, _OTHERWISE)
        return (
            f"{text}: {self.what} is not finite (NaN or infinity, in {named}), and so has no "
            f"mean; {advice}."
        )


def require_finite(what: str, values: Tensor) -> None:
    """Refuse numbers that are not finite; the first axis is the batch.

    Raises:
        NotFiniteError: some numbers are not finite.
    """
    if not _are_finite(values):
        raise NotFiniteError(what, values.dtype, _first_row(~values.isfinite()))


def _are_finite(values: Tensor) -> bool:
    # A sum takes a fraction of the time of a look at each value, and is finite only if all are;
    # where it is not, finite values may have overflowed, in float16 sooner than in float32.
    total = values.detach().sum(dtype=torch.promote_types(values.dtype, torch.float32))
    # 1 + 0 · total is 1, which `holds` takes for yes, where the total is finite, and else NaN.
    return holds(torch.add(1, total, alpha=0)) or bool(values.isfinite().all())


def require_finite_attention(
    place: tuple[Kind, int], context: Tensor, weight: Tensor, value: Tensor, visible: Visible | None
) -> None:
    """Refuse attention that is not finite, wherever it is not padding.

    The context is examined first: it is small, and finite only if weights and values are.

    Args:
        place: Kind and layer, for the message.
        context: Output of the attention.
        weight: Attention weights α.
        value: Values v(x).
        visible: Keys that each query may attend to; None for all.

    Raises:
        NotFiniteError: some attention is not finite.
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
    """Return the refusal that a user should see: it names the text, or blames the weights.

    Args:
        problem: Refusal by the number of the sequence.
        network: Model that computed it.
        name: Name of the model, as given by the user.
        texts: Names of the sequences in the batch, as far as they are known.
    """
    for parameter, values in network.named_parameters():
        if not bool(whole_weight(values).isfinite().all()):
            return ModelError(
                f"the weights of {name} hold NaN or infinity ({parameter}); copy them again, or "
                "train the model again."
            )
    if problem.row < len(texts):
        return CaptureError(problem.message_about(texts[problem.row]))
    return problem


def _first_row(bad: Tensor) -> int:
    return int(bad.flatten(1).any(1).nonzero()[0]) if bad.ndim > 1 else int(bad.nonzero()[0])
