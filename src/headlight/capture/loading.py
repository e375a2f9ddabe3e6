"""Loading of models from a hub, a folder, or the package."""

import copy
import struct
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import is_accelerate_available

from headlight.capture.captured_model import CapturedModel
from headlight.capture.changed_weights import tokenizer_place, weights_of
from headlight.capture.gguf_files import files_of, quantisation_of, unpacked
from headlight.capture.model_identity import digest_of_weights, is_dispensable
from headlight.capture.model_revisions import revision_of
from headlight.capture.model_sizes import check_sizes, depth_of
from headlight.capture.prediction_heads import Head, named_head
from headlight.capture.wrapped_models import holder_of_model, unwrap, why_not_inside
from headlight.catalogue import EMBEDDED_CLASSIFIER
from headlight.catalogue.embedded_models import EMBEDDED_NAME, embedded_models, place_of
from headlight.catalogue.hub import no_model
from headlight.catalogue.model_checks import AUTO, BALANCED, DTYPES, check_place
from headlight.catalogue.model_configuration import check_layers, quantised_by
from headlight.catalogue.model_folders import check_folder
from headlight.errors import MissingHeadError, ModelError, UsageError
from headlight.files import check_reachable
from headlight.settings import require_choice

HEADS = ("none", "language_model", "classification", "any")
_HEAD_NAMES = {
    "language_model": "language-model head",
    "classification": "classification head",
    "any": "head of a language model or of a classifier",
}
_TRAINED_AS = {
    "language_model": "a language model",
    "classification": "a classifier",
    "any": "a language model or a classifier",
}

SENTENCE_PIECE = "sentencepiece"


def load_model(  # noqa: PLR0913 - each is a choice of its own
    model: str | Path | nn.Module | None = None,
    tokenizer: PreTrainedTokenizerBase | str | Path | None = None,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    trust_remote_code: bool = False,
    head: str | None = "none",
    layers: Collection[int] | None = None,
    split_special_tokens: bool = False,
) -> CapturedModel:
    """Load a model and its tokenizer, ready to be captured.

    Args:
        model: Name on the hub, folder, GGUF file, or None for the embedded model; or a model of
            transformers that is in memory already, which is used as it is and where it is.
        tokenizer: Tokenizer, or its name or folder, for a model in memory, or in place of the
            tokenizer that comes with a model.
        revision: Branch, tag or commit on the hub.
        device: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, ``auto`` for the best there is, or
            ``balanced`` for a model that is larger than one device: whole layers on each GPU, as
            ``device_map`` of transformers puts them there (needs accelerate).
        dtype: Precision of the weights: ``float32``, ``bfloat16``, ``float16`` or ``float64``.
        trust_remote_code: Whether to run code that comes with the model.  Off by default.
        head: ``none``; ``language_model`` for the model with the head that it was trained with,
            which gives a loss, see `default_objective`; ``classification`` for a classifier of
            texts or of their tokens, see `headlight.capture.Classes`; or ``any`` for whichever of
            the two the checkpoint holds.  None takes the one that there is, if any.
        layers: Layers that will be examined; a layer that the model cannot have is refused before
            its weights are read, which may take minutes.  A model in memory is not checked.
        split_special_tokens: Whether to read special tokens that are written in a text, such as
            ``[SEP]``, as characters; sets the attribute of this name of the tokenizer.

    Raises:
        ModelError: there is no such model, it is damaged or incomplete, or its weights are
            neither safetensors nor GGUF.
        MissingHeadError: a head is requested, and the checkpoint or the model in memory has none.
        UsageError: unknown dtype, device, head or layer, or a model in memory should be loaded
            otherwise.
    """
    require_choice("head", head or "any", HEADS)
    require_choice("precision", dtype, DTYPES)
    if isinstance(tokenizer, str | Path):
        tokenizer = _named_tokenizer(str(tokenizer), trust_remote_code)
    if isinstance(model, nn.Module):
        usual = (None, "auto", "float32", False, False)
        if (revision, device, dtype, trust_remote_code, split_special_tokens) != usual:
            raise UsageError(
                f"this {type(model).__name__} is in memory already; change its device or precision "
                "with its method `to`, and leave out how to load it."
            )
        return _wrap_in_memory(unwrap(model), tokenizer, head)
    if not isinstance(model, str | Path | None):
        raise UsageError(_wrong_type(model))
    place = None if device == BALANCED else _device(device)
    label = EMBEDDED_NAME if model is None else str(model)
    source = place_of(model)
    check_place(source)
    options = {"revision": revision, "trust_remote_code": trust_remote_code}
    problem = ""
    # Weights that were made in inference mode could never be differentiated.
    with quiet(), torch.inference_mode(mode=False):
        config = _config(source, options)
        check_layers(depth_of(config), layers, label)
        spread = {"device_map": _spread()} if place is None else {}
        network = _model(source, config, getattr(torch, dtype), options | spread, head)
        if tokenizer is None:
            tokenizer, problem = _tokenizer(source, options)
    reader: Any = tokenizer
    if reader is not None and split_special_tokens:
        reader.split_special_tokens = True
    commit = revision_of(source, network, revision)
    if place is not None:
        network = network.to(place)
    about = (label, commit, problem, trust_remote_code, quantisation_of(source))
    return CapturedModel(network.eval(), reader, *about)


