"""Check that a model reads a text in a padded batch as it reads the text alone.

A model that drops its attention mask, counts padding as positions, or takes statistics over a batch
gives other numbers for a text beside others; one that takes padding for the last token predicts
otherwise.  Two short texts show it: together, the shorter one padded, and the shorter one alone.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headlight.capture.attention_interface import listener_of, suspend_replacements
from headlight.capture.attention_site import AttentionSite
from headlight.capture.deferred_checks import holds
from headlight.capture.output_projection import TOLERANCE
from headlight.capture.record import LayerRecord
from headlight.capture.recorder import Recorder, interface_hook
from headlight.capture.traced_passes import Reweighted
from headlight.capture.trial_inputs import dummy_inputs
from headlight.encode.batch import Batch
from headlight.encode.examples import Encoded
from headlight.encode.pictures import EncodedPicture
from headlight.encode.speech import EncodedSpeech
from headlight.errors import UnsupportedModelError
from headlight.vocabulary import Kind

LONG, SHORT = 12, 7
"""Numbers of tokens of the two texts; the decoder's text that belongs to each has one less."""


def check_batching(model: Any, example: Encoded) -> float:
    """Compare a short text in a padded batch with the same text alone.

    Args:
        model: Model that reads both texts, a `CapturedModel`.
        example: Example of whose tokens both texts are made, its words repeated where it is
            shorter.

    Returns:
        The largest difference of a layer: for the weights, half the sum of absolute differences
        over keys, averaged over rows; for the values, relative to their norm.

    Raises:
        UnsupportedModelError: a layer attends to other than the tokens of the texts, padding gets
            weight, or the difference is more than rounding.
    """
    if model.reads_twice:
        model = model.encoder()
    longest, together, single = _batches(model, example)
    with suspend_replacements(model.transformer):
        beside, alone = _records(model, together), _records(model, single)
        allowed = _allowed_differences(model, single, alone, longest)
    watch = PaddingWatch(model.name, together, model.kinds)
    for padded in beside:
        watch.look(padded)
    watch.finish()
    worst = 0.0
    for padded, unpadded, limit in zip(beside, alone, allowed, strict=True):
        queries, keys = _mask(padded.site, together)
        rows, columns = queries[1].bool().cpu(), keys[1].bool().cpu()
        weight, value = padded.weight[1][:, rows][..., columns], padded.value[1][:, columns]
        error = _difference(weight, value, unpadded)
        if not error <= limit:
            raise UnsupportedModelError(
                f"{model} reads a text in a batch otherwise than alone: {_place(unpadded.site)} "
                f"differs by {error:.1e} (allowed {limit:.0e}), so results would depend on the "
                "texts beside it; mend its mask, its positions, or what it computes over a batch."
            )
        worst = max(worst, error)
    return worst


def check_predictions(model: Any, example: Encoded) -> float:
    """Compare the predictions of a model for a short text in a padded batch and for the text alone.

    Args:
        model: Model that reads both texts, a `CapturedModel`.
        example: Example of whose tokens both texts are made (see `check_batching`).

    Returns:
        The norm of the difference of the logits, relative to theirs; 0 without a head.

    Raises:
        UnsupportedModelError: the difference is more than rounding.
    """
    _, together, single = _batches(model, example)
    logits = getattr(_run_model(model, single), "logits", None)
    if not isinstance(logits, Tensor):
        return 0.0
    beside, alone = (
        logit_rows.cpu().double()
        for logit_rows in (_run_model(model, together).logits[1], logits[0])
    )
    if alone.dim() > 1:  # of each token
        beside = beside[: len(alone)]
    error = float((beside - alone).norm() / alone.norm().clamp_min(NEAR_ZERO))
    # In float64 too: the softmax of many models is in float32.
    limit = max(TOLERANCE.get(logits.dtype, 1e-1), TOLERANCE[torch.float32])
    if not error <= limit:
        raise UnsupportedModelError(
            f"{model} predicts otherwise of a text in a batch than of the text alone: its logits "
            f"differ by {error:.1e} of their size (allowed {limit:.0e}), so results would depend "
            "on the texts beside it; mend where it takes its prediction from: a decoder that "
            "classifies tells padding by pad_token_id of its configuration."
        )
    return error


NEAR_ZERO = 1e-2
"""Logits smaller than this are compared as if they were of this size."""


def _batches(model: Any, example: Encoded) -> tuple[int, Batch, Batch]:
    """Return the size of the longer of two texts, both of them, and the shorter one alone."""
    longest = min(LONG, model.longest or LONG)
    short = resized(example, min(SHORT, longest - 1))
    together = model.collate([resized(example, longest), short])
    return longest, together, model.collate([short])


