"""Text that a model generates, read with its prompt.

A decoder, or an encoder-decoder, goes on with a text by the most probable token each time, and the
whole is then read once.  Of a decoder the rows of the generated tokens are kept, and that of the
token before them, which predicted the first.
"""

import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float64

from headlight.capture import CapturedModel
from headlight.capture.one_text import one_text, require_reader
from headlight.catalogue.embedded_models import EMBEDDED_DECODER
from headlight.catalogue.question_settings import GenerationSettings, ReadingSettings
from headlight.chats import Readable, as_read
from headlight.corpora.text_checks import require_text
from headlight.encode import Encoded, encode_one
from headlight.encode.pieces import SPECIAL_WORD
from headlight.encode.token_categories import CLS, Categories
from headlight.encode.token_ids import with_next_token
from headlight.errors import MissingHeadError, UsageError, with_head
from headlight.reading.example import read_example
from headlight.reading.prediction import what_tokens_add
from headlight.reading.question_functions import answers
from headlight.reading.reading import Reading
from headlight.result.kinds import ALL, concat_kinds, split_kinds
from headlight.vocabulary import CONTRIBUTION, PROMPT

SIDES = {"decoder": "target", "cross": "text"}
"""The side of an encoder-decoder that its decoder attends to, by kind."""


class Generation(Reading):
    """Text that a model has generated, and the reading of it with its prompt.

    `dataset` is that of a reading, with ``query_next``, the token that was
    generated after the token of the row (empty after the last), and ``query_probability``, which
    the model gave it.  Of a decoder ``key_segment`` is ``prompt`` or ``answer``, and of a chat
    ``answer`` beside the segments of its messages.  On request ``contribution``, over query and
    key, is what each token adds to the logit of the next one.
    """

    called: ClassVar[str] = "a generation is"
    question: ClassVar[str] = "generate"

    @property
    def answer(self) -> str:
        """Return the generated text."""
        return str(self.dataset.attrs["answer"])

    def __repr__(self) -> str:
        """Return the text and its answer."""
        return f"<Generation: {self.dataset.attrs['text']!r} goes on with {self.answer!r}>"


@answers("generate")
def generate(
    model: CapturedModel,
    text: Readable,
    pair: str | None = None,
    *,
    settings: GenerationSettings,
    command: str | None = None,
) -> Generation:
    """Generate text, the most probable token each time, and read it with its prompt.

    A decoder goes on with the text, or answers a chat; an encoder-decoder writes what its decoder
    makes of it.  It ends at the end-of-text token, or where the model takes no more.  What the
    model's own generation settings force or forbid stays so.

    Returns:
        Generation, a `Reading` of the prompt and the answer in rows of the tokens that predict the
        answer, whose ``dataset`` also holds what was generated.

        - ``query_next``, ``query_probability`` (query): the token generated after the one of the
          row, and its probability
        - ``contribution`` (query × key): what each token adds to the logit of the next, with
          `predict`

    Raises:
        MissingHeadError: the model does not predict next tokens.
        UsageError: no tokenizer, a second text, an empty or too long text, or no such layer.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
    """
    require_generation(model)
    if pair is not None:
        raise UsageError("a model goes on with one text; leave the second out.")
    text = as_read(text, predicts=True)
    prompt = _prompt(model, text)
    whole, answer = _continued(model, prompt, settings.max_new_tokens)
    first = len(prompt.target or prompt.ids) - 1
    reading = read_example(
        model,
        whole,
        ReadingSettings(
            kind=ALL if whole.target else None,
            layers=settings.layers,
            queries=None if whole.target else tuple(range(first, len(whole.ids))),
        ),
        attributes={
            "text": text,
            "pair": answer if whole.target else "",
            "command": command or "",
            "other_kinds": "",
            "answer": answer,
        },
    )
    parts = split_kinds(reading.dataset)
    followed = _next_tokens(model, whole, first)
    added = _added(model, whole, first) if settings.predict else {}
    for kind, part in parts.items():
        if kind == "encoder":
            continue
        parts[kind] = part.assign({name: ("query", values) for name, values in followed.items()})
        if added:
            rows = added[SIDES[kind] if whole.target else "text"]
            parts[kind][CONTRIBUTION] = (("query", "key"), rows, {"units": "logit"})
    return Generation(concat_kinds(parts) if len(parts) > 1 else next(iter(parts.values())))