def _wrong_type(argument: object) -> str:
    if isinstance(argument, CapturedModel):
        return f"{argument} is loaded already; use it as it is."
    if (reason := why_not_inside(argument)) is not None:
        return f"a {type(argument).__name__} is no model; {reason}."
    place = holder_of_model(argument)
    cure = f"the model inside it, {place}" if place else "a model of transformers"
    return (
        f"model is of the type {type(argument).__name__}; give the name of one on the hub, its "
        f"folder, or {cure}."
    )


def load_start(source: str, like: CapturedModel) -> PreTrainedModel:
    """Load a classifier with the weights of a checkpoint before fine-tuning, and a random head.

    Args:
        source: Name on the hub, folder, or name of an embedded model.
        like: Classifier that was fine-tuned from it, whose configuration counts.

    Raises:
        ModelError: there is no such checkpoint, or the classifier cannot be made of it.
    """
    place = place_of(source)
    check_place(place)
    cure = f"give the checkpoint that {like} was fine-tuned from, scratch, or base."
    with quiet(), torch.inference_mode(mode=False):
        try:
            folder, weight_options = weights_of(place)
            model, report = type(like.transformer).from_pretrained(
                folder,
                config=copy.deepcopy(like.transformer.config),
                dtype=like.transformer.dtype,
                use_safetensors=True,
                output_loading_info=True,
                **weight_options,
            )
        except Exception as problem:  # damaged folders make every library raise its own
            reason = _first_sentence(problem)
            raise ModelError(f"{source} is no start of {like} ({reason}); {cure}") from problem
    missing = sorted(
        name
        for name in report["missing_keys"]
        if not (is_dispensable(name) or _is_computed(model, name) or _is_of_head(name, model))
    )
    if missing:
        raise ModelError(
            f"{source} is no start of {like}: its weights lack {missing[0]!r} "
            f"({len(missing)} missing in all); {cure}"
        )
    started: PreTrainedModel = model.to(like.transformer.device)
    return started


def _wrap_in_memory(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, head: str | None
) -> CapturedModel:
    """Wrap a model that the caller has made, trained or loaded; it is not copied or changed."""
    name = network.name_or_path or type(network).__name__
    problem = "" if tokenizer else "a model in memory comes without one, give it beside the model"
    model = CapturedModel(network, tokenizer, name, digest_of_weights(network), problem)
    if head not in (None, "none") and not _is_wanted(model.head, head):
        class_name = type(network).__name__
        raise MissingHeadError(
            f"{name} is a {class_name}, which has no {_HEAD_NAMES[head]}; {_way(model)}."
        )
    return model


def _way(model: CapturedModel) -> str:
    """Return the advice for a model in memory without the head requested."""
    network: Any = model.transformer
    if model.head:
        other = "classification" if model.head.task else "language_model"
        return f"it has a {_HEAD_NAMES[other]} (head={other!r})"
    if named := named_head(network.config, type(network).__name__):
        return f"its own is that of a pretraining: load its weights by {named.loader.__name__}"
    if not type(network).__module__.startswith("transformers."):
        return (
            "let what it puts out have logits: as many as its vocabulary (vocab_size of its "
            "configuration) for each token, or as its classes (num_labels)"
        )
    if network.base_model is network:
        return "make it with a class of transformers that has one"
    return "leave the head out to read its attention, or give a model of another class"