def _allowed_differences(
    model: Any, batch: Batch, alone: Sequence[LayerRecord], keys: int
) -> list[float]:
    """Return how far each layer may differ between two readings of one text.

    Many models in float64 (Llama and its kin) take the softmax in float32.  Two readings that
    differ in padding add up its terms in another order, so a weight differs by up to twice what
    such a softmax rounds, and later layers by what the model makes of that difference.  This is
    measured: the text is read once more, with every weight moved by as much.

    Args:
        model: Model that reads the text, a `CapturedModel`.
        batch: The text alone.
        alone: Its records.
        keys: Number of keys of the longer of the two texts.
    """
    allowed = [TOLERANCE.get(record.weight.dtype, 1e-1) for record in alone]
    if not any(_rounded_to_single(record.weight) for record in alone):
        return allowed
    if any(record.site.processes is not None for record in alone):
        # Each process has the values of its own heads.  In float32 as a whole it would round more.
        return [TOLERANCE[torch.float32]] * len(alone)
    rounding = (keys + SOFTMAX_STEPS) * torch.finfo(torch.float32).eps / 2
    moved = Reweighted(lambda weight: weight * (1 + rounding * _signs(weight)))
    with interface_hook(model.transformer, moved):
        model.run(batch)
    calls = dict(zip(model.sites, moved.calls, strict=True))
    for number, record in enumerate(alone):
        call = calls[record.site]
        allowed[number] += rounding + 2 * _difference(call.weight[0], call.value[0], record)
    return allowed


SOFTMAX_STEPS = 5
"""Roundings of a weight beside those of the sum: two exponentials, of up to two, and a quotient."""


def _rounded_to_single(weight: Tensor) -> bool:
    # Numbers of float32 in float64 were computed in float32: others have more digits.
    return weight.dtype == torch.float64 and torch.equal(weight.float().double(), weight)


def _signs(weight: Tensor) -> Tensor:
    places = torch.arange(weight.shape[-1], device=weight.device)
    return (1 - 2 * (places % 2)).to(weight)


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


def resized(example: Encoded, tokens: int) -> Encoded:
    """Return the example with this many tokens, and one less for the decoder.

    Its words are cut or repeated, and what the tokenizer puts before and after them stays.  Sound
    and pictures are taken as a whole.
    """
    places_of = dict.fromkeys(
        ("target", "target_categories", "target_words"), _places(example.target_words, tokens - 1)
    )
    if not isinstance(example, EncodedSpeech | EncodedPicture):
        of_text = _places(example.words, tokens)
        places_of |= dict.fromkeys(("ids", "segments", "categories", "words"), of_text)
    changed: dict[str, Any] = {
        name: tuple(getattr(example, name)[at] for at in places)
        for name, places in places_of.items()
    }
    return replace(example, positions=(), **changed)


def _places(words: Sequence[int], tokens: int) -> list[int]:
    """Return which tokens make a text of this size that begins and ends as the given one does.

    Its words are cut or repeated.  What the tokenizer puts before and after them stays, and what it
    puts between them is left out: some classifiers demand as many ends in one text as in another.

    Args:
        words: Word numbers of the tokens of the given text, negative for what the tokenizer adds;
            empty where there is no such text.
        tokens: Number of tokens.
    """
    of_words = [at for at, word in enumerate(words) if word >= 0] or list(range(len(words)))
    if not of_words:
        return []
    room = max(tokens - 1, 0)  # beside one word
    after = list(range(of_words[-1] + 1, len(words)))
    after = after[max(len(after) - room, 0) :]
    before = list(range(of_words[0]))[: room - len(after)]
    body = tokens - len(before) - len(after)
    return [*before, *(of_words * body)[:body], *after]


def _records(model: Any, batch: Batch) -> list[LayerRecord]:
    records: list[LayerRecord] = []
    with model.capture(site for site in model.sites if site.kind in model.kinds) as recorder:
        recorder.visit = records.append
        _run_model(model, batch)
    return records


def _run_model(model: Any, batch: Batch) -> Any:
    # Not `run`, whose passes are those of a study and are counted.
    with torch.inference_mode(), model.running(batch.names):
        return model.transformer(**model.inputs(batch))


