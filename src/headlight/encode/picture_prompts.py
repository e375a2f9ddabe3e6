"""Prompts beside a picture as examples: tokens of the prompt attend to patches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headlight.encode.examples import Encoded
from headlight.encode.pictures import Layout
from headlight.encode.pieces import SPECIAL_WORD
from headlight.encode.texts import encode_one
from headlight.errors import UsageError
from headlight.vocabulary import IMAGE, PROMPT, TEMPLATE

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPrompt(Encoded):
    """Prompt beside a picture, as the language model behind an encoder of pictures reads it.

    Its `ids` are those of the prompt, and for patches those of a `Layout`.

    Attributes:
        arguments: Arguments of the language model, from the embeddings on.
        image: Picture as it is shown.
    """

    arguments: Mapping[str, Any]
    image: "Image"

    def beginning(self, tokens: int) -> "EncodedPrompt":
        """Return the whole prompt, whose embeddings belong together."""
        return self


def encode_prompt(
    tokenizer: Any,
    prompt: str,
    ids: Sequence[int],
    image_id: int,
    layout: Layout,
    mark: int,
    *,
    max_length: int | None = None,
) -> Encoded:
    """Return a prompt in which the patches of a picture stand in place of its image tokens.

    Args:
        tokenizer: Fast Hugging Face tokenizer.
        prompt: Text, with the image token once.
        ids: Ids that the processor of the model has made of the prompt.
        image_id: Id of the image token.
        layout: Layout with as many patches as `ids` holds image tokens.
        mark: Mark of the picture.
        max_length: Largest number of tokens.

    Raises:
        UsageError: The tokenizer makes other tokens of the prompt, or it is too long.
    """
    token = str(tokenizer.convert_ids_to_tokens(image_id))
    expanded = prompt.replace(token, token * len(layout.places))
    example = encode_one(tokenizer, expanded, max_length=max_length)
    if list(example.ids) != list(ids):
        raise UsageError(
            "the processor of the model writes more around a picture than its image tokens, so the "
            "words of the prompt are not known; choose a model such as LLaVA or Qwen2-VL."
        )
    patches = iter(layout.ids(mark, image=1))
    named = tuple(next(patches) if token_id == image_id else token_id for token_id in ids)
    numbers: dict[tuple[int, int], int] = {}
    words = tuple(
        numbers.setdefault((word, min(token_id, 0)), len(numbers))
        if word != SPECIAL_WORD or token_id < 0
        else SPECIAL_WORD
        for word, token_id in zip(example.words, named, strict=True)
    )
    segments = tuple(
        IMAGE if token_id < 0 else TEMPLATE if word == SPECIAL_WORD else PROMPT
        for word, token_id in zip(words, named, strict=True)
    )
    return replace(example, ids=named, words=words, segment_names=segments)
