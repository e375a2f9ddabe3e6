"""Checks of a model by its name and folder, before anything slow is imported.

`headlight.capture.load_model` refuses by the same rules; commands ask here first.
"""

import socket
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from re import compile as pattern
from threading import Thread
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from huggingface_hub import constants as hub

from headlight.catalogue.annotated_sources import EMBEDDED_TRANSLATOR
from headlight.catalogue.distributions import DISTRIBUTIONS
from headlight.catalogue.study import ASSETS, EMBEDDED_CLASSIFIER
from headlight.errors import ModelError, UsageError, setting
from headlight.files import check_reachable, read_json
from headlight.settings import require_choice

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
    if not (folder / CONFIG).exists():
        return f"{place} holds no config.json; {_instead(folder)}."
    return None


def _adapter(folder: Path) -> str | None:
    path = folder / "adapter_config.json"
    if not path.exists() or (folder / CONFIG).exists():
        return None
    try:
        config = dict(read_json(path, own=False, error=ModelError))
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
        kind: its ``peft_type``.
        virtual_tokens: its ``num_virtual_tokens``, where it has any.
    """
    if virtual_tokens:
        return f"its {virtual_tokens} virtual tokens stand before every text, and are not captured"
    if kind in _NEVER_MERGED:
        return "PEFT cannot merge it, and what it adds while the model runs is not captured"
    return None


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
    """Folders with the configuration of a model, the last that was changed behind."""
    folders = [
        path.parent
        for each in ("*", "snapshots/*")
        for path in folder.glob(f"{each}/{CONFIG}")
        if not (config := _config(str(path.parent))) or {*config} & _OF_MODELS
    ]
    return sorted(folders, key=lambda each: (each.stat().st_mtime, each.name))


_OF_MODELS = {"model_type", "architectures", "auto_map"}
"""Names of which a configuration of transformers has one; other modules have a config.json, too."""


def _holds(folder: Path, patterns: Iterable[str]) -> bool:
    return any(any(folder.glob(pattern)) for pattern in patterns)


EMBEDDED = ASSETS / "model"
EMBEDDED_NAME = "headlight-small"
EMBEDDED_MODELS = {
    EMBEDDED_NAME: EMBEDDED,
    EMBEDDED_TRANSLATOR: ASSETS / "translator",
    EMBEDDED_CLASSIFIER: ASSETS / "classifier",
}
"""The models that come with the package: BERT, a translator from German to English, and a
classifier of short reviews, which is kept as what differs from the first."""


@cache
def embedded_models() -> Mapping[str, Path]:
    """Folders of embedded models by name, also those of other distributions that are installed."""
    models = dict(EMBEDDED_MODELS)
    for each in DISTRIBUTIONS.values():
        if each.models and find_spec(each.package):
            models |= import_module(each.package).EMBEDDED_MODELS
    return models


DTYPES = ("float32", "bfloat16", "float16", "float64")
AUTO = "auto"
BALANCED = "balanced"
"""The device of models that are spread over several, layer by layer."""
DEVICES = ("cpu", "cuda", "mps", "xpu", "xla", "hpu", "npu", "mtia")
"""Kinds of devices that there may be; which there are, only torch knows."""

HUB_NAME = pattern(r"\w[\w.-]*(/\w[\w.-]*)?")
MOST_LAYERS = 10_000
"""A configuration that says more is no model's: making them would fill the memory."""
MOST_LABELS = 100_000
"""Maximum number of labels, each of which is given a name when the configuration is read."""
PATIENCE = 5.0
"""Seconds that the hub is given to take a connection."""
_DEPTHS = (
    "num_hidden_layers",
    "num_layers",
    "n_layer",
    "n_layers",
    "encoder_layers",
    "decoder_layers",
    "num_decoder_layers",
)
"""Names in configuration files of the number of layers, or of those of one half."""
_HEADS = (
    "num_attention_heads",
    "num_heads",
    "n_head",
    "n_heads",
    "encoder_attention_heads",
    "decoder_attention_heads",
)
"""Names of the number of heads of a layer, or of those of one half."""
_TOKENIZER = ("tokenizer*", "*.model", "vocab.*", "*vocab.json", f"*{GGUF}")
"""Files of tokenizers; that of a GGUF file lies in it."""
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def place_of(model: str | Path | None) -> str:
    """The folder of an embedded model; of others the folder or the name that was given.

    Raises:
        ModelError: the name is too long, or a folder may not be entered.
        UsageError: it is the model of a distribution that is not installed.
    """
    name = EMBEDDED_NAME if model is None else str(model)
    check_reachable(Path(name), error=ModelError)
    if model is not None and Path(name).exists():
        return name
    if name in embedded_models():
        return str(embedded_models()[name])
    for each in DISTRIBUTIONS.values():
        if name in each.models:
            raise UsageError(each.refusal(name))
    return name


