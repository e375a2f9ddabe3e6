"""Input and hidden tokens of the examples, from one forward pass, in memory or in files."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64
from torch import Tensor

from headlight import files
from headlight.capture import CapturedModel
from headlight.capture.finite_numbers import require_finite
from headlight.encode import Encoded, length_batches
from headlight.encode.batch import Batch
from headlight.engine.disk_space import check_disk_space, require_disk_space
from headlight.engine.lock import locked
from headlight.engine.progress import show_progress
from headlight.errors import CorpusError, ResultError, RunError, UnsupportedModelError, UsageError
from headlight.files import open_file, read_json

HEADER = "vectors.json"
HIDDEN = "hidden-{}.npy"


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """x_i and e_i^l of every token, special ones included; the tokens of a sequence follow it.

    Attributes:
        inputs: Input tokens x_i, which layers are compared with.
        hidden: Hidden tokens e_i^l, for each layer the output of its block.
        lengths: Number of tokens of each sequence.
    """

    inputs: Float32[np.ndarray, "token input"]
    hidden: Sequence[Float32[np.ndarray, "token model"]]
    lengths: Int64[np.ndarray, " sequence"]

    @property
    def first(self) -> Int64[np.ndarray, " sequence"]:
        """Return the row of each sequence's first token."""
        first: np.ndarray = np.cumsum(self.lengths) - self.lengths
        return first

    @property
    def sequence(self) -> Int64[np.ndarray, " token"]:
        """Return the number of the sequence of each token, from 0."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def previous_layer(self, layer: int) -> Float32[np.ndarray, "token dim"]:
        """Return the input of the block of this layer: the output of the previous one, or x_i."""
        return self.hidden[layer - 1] if layer else self.inputs


def vector_files(folder: Path, layers: int) -> tuple[Path, list[Path]]:
    """Return the files of the inputs and of the hidden tokens of each layer."""
    return folder / "inputs.npy", [folder / HIDDEN.format(f"{at:02}") for at in range(layers)]


def open_vectors(folder: Path) -> tuple[TokenVectors, dict[str, Any]] | None:
    """Open finished vectors in a folder, memory-mapped, with their signature; None if none.

    Raises:
        ResultError: The files are damaged.
    """
    if not (folder / HEADER).exists():
        return None
    try:
        header: Mapping[str, Any] = read_json(folder / HEADER)
        inputs, hidden = vector_files(folder, len(list(folder.glob(HIDDEN.format("*")))))
        if len(hidden) != header["layers"]:
            raise ResultError(f"{folder} has {len(hidden)} layers, and not those it says.")
        for path in (inputs, *hidden):
            open_file(path, refuse_links=True).close()  # mapping would wait for a pipe
        # Copy on write: torch wants memory that could be written to.
        opened = [np.load(path, mmap_mode="c") for path in (inputs, *hidden)]
        lengths = np.array(header["lengths"], dtype=np.int64)
        if any(len(rows) != lengths.sum() for rows in opened):
            raise ResultError(f"the files in {folder} differ in length; remove the folder.")
        return TokenVectors(opened[0], opened[1:], lengths), dict(header["signature"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        why = files.why_unread(problem)
        raise ResultError(f"{folder} cannot be read ({why}); remove the folder.") from problem


HIDDEN_TOKENS = "hidden tokens"

Layers = list[Float32[Tensor, "token dim"]]
"""x_i, and e_i^l of every layer, of one sequence."""


def extract_vectors(
    examples: Iterable[Encoded],
    model: CapturedModel,
    *,
    folder: Path | None = None,
    batch_tokens: int = 2048,
    progress: bool = True,
) -> TokenVectors:
    """Extract x_i and e_i^l of every token of the examples.

    The last layer is the output of the model: where a model normalises once more behind its last
    block, that is included.

    Args:
        examples: Examples without texts for a decoder.
        model: Model that reads them.
        folder: Folder of the memory-mapped vectors; finished ones are used again.  Without a folder
            they are in memory.
        batch_tokens: Tokens in a forward pass at most, padding included; does not change results.
        progress: Whether a bar is shown on standard error.

    Raises:
        CorpusError: There are no examples.
        UsageError: The examples have a decoder's text.
        UnsupportedModelError: The model does not return one hidden token for each input token.
        RunError: The folder holds something else, cannot be written, or its disk is too small.
    """
    listed = list(examples)
    if not listed:
        raise CorpusError("there are no examples to extract tokens from.")
    if model.has_decoder_inputs or any(example.target for example in listed):
        raise UsageError("tokens are identified in one text; give the encoder of the model alone.")
    signature = vectors_signature(listed, model)
    bar = (
        show_progress(len(listed), sys.stderr, title="hidden tokens of the model")
        if progress
        else nullcontext()
    )
    if folder is None:
        with bar as display:
            return _filled(listed, model, batch_tokens, None, display)
    with locked(folder):
        results = open_vectors(folder)
        if results is None:
            size = vectors_size(listed, model)
            check_disk_space(folder, size, HIDDEN_TOKENS, progress=progress)
            with bar as display:
                vectors = _filled(listed, model, batch_tokens, folder, display)
            _finish(folder, vectors, signature)
            results = open_vectors(folder)
        if results is None or results[1] != signature:
            raise RunError(
                f"{folder} holds tokens of another model or of other examples; remove it, or "
                "choose another folder."
            )
    return results[0]


def vectors_signature(examples: Sequence[Encoded], model: CapturedModel) -> dict[str, Any]:
    """Return the signature of hidden tokens: of this model and of these examples."""
    # Segments change hidden tokens, and so belong to the digest.
    digest = sha256()
    for example in examples:
        digest.update(json.dumps([example.ids, example.segments]).encode())
    return {**model.identity(), "examples": digest.hexdigest()}


def vectors_size(examples: Sequence[Encoded], model: CapturedModel) -> int:
    """Return the bytes that x_i and e_i^l of these examples will take."""
    tokens = sum(len(example.ids) for example in examples)
    config: Any = model.transformer.config.get_text_config()
    return tokens * 4 * int(config.hidden_size) * (int(config.num_hidden_layers) + 1)


def _filled(
    examples: Sequence[Encoded],
    model: CapturedModel,
    batch_tokens: int,
    folder: Path | None,
    bar: Any,
) -> TokenVectors:
    """Run the model over batches of like lengths, and put each token in its row."""
    lengths = np.array([len(example.ids) for example in examples], dtype=np.int64)
    first = np.cumsum(lengths) - lengths
    stores: list[np.ndarray] = []
    # Texts of like lengths run together; each goes to the rows of its own number.
    for numbers in length_batches(examples, batch_tokens):
        some = [examples[number] for number in numbers]
        outputs = _run(model, some)
        stores = stores or _stores(outputs[0], int(lengths.sum()), folder)
        for number, layers in zip(numbers, outputs, strict=True):
            for store, rows in zip(stores, layers, strict=True):
                store[first[number] : first[number] + lengths[number]] = rows.cpu().numpy()
        if bar is not None:
            bar.advance(len(some), int(lengths[numbers].sum()))
    return TokenVectors(stores[0], stores[1:], lengths)


def _run(model: CapturedModel, examples: Sequence[Encoded]) -> list[Layers]:
    """Return the layers of each example, without padding."""
    batch = model.collate(examples)
    output = model.run(batch, output_hidden_states=True)
    states = _states(output, model, batch)
    # Padding may hold anything, and is not checked.
    real = batch.attention_mask.bool()[..., None]
    with model.running(batch.names):
        for layer, state in enumerate(states):
            require_finite(f"a hidden token after {layer} layers", state.where(real, 0))
    return [
        [state[row, :length].float() for state in states]
        for row, length in enumerate(batch.lengths.tolist())
    ]


def _states(output: Any, model: CapturedModel, batch: Batch) -> tuple[Tensor, ...]:
    states = getattr(output, "hidden_states", None)
    if not states or any(state.shape[:2] != batch.input_ids.shape for state in states):
        raise UnsupportedModelError(
            f"{model} does not give out one hidden token per layer for each input token; "
            "its tokens cannot be identified."
        )
    return tuple(states)


def _stores(layers: Layers, tokens: int, folder: Path | None) -> list[np.ndarray]:
    """Make arrays for all rows of x, and of each layer, in memory or in files."""
    shapes = [(tokens, rows.shape[1]) for rows in layers]
    if folder is None:
        return [np.empty(shape, dtype=np.float32) for shape in shapes]
    # A full disk would end the process while a mapped page is written.
    require_disk_space(folder, sum(4 * rows * width for rows, width in shapes), HIDDEN_TOKENS)
    inputs, hidden = vector_files(folder, len(layers) - 1)
    return [
        np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        for path, shape in zip((inputs, *hidden), shapes, strict=True)
    ]


def _finish(folder: Path, vectors: TokenVectors, signature: Mapping[str, Any]) -> None:
    """Flush the files, and write the header last, since it says that they are whole."""
    for store in (vectors.inputs, *vectors.hidden):
        if isinstance(store, np.memmap):
            store.flush()
    header = {
        "layers": len(vectors.hidden),
        "lengths": vectors.lengths.tolist(),
        "signature": signature,
    }
    files.write(folder / HEADER, json.dumps(header).encode(), error=RunError)
