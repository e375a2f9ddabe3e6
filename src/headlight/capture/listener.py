"""From sound, or pictures, to what a model is given."""

import inspect
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from transformers import AutoFeatureExtractor, AutoImageProcessor, AutoProcessor, PreTrainedModel

from headlight.catalogue.model_folders import place_of
from headlight.corpora.pictures import decode_picture
from headlight.encode.examples import annotate
from headlight.encode.pictures import (
    EncodedPicture,
    EncodedPrompt,
    Layout,
    Place,
    encode_prompt,
    picture_name,
)
from headlight.encode.speech import EncodedSpeech, Hearing, read_sound
from headlight.errors import UnsupportedModelError, UsageError
from headlight.files import reason

if TYPE_CHECKING:
    from PIL.Image import Image


def _load_without_code(loader: Any, network: PreTrainedModel, name: str) -> Any:
    """Return what belongs to a model; code in its folder is refused, and nobody is asked."""
    return loader.from_pretrained(place_of(network.name_or_path or name), trust_remote_code=False)


@dataclass(frozen=True)
class Listener:
    """Makes features of sound, for a model that hears a window of fixed length.

    Attributes:
        network: The model.
        extractor: Of transformers, which belongs to it.
        hearing: How it hears.
    """

    network: PreTrainedModel
    extractor: Any
    hearing: Hearing

    @classmethod
    def of(cls, network: PreTrainedModel, name: str) -> "Listener":
        """Return the audio input of a model.

        Raises:
            UsageError: It does not say how sound becomes features, or hears no window of fixed
                length.
        """
        try:
            extractor = _load_without_code(AutoFeatureExtractor, network, name)
        except (OSError, ValueError) as problem:
            raise UsageError(
                f"{name} does not say how sound becomes features; load it from a folder that holds "
                "its preprocessor_config.json (save_pretrained of its processor)."
            ) from problem
        samples = getattr(extractor, "n_samples", None)
        frames = getattr(network.config, "max_source_positions", None)
        if not samples or not frames:
            raise UsageError(
                f"{name} has no audio window of fixed length, which models of speech need here; "
                "choose one such as Whisper."
            )
        rate = int(extractor.sampling_rate)
        return cls(network, extractor, Hearing(rate, samples / rate, int(frames)))

    def features(
        self, examples: Sequence[EncodedSpeech]
    ) -> tuple[Float[Tensor, "batch bin time"], Int64[Tensor, " batch"]]:
        """Return the input of the encoder, and the number of its positions that sound fills.

        Raises:
            CorpusError: A file cannot be read any more.
        """
        rate = self.hearing.rate
        sounds = [read_sound(each.audio, rate) for each in examples]
        inputs = self.extractor(sounds, sampling_rate=rate, return_tensors="pt")
        device, dtype = self.network.device, self.network.dtype
        audible_frames = torch.tensor([each.heard for each in examples], device=device)
        return inputs.input_features.to(device, dtype), audible_frames