def _prompt(model: CapturedModel, text: Readable) -> Encoded:
    """Return the text with its segments; of an encoder-decoder, what its decoder begins with."""
    if not model.has_decoder_inputs:
        model, example = one_text(model, text, None, None, purpose="it goes on with a text")
        if not example.segment_names:
            example = replace(example, segment_names=(PROMPT,) * len(example.ids))
        return example
    require_reader(model)
    tokenizer: Any = model.require_tokenizer("it goes on with a text")
    if isinstance(text, str):
        require_text(text, "text")
    example = encode_one(tokenizer, as_read(text), max_length=model.longest)
    start = int(model.decoder_start or 0)
    return replace(example, target=(start,), target_categories=(CLS,), target_words=(SPECIAL_WORD,))


def _continued(model: CapturedModel, prompt: Encoded, most: int) -> tuple[Encoded, str]:
    """Return a prompt with what the model generates, and the text of that."""
    network, tokenizer = model.transformer, model.tokenizer
    begun = len(prompt.target or prompt.ids)
    room = most if model.longest is None else min(most, model.longest - begun)
    if room < 1:
        raise UsageError(f"the text has {begun} tokens, and {model} takes no more; shorten it.")
    made: Any = network
    if not made.can_generate():
        raise MissingHeadError(
            f"transformers does not let {model} go on with a text; give a model whose class "
            "inherits from its GenerationMixin."
        )
    settings = copy.deepcopy(made.generation_config)
    # None: transformers warns of settings for sampling where nothing is sampled.
    settings.update(
        **dict.fromkeys(("temperature", "top_k", "top_p", "min_p", "typical_p")),
        do_sample=False,
        num_beams=1,
        repetition_penalty=1.0,
        no_repeat_ngram_size=0,
        max_length=None,
        min_length=0,
        max_new_tokens=room,
        return_dict_in_generate=False,
    )
    arguments = model.inputs(model.collate([prompt]))
    # Set for a single pass: no cache, and a mask of the first token of the decoder alone.
    for key in ("use_cache", "decoder_attention_mask"):
        arguments.pop(key, None)
    with torch.inference_mode(), model.running():
        (ids,) = made.generate(**arguments, generation_config=settings)
    generated = ids[begun:].tolist()
    whole, categories = prompt, Categories.from_tokenizer(tokenizer)  # type: ignore[arg-type]
    for number in generated:
        whole = with_next_token(whole, number, tokenizer, categories)
    return whole, str(tokenizer.decode(generated, skip_special_tokens=True))  # type: ignore[union-attr]


def _next_tokens(model: CapturedModel, whole: Encoded, first: int) -> dict[str, list[Any]]:
    """Return the token that followed each row, and its probability; none for the last row."""
    ids = whole.target or whole.ids
    logits = model.run(model.collate([whole])).logits[0].detach()
    tokens: list[Any] = list(model.tokenizer.convert_ids_to_tokens(list(ids[first + 1 :])))  # type: ignore[union-attr]
    shares = [
        float(logits[place].cpu().double().softmax(-1)[number])
        for place, number in enumerate(ids[first + 1 :], first)
    ]
    return {"query_next": [*map(str, tokens), ""], "query_probability": [*shares, np.nan]}


def _added(
    model: CapturedModel, whole: Encoded, first: int
) -> dict[str, Float64[np.ndarray, "query key"]]:
    """Return, by side, what tokens add to the logits of generated tokens; the last row is NaN."""
    ids = whole.target or whole.ids
    rows = [
        what_tokens_add(model, whole, place, number)
        for place, number in enumerate(ids[first + 1 :], first)
    ]
    return {
        str(side): np.stack([*(row[side] for row in rows), np.full(len(rows[0][side]), np.nan)])
        for side in rows[0]
    }


def generates(model: CapturedModel, *, decoder: bool = False) -> bool:
    """Return whether a model goes on with a text, and is a decoder where one is needed."""
    head = model.head.language
    return head == "causal" or (head == "sequence_to_sequence" and not decoder)


def require_generation(model: CapturedModel, *, decoder: bool = False) -> None:
    """Refuse a model that does not go on with a text.

    Args:
        model: Model to check.
        decoder: Whether an encoder-decoder is refused as well.

    Raises:
        MissingHeadError: The model does not go on with a text.
    """
    if not generates(model, decoder=decoder):
        wanted = "a decoder" if decoder else "a decoder or an encoder-decoder"
        raise MissingHeadError(
            f"{model} is a {type(model.transformer).__name__}, which does not go on with a text; "
            f"{with_head(wanted, EMBEDDED_DECODER)}."
        )