def _config(source: str, options: dict[str, Any]) -> Any:
    folder, packed = files_of(source)
    try:
        config = AutoConfig.from_pretrained(folder, **packed, **options)
        # A file must not choose the code that runs: kernels would even be fetched from the hub.
        config._attn_implementation = config._experts_implementation = None
    except Exception as problem:  # damaged folders make every library raise its own
        raise _refusal(source, problem) from problem
    return config


def _model(
    source: str, config: Any, dtype: torch.dtype, options: dict[str, Any], head: str | None
) -> Any:
    if head is None:
        try:
            return _model(source, config, dtype, options, "any")
        except MissingHeadError:
            return _model(source, config, dtype, options, "none")
    folder, packed = files_of(source)
    try:
        plain = unpacked(config) if packed else {}
        loader = AutoModel if head == "none" else _loader(source, config, head)
        check_sizes(source, loader, config, options)
        place, weight_options = weights_of(folder)
        if weight_options:  # an automatic class wants a folder
            with torch.device("meta"):
                loader = type(loader.from_config(config))
        model, report = loader.from_pretrained(
            place,
            config=config,
            dtype=dtype,
            use_safetensors=True,
            output_loading_info=True,
            **packed,
            **plain,
            **weight_options,
            **options,
        )
    except ModelError:
        raise
    except Exception as problem:  # damaged folders make every library raise its own
        raise _refusal(source, problem) from problem
    missing = sorted(
        name
        for name in report["missing_keys"]
        if not is_dispensable(name) and not _is_computed(model, name)
    )
    headless = [name for name in missing if head != "none" and _is_of_head(name, model)]
    if headless and headless == missing:
        raise MissingHeadError(
            f"{source} has no {_HEAD_NAMES[head]}: its weights lack {headless[0]!r}; give a "
            f"checkpoint that was trained as {_TRAINED_AS[head]}."
        )
    if missing:
        raise ModelError(
            f"the weights in {source} lack {missing[0]!r} ({len(missing)} missing in all), which "
            "would be random numbers; the configuration belongs to another model, or a file of "
            "weights is incomplete."
        )
    return model


def _loader(source: str, config: Any, head: str) -> Any:
    """Return the class that loads the head which, by its configuration, the checkpoint holds."""
    architectures = getattr(config, "architectures", None) or []
    held_heads = (named_head(config, name) for name in architectures)
    loaders = [held_head.loader for held_head in held_heads if _is_wanted(held_head, head)]
    if not loaders:
        held = f"holds a {architectures[0]}" if architectures else "does not say what it holds"
        names = (name for name, place in embedded_models().items() if str(place) == source)
        way = (
            f", such as {EMBEDDED_CLASSIFIER}, which comes with Headlight, or "
            "distilbert/distilbert-base-uncased-finetuned-sst-2-english of the hub"
        ) * (head == "classification")
        raise MissingHeadError(
            f"{next(names, source)} {held}, and so has no {_HEAD_NAMES[head]}; give a checkpoint "
            f"that was trained as {_TRAINED_AS[head]}{way}."
        )
    return loaders[0]


def _is_wanted(held: Head, head: str) -> bool:
    if head == "any":
        return bool(held)
    return (held.task if head == "classification" else held.language) is not None


def _is_computed(model: nn.Module, name: str) -> bool:
    # Sinusoids are made by a formula, and files need not hold them.
    module = dict(model.named_modules()).get(name.rpartition(".")[0])
    return "Sinusoidal" in type(module).__name__


def _is_of_head(name: str, model: Any) -> bool:
    if model.base_model is model:  # not built of a base and a head
        return name.startswith("lm_head")
    return not name.startswith(f"{model.base_model_prefix}.")


def _tokenizer(source: str, options: dict[str, Any]) -> tuple[Any, str]:
    """Return the tokenizer, or None and the reason: a model of pictures or sound has none, say.

    Whether that is a fault shows only where text is to be read; the refusal there has the reason.
    """
    try:
        folder, packed = files_of(source)
        tokenizer = AutoTokenizer.from_pretrained(
            tokenizer_place(folder), use_fast=True, **packed, **options
        )
        tokenizer.name_or_path = source  # by which workers load it again
    except Exception as problem:  # noqa: BLE001 - the tokenizers library raises nothing more precise
        return None, _tokenizer_problem(source, problem)
    # For want of files transformers makes a tokenizer that knows its special tokens alone.
    empty = len(tokenizer) <= len(set(tokenizer.all_special_ids))
    return (None, "") if empty else (tokenizer, "")