class _Reached(Exception):  # noqa: N818 - ends a pass that has come far enough
    """A module, with what it is given."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments = arguments


def _arguments_of(
    module: nn.Module, network: nn.Module, inputs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return what a module within a network is given first; None where it does not run."""
    names = list(inspect.signature(module.forward).parameters)

    def stop(_: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        raise _Reached(dict(zip(names, arguments, strict=False)) | options)

    hook = module.register_forward_pre_hook(stop, with_kwargs=True)
    try:
        network(**inputs)
    except _Reached as reached:
        return reached.arguments
    finally:
        hook.remove()
    return None


@dataclass(frozen=True)
class Viewer:
    """Makes pixels of pictures, and finds which patch stands at which position.

    Attributes:
        network: The model.
        processor: Of transformers, which belongs to it.
        first: The module of its first attention.
        name: What the user called the model.
    """

    network: PreTrainedModel
    processor: Any
    first: nn.Module
    name: str
    _layouts: dict[tuple[int, int], Layout] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, network: PreTrainedModel, first: nn.Module, name: str) -> "Viewer":
        """Return the input for pictures of a model.

        Raises:
            UsageError: It does not say how a picture becomes pixels.
        """
        try:
            processor = _load_without_code(AutoImageProcessor, network, name)
        except (OSError, ValueError, ImportError) as problem:
            raise UsageError(
                f"{name} does not say how pictures become pixels; load it from a folder that holds "
                "its preprocessor_config.json (save_pretrained of its processor)."
            ) from problem
        return cls(network, processor, first, name)

    def pixels(self, images: Sequence["Image"]) -> Float[Tensor, "batch channel row column"]:
        """Return what the model is given, of pictures that its processor makes equally large.

        Raises:
            UsageError: It makes them of several sizes, or something other than pixels.
        """
        made = [self.processor(images=[each], return_tensors="pt") for each in images]
        pixels = [each.get("pixel_values") for each in made]
        if any(each is None or each.ndim != 4 or len(each) != 1 for each in pixels):
            raise UsageError(
                f"the processor of {self.name} makes no grid of pixels of a picture, which is what "
                "is read here; choose an encoder such as ViT, DINOv2, CLIP or SigLIP."
            )
        if len({each.shape for each in pixels}) > 1:
            raise UsageError(
                f"the processor of {self.name} makes pictures of several sizes, which cannot be "
                "read together; let it crop or resize all to one size, or read them one by one."
            )
        return torch.cat(pixels).to(self.network.device, self.network.dtype)

    def features(
        self, examples: Sequence[EncodedPicture]
    ) -> Float[Tensor, "batch channel row column"]:
        """Return the pixels of examples, whose files are decoded now.

        Raises:
            CorpusError: A file cannot be read any more.
        """
        return self.pixels([decode_picture(each.image) for each in examples])

    def shown(self, example: EncodedPicture) -> "Image":
        """Return what the model sees: the picture as its processor has resized and cropped it."""
        return _shown(self.features([example])[0], self.processor, self._patch, example.layout)

    def layout(self, image: "Image") -> Layout:
        """Return what stands at each position of the model, for a picture of this size.

        Raises:
            UnsupportedModelError: Its positions are not those of patches.
        """
        pixels = self.pixels([image])
        size = (pixels.shape[2], pixels.shape[3])
        if size not in self._layouts:
            with torch.inference_mode(mode=False):
                self._layouts[size] = self._find(pixels.clone())
        return self._layouts[size]

    @property
    def _patch(self) -> tuple[int, int]:
        """Return height and width of a patch in pixels."""
        patch = _patch_of(self.network.config)
        if patch is None:
            raise self._unnamed("its configuration has no patch_size")
        return patch

    def _find(self, pixels: Tensor) -> Layout:
        """Find which position is of which patch, by pictures that differ in some patches.

        In the picture of each bit those patches differ whose number, from 1, has that bit: a
        position changes in the pictures that spell the number of its patch.
        """
        high, wide = self._patch
        rows, columns = pixels.shape[2] // high, pixels.shape[3] // wide
        numbers = torch.arange(1, rows * columns + 1).reshape(rows, columns)
        bits = 1 << torch.arange(int(numbers.max()).bit_length())
        has = (numbers & bits[:, None, None]).bool()
        whole = has.repeat_interleave(high, 1).repeat_interleave(wide, 2).to(pixels.device)
        changed = pixels.repeat(len(bits), 1, 1, 1)
        changed[:, :, : rows * high, : columns * wide] += whole[:, None]
        seen = self._first_inputs(torch.cat([pixels, changed])).detach().float()
        if seen.ndim != 3 or len(seen) != len(bits) + 1:
            raise self._unnamed("its first attention is of windows")
        apart = (seen[1:] - seen[0]).abs().amax(-1)
        codes = ((apart > apart.max() / 1000).cpu().long() * bits[:, None]).sum(0).tolist()
        if sorted(filter(None, codes)) != numbers.flatten().tolist():
            raise self._unnamed("convolutions, merged patches or a shift stand before them")
        others = self._special(pixels, [at for at, code in enumerate(codes) if not code])
        places: list[Place] = [
            divmod(code - 1, columns) if code else others[at] for at, code in enumerate(codes)
        ]
        return Layout(rows, columns, tuple(places))

    def _special(self, pixels: Tensor, positions: Sequence[int]) -> dict[int, Place]:
        """Name positions that are no patch by the parameter that they are made of."""
        named = {
            name.rpartition(".")[2]: each
            for name, each in self.network.named_parameters()
            if any(part in name.rpartition(".")[2] for part in _SPECIAL)
        }
        with torch.enable_grad():
            wanted = [each.requires_grad for each in named.values()]
            try:
                for each in named.values():
                    each.requires_grad_()
                seen = self._first_inputs(pixels)[0]
                weights = torch.randn(seen.shape[1:], generator=torch.Generator().manual_seed(0))
                totals = seen @ weights.to(seen)  # a plain sum is constant behind a layer norm
                names = {
                    at: next(
                        (
                            called
                            for name, each in named.items()
                            if (called := _called(name, totals[at], each))
                        ),
                        "",
                    )
                    for at in positions
                }
            finally:
                for each, before in zip(named.values(), wanted, strict=True):
                    each.requires_grad_(before)
        if "" in names.values() or len({*names.values()}) < len(names):
            raise self._unnamed("some are neither patches nor tokens for class or registers")
        return dict(names)

    def _first_inputs(self, pixels: Tensor) -> Tensor:
        """Return what the first attention is given."""
        name = str(self.network.main_input_name)
        arguments = _arguments_of(self.first, self.network, {name: pixels})
        if arguments is None:
            raise self._unnamed("its first attention does not run")
        inputs: Tensor = next(iter(arguments.values()))
        return inputs

    def _unnamed(self, reason: str) -> UnsupportedModelError:
        return UnsupportedModelError(
            f"positions of {self.name} are not the patches of a picture ({reason}), so its rows "
            "and columns have no names; choose an encoder such as ViT, DINOv2, CLIP or SigLIP."
        )


