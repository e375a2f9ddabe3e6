"""Folders that hold no model of transformers: their contents, and where the model is instead."""

from collections.abc import Iterable
from pathlib import Path

from headlight.errors import ModelError
from headlight.files import read_json

CONFIG, GGUF = "config.json", ".gguf"
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

    None where nothing is known against it: it holds a configuration, and no weights of a kind that
    is known to be of no use.
    """
    folder = Path(place)
    for look in (_adapter, _other_format, _training_state):
        if (sentence := look(folder)) is not None:
            return f"{place} {sentence}"
    if (folder / CONFIG).exists():
        return None
    return f"{place} holds no {CONFIG}; {_instead(folder)}."


def _adapter(folder: Path) -> str | None:
    path = folder / "adapter_config.json"
    if not path.exists() or (folder / CONFIG).exists():
        return None
    try:
        config = read_json(path, own=False, error=ModelError)
        base, kind = config.get("base_model_name_or_path"), config.get("peft_type")
    except (ModelError, ValueError, AttributeError):
        base, kind = None, None
    return (
        f"holds an adapter{f' ({kind})' if kind else ''} of {base or 'another model'}, and not "
        "that model; merge it (merge_and_unload of PEFT), save the result with save_pretrained, "
        "and give that folder."
    )


def _other_format(folder: Path) -> str | None:
    if _holds(folder, _WEIGHTS):
        return None
    for name, patterns in _FORMATS.items():
        if _holds(folder, patterns):
            return (
                f"holds weights in the format of {name} alone; give the folder of the transformers "
                "model that they were exported from, with safetensors."
            )
    return None


def _training_state(folder: Path) -> str | None:
    if _holds(folder, _WEIGHTS) or not _holds(folder, _OPTIMIZER):
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
    """Folders with a configuration, the last that was changed behind."""
    found = [
        path.parent for each in ("*", "snapshots/*") for path in folder.glob(f"{each}/{CONFIG}")
    ]
    return sorted(found, key=lambda each: (each.stat().st_mtime, each.name))


def _holds(folder: Path, patterns: Iterable[str]) -> bool:
    return any(any(folder.glob(pattern)) for pattern in patterns)
