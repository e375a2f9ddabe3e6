"""Try every model type of the installed transformers, and write the table of docs/models.md.

    python scripts/models_page.py             # every type, the rest of them where it was stopped
    python scripts/models_page.py llama t5    # print what is found of these

Each type gets a tiny random model, whose configuration is made from the names of its settings, and
is traced and checked as ``headlight check`` does it.  Each is tried in a process of its own, which
may use so much time and memory, so that one that crashes or never ends is a line as well.  The
table stands between ``<!-- every model -->`` and ``<!-- end -->``.
"""

import json
import multiprocessing
import re
import resource
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import PreTrainedModel
from transformers.models.auto import configuration_auto, modeling_auto

from headlight.capture import CapturedModel
from headlight.errors import HeadlightError

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "models.md"
KEPT = ROOT / "build" / f"models-page-{transformers.__version__}.jsonl"
PART = re.compile(r"(<!-- every model -->\n).*?(<!-- end -->)", re.DOTALL)
SECONDS = 60
BYTES = 4 << 30

AUTO = ("AutoModel", "AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForSeq2SeqLM")
CLASSES = dict(
    zip(
        AUTO,
        (
            modeling_auto.MODEL_MAPPING_NAMES,
            modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
            modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
            modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        ),
        strict=True,
    )
)

# What a setting of this name is in a tiny configuration; the first that fits counts.
SIZES: tuple[tuple[str, int], ...] = (
    (r"decoder_start_token_id", 4),
    (r"\w*vocab_size\w*|n_vocab|n_words|num_embeddings", 99),
    (r"\w*(key_value_heads|kv_heads)|multi_query_group_num", 2),
    (r"linear_num_key_heads", 2),
    (r"\w*(attention_heads|attn_heads|num_heads|n_heads?|nhead|value_heads)", 4),
    (r"window_size", 64),
    (r"\w*window\w*|attention_chunk_size", 4),
    (r"rotary_dim", 4),
    (r"qk_head_dim", 16),
    (r"d_head", 8),
    (r"num_feat_extract_layers", -1),
    (r"intra_bottleneck_size|true_hidden_size", 32),
    (r"\w*head_dim|head_size|d_kv|kv_channels|\w*attention_head_size", 8),
    (r"\w*lora_rank|\w*_rank", 8),
    (r"num_experts_per_tok(en)?|moe_top_?k|top_k|moe_k|num_selected_experts|topk", 2),
    (r"mamba_d_head", 16),
    (r"mamba_d_ssm", 64),
    (r"mamba_n_groups|n_groups|n_group|topk_group|num_expert_groups?|\w*shared_experts", 1),
    (r"\w*(experts)", 4),
    (r"\w*(moe|expert)\w*(intermediate|ffn|hidden)\w*", 16),
    (r"\w*(intermediate|ffn|mlp)\w*(size|dim|hidden)\w*|d_ff|d_inner|n_inner|ffn_dim", 48),
    (r"num_kv_shared_layers", 1),
    (r"num_labels|\w*_layer_id|\w*_layer_index|layer_idx", -1),
    (r"\w*(layers|num_blocks|n_layer|depth)", 2),
    (r"\w*(hidden_size|d_model|n_embd|embed_dim|model_dim|emb_dim|embedding_size)\w*|dim", 32),
    (r"hidden_dim|\w*projection_dim|\w*_hidden_dim|\w*_input_dim|embedding_dim", 32),
    (r"\w*(max_\w*positions?|max_\w*position_embeddings|n_positions|n_ctx|max_seq_len\w*)", 64),
    (r"coordinate_size", 4),
    (r"shape_size", 8),
    (r"condition_dim|upsample_groups", 32),
    (r"\w*image_size|crop_size", 32),
    (r"\w*patch_size", 8),
)
MEDIA = re.compile(r"\w*(image|video|audio|vision|speech|boi|eoi|boa|eoa)\w*_(token|id|index)\w*")

EXCEPTIONS: Mapping[str, Any] = {
    "mrope_section": [2, 1, 1],
    "attention_types": [[["global", "local"], 1]],
    "num_experts_per_tok": 2,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "per_layer_config": None,
    "vocab_size": 99,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "mask_token_id": 3,
    "blank_token_id": 98,
    "hidden_size_per_layer_input": 0,
    "attn_layer_indices": [1],
    "default_language": "en_XX",
    "out_features": None,
    "out_indices": None,
    "prediction_length": 4,
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "context_size": 16,
    "indexer_budget": 4,
    "indexer_compress_ratio": 2,
    "indexer_n_heads": 2,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 8,
    "vocabulary_map": {"<image>": 5, "<|extra_200|>": 6},
}
"""Settings whose value no rule finds, or that a configuration leaves out."""