def _mask(site: AttentionSite, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the masks of queries and keys that are tokens, as ``batch token``."""
    source, target = batch.attention_mask, batch.target_mask
    if target is None or site.kind == "encoder":
        return source, source
    return target, source if site.kind == "cross" else target


def _check_tokens(name: str, record: LayerRecord, queries: Tensor, keys: Tensor) -> None:
    block, shape = record.block, record.shape
    rows, columns = shape[2:] if block is None else (block.queries, block.value.shape[2])
    if (len(shape), shape[0], rows, columns) == (4, len(queries), queries.shape[1], keys.shape[1]):
        return
    raise UnsupportedModelError(
        f"{name}: in {_place(record.site)} {rows} queries attend to {columns} keys in each of "
        f"{shape[0]} sequences, where the batch has {len(queries)} texts of {queries.shape[1]} and "
        f"{keys.shape[1]} tokens (prefixes, prompts, windows or pooled tokens, say), so its rows "
        "and columns have no names; take a part or a setting of the model that attends to tokens."
    )


class _Lost(NamedTuple):
    """Weight that some queries of a layer give to padding, as ``batch head query``."""

    site: AttentionSite
    weight: Tensor
    queries: Tensor


class PaddingWatch:
    """Watch over the weight that tokens of a batch give to its padding, in all layers at once.

    Only the columns in which some text has padding are read, by one product for each layer, and a
    device is asked when all have run.

    Args:
        name: Name of the model.
        batch: Batch that the model reads.
        kinds: Attention kinds whose padding is that of the batch.
    """

    def __init__(self, name: str, batch: Batch, kinds: Collection[Kind]) -> None:
        self._name = name
        self._batch = batch
        self._kinds = kinds
        self._lost: list[_Lost] = []
        self._outside: dict[tuple[bool, torch.dtype, torch.device], Tensor] = {}

    def look(self, record: LayerRecord) -> None:
        """Refuse a layer that attends to other than the tokens, and note what padding gets."""
        site = record.site
        if site.kind not in self._kinds:
            return
        queries, keys = _mask(site, self._batch)
        _check_tokens(self._name, record, queries, keys)
        of_target = keys is self._batch.target_mask
        columns = slice(*(self._batch.target_padded if of_target else self._batch.padded))
        if not range(record.shape[3])[columns] or record.hides(queries, keys):
            return
        weight = record.weight.detach()
        part = weight[..., columns]
        form = of_target, weight.dtype, weight.device
        if form not in self._outside:
            self._outside[form] = (keys[:, columns, None] == 0).to(weight)
        to_padding = part.flatten(1, 2) @ self._outside[form][:, : part.shape[3]]
        rows = queries[:, record.first : record.first + weight.shape[2]]
        self._lost.append(_Lost(site, to_padding.view(weight.shape[:3]), rows))

    def finish(self) -> None:
        """Refuse weight of tokens on padding, however little.

        Raises:
            UnsupportedModelError: tokens attend to padding.
        """
        of_rows: dict[Any, list[_Lost]] = {}
        for entry in self._lost:
            # Layers that share a mask of queries are looked at together.
            rows = entry.queries.data_ptr(), entry.queries.shape, entry.weight.device
            of_rows.setdefault(rows, []).append(entry)
        for (*_, device), some in of_rows.items():
            whole, real = torch.cat([entry.weight for entry in some], 1), some[0].queries.to(device)
            if holds(~whole.where(real[:, None] != 0, 0).any()):
                continue
            for site, weight, queries in some:
                _refuse_padding(self._name, site, weight.where(queries.to(device)[:, None] != 0, 0))


@contextmanager
def padding_watched(model: Any, batch: Batch) -> Iterator[None]:
    """Check that padding gets no weight in the one forward pass that the block runs on this batch.

    Weights are examined where attention is captured.

    Args:
        model: Model that reads the batch, a `CapturedModel`.
        batch: Batch that the model reads.

    Raises:
        UnsupportedModelError: tokens attend to padding, or to other than tokens.
    """
    recorder = listener_of(model.transformer)
    if not isinstance(recorder, Recorder) or batch.arguments is not None:
        yield
        return
    watch = PaddingWatch(model.name, batch, model.kinds)
    recorder.watch = watch.look
    try:
        yield
    finally:
        recorder.watch = None
    watch.finish()


def _refuse_padding(name: str, site: AttentionSite, lost: Tensor) -> None:
    if bool(lost.any()):
        raise UnsupportedModelError(
            f"{name} attends to padding: in {_place(site)} a token gives up to "
            f"{float(lost.max()):.0%} of its weight to it, so results would depend on the texts "
            "beside it; hand the attention mask on to its attention."
        )


def _difference(weight: Tensor, value: Tensor, reference: LayerRecord) -> float:
    """Return how far weights and values of a text are from its own, as `check_batching` does.

    Args:
        weight: Weights of the text, ``head query key``.
        value: Values of the text, ``kv_head key feature``.
        reference: Record of the text alone.
    """
    # Not every device has float64.
    weight, alone, value, wanted = (
        numbers.cpu().double()
        for numbers in (weight, reference.weight[0], value, reference.value[0])
    )
    by_row = (weight - alone).abs().sum(-1) / 2
    apart = torch.linalg.vector_norm(value - wanted) / torch.linalg.vector_norm(wanted)
    return max(float(by_row.mean()), float(apart))


def _place(site: AttentionSite) -> str:
    return f"{site.kind} layer {site.layer} ({site.name})"
