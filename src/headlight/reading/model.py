"""The model as users hold it, and the questions that it answers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float64
from numpy.typing import NDArray
from transformers import PreTrainedModel

import headlight.views.accessor  # noqa: F401 - readings can write their pages
from headlight.capture import (
    CapturedModel,
    Kind,
    LayerRecord,
    Replacements,
    attention_replaced,
    load_model,
)
from headlight.capture.model_identity import digest_of_weights
from headlight.capture.one_text import capture_one
from headlight.capture.plain_modules import hold_module, hold_viewer
from headlight.catalogue import register_measures
from headlight.catalogue.questions import find_question, questions
from headlight.chats import Readable
from headlight.corpora import Sentence
from headlight.encode import sentences
from headlight.encode.plain_tokenizers import as_tokenizer
from headlight.engine.max_length import choose_length
from headlight.engine.model_parts import encoder_for_one_text
from headlight.errors import CorpusError, UsageError
from headlight.measures import Scores, word_score
from headlight.pool import Words
from headlight.reading.edits import Edit
from headlight.reading.question_methods import QuestionMethods
from headlight.reading.reading import FRAME_HEIGHT
from headlight.reading.view_functions import FUNCTIONS
from headlight.reading.what_if import WhatIf, what_if
from headlight.settings import require_choice
from headlight.vocabulary import measure_table


class Model(QuestionMethods, CapturedModel):
    """A Transformer and its tokenizer, ready to be looked into.

    Its methods are also the questions of `headlight.catalogue.questions`, such as `read`.
    """

    def __dir__(self) -> list[str]:
        """Return the questions that a model answers; of how it is captured it tells no name."""
        rare = ("with_attention", "word_map")
        names = [name for name in vars(Model) if not name.startswith("_") and name not in rare]
        return [*names, *(name for name in questions() if name not in names)]

    if not TYPE_CHECKING:  # or every name would be a method to type checkers

        def __getattr__(self, name: str) -> Any:
            """Return the method of a question of another package."""
            if not name.startswith("_") and (question := find_question(name)) is not None:
                return MethodType(question.answer, self)
            return super().__getattribute__(name)  # which raises what there is to say

    def explore(
        self,
        text: Readable,
        pair: str | None = None,
        *,
        height: int = FRAME_HEIGHT,
        **settings: Any,
    ) -> Any:
        """The view of a text as a widget, with *What if* where the model has a head.

        Args:
            text: Text for the model, or a chat.
            pair: Second text.
            height: Height of the widget in pixels.
            settings: Settings of the reading, such as ``kind`` and ``layers``; see `read`.

        Raises:
            UsageError: the library anywidget is not installed, or the text cannot be read.
        """
        reading = self.read(text, pair, **settings)
        functions = {
            name: partial(function, self, reading.dataset) for name, function in FUNCTIONS.items()
        }
        return reading.explore(height=height, functions=functions)

    @contextmanager
    def with_attention(
        self, replacements: Replacements, *, kind: Kind | None = None
    ) -> Iterator[None]:
        """Within the block the model works with attention matrices of yours.

        ``with model.with_attention({3: matrices, (4, 1): lambda weight, site: weight.flip(-1)})``
        replaces all heads of layer 3 and one of layer 4; everything that is done with the model in
        the block, reading and surveys included, sees the new weights.  For the shapes and the rules
        see `headlight.capture.attention_replaced`.

        Raises:
            UsageError: there is no such kind, layer or head, or a shape does not fit.
            CaptureError: a capture is open already, or a layer to be changed was never run.
        """
        with attention_replaced(self, replacements, kind=kind):
            yield

    def word_map(
        self,
        words: Sequence[str],
        *,
        layer: int,
        head: int,
        measure: str = "weight",
        kind: Kind | None = None,
        max_length: int | None = None,
    ) -> Float64[np.ndarray, "query key"]:
        """Return a measure of one head between the words of a sentence.

        ``model.word_map("The cat sat .".split(), layer=3, head=1, measure="norm")`` has a row and a
        column for each word, and one before and after them for special tokens; zeros on a side on
        which the model sets none.  Of the pieces of a word the sum is taken where it is attended
        to, and the mean where it attends; see `headlight.measures.word_score`.

        Args:
            words: Words of the sentence; `headlight.encode.sentences` says how they are put
                together.
            layer: Layer, from 0.
            head: Head, from 0.
            measure: Measure of single heads, such as ``weight``, ``norm`` or ``effective``.
            kind: Kind of attention; by default the first that the model has.  Of an
                encoder-decoder the encoder reads the sentence.
            max_length: Maximal number of tokens, special ones included; by default what the model
                takes, at most 512.  Words at the end that do not fit whole are left out.

        Raises:
            UsageError: there is no such layer, head or measure, or no tokenizer.
            CorpusError: there is no word, the first does not fit, or the tokenizer does not keep
                one.

        Source: Clark et al. (2019), Section 4.1.
        """
        rows = (row for row in measure_table() if row.per_head and row.pairwise)
        known = [row.name for row in rows if row.needs is None]
        require_choice("measure between words", measure, known)
        tokenizer: Any = self.require_tokenizer("words are read")
        model = encoder_for_one_text(self, kind)
        (site,) = model.sites_of(kind or model.kinds[0], [layer])
        site.require_head(head)
        length = choose_length(model, max_length)
        sentence = Sentence("the words", tuple(words))
        examples = sentences([sentence], tokenizer, max_length=length, overflow="truncate")
        example = next(iter(examples), None)
        if example is None:
            raise CorpusError(f"there is no word, or the first one has more than {length} tokens.")
        pieces = Words.of(torch.tensor([example.words]), special=True)

        def visit(record: LayerRecord) -> NDArray[np.float64]:
            score = word_score(Scores(record), measure, pieces)[0, head]
            return np.asarray(score.cpu().double())

        (matrix,) = capture_one(model, example, [site], visit)
        before, after = int(example.words[0] != -1), int(example.words[-1] != -1)
        return np.pad(matrix, ((before, after),) * 2)

    def what_if(
        self,
        text: Readable,
        pair: str | None = None,
        *,
        edits: Edit | Sequence[Edit],
        kind: Kind | None = None,
        top: int = 5,
    ) -> WhatIf:
        """Predict with changed attention; see `what_if.what_if`."""
        return what_if(self, text, pair, edits=edits, kind=kind, top=top)


def load(  # noqa: PLR0913 - each is a choice of its own
    name_or_model: str | Path | Any = None,
    tokenizer: Any = None,
    *,
    head: str | None = None,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    trust_remote_code: bool = False,
    split_special_tokens: bool = False,
) -> Model:
    """Load a model from a hub, a folder or a GGUF file, or take one that is in memory.

    Args:
        name_or_model: Name such as ``bert-base-uncased``, a folder, a GGUF file (which needs
            ``headlight-attention[gguf]``), or a model of transformers that is in memory already;
            by default the embedded model.
        tokenizer: Tokenizer of a model in memory.
        head: by default the head that the checkpoint holds, if any: of a language model, which
            gives a loss and so gradients, or of a classifier of texts or tokens.
            ``language_model``, ``classification`` or ``any`` refuse a checkpoint without it;
            ``none`` leaves it out.
        revision: Branch, tag or commit on the hub.
        device: ``cpu``, ``cuda``, ``mps``, ``auto`` for the best there is, or ``balanced`` to
            spread the layers of a large model over all GPUs.
        dtype: ``float32``, ``bfloat16``, ``float16`` or ``float64``.
        trust_remote_code: Run code that comes with the model; off unless you ask for it.
        split_special_tokens: Read special tokens that are written in a text, such as ``[SEP]``, as
            characters.

    Raises:
        ModelError: there is no such model, or its weights are neither safetensors nor GGUF.
        UsageError: unknown device, precision or head, or a library is missing.
    """
    register_measures()
    captured = load_model(
        name_or_model,
        tokenizer,
        head=head,
        revision=revision,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        split_special_tokens=split_special_tokens,
    )
    return Model(
        captured.transformer,
        captured.tokenizer,
        captured.name,
        captured.revision,
        captured.tokenizer_problem,
        captured.trust_remote_code,
        captured.quantisation,
    )


def wrap(
    module: torch.nn.Module,
    tokenizer: Any,
    *,
    embed: Callable[[torch.Tensor], torch.Tensor] | None = None,
    max_length: int | None = None,
) -> Model:
    """Take any module of PyTorch: an ``nn.TransformerEncoder``, a model of timm, code of yours.

    ``headlight.wrap(encoder, tokenizer, embed=embedding)`` is a model as `load` returns it.  Which
    axis is that of texts, and which argument hides padding, is found by trying: a text in a padded
    batch has to be read as it is alone.  Where nothing hides padding, single texts can be read.

    Args:
        module: Module in evaluation mode, which is neither copied nor changed.  Its forward pass
            takes ids, vectors or pixels first, and puts out hidden states, or logits over the
            vocabulary; of a tuple the first counts.
        tokenizer: Tokenizer of transformers or of the library tokenizers; or a vocabulary of words
            between blanks, as a list or a mapping to ids; or for pictures an image processor.
        embed: Module or function from ids, ``batch token``, to the vectors that the module takes.
        max_length: Maximal number of tokens; by default that of its embedding of positions, if any.

    Raises:
        UsageError: the module is in training mode, or does not take what it is given; the tokenizer
            is none; or the length is no number from 1.
    """
    register_measures()
    if not isinstance(module, torch.nn.Module) or isinstance(module, PreTrainedModel):
        return load(module, tokenizer)
    for name, part in (("the module", module), ("embed", embed)):
        if isinstance(part, torch.nn.Module) and any(inner.training for inner in part.modules()):
            raise UsageError(f"{name} is in training mode; call its method eval() first.")
    if max_length is not None and (not isinstance(max_length, int) or max_length < 1):
        raise UsageError(f"max_length is {max_length!r}; give a number from 1.")
    reader = as_tokenizer(tokenizer)
    if reader is not None:
        network: Any = hold_module(module, reader, embed)
    elif hasattr(tokenizer, "image_mean"):
        network = hold_viewer(module, tokenizer)
    else:
        raise UsageError(
            f"a {type(tokenizer).__name__} is no tokenizer; give one of transformers, or of "
            "tokenizers, a list of words, or for pictures an image processor of transformers."
        )
    if max_length is not None:
        network.config.max_position_embeddings = max_length
    return Model(network, reader, type(module).__name__, digest_of_weights(network))