OF_ONE: Mapping[str, Mapping[str, Any]] = {
    "falcon_h1": {"mamba_d_head": "auto"},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "recurrent_gemma": {"num_hidden_layers": 3},
    "reformer": {"axial_pos_embds": False},
    "data2vec-vision": {"out_indices": [1]},
    "lilt": {"hidden_size": 48},
    "molmo2": {"adapter_config": {"vision_feature_layer": [1, 0]}},
    "zaya": {"num_experts_per_tok": 1},
    "fun_asr_nano": {"adaptor_config": {"intermediate_size": 8}},
}
"""The same of one type."""

NEEDED = ("head_dim", "num_key_value_heads", "num_attention_heads", "hidden_size")
"""Settings that get a number even where they are left to be made from others."""

KV = {r"\w*(key_value_heads|kv_heads)": 4}
WIDTH = {r"hidden_size|d_model|n_embd|dim|embed_dim": 64}
LAYERS = {r"num_hidden_layers|num_layers|n_layers?": 4}
VARIANTS: tuple[dict[str, int], ...] = (
    {},
    KV,
    KV | {"head_dim": 16},
    KV | {"head_dim": 16} | WIDTH,
    LAYERS,
)
"""What is tried in turn, until there is a model that runs."""

# Reasons that differ in names alone are one.
REASONS: tuple[tuple[str, str], ...] = (
    (r"only \d+ of its \d+", "a part of its layers attends in code that cannot be followed"),
    (r"queries attend to \d+ keys", "attends to other than the tokens of its texts"),
    (r"otherwise than alone|attends to padding", "reads a text in a batch otherwise than alone"),
    (r"its (\w+) attention does not go", "its {0} attention is in code that cannot be followed"),
    (
        r"code of its own has no softmax",
        "attends in code of its own by no softmax that is multiplied by values and then projected",
    ),
    (r"products of weights and values", "has two products of weights and values in one module"),
    (
        r"code of its own could not be followed",
        "attends in code of its own that cuts, joins or changes what heads compute before "
        "W<sup>O</sup>",
    ),
    (
        r"what the heads compute is changed",
        "what the heads compute is changed before W<sup>O</sup> by more than a gate, or not "
        "projected by a linear map",
    ),
    (r"looks at parts of its input", "joins what the heads compute of parts of its input"),
    (r"see different keys", "the heads of a layer see different keys"),
    (r"also read beside", "what the heads compute is also read beside W<sup>O</sup>"),
    (r"no eager attention function", "has no eager attention function, which gives the weights"),
    (r"returns no weights", "its eager attention gives no weights"),
    (r"misses the output", "the sum of α f(x) is not the output of the attention"),
    (r"is not finite", "puts out numbers that are not finite with random weights"),
    (r"for which no trial input", "takes neither text nor a picture nor sound"),
    (r"does not run on a trial input", "does not run on a trial input of text, picture or sound"),
)
WHOLE = re.compile(r"trial input|its decoder attention does not go")
"""Refusals of a whole whose encoder may work by itself."""

NO_ATTENTION = "no module of the tiny model is named after attention"


def main() -> None:
    names = sys.argv[1:]
    if names:
        for name in names:
            print(json.dumps({name: tried(name)}), flush=True)
        return
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(filled(page, everything()), encoding="utf-8")


def filled(page: str, found: Mapping[str, Mapping[str, Any]]) -> str:
    """The page with what was found."""
    return PART.sub(lambda match: f"{match[1]}{written(found)}{match[2]}", page)


def everything() -> dict[str, dict[str, Any]]:
    """What is found of every type; what was found before is read."""
    found: dict[str, dict[str, Any]] = {}
    if KEPT.exists():
        for line in KEPT.read_text(encoding="utf-8").splitlines():
            found |= json.loads(line)
    KEPT.parent.mkdir(exist_ok=True)
    texts = set().union(*list(CLASSES.values())[1:])
    for name in sorted(model_types(), key=lambda each: each not in texts):
        if name not in found:
            found[name] = tried(name)
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps({name: found[name]}) + "\n")
    return {name: found[name] for name in model_types()}


def model_types() -> list[str]:
    """Those of which there is a model without a head, or a language model."""
    known = configuration_auto.CONFIG_MAPPING_NAMES
    return sorted(name for name in known if any(name in each for each in CLASSES.values()))


