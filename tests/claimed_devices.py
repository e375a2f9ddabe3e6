"""Tensors that claim a device which this machine need not have, and behave as if they lay there.

The numbers stay on the CPU.  Each tensor says where it is; an operation on tensors of two devices
fails, as it would on a GPU, and so does float64 where the device has none.  What would make a GPU
wait for its host (`.item()`, `.cpu()`, a mask as an index) is counted.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_map_only

CPU, META = torch.device("cpu"), torch.device("meta")
GPUS = ("cuda", "mps")
MPS_HERE = torch.device("cuda", 99)
WAITS = {
    "aten._local_scalar_dense.default": "item",
    "aten.nonzero.default": "nonzero",
    "aten.masked_select.default": "nonzero",
}

WITHOUT_KERNEL = ("aten._unsafe_view.default", "aten.empty_like.default", "aten.new_empty.default")
"""Operations that are no views and run nothing on a device."""


class DeviceError(AssertionError):
    """Something that no GPU, or not this one, would do."""


class Claimed(Tensor):
    """A tensor with numbers on the CPU that says it lies elsewhere."""

    held: Tensor
    claims: torch.device

    @staticmethod
    def __new__(cls, held: Tensor, claims: torch.device) -> "Claimed":
        made = Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            layout=held.layout,
            device="meta",  # what C++ sees; it would look for a driver behind any other name
            requires_grad=held.requires_grad,
        )
        made.held, made.claims = held.detach(), claims
        return made

    @property
    def device(self) -> torch.device:
        return self.claims

    def __repr__(self) -> str:
        return f"Claimed({self.held!r}, {self.claims})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise DeviceError(f"{function} ran outside `claimed_devices`")


class _Names(TorchFunctionMode):
    """Names of devices as this build of torch takes them, before it looks for a driver."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if function is Tensor.to and len(args) > 1 and isinstance(args[1], Tensor):
            args = (args[0], args[1].device, args[1].dtype, *args[2:])
        if function is Tensor.tolist and isinstance(args[0], Claimed):
            args = (args[0].cpu(),)
        kwargs = dict(kwargs or {})
        if function is not torch.device:
            args, kwargs = tree_map(_passable, (args, kwargs))
        if function in (torch.tensor, torch.as_tensor):  # from numbers of Python, or of numpy
            device = kwargs.pop("device", None)
            made = function(*args, **kwargs)
            return made if device is None else made.to(device)
        return function(*args, **kwargs)


def _passable(given: Any) -> Any:
    if isinstance(given, str | torch.device) and str(given).startswith("mps"):
        return MPS_HERE
    return given


class Devices(TorchDispatchMode):
    """Runs every operation on the CPU, after it has asked where its tensors claim to be."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: Counter[str] = Counter()
        self.kernels = 0
        """Operations that run something on a device."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        flat = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, Tensor)]
        place = _place(function, flat)
        name = str(function)
        if place.type != "cpu":
            self._count(name, flat, args)
            self.kernels += not function.is_view and name not in WITHOUT_KERNEL
        asked = kwargs.get("device")
        goes = place if asked is None or (asked == META and flat) else _named(torch.device(asked))
        if asked is not None:
            kwargs["device"] = CPU
        if goes.type == "cpu" and place.type != "cpu":
            self.waits["cpu"] += 1
        if name == "aten.copy_.default":
            goes = args[0].device
        args, kwargs = tree_map_only(Claimed, lambda each: each.held, (args, kwargs))
        found = function(*args, **kwargs)
        return tree_map_only(Tensor, lambda each: _claim(each, goes, name), found)

    def _count(self, name: str, flat: list[Tensor], args: tuple[Any, ...]) -> None:
        if name in WAITS:
            self.waits[WAITS[name]] += 1
        if name.startswith(("aten.index.", "aten.index_put")) and any(
            each is not None and each.dtype == torch.bool for each in args[1]
        ):
            self.waits["nonzero"] += 1


def _named(device: torch.device) -> torch.device:
    """As the tests call it; a device without a number is the first of its kind."""
    if device == MPS_HERE:
        return torch.device("mps", 0)
    return (
        torch.device(device.type, device.index or 0)
        if device.type in GPUS
        else torch.device(device.type)
    )


def _place(function: Any, tensors: list[Tensor]) -> torch.device:
    """Where these tensors are; numbers of the CPU without an axis may go with any."""
    places = {each.device for each in tensors if each.ndim or each.device != CPU}
    name = str(function)
    if name.startswith(("aten._to_copy", "aten.copy_")):
        return tensors[-1].device
    if name.startswith("aten.index"):  # a GPU takes indices from the CPU
        places = {tensors[0].device, *(each for each in places if each != CPU)}
    if len(places) > 1:  # C++ makes scratch tensors on what it takes for the device
        places.discard(META)
    if len(places) > 1:
        raise DeviceError(f"{function} got tensors on {sorted(map(str, places))}")
    return places.pop() if places else CPU


def _claim(found: Tensor, place: torch.device, name: str) -> Tensor:
    if place.type == "cpu" or isinstance(found, Claimed):
        return found
    if place.type == "mps" and found.dtype in (torch.float64, torch.complex128):
        raise DeviceError(f"{name} makes {found.dtype}, which MPS has not")
    return Claimed(found, place)


def _without_gradients(*, mode: bool = True) -> AbstractContextManager[object]:
    return torch.no_grad() if mode else nullcontext()


@contextmanager
def claimed_devices() -> Iterator[Devices]:
    """Within the block, tensors can claim to be on any device."""
    with (
        mock.patch.object(torch.cuda, "_lazy_init"),
        # Tensors of inference mode have no versions, which views of a subclass want.
        mock.patch.object(torch, "inference_mode", _without_gradients),
        _Names(),
        Devices() as devices,
    ):
        yield devices


def _held(tensor: Tensor) -> Tensor:
    return tensor.held if isinstance(tensor, Claimed) else tensor


def place(module: nn.Module, device: str | torch.device) -> None:
    """Let all parameters and buffers below a module claim to be on a device."""
    for each in module.modules():
        for name, tensor in each._parameters.items():
            if tensor is not None:
                moved = Claimed(_held(tensor).detach(), _named(torch.device(device)))
                each._parameters[name] = nn.Parameter(moved, requires_grad=False)
        for name, tensor in each._buffers.items():
            if tensor is not None:
                each._buffers[name] = Claimed(_held(tensor), _named(torch.device(device)))
