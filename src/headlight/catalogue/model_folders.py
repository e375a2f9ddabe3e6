"""Folders of models: reasons why one cannot be loaded, and GGUF files."""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from headlight.catalogue.model_configuration import (
    CONFIG,
    MOST_LAYERS,
    check_layers,
    number_of_layers,
    numbers_in_parts,
    read_configuration,
)
from headlight.errors import ModelError, UsageError
from headlight.files import read_json

GGUF = ".gguf"
_WEIGHTS = ("*.safetensors", f"*{GGUF}", "pytorch_model*.bin")
_FORMATS = {
    "ONNX": ("*.onnx", "onnx/*.onnx"),
    "TensorFlow": ("*.h5", "saved_model.pb", "*.tflite"),
    "Flax": ("*.msgpack",),
    "OpenVINO": ("openvino_model.xml",),
}
_OPTIMIZER = ("optimizer.pt", "optimizer.bin", "scheduler.pt", "trainer_state.json", "global_step*")


def why_no_model(place: str) -> str | None:
    """Return why a folder cannot be loaded and what to give instead, as a sentence.

    None where nothing is known against it: it holds a configuration, and neither an adapter alone,
    weights in another format alone, nor the state of a training run alone.
    """
    folder = Path(place)
    for look in (_adapter, _other_format, _training_state):
        if (sentence := look(folder)) is not None:
            return f"{place} {sentence}"
    if not (folder / CONFIG).exists():
        return f"{place} holds no config.json; {_instead(folder)}."
    return None


def _adapter(folder: Path) -> str | None:
    path = folder / "adapter_config.json"
    if not path.exists() or (folder / CONFIG).exists():
        return None
    try:
        config = dict(read_json(path, refuse_links=False, error=ModelError))
    except (ModelError, ValueError, TypeError):
        config = {}
    base, kind = config.get("base_model_name_or_path"), config.get("peft_type")
    cure = (
        "merge it (merge_and_unload of PEFT), save the result with save_pretrained, and give that "
        "folder"
    )
    if (reason := why_not_merged(kind, config.get("num_virtual_tokens"))) is not None:
        cure = f"{reason}; {base or 'that model'} can be read, without it"
    return (
        f"holds an adapter{f' ({kind})' if kind else ''} of {base or 'another model'}, and not "
        f"that model; {cure}."
    )


_NEVER_MERGED = ("ADAPTION_PROMPT", "POLY", "SHADOW", "XLORA")


def why_not_merged(kind: object, virtual_tokens: object) -> str | None:
    """Return why an adapter cannot become part of the weights of its model; None where it can.

    Args:
        kind: ``peft_type`` of the adapter.
        virtual_tokens: ``num_virtual_tokens`` of the adapter, where it has any.
    """
    if virtual_tokens:
        return f"its {virtual_tokens} virtual tokens stand before every text, and are not captured"
    if kind in _NEVER_MERGED:
        return "PEFT cannot merge it, and what it adds while the model runs is not captured"
    return None


def _other_format(folder: Path) -> str | None:
    if holds_file(folder, _WEIGHTS):
        return None
    for name, patterns in _FORMATS.items():
        if holds_file(folder, patterns):
            return (
                f"holds weights in the format of {name} alone; give the folder of the transformers "
                "model that they were exported from, with safetensors."
            )
    return None


def _training_state(folder: Path) -> str | None:
    if holds_file(folder, _WEIGHTS) or not holds_file(folder, _OPTIMIZER):
        return None
    inside = _models_inside(folder)
    cure = f"give {inside[-1]}" if inside else "save the model itself with save_pretrained"
    return f"holds the state of a training run (its optimizer, say), and no weights; {cure}."


def _instead(folder: Path) -> str:
    inside = _models_inside(folder)
    if not inside:
        return "give the folder of a transformers model"
    if folder.name.startswith("models--") and (folder / "snapshots").is_dir():
        name = folder.name.removeprefix("models--").replace("--", "/")
        return f"it is a folder of the hub's cache: give the name {name!r}, or {inside[-1]}"
    if len(inside) == 1:
        return f"the model lies in {inside[0]}"
    return f"there are models in {', '.join(map(str, inside[:3]))}; give one of them"


def _models_inside(folder: Path) -> list[Path]:
    """Return folders with the configuration of a model, the latest changed last."""
    folders = [
        path.parent
        for depth in ("*", "snapshots/*")
        for path in folder.glob(f"{depth}/{CONFIG}")
        if not (config := read_configuration(str(path.parent))) or {*config} & _OF_MODELS
    ]
    return sorted(folders, key=lambda place: (place.stat().st_mtime, place.name))


_OF_MODELS = {"model_type", "architectures", "auto_map"}
"""Keys by which a configuration of transformers is told from other files called config.json."""


def holds_file(folder: Path, patterns: Iterable[str]) -> bool:
    """Return whether a folder holds a file of one of the patterns."""
    return any(any(folder.glob(pattern)) for pattern in patterns)


MOST_LABELS = 100_000
"""Maximum number of labels, since transformers makes a name for each when it is loaded."""

_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def gguf_of(place: str) -> Path | None:
    """Return the GGUF file at a place, or the only one of a folder; None for other models.

    Args:
        place: Path, or name on the hub.

    Raises:
        ModelError: a folder holds several, there is no such file, or it has another format.
        UsageError: a library for GGUF is missing.
    """
    path = Path(place)
    if path.suffix == GGUF and not path.exists():
        raise ModelError(f"there is no file {place!r}; correct its path.")
    if path.is_file() and path.suffix != GGUF:
        raise ModelError(
            f"{place} is a file; give the folder of a transformers model, or a GGUF file."
        )
    if path.is_file():
        paths = [path]
    elif any(path.glob("*.safetensors")):  # transformers reads these, and not the GGUF files
        paths = []
    else:
        paths = sorted(path.glob(f"*{GGUF}"))
    if len(paths) > 1:
        raise ModelError(
            f"{place} holds {len(paths)} GGUF files; name one of them, such as {paths[0]}."
        )
    missing = [name for name in ("gguf", "accelerate") if paths and find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{paths[0]} needs the library {missing[0]}; install it (pip install "
            "'headlight-attention[gguf]')."
        )
    return paths[0] if paths else None


def check_folder(folder: Path) -> None:
    """Refuse a folder on which a library would wait forever, or fill the memory.

    Args:
        folder: Folder of a model or a tokenizer; any other path is not checked.

    Raises:
        ModelError: the folder holds a pipe, a device, or a configuration with implausible numbers.
    """
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ModelError(f"{path} is a pipe or a device; a model lies in files, copy it again.")
    config = read_configuration(str(folder))
    check_layers(number_of_layers(config), None, str(folder))
    for name, most in (("num_labels", MOST_LABELS), *((name, MOST_LAYERS) for name in _EXPERTS)):
        if (count := max(numbers_in_parts(config, name), default=0)) > most:
            raise ModelError(
                f"the configuration of {folder} says that its {name} is {count:,}, which is that "
                "of no model; copy it again."
            )