def check_model(
    model: str | None,
    *,
    tokenizer: str | None = None,
    device: str = AUTO,
    dtype: str = DTYPES[0],
    layers: Collection[int] | None = None,
    heads: Collection[int] | None = None,
) -> None:
    """Refuse what a model cannot be loaded by, as far as that can be said without torch.

    Args:
        model: name on the hub, or folder; None for the embedded one.
        tokenizer: name on the hub, or folder; None for that of the model.
        device: where it is to be.
        dtype: precision of its weights.
        layers: those that will be looked at; None for all.
        heads: those of a layer that will be looked at; None for all.

    Raises:
        ModelError: there is no such model or tokenizer.
        UsageError: unknown dtype, device, layer or head, or an empty name.
    """
    for name, value in (("model", model), ("tokenizer", tokenizer)):
        if value == "":
            raise UsageError(f"{setting(name)} is empty; give a name or a folder, or leave it out.")
    require_choice("precision", dtype, DTYPES)
    kind = device.partition(":")[0]
    if kind not in DEVICES and device not in (AUTO, BALANCED):
        raise UsageError(
            f"there is no device {device!r} here; use cpu, cuda, mps, auto or balanced."
        )
    place = place_of(model)
    check_place(place)
    config, label = _config(place), model or EMBEDDED_NAME
    check_layers(_said_by_all(config, _DEPTHS), layers, label)
    check_heads(_said_by_all(config, _HEADS), heads, label)
    if tokenizer is not None:
        _check_tokenizer(tokenizer)


def gguf_of(place: str) -> Path | None:
    """The GGUF file that a place names, or that is the one model of a folder; None elsewhere.

    Raises:
        ModelError: a folder holds several, there is no such file, or it is of another format.
        UsageError: a library is missing for it.
    """
    path = Path(place)
    if path.suffix == GGUF and not path.exists():
        raise ModelError(f"there is no file {place!r}; correct its path.")
    if path.is_file() and path.suffix != GGUF:
        raise ModelError(
            f"{place} is a file; give the folder of a transformers model, or a GGUF file."
        )
    plain = path.is_dir() and any(path.glob("*.safetensors"))
    paths = [path] if path.is_file() else [] if plain else sorted(path.glob(f"*{GGUF}"))
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


def check_place(place: str) -> None:
    """Refuse what is neither a GGUF file or a folder with a model, nor what the hub could give.

    Raises:
        ModelError: it is so.
        UsageError: a library is missing for it.
    """
    if gguf_of(place):
        return
    folder = Path(place)
    if folder.exists():
        if (sentence := why_no_model(place)) is not None:
            raise ModelError(sentence)
        check_folder(folder)
        return
    if not HUB_NAME.fullmatch(place):
        raise ModelError(f"there is no folder {place!r}, and no model of a hub has such a name.")
    if place in cached_models():
        return
    if hub.HF_HUB_OFFLINE:
        raise no_model(
            place,
            "HF_HUB_OFFLINE keeps it from being fetched; correct the name, or unset that variable",
        )
    if not hub_answers():
        raise no_model(place, f"{hub.ENDPOINT} does not answer; correct the name, or go online")


def _check_tokenizer(place: str) -> None:
    """Refuse what is neither a folder with a tokenizer, nor what the hub could give.

    Raises:
        ModelError: it is so.
    """
    folder = check_reachable(Path(place), error=ModelError)
    check_folder(folder)
    cached = Path(hub.HF_HUB_CACHE) / f"models--{place.replace('/', '--')}"
    possible = HUB_NAME.fullmatch(place) and (cached.exists() or not hub.HF_HUB_OFFLINE)
    if not (_holds(folder, _TOKENIZER) if folder.exists() else possible):
        raise ModelError(f"there is no tokenizer in {place}; give a name on the hub, or a folder.")