def _tokenizer_problem(source: str, problem: Exception) -> str:
    """Return why there is no tokenizer; empty where there is simply no file of one."""
    if isinstance(problem, ImportError) and SENTENCE_PIECE in str(problem).lower():
        return f"its tokenizer needs the library {SENTENCE_PIECE}: pip install {SENTENCE_PIECE}"
    absent = isinstance(problem, OSError | ImportError)  # a gated repository, a library
    if not absent and (Path(source) / "tokenizer.json").exists():
        return f"its tokenizer.json cannot be read: {_first_sentence(problem)}"
    without_files = "instantiate the backend tokenizer" in str(problem)
    return "" if without_files else _first_sentence(problem)


def _named_tokenizer(source: str, trust_remote_code: bool) -> PreTrainedTokenizerBase:
    """Return the tokenizer in a place, with or without a model there; refuse a place without."""
    check_folder(check_reachable(Path(source), error=ModelError))
    with quiet():
        named, problem = _tokenizer(source, {"trust_remote_code": trust_remote_code})
    if named is None:
        why = f" ({problem})" if problem else ""
        raise ModelError(
            f"there is no tokenizer in {source}{why}; give a name on the hub, or a folder."
        )
    return named


def _device(name: str) -> torch.device:
    if name == AUTO:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device).item()  # nothing can be read from the device "meta"
    except (RuntimeError, AssertionError, NotImplementedError) as problem:
        others = [kind for kind in ("cuda", "mps") if getattr(torch, kind).is_available()]
        devices = " or ".join(["cpu", *others, AUTO, BALANCED])
        raise UsageError(f"there is no device {name!r} here; use {devices}.") from problem
    return device


def _spread() -> str:
    """Return the name by which transformers spreads layers evenly; refuse a missing library."""
    if not is_accelerate_available():
        raise UsageError(
            "the device 'balanced' needs the library accelerate; install it (pip install "
            "accelerate), or name one device."
        )
    return BALANCED


def _refusal(source: str, problem: Exception) -> ModelError:
    """Return the error for a model that could not be loaded."""
    absent = isinstance(problem, OSError) and "safetensors" not in str(problem)
    if absent and not Path(source).exists():
        why = f"it cannot be fetched ({_first_sentence(problem)}); correct the name, or go online"
        return no_model(source, why)
    return ModelError(_loading_sentence(source, problem))


_BARE = (NameError, AttributeError, TypeError, LookupError, AssertionError)
"""Exceptions that are no sentences: a library is absent, or of another version."""

_CUT_SHORT = ("cannot reshape array", "divisor of the total size")
"""Messages of numpy about an array of a GGUF file that ends too early."""


def _loading_sentence(source: str, problem: Exception) -> str:
    if isinstance(problem, OSError) and "safetensors" in str(problem):
        return (
            f"{source} has no safetensors weights, and other formats can run code when they are "
            "read; save it with save_pretrained of transformers 5 first."
        )
    reason = _first_sentence(problem)
    if isinstance(problem, _BARE):
        reason = f"{type(problem).__name__} in what loads it: {reason}"
    if (method := quantised_by(source)) is not None:
        return (
            f"{source} is quantised ({method}), and cannot be loaded here ({reason}); give the "
            "model as it was before it was quantised, whose weights can be read as numbers."
        )
    if isinstance(problem, struct.error) or any(message in reason for message in _CUT_SHORT):
        return f"{source} is damaged or cut short ({reason}); copy it again."
    if isinstance(problem, SafetensorError):
        return f"the safetensors weights in {source} are damaged ({reason}); copy them again."
    if "ignore_mismatched_sizes" in str(problem):
        return f"the configuration in {source} does not fit the sizes of its weights."
    return f"the model {source!r} cannot be loaded: {reason}."


def _first_sentence(problem: Exception) -> str:
    """Return the first line of a message, with the next after a colon; without a full stop."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    if not lines:
        return type(problem).__name__
    first = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return first.rstrip(" .")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the progress bars and notes of transformers, which belong to training."""
    log = transformers.utils.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            # Marian's tokenizer recommends what it does not use.
            warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
            yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()