_SPECIAL = {"cls": "cls", "class_": "cls", "dist": "dist", "register": "reg"}
"""Parts of the names of parameters that positions are made of, and what these are called."""


def _called(name: str, total: Tensor, parameter: Tensor) -> str:
    """Return the name of a position that a parameter moves; nothing where it does not."""
    (gradient,) = torch.autograd.grad(total, parameter, retain_graph=True, allow_unused=True)
    if gradient is None or not bool(gradient.any()):
        return ""
    stem = next(called for part, called in _SPECIAL.items() if part in name)
    rows = gradient.reshape(-1, gradient.shape[-1]).abs().sum(-1).nonzero().flatten().tolist()
    return f"{stem}{rows[0] + 1}" if stem == "reg" else stem


def _patch_of(config: Any) -> tuple[int, int] | None:
    """Return height and width of a patch in pixels; None where a configuration has none."""
    patch: Any = getattr(config, "patch_size", None)
    high, wide = patch if isinstance(patch, list | tuple) else (patch or 0, patch or 0)
    return (int(high), int(wide)) if high and wide else None


def _shown(pixels: Tensor, processor: Any, patch: tuple[int, int], layout: Layout) -> "Image":
    """Return the picture that pixels were made of, as far as patches reach."""
    from PIL import Image

    pixels = pixels.float().cpu()
    if getattr(processor, "do_normalize", True):
        mean, deviation = (
            torch.tensor(numbers).reshape(-1, 1, 1)
            for numbers in (processor.image_mean, processor.image_std)
        )
        pixels = pixels * deviation + mean
    if getattr(processor, "do_rescale", True):
        pixels = pixels / getattr(processor, "rescale_factor", 1 / 255)
    pixels = pixels[:, : layout.rows * patch[0], : layout.columns * patch[1]]
    shades = pixels.round().clamp(0, 255).to(torch.uint8)
    return Image.fromarray(shades.expand(3, -1, -1).permute(1, 2, 0).numpy())


