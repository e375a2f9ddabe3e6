"""Prompts beside a picture, as the language model behind an encoder reads them."""

import zlib
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoProcessor, PreTrainedModel

from headlight.capture.picture_patches import first_arguments, patch_size_of, shown_picture
from headlight.capture.preprocessors import load_without_code
from headlight.corpora.pictures import decode_picture
from headlight.encode.examples import annotate
from headlight.encode.picture_prompts import EncodedPrompt, encode_prompt
from headlight.encode.pictures import Layout, picture_name
from headlight.errors import UnsupportedModelError, UsageError
from headlight.files import reason

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class PromptViewer:
    """Encoder of prompts beside a picture, as far as the language model behind the encoder.

    Ids, and the number of image tokens of a picture, are those of the processor.  Rows and columns
    are ``image_grid_thw`` where the processor makes it, else pixels by ``patch_size``.

    Attributes:
        network: Model that reads pictures and prompts.
        tokenizer: Tokenizer of the model.
        processor: Processor of transformers, which belongs to the model.
        image_id: Id of the token that stands for a patch.
        name: Name of the model, as given by the user.
    """

    network: PreTrainedModel
    tokenizer: Any
    processor: Any
    image_id: int
    name: str

    @classmethod
    def from_model(cls, network: PreTrainedModel, tokenizer: Any, name: str) -> "PromptViewer":
        """Return the input for prompts beside pictures of a model.

        Raises:
            UsageError: The model reads no text beside a picture, or its processor cannot be loaded.
        """
        image_id = getattr(network.config, "image_token_id", None)
        if image_id is None or not isinstance(network.get_decoder(), PreTrainedModel):
            raise UsageError(
                f"{name} reads no text beside a picture (its configuration has no image_token_id); "
                "leave the text out, or name a model such as llava-hf/llava-1.5-7b-hf."
            )
        try:
            processor: Any = load_without_code(AutoProcessor, network, name)
            _ = processor.image_processor
        except (OSError, ValueError, ImportError, AttributeError) as problem:
            why = str(problem).strip().partition(". ")[0]
            raise UsageError(
                f"the processor of {name}, which writes pictures into prompts, cannot be loaded "
                f"({why}); put its files into the folder of the model, and install what it needs."
            ) from problem
        return cls(network, tokenizer, processor, image_id, name)

    def encode(self, prompt: str, image: Any, longest: int | None = None) -> EncodedPrompt:
        """Return a prompt beside a picture as an example.

        Args:
            prompt: Text; the picture stands where it holds the image token, else before it.
            image: File, or picture of Pillow.
            longest: Largest number of tokens; None for any.

        Raises:
            CorpusError: The file is no picture that is read here.
            UsageError: The processor does not write this prompt, or it is too long.
            UnsupportedModelError: The image tokens are not the patches of a picture.
        """
        picture, prompt = decode_picture(image), self._insert_token(prompt)
        try:
            inputs = self.processor(text=[prompt], images=[picture], return_tensors="pt")
        except (ValueError, TypeError) as problem:
            raise UsageError(
                f"the processor of {self.name} does not write this prompt and picture "
                f"({reason(problem)}); change them."
            ) from problem
        inputs = inputs.to(self.network.device, self.network.dtype)
        ids = inputs["input_ids"][0].tolist()
        layout, scaled = self._layout(inputs, picture, ids.count(self.image_id))
        mark = zlib.crc32(picture.tobytes())
        about = self.image_id, layout, mark
        example = encode_prompt(self.tokenizer, prompt, ids, *about, max_length=longest)
        decoder: Any = self.network.get_decoder()
        with torch.inference_mode():
            arguments = first_arguments(decoder, self.network, {**inputs, "use_cache": False})
        if arguments is None:
            raise UnsupportedModelError(
                f"the language model of {self.name} does not run beside a picture, so its "
                "attention cannot be shown; read the text or the picture alone."
            )
        named = replace(example, name=picture_name(image))
        return annotate(named, EncodedPrompt, arguments=arguments, image=scaled)

    def _insert_token(self, prompt: str) -> str:
        """Return a prompt that holds the image token once.

        Raises:
            UsageError: The prompt holds several image tokens.
        """
        token = str(self.tokenizer.convert_ids_to_tokens(self.image_id))
        if prompt.count(token) > 1:
            raise UsageError(
                f"the prompt has {prompt.count(token)} places for a picture ({token}), and one "
                "picture is read; leave the others out."
            )
        names = [f"vision_{end}_token_id" for end in ("start", "end")]
        ends = [getattr(self.network.config, name, None) for name in names]
        start, end = (
            "" if token_id is None else self.tokenizer.convert_ids_to_tokens(token_id)
            for token_id in ends
        )
        return prompt if token in prompt else f"{start}{token}{end}{prompt}"

    def _layout(self, inputs: Any, picture: "Image", tokens: int) -> tuple[Layout, "Image"]:
        """Return the patches that image tokens stand for, and the picture that they cover.

        Raises:
            UnsupportedModelError: There are not as many patches as image tokens.
        """
        pixels, vision = inputs.get("pixel_values"), self.processor.image_processor
        patch = patch_size_of(getattr(self.network.config, "vision_config", None))
        rows = columns = 0
        if "image_grid_thw" in inputs:
            merged = getattr(vision, "merge_size", 1)
            rows, columns = (size // merged for size in inputs["image_grid_thw"][0, 1:].tolist())
        elif patch is not None and pixels is not None and pixels.ndim == 4 and len(pixels) == 1:
            rows, columns = (
                side // length for side, length in zip(pixels.shape[2:], patch, strict=True)
            )
            picture = shown_picture(pixels[0], vision, patch, Layout(rows, columns, ()))
        if rows * columns != tokens or not tokens:
            raise UnsupportedModelError(
                f"{self.name} writes {tokens} image tokens for a picture of {rows} × {columns} "
                "patches, so they have no rows and columns; choose a model such as LLaVA or "
                "Qwen2-VL."
            )
        return Layout(rows, columns, tuple(product(range(rows), range(columns)))), picture