def check_folder(folder: Path) -> None:
    """Refuse a folder with what a library would wait for, or fill the memory with.

    Args:
        folder: of a model or a tokenizer; what is none is left to others.

    Raises:
        ModelError: it holds a pipe or a device, or a configuration of more than any model has.
    """
    if not folder.is_dir():
        return
    for each in folder.iterdir():
        if each.exists() and not (each.is_file() or each.is_dir()):
            raise ModelError(f"{each} is a pipe or a device; a model lies in files, copy it again.")
    config = _config(str(folder))
    check_layers(_depth(config), None, str(folder))
    for name, most in (("num_labels", MOST_LABELS), *((name, MOST_LAYERS) for name in _EXPERTS)):
        if (count := max(_counts(config, name), default=0)) > most:
            raise ModelError(
                f"the configuration of {folder} says that its {name} is {count:,}, which is that "
                "of no model; copy it again."
            )


def no_model(name: str, why: str) -> ModelError:
    """The refusal of a model that is neither here nor to be had, with a name that is near."""
    near = get_close_matches(name, [*embedded_models(), *cached_models()], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ModelError(
        f"there is no folder {name!r}, no model of that name is in the cache of the hub, and "
        f"{why}.{hint}"
    )


def check_layers(depth: int, layers: Collection[int] | None, name: str) -> None:
    """Refuse layers that a model cannot have.

    Args:
        depth: how many it has; 0 if that is not known, which is left to others.
        layers: those asked for; None for all.
        name: what the model is called.

    Raises:
        ModelError: it has more than any model.
        UsageError: there is no such layer.
    """
    if depth > MOST_LAYERS:
        raise ModelError(
            f"the configuration of {name} says that it has {depth:,} layers, which no model has; "
            "copy it again."
        )
    missing = sorted(layer for layer in layers or () if not 0 <= layer < depth)
    if depth and missing:
        raise UsageError(f"{name} has no layer {missing[0]}: its layers are 0 to {depth - 1}.")


def check_heads(count: int, heads: Collection[int] | None, name: str) -> None:
    """Refuse heads that no layer of a model can have.

    Args:
        count: how many a layer has; 0 if that is not known, which is left to others.
        heads: those asked for; None for all.
        name: what the model is called.

    Raises:
        UsageError: there is no such head.
    """
    missing = sorted(head for head in heads or () if not 0 <= head < count)
    if count and missing:
        raise UsageError(
            f"the layers of {name} have no head {missing[0]}: their heads are 0 to {count - 1}."
        )


def cached_models() -> list[str]:
    """Names of the models in the cache of the hub."""
    folders = Path(hub.HF_HUB_CACHE).glob("models--*")
    return [
        each.name.removeprefix("models--").replace("--", "/")
        for each in folders
        if any(each.glob(f"snapshots/*/{CONFIG}"))
    ]


def hub_answers() -> bool:
    """Whether the hub takes connections; behind a proxy that is left to others."""
    address = urlsplit(hub.ENDPOINT)
    answers: list[bool] = []

    def knock() -> None:
        port = address.port or (80 if address.scheme == "http" else 443)
        try:
            socket.create_connection((address.hostname or "", port), PATIENCE).close()
        except OSError:
            return
        answers.append(True)

    if getproxies():
        return True
    asking = Thread(target=knock, daemon=True)  # a name is looked up without any limit of time
    asking.start()
    asking.join(PATIENCE)
    return bool(answers)


def quantised_by(place: str) -> str | None:
    """Return the method by which the weights in a folder were quantised; None where they are not.

    Args:
        place: a folder; of anything else nothing is said.
    """
    settings = _config(place).get("quantization_config")
    return str(settings.get("quant_method", "")) if isinstance(settings, dict) else None


def _config(place: str) -> Mapping[str, Any]:
    """Return the configuration in a folder, as far as it can be read; nothing elsewhere."""
    try:
        config = read_json(Path(place) / CONFIG, own=False, error=ModelError)
    except (ModelError, ValueError):  # which loading says better
        return {}
    return config if isinstance(config, dict) else {}


def _depth(config: Mapping[str, Any]) -> int:
    """Return the number of layers of a model, or of one half of it; 0 where it is not known."""
    return max(_counts(config, *_DEPTHS), default=0)


def _said_by_all(config: Mapping[str, Any], names: Collection[str]) -> int:
    """Return the largest of such numbers; 0 where a part of the model leaves its own unsaid."""
    parts = [part for part in config.values() if isinstance(part, dict) and "model_type" in part]
    if not all(any(isinstance(part.get(name), int) for name in names) for part in parts):
        return 0
    return max(_counts(config, *names), default=0)


def _counts(config: Mapping[str, Any], *names: str) -> Iterator[int]:
    """Whole numbers of some names, of the model and of its parts."""
    for each in (config, *(part for part in config.values() if isinstance(part, dict))):
        yield from (each[name] for name in names if isinstance(each.get(name), int))