def tried(name: str) -> dict[str, Any]:
    """What is found of one type, in a process of its own."""
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    process = fork.Process(target=_try, args=(name, there))
    process.start()
    there.close()
    try:
        if here.poll(SECONDS):
            result: dict[str, Any] = here.recv()
            return result
        return {"refused": f"was not done within {SECONDS} seconds"}
    except EOFError:
        return {"refused": "its process ended"}
    finally:
        process.kill()
        process.join()


def _try(name: str, answer: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    try:
        answer.send(result_of(name))
    except MemoryError:
        answer.send({"refused": "needs more memory than there is"})


def result_of(name: str) -> dict[str, Any]:
    """The attention of a tiny model of this type, or why there is none."""
    first: dict[str, Any] | None = None
    for variant in VARIANTS:
        try:
            model = tiny(name, variant)
        except Exception as problem:  # noqa: BLE001 - whatever a configuration does not like
            first = first or {"refused": _why_none(problem), "problem": repr(problem)[:300]}
            continue
        result = checked(model)
        if "refused" not in result or not WHOLE.search(result["refused"]):
            return result
        for place, part in parts(model):
            inner = {**checked(part), "part": place}
            if "refused" not in inner:
                return inner
            if "trial input" in result["refused"] and inner.get("attends"):
                result = inner
        if "trial input" not in result["refused"]:
            return result
        first = first or result
    return first or {}


def _why_none(problem: Exception) -> str:
    if isinstance(problem, ImportError):
        package = re.search(r"requires the (?:following packages|([\w-]+) library)", str(problem))
        named = re.search(r"`?pip install ([\w-]+)", str(problem))
        which = (package and package[1]) or (named and named[1])
        return f"needs the package {which}" if which else "needs another package"
    return "no tiny configuration could be made from the names of its settings"


def parts(model: PreTrainedModel) -> Iterator[tuple[str, PreTrainedModel]]:
    """The outermost models within a model, those of texts first."""
    found: dict[str, PreTrainedModel] = {}
    for place, module in model.named_modules():
        inside = any(place.startswith(f"{outer}.") for outer in found)
        if place and isinstance(module, PreTrainedModel) and not inside:
            found[place] = module
    yield from sorted(found.items(), key=lambda each: each[1].main_input_name != "input_ids")


def checked(model: PreTrainedModel) -> dict[str, Any]:
    """What `headlight check` finds of a model."""
    about = {"class": type(model).__name__}
    try:
        captured = CapturedModel(model, name=about["class"])
        sites = captured.sites
        captured.verify_batching()
    except HeadlightError as refusal:
        attends = any(re.search("att(e?n|ention)", type(m).__name__, re.I) for m in model.modules())
        return about | {"refused": str(refusal), "attends": attends}
    except Exception as problem:  # noqa: BLE001 - a defect, which the table names
        return about | {"refused": f"Headlight fails: {type(problem).__name__}: {problem}"}
    return about | {
        "kinds": Counter(site.kind for site in sites),
        "gates": sorted({site.gate for site in sites if site.gate}),
        "error": max(float(site.error) for site in sites),
    }


def tiny(name: str, variant: Mapping[str, int]) -> PreTrainedModel:
    """A model of this type in evaluation mode, with random weights, none of them zero."""
    auto = next(each for each in AUTO if name in CLASSES[each])
    made = transformers.CONFIG_MAPPING[name]
    config = made.from_dict(joined(shrunk(made().to_dict(), variant), OF_ONE.get(name, {})))
    if isinstance(choice := CLASSES[auto][name], tuple):
        config.architectures = [choice[0]]
    torch.manual_seed(0)
    model: Any = getattr(transformers, auto).from_config(config, dtype=torch.float32)
    randomise(model)
    return model.eval()  # type: ignore[no-any-return]


def joined(settings: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of which some, and some of those in them, are others."""
    found = dict(settings)
    for key, value in others.items():
        inner = found.get(key)
        both = isinstance(value, Mapping) and isinstance(inner, Mapping)
        found[key] = joined(inner, value) if both else value
    return found


@torch.no_grad()
def randomise(model: nn.Module) -> None:
    """A random step for every weight, since what is initialised to zero shows nothing."""
    for parameter in model.parameters():
        if parameter.is_floating_point():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    for module in model.modules():
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            module.weight[module.padding_idx] = 0  # as training in torch leaves it


def shrunk(settings: Mapping[str, Any], variant: Mapping[str, int]) -> Any:
    """The settings of a configuration, and of those in it, made small."""
    if isinstance(settings.get("num_heads", settings.get("num_attention_heads")), list):
        return dict(settings)  # sizes of stages, which depend on each other
    if "embed_dim_per_stage" in settings:
        return {**settings, "image_size": [64, 64]}
    small = {key: _small(key, value, variant) for key, value in settings.items()}
    _cut_lists(settings, small)
    return small


def _small(key: str, value: Any, variant: Mapping[str, int]) -> Any:
    if key in EXCEPTIONS:
        return EXCEPTIONS[key]
    if value is None and key in NEEDED:
        return size_of(key, variant)
    if key == "image_size" and isinstance(value, list):
        return [32] * len(value)
    if isinstance(value, dict) and all(isinstance(each, str) for each in value):
        sections = {"mrope_section": None} if "rope_type" in value else {}
        return shrunk(value | sections, variant)
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if MEDIA.fullmatch(key) and value > 98:  # none of the pieces of the trial input
        return 20 + sum(map(ord, key)) % 60
    wanted = size_of(key, variant)
    return value if wanted is None or value <= 0 else min(value, wanted)


def size_of(key: str, variant: Mapping[str, int]) -> int | None:
    """What a setting of this name is; None where it stays."""
    for pattern, number in (*variant.items(), *SIZES):
        if re.fullmatch(pattern, key):
            return number if number >= 0 else None
    return None


def _cut_lists(settings: Mapping[str, Any], small: dict[str, Any]) -> None:
    """Lists that say something of every layer get as many entries, one of each kind at least."""
    counts = [
        key for key in settings if re.fullmatch(r"num_hidden_layers|n_layers?|num_layers", key)
    ]
    if not counts or not isinstance(layers := settings[counts[0]], int):
        return
    lists = [
        key
        for key, value in settings.items()
        if isinstance(value, list)
        and len(value) == layers
        and isinstance(value[0], str | int | float)
    ]
    if not lists:
        return
    kinds = {
        tuple(settings[key][n] for key in lists if isinstance(settings[key][n], str)): n
        for n in reversed(range(layers))
    }
    chosen = sorted(kinds.values())
    wanted = max(small[counts[0]], len(chosen))
    chosen += [n for n in reversed(range(layers)) if n not in chosen][: wanted - len(chosen)]
    for key in lists:
        small[key] = [settings[key][n] for n in sorted(chosen)]
    for key in counts:
        small[key] = len(chosen)


def written(found: Mapping[str, Mapping[str, Any]]) -> str:
    """What was found of every type, in Markdown."""
    works = {name: row for name, row in found.items() if "refused" not in row}
    refused = defaultdict(list)
    for name in found.keys() - works.keys():
        refused[reason_of(found[name])].append(name)
    others = len(configuration_auto.CONFIG_MAPPING_NAMES) - len(found)
    worst = max(row["error"] for row in works.values())
    lines = [
        f"transformers {transformers.__version__} has {len(found)} model types with a model "
        f"without a head or a language model (and {others} more that are parts of others, or have "
        f"another head alone). Of these {len(works)} work; the largest error of Eq. 3 is below "
        f"{_above(worst)}.",
        "",
        "| attention | gate | error below | number | `model_type` |",
        "| --- | --- | --- | --- | --- |",
        *alike(works),
        "",
        f"These {len(found) - len(works)} are refused:",
        "",
        "| why | number | `model_type` |",
        "| --- | --- | --- |",
        *(
            f"| {why} | {len(names)} | {', '.join(f'`{name}`' for name in sorted(names))} |"
            for why, names in sorted(refused.items(), key=lambda each: (-len(each[1]), each[0]))
        ),
        "",
    ]
    return "\n".join(lines)


def alike(works: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The rows of types that work: one for all of the same kinds of attention, gate and error."""
    groups = defaultdict(list)
    for name, row in works.items():
        part = f" (`{row['part']}`)" if "part" in row else ""
        same = (", ".join(sorted(row["kinds"])), ", ".join(row["gates"]), _above(row["error"]))
        groups[same].append(f"`{name}`{part}")
    for same, names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        yield f"| {' | '.join(same)} | {len(names)} | {', '.join(names)} |"


def _above(error: float) -> str:
    """The power of ten above, which does not depend on the machine as digits do."""
    return next(text for text in ("1e-6", "1e-5", "1e-4") if error <= float(text))


def reason_of(row: Mapping[str, Any]) -> str:
    """Why a type is refused, without the names of its modules."""
    sentence = row["refused"]
    if not row.get("attends", True):
        return NO_ATTENTION
    for pattern, reason in REASONS:
        if match := re.search(pattern, sentence):
            return reason.format(*match.groups())
    return sentence.split(":")[0] if sentence.startswith("Headlight fails") else sentence


if __name__ == "__main__":
    main()
