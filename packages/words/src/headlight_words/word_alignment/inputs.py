"""Soft alignments from the input of the whole model: gradients, and predictions without a word.

The encoder and the decoder run one after the other, so that what the encoder reads can be changed
where embeddings leave their table, without knowledge of the particular model.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from headlight.capture import CapturedModel
from headlight.capture.differentiation import frozen
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.tensors import single
from headlight_words.word_alignment import GradientForm, InputMeasureSettings

Embeddings = Float[Tensor, "row source size"]
PieceMatrix = Float[Tensor, "batch 1 target source"]
NOISE = 0.15
"""Standard deviation of the noise of ``smoothgrad``, as a share of the range of the embeddings."""

COPIES_AT_ONCE = 8192
"""Tokens of noisy or erased copies that run through the model together."""


def check_predicts(model: CapturedModel, measure: str) -> None:
    """Refuse a model that gives no probability of a translation.

    Raises:
        UsageError: The model has no language-model head, or no decoder.
    """
    if not model.has_decoder_inputs or model.transformer.get_output_embeddings() is None:
        raise UsageError(
            f"{measure} looks at the probability of the translation, and {model} was loaded "
            "without a head that gives one; take an encoder-decoder model with its language-model "
            "head."
        )


def input_matrix(
    model: CapturedModel, batch: Batch, measure: str, settings: InputMeasureSettings
) -> PieceMatrix:
    """Return the effect of every source piece on the prediction of every target piece.

    * ``gradient``: of log p(piece) by the embedding of the source piece; the inner product with the
      embedding where it is positive (Ding et al. 2019), or the mean size of its numbers (Li et al.
      2016); rows sum to 1, special tokens included;
    * ``smoothgrad``: the same, averaged over noisy copies of the source (Smilkov et al. 2017);
    * ``difference``: p(piece) less p(piece) without the source piece (Li et al. 2019); signed.

    Args:
        model: Encoder-decoder model with its language-model head.
        batch: Batch of translations.
        measure: Name of a measure above.
        settings: Settings of gradients, see `InputMeasureSettings`.

    Returns:
        A row for every place of the decoder, which speaks of the piece that is read there, as in
        the step ``input``; 0 for the start and for padding.

    Source: procedures of `align.py` of Ding et al. (2019); Li et al. (2019), Section 4.
    """
    check_predicts(model, measure)
    if measure == "difference":
        return _difference(model, batch)
    copies = settings.samples if measure == "smoothgrad" else 1
    noise = NOISE if measure == "smoothgrad" else 0.0
    return _gradients(model, batch, settings, copies, noise)


# ---------------------------------------------------------------- the model in two parts


@contextmanager
def _embeddings_changed(encoder: Any, change: Callable[[Embeddings], Embeddings]) -> Iterator[None]:
    """Let the encoder, within the block, read other embeddings than those of its table."""
    table: nn.Module = encoder.get_input_embeddings()
    handle = table.register_forward_hook(lambda _, __, output: change(output))
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _cut_before_the_head(network: Any) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Let the head, within the block, read a copy without history; both are kept.

    The head predicts every place from that place alone, so that one backward pass through it is
    enough for all places.
    """
    cuts: list[tuple[Tensor, Tensor]] = []

    def cut(_: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        cuts.append((args[0], args[0].detach().requires_grad_()))
        return (cuts[-1][1], *args[1:])

    handle = network.get_output_embeddings().register_forward_pre_hook(cut)
    try:
        yield cuts
    finally:
        handle.remove()


def _log_probabilities(
    model: CapturedModel,
    batch: Batch,
    rows: Int64[Tensor, " row"],
    change: Callable[[Embeddings], Embeddings],
) -> Float[Tensor, "row target"]:
    """Return log p of the piece that the decoder reads at every place, given those before."""
    network: Any = model.transformer
    assert batch.target_ids is not None and batch.target_mask is not None  # noqa: S101, PT018
    mask, target = batch.attention_mask[rows], batch.target_ids[rows]
    encoder = network.get_encoder()
    with _embeddings_changed(encoder, change):
        read = encoder(input_ids=batch.input_ids[rows], attention_mask=mask)
    logits = network(
        encoder_outputs=read,
        attention_mask=mask,
        decoder_input_ids=target,
        decoder_attention_mask=batch.target_mask[rows],
        use_cache=False,
    ).logits
    # The piece predicted at place t is read at place t + 1; no place predicts the start.
    chances = single(logits[:, :-1]).log_softmax(-1).gather(-1, target[:, 1:, None])[..., 0]
    return torch.nn.functional.pad(chances, (1, 0))


def _runs(batch: Batch, per_example: int) -> Iterator[Int64[Tensor, " row"]]:
    """Yield every example `per_example` times, in parts that fit into memory."""
    assert batch.target_ids is not None  # noqa: S101
    tokens = batch.input_ids.shape[1] + batch.target_ids.shape[1]
    number = torch.arange(len(batch.input_ids), device=batch.input_ids.device)
    rows = number.repeat_interleave(per_example)
    yield from torch.split(rows, max(1, COPIES_AT_ONCE // tokens))


# ---------------------------------------------------------------- gradients


def _gradients(
    model: CapturedModel, batch: Batch, settings: InputMeasureSettings, copies: int, noise: float
) -> PieceMatrix:
    """Return the mean over copies of gradients that are normalised over the source."""
    assert batch.target_ids is not None  # noqa: S101
    examples, width = batch.input_ids.shape
    total = torch.zeros(examples, batch.target_ids.shape[1], width, device=batch.input_ids.device)
    noises = _Noise(batch, copies, noise, settings.seed)
    # Inference mode of a caller would forbid gradients; weights need none themselves.
    with frozen(model.transformer), torch.inference_mode(mode=False), torch.enable_grad():
        row_count = 0
        for rows in _runs(batch, copies):
            wanted = slice(row_count, row_count + len(rows))
            shares = _shares(model, batch, rows, settings.form, noises, wanted)
            total.index_add_(0, rows, shares.float())
            row_count += len(rows)
    return (total / copies)[:, None]


def _shares(
    model: CapturedModel,
    batch: Batch,
    rows: Int64[Tensor, " row"],
    form: GradientForm,
    noises: "_Noise",
    wanted: slice,
) -> Float[Tensor, "row target source"]:
    """Return the share of every source piece in the gradient of every target piece."""
    clean: list[Tensor] = []

    def change(embeddings: Embeddings) -> Embeddings:
        leaf = embeddings.detach().clone().requires_grad_()
        clean.append(leaf)
        return leaf + noises.draw(leaf.detach(), rows, wanted)

    with _cut_before_the_head(model.transformer) as cut:
        chances = _log_probabilities(model, batch, rows, change)
    leaf, mask = clean[0], batch.attention_mask[rows].bool()
    ((states, hidden),) = cut
    # One pass through the head serves all places; the decoder needs one for each.
    (of_states,) = torch.autograd.grad(chances.sum(), hidden)
    sizes_by_step = [leaf.new_zeros(leaf.shape[:2])]  # the start is not predicted
    predicted = chances.shape[1] - 1
    for place in range(predicted):
        # With the last place the graph is freed, before the next rows run.
        (gradient,) = torch.autograd.grad(
            states[:, place], leaf, of_states[:, place], retain_graph=place < predicted - 1
        )
        sizes_by_step.append(_sizes(gradient, leaf.detach(), form).masked_fill(~mask, 0))
    sizes = torch.stack(sizes_by_step, 1)
    return sizes / sizes.sum(-1, keepdim=True).clamp_min(torch.finfo(sizes.dtype).tiny)


def _sizes(
    gradient: Embeddings, embedding: Embeddings, form: GradientForm
) -> Float[Tensor, "row source"]:
    if form == "size":
        return single(gradient.abs()).mean(-1)
    return single(gradient * embedding).sum(-1).clamp_min(0)


class _Noise:
    """The noise of every copy, which depends on its example and not on the batch around it."""

    def __init__(self, batch: Batch, copies: int, share: float, seed: int) -> None:
        self._lengths = batch.lengths.tolist()
        self._ids = batch.input_ids
        self._copies = copies
        self._share = share
        self._seed = seed

    def draw(self, embeddings: Embeddings, rows: Int64[Tensor, " row"], wanted: slice) -> Tensor:
        """Draw normal noise, with a share of the range of an example's embeddings as deviation."""
        if not self._share:
            return embeddings.new_zeros(())
        noises = torch.zeros_like(embeddings)
        for at, row in enumerate(rows.tolist()):
            length, copy = self._lengths[row], (wanted.start + at) % self._copies
            embedded = embeddings[at, :length]
            generator = torch.Generator().manual_seed(self._number(row, copy))
            drawn = torch.randn(embedded.shape, generator=generator, dtype=torch.float32)
            noises[at, :length] = (
                drawn.to(embedded) * (embedded.max() - embedded.min()) * self._share
            )
        return noises

    def _number(self, row: int, copy: int) -> int:
        ids = self._ids[row, : self._lengths[row]].tolist()
        named = repr((self._seed, copy, ids)).encode()
        return int.from_bytes(hashlib.blake2b(named, digest_size=7).digest())


# ---------------------------------------------------------------- differences


def _difference(model: CapturedModel, batch: Batch) -> PieceMatrix:
    """Run every example without each of its pieces in turn, and the example itself."""
    assert batch.target_ids is not None  # noqa: S101
    width = batch.input_ids.shape[1]
    chances = []
    row_count = 0
    with torch.inference_mode():
        for rows in _runs(batch, width + 1):
            at = torch.arange(row_count, row_count + len(rows), device=rows.device) % (width + 1)
            # The last copy of an example erases a place behind its end: it is the whole example.
            gone = (torch.arange(width, device=rows.device) == at[:, None])[..., None]
            erase = partial(torch.Tensor.masked_fill, mask=gone, value=0)
            chances.append(_log_probabilities(model, batch, rows, erase).exp())
            row_count += len(rows)
    by_erased = torch.cat(chances).view(-1, width + 1, *chances[0].shape[1:])
    whole, without = by_erased[:, -1:], by_erased[:, :-1]
    change: Tensor = (whole - without).mT
    change = change.masked_fill(~batch.attention_mask[:, None].bool(), 0)
    change[:, 0] = 0
    return change[:, None]
