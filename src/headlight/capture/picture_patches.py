"""Pixels of pictures, and patches at the positions of an encoder."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import AutoImageProcessor, PreTrainedModel

from headlight.capture.preprocessors import load_without_code
from headlight.corpora.pictures import decode_picture
from headlight.encode.pictures import EncodedPicture, Layout, Place
from headlight.errors import UnsupportedModelError, UsageError

if TYPE_CHECKING:
    from PIL.Image import Image


class _Reached(Exception):  # noqa: N818 - ends a pass that has come far enough
    """Arguments of a module that a pass has reached."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments = arguments


def first_arguments(
    module: nn.Module, network: nn.Module, inputs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the first arguments of a module within a network; None where it does not run."""
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
    """Input for pictures, which makes pixels, and finds the patch at each position.

    Attributes:
        network: Model that reads pictures.
        processor: Processor of transformers, which belongs to the model.
        first: Module of its first attention.
        name: Name of the model, as given by the user.
    """

    network: PreTrainedModel
    processor: Any
    first: nn.Module
    name: str
    _layouts: dict[tuple[int, int], Layout] = field(default_factory=dict, init=False)

    @classmethod
    def from_model(cls, network: PreTrainedModel, first: nn.Module, name: str) -> "Viewer":
        """Return the input for pictures of a model.

        Raises:
            UsageError: The model does not say how a picture becomes pixels.
        """
        own = getattr(network, "processor", None)
        try:
            processor = own or load_without_code(AutoImageProcessor, network, name)
        except (OSError, ValueError, ImportError) as problem:
            raise UsageError(
                f"{name} does not say how pictures become pixels; load it from a folder that holds "
                "its preprocessor_config.json (save_pretrained of its processor)."
            ) from problem
        return cls(network, processor, first, name)

    def pixels(self, images: Sequence["Image"]) -> Float[Tensor, "batch channel row column"]:
        """Return the pixels of pictures, which the model's processor makes equally large.

        Raises:
            UsageError: The processor makes several sizes, or something other than pixels.
        """
        made = [self.processor(images=[image], return_tensors="pt") for image in images]
        pixels = [output.get("pixel_values") for output in made]
        if any(grid is None or grid.ndim != 4 or len(grid) != 1 for grid in pixels):
            raise UsageError(
                f"the processor of {self.name} makes no grid of pixels of a picture, which is what "
                "is read here; choose an encoder such as ViT, DINOv2, CLIP or SigLIP."
            )
        if len({grid.shape for grid in pixels}) > 1:
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
        return self.pixels([decode_picture(example.image) for example in examples])

    def shown(self, example: EncodedPicture) -> "Image":
        """Return the picture as the model sees it, resized and cropped by its processor."""
        return shown_picture(
            self.features([example])[0], self.processor, self._patch, example.layout
        )

    def layout(self, image: "Image") -> Layout:
        """Return the patch or token at each position of the model, for a picture of this size.

        Raises:
            UnsupportedModelError: The positions of the model are not those of patches.
        """
        pixels = self.pixels([image])
        size = (pixels.shape[2], pixels.shape[3])
        if size not in self._layouts:
            with torch.inference_mode(mode=False):
                # A clone made here can be differentiated, whatever mode the pixels are from.
                self._layouts[size] = self._find(pixels.clone())
        return self._layouts[size]

    @property
    def _patch(self) -> tuple[int, int]:
        """Return height and width of a patch in pixels."""
        patch = patch_size_of(self.network.config)
        if patch is None:
            raise self._unnamed_error("its configuration has no patch_size")
        return patch

    def _find(self, pixels: Tensor) -> Layout:
        """Find the patch of each position, by pictures that differ in some patches.

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
            raise self._unnamed_error("its first attention is of windows")
        apart = (seen[1:] - seen[0]).abs().amax(-1)
        codes = ((apart > apart.max() / 1000).cpu().long() * bits[:, None]).sum(0).tolist()
        if sorted(filter(None, codes)) != numbers.flatten().tolist():
            raise self._unnamed_error("convolutions, merged patches or a shift stand before them")
        others = self._special(pixels, [at for at, code in enumerate(codes) if not code])
        places: list[Place] = [
            divmod(code - 1, columns) if code else others[at] for at, code in enumerate(codes)
        ]
        return Layout(rows, columns, tuple(places))

    def _special(self, pixels: Tensor, positions: Sequence[int]) -> dict[int, Place]:
        """Name positions without a patch by the parameter that they are made of."""
        named = {
            name.rpartition(".")[2]: parameter
            for name, parameter in self.network.named_parameters()
            if any(part in name.rpartition(".")[2] for part in _SPECIAL)
        }
        with torch.enable_grad():
            wanted = [parameter.requires_grad for parameter in named.values()]
            try:
                for parameter in named.values():
                    parameter.requires_grad_()
                seen = self._first_inputs(pixels)[0]
                weights = torch.randn(seen.shape[1:], generator=torch.Generator().manual_seed(0))
                totals = seen @ weights.to(seen)  # a plain sum is constant behind a layer norm
                names = {
                    at: next(
                        (
                            called
                            for name, parameter in named.items()
                            if (called := _name_position(name, totals[at], parameter))
                        ),
                        "",
                    )
                    for at in positions
                }
            finally:
                for parameter, before in zip(named.values(), wanted, strict=True):
                    parameter.requires_grad_(before)
        if "" in names.values() or len({*names.values()}) < len(names):
            raise self._unnamed_error("some are neither patches nor tokens for class or registers")
        return dict(names)

    def _first_inputs(self, pixels: Tensor) -> Tensor:
        """Return the input of the first attention."""
        name = str(self.network.main_input_name)
        arguments = first_arguments(self.first, self.network, {name: pixels})
        if arguments is None:
            raise self._unnamed_error("its first attention does not run")
        inputs: Tensor = next(iter(arguments.values()))
        return inputs

    def _unnamed_error(self, reason: str) -> UnsupportedModelError:
        return UnsupportedModelError(
            f"positions of {self.name} are not the patches of a picture ({reason}), so its rows "
            "and columns have no names; choose an encoder such as ViT, DINOv2, CLIP or SigLIP."
        )


_SPECIAL = {"cls": "cls", "class_": "cls", "dist": "dist", "register": "reg"}
"""Parts of the names of parameters that positions are made of, with the names of the positions."""


def _name_position(name: str, total: Tensor, parameter: Tensor) -> str:
    """Return the name of a position that a parameter moves; nothing where it does not."""
    (gradient,) = torch.autograd.grad(total, parameter, retain_graph=True, allow_unused=True)
    if gradient is None or not bool(gradient.any()):
        return ""
    stem = next(called for part, called in _SPECIAL.items() if part in name)
    rows = gradient.reshape(-1, gradient.shape[-1]).abs().sum(-1).nonzero().flatten().tolist()
    return f"{stem}{rows[0] + 1}" if stem == "reg" else stem


def patch_size_of(config: Any) -> tuple[int, int] | None:
    """Return height and width of a patch in pixels; None where a configuration has none."""
    patch: Any = getattr(config, "patch_size", None)
    high, wide = patch if isinstance(patch, list | tuple) else (patch or 0, patch or 0)
    return (int(high), int(wide)) if high and wide else None


def shown_picture(
    pixels: Tensor, processor: Any, patch: tuple[int, int], layout: Layout
) -> "Image":
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