@dataclass(frozen=True)
class PromptViewer:
    """Encodes prompts beside a picture, as far as the language model behind the encoder.

    Ids, and how many image tokens stand for a picture, are those of the processor. Rows and columns
    are ``image_grid_thw`` where it makes one, else pixels by ``patch_size``.

    Attributes:
        network: The model.
        tokenizer: Its tokenizer.
        processor: Of transformers, which belongs to it.
        image_id: Id of the token that stands for a patch.
        name: What the user called the model.
    """

    network: PreTrainedModel
    tokenizer: Any
    processor: Any
    image_id: int
    name: str

    @classmethod
    def of(cls, network: PreTrainedModel, tokenizer: Any, name: str) -> "PromptViewer":
        """Return the input for prompts beside pictures of a model.

        Raises:
            UsageError: It reads no text beside a picture, or its processor cannot be loaded.
        """
        image_id = getattr(network.config, "image_token_id", None)
        if image_id is None or not isinstance(network.get_decoder(), PreTrainedModel):
            raise UsageError(
                f"{name} reads no text beside a picture (its configuration has no image_token_id); "
                "leave the text out, or name a model such as llava-hf/llava-1.5-7b-hf."
            )
        try:
            processor: Any = _load_without_code(AutoProcessor, network, name)
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
            prompt: A text. The picture stands where it holds the image token, else before it.
            image: A file, or a picture of Pillow.
            longest: Tokens at most.

        Raises:
            CorpusError: The file is no picture that is read here.
            UsageError: The processor does not write this prompt, or it is too long.
            UnsupportedModelError: Its image tokens are not the patches of a picture.
        """
        picture, prompt = decode_picture(image), self._with_token(prompt)
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
            arguments = _arguments_of(decoder, self.network, {**inputs, "use_cache": False})
        if arguments is None:
            raise UnsupportedModelError(
                f"the language model of {self.name} does not run beside a picture, so its "
                "attention cannot be shown; read the text or the picture alone."
            )
        named = replace(example, name=picture_name(image))
        return annotate(named, EncodedPrompt, arguments=arguments, image=scaled)

    def _with_token(self, prompt: str) -> str:
        """Return a prompt that holds the image token once.

        Raises:
            UsageError: It holds several.
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
            "" if each is None else self.tokenizer.convert_ids_to_tokens(each) for each in ends
        )
        return prompt if token in prompt else f"{start}{token}{end}{prompt}"

    def _layout(self, inputs: Any, picture: "Image", tokens: int) -> tuple[Layout, "Image"]:
        """Return the patches that image tokens stand for, and the picture that they cover.

        Raises:
            UnsupportedModelError: These are not as many.
        """
        pixels, vision = inputs.get("pixel_values"), self.processor.image_processor
        patch = _patch_of(getattr(self.network.config, "vision_config", None))
        rows = columns = 0
        if "image_grid_thw" in inputs:
            merged = getattr(vision, "merge_size", 1)
            rows, columns = (each // merged for each in inputs["image_grid_thw"][0, 1:].tolist())
        elif patch is not None and pixels is not None and pixels.ndim == 4 and len(pixels) == 1:
            rows, columns = (
                side // each for side, each in zip(pixels.shape[2:], patch, strict=True)
            )
            picture = _shown(pixels[0], vision, patch, Layout(rows, columns, ()))
        if rows * columns != tokens or not tokens:
            raise UnsupportedModelError(
                f"{self.name} writes {tokens} image tokens for a picture of {rows} × {columns} "
                "patches, so they have no rows and columns; choose a model such as LLaVA or "
                "Qwen2-VL."
            )
        return Layout(rows, columns, tuple(product(range(rows), range(columns)))), picture
