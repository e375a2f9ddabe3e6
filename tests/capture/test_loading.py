"""Loading a model: what is refused, in a sentence, and what is never run."""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import (
    AutoModel,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    BertTokenizer,
    MPNetConfig,
    MPNetModel,
    PreTrainedTokenizerFast,
)

from headlight.capture import CapturedModel, load_model
from headlight.catalogue.embedded_models import EMBEDDED_NAME
from headlight.catalogue.model_checks import check_model, check_place
from headlight.errors import (
    HeadlightError,
    MissingHeadError,
    ModelError,
    UnknownNameError,
    UnsupportedModelError,
    UsageError,
)
from studies.models import transformer

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "."]


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole and sound model."""
    torch.manual_seed(0)
    path = tmp_path / "tiny"
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
    )
    BertModel(config).save_pretrained(path)
    words = tmp_path / "vocab.txt"
    words.write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizer(str(words)).save_pretrained(path)
    return path


def settle(folder: Path, **changes: object) -> None:
    """Change the configuration; None takes a setting out."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | changes
    kept = {name: value for name, value in config.items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")


def test_a_folder_is_loaded_ready_to_be_captured(folder: Path) -> None:
    model = load_model(folder, device="cpu")
    assert model.name == str(folder)
    assert not model.transformer.training
    assert len(model.sites) == 2
    assert model.tokenizer is not None
    assert model.tokenizer("The cat sat.")["input_ids"] == [2, 5, 6, 7, 8, 3]


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "float64"])
def test_weights_come_in_the_precision_asked_for(folder: Path, name: str) -> None:
    model = load_model(folder, device="cpu", dtype=name)
    assert {value.dtype for value in model.transformer.parameters()} == {getattr(torch, name)}


def test_a_model_with_a_head_is_loaded_without_it(folder: Path) -> None:
    """Its checkpoint has no pooler, on which no attention depends."""
    BertForMaskedLM(BertConfig.from_pretrained(folder)).save_pretrained(folder)
    assert len(load_model(folder, device="cpu").sites) == 2


def test_the_revision_is_that_of_the_weights(folder: Path) -> None:
    def revision() -> str:
        return load_model(folder, device="cpu").revision

    first = revision()
    assert first.startswith("sha256:")
    assert revision() == first
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.1.attention.self.value.bias"][3] += 1e-3
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert revision() != first


def test_a_model_without_a_tokenizer_is_loaded(folder: Path) -> None:
    """Models of pictures and sound have none; a made-up one that knows no word would be worse."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    model = load_model(folder, device="cpu")
    assert model.tokenizer is None
    assert len(model.sites) == 2
    wanted = f"{folder.name} has no tokenizer, and probes read text; name one with tokenizer=."
    with pytest.raises(UsageError, match=f"^{re.escape(wanted)}"):
        model.require_tokenizer("probes read text")


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"model": 3}', b"\xff\xfe\x00"])
def test_a_damaged_tokenizer_is_none_and_the_refusal_says_why(folder: Path, content: bytes) -> None:
    (folder / "tokenizer.json").write_bytes(content)
    model = load_model(folder, device="cpu")
    assert model.tokenizer is None
    assert model.tokenizer_problem
    assert "its tokenizer.json cannot be read: " in model.tokenizer_problem
    why = re.escape(
        f"{folder.name} has no tokenizer ({model.tokenizer_problem}), and text is read; "
    )
    for part in (model, model.base()):
        with pytest.raises(UsageError, match=f"^{why}name one"):
            part.require_tokenizer("text is read")


@pytest.mark.parametrize(
    "problem",
    [
        OSError("You are trying to access a gated repo.\nMake sure to have access to it."),
        ImportError("T5Tokenizer requires the protobuf library\nbut it was not found."),
    ],
)
def test_a_tokenizer_that_cannot_be_had_is_told_when_text_is_read(
    folder: Path, problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise problem

    monkeypatch.setattr("headlight.capture.loading.AutoTokenizer.from_pretrained", refuse)
    model = load_model(folder, device="cpu")
    reason = str(problem).partition("\n")[0].rstrip(".")
    with pytest.raises(UsageError, match=rf"has no tokenizer \({reason}\), and text is read"):
        model.require_tokenizer("text is read")


# In memory


def test_a_model_in_memory_is_used_as_it_is(folder: Path) -> None:
    loaded = load_model(folder, device="cpu")
    transformer = loaded.transformer
    again = load_model(transformer, loaded.tokenizer)
    assert again.transformer is transformer
    assert again.tokenizer is loaded.tokenizer
    assert again.name == str(folder)
    assert again.sites[0].heads == 2


def test_the_revision_of_a_model_in_memory_is_that_of_its_weights(folder: Path) -> None:
    transformer = load_model(folder, device="cpu").transformer
    first = load_model(transformer).revision
    assert first == load_model(transformer).revision
    with torch.no_grad():
        transformer.embeddings.word_embeddings.weight[5, 0] += 1
    assert load_model(transformer).revision != first
    assert load_model(transformer.to(torch.bfloat16)).revision.startswith("sha256:")


def test_a_model_in_training_stays_so_and_is_refused(folder: Path) -> None:
    transformer = load_model(folder, device="cpu").transformer.train()
    model = load_model(transformer)
    with pytest.raises(UsageError, match=r"training mode.*call model\.eval\(\) first"):
        _ = model.sites
    assert transformer.training


@pytest.mark.parametrize(
    "options", [{"device": "cpu"}, {"dtype": "bfloat16"}, {"revision": "main"}], ids=str
)
def test_a_model_in_memory_is_not_loaded_otherwise(folder: Path, options: Any) -> None:
    transformer = load_model(folder, device="cpu").transformer
    with pytest.raises(UsageError, match="this BertModel is in memory already"):
        load_model(transformer, **options)


def test_a_model_in_memory_must_have_the_head_that_is_asked_for(folder: Path) -> None:
    transformer = load_model(folder, device="cpu").transformer
    with pytest.raises(MissingHeadError, match="is a BertModel, which has no language-model head"):
        load_model(transformer, head="language_model")
    masked = BertForMaskedLM(BertConfig.from_pretrained(folder)).eval()
    assert load_model(masked, head="language_model").transformer is masked


def test_a_model_in_memory_without_a_tokenizer_says_how_to_give_one(folder: Path) -> None:
    model = load_model(load_model(folder, device="cpu").transformer)
    with pytest.raises(UsageError, match=r"has no tokenizer \(.*give it beside the model\)"):
        model.require_tokenizer("text is read")


def test_a_tokenizer_that_is_given_is_used(folder: Path) -> None:
    tokenizer = load_model(folder, device="cpu").tokenizer
    assert load_model(folder, tokenizer, device="cpu").tokenizer is tokenizer


def test_a_tokenizer_may_be_named(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "tokenizer"
    other.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).rename(other / name)
    for model in (folder, load_model(folder, device="cpu").transformer):
        loaded = load_model(model, other)
        assert loaded.require_tokenizer("text is read")("the cat")["input_ids"] == [2, 5, 6, 3]
    with pytest.raises(ModelError, match=f"^there is no tokenizer in {re.escape(str(folder))}; "):
        load_model(folder, str(folder), device="cpu")


# A tokenizer of another model


def test_a_tokenizer_with_tokens_that_the_model_lacks_is_refused(folder: Path) -> None:
    model = load_model(folder, device="cpu")
    model.tokenizer.add_tokens(["dog", "bone"])
    with pytest.raises(ModelError, match=r"2 tokens .* has no vector \('bone', say"):
        model.require_tokenizer("text is read")
    model.transformer.resize_token_embeddings(len(model.tokenizer))
    assert model.require_tokenizer("text is read")


def test_special_tokens_count_where_texts_have_them(folder: Path) -> None:
    """Gemma 3 has a token for pictures without a vector."""
    model = load_model(folder, device="cpu")
    model.tokenizer.add_special_tokens({"additional_special_tokens": ["<picture>"]})
    assert model.require_tokenizer("text is read")
    other = load_model(folder, device="cpu")
    other.tokenizer.add_special_tokens({"pad_token": "<padding>"})
    with pytest.raises(ModelError, match=r"1 tokens? .*'<padding>'"):
        other.require_tokenizer("text is read")


def test_a_tokenizer_without_a_token_for_unknown_words_is_refused(folder: Path) -> None:
    words = {word: number for number, word in enumerate(WORDS)}
    inner = Tokenizer(models.WordPiece(words, unk_token="[WHAT]"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model = load_model(folder, PreTrainedTokenizerFast(tokenizer_object=inner), device="cpu")
    why = r"cannot encode every text \(.*Missing \[UNK\] token.*\); give it a token for"
    with pytest.raises(ModelError, match=why):
        model.require_tokenizer("text is read")


@pytest.mark.parametrize("length", ["512", None, [8]])
def test_a_longest_length_that_is_no_number_is_refused(folder: Path, length: object) -> None:
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) | {"model_max_length": length}
    path.write_text(json.dumps(settings), encoding="utf-8")
    model = load_model(folder, device="cpu")
    if length is None:  # the library knows what to do
        assert model.require_tokenizer("text is read")
        return
    with pytest.raises(ModelError, match=r"model_max_length .* which is no number; correct"):
        model.require_tokenizer("text is read")


def test_a_longest_length_may_be_written_as_a_fraction(folder: Path) -> None:
    model = load_model(folder, device="cpu")
    model.tokenizer.model_max_length = 12.0
    model.transformer.config.max_position_embeddings = -1  # these are relative
    assert model.longest == 12


def test_the_tokenizer_does_not_say_what_the_model_takes(folder: Path) -> None:
    model = load_model(folder, device="cpu")
    positions = model.transformer.config.max_position_embeddings
    model.tokenizer.model_max_length = positions // 2  # as long as the texts of a training were
    assert model.longest == positions


def test_positions_that_begin_past_the_padding() -> None:
    config = MPNetConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, max_position_embeddings=18, pad_token_id=1,
    )  # fmt: skip
    model = CapturedModel(MPNetModel(config).eval())
    assert model.longest == 16
    model.transformer(torch.full((1, 16), 5))
    with pytest.raises(IndexError):
        model.transformer(torch.full((1, 17), 5))


# What a folder may not decide


@pytest.mark.parametrize("name", ["_attn_implementation", "attn_implementation"])
@pytest.mark.parametrize("kernel", ["eager", "flash_attention_2", "someone/kernel"])
def test_a_folder_does_not_choose_the_code_that_runs(folder: Path, name: str, kernel: str) -> None:
    settle(folder, **{name: kernel})
    model = load_model(folder, device="cpu")
    assert model.transformer.config._attn_implementation == "sdpa"
    assert len(model.sites) == 2


# The embedded model


def test_the_name_in_every_report_is_that_of_the_embedded_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = load_model("headlight-small", device="cpu")
    assert (model.name, model.revision) == (EMBEDDED_NAME, load_model(device="cpu").revision)


def test_a_folder_of_that_name_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    folder.rename(folder.parent / EMBEDDED_NAME)
    assert load_model(EMBEDDED_NAME, device="cpu").transformer.config.hidden_size == 16


# Refused in a sentence


def no_config(folder: Path) -> str:
    (folder / "config.json").unlink()
    return r"holds no config\.json; give the folder of a transformers model\.$"


def config_no_json(folder: Path) -> str:
    (folder / "config.json").write_text("{'model_type': bert", encoding="utf-8")
    return r"cannot be loaded: .*config\.json.* is not a valid JSON file\.$"


def config_of_bytes(folder: Path) -> str:
    (folder / "config.json").write_bytes(b"\xff\xfe\x00\x01")
    return r"cannot be loaded: .*config\.json.* is not a valid JSON file\.$"


def config_a_list(folder: Path) -> str:
    (folder / "config.json").write_text("[1, 2]", encoding="utf-8")
    return r"cannot be loaded: .*`model_type`.*\.$"


def config_without_type(folder: Path) -> str:
    settle(folder, model_type=None)
    return r"cannot be loaded: .*`model_type`.*\.$"


def unknown_type(folder: Path) -> str:
    settle(folder, model_type="dreamt-up")
    return r"cannot be loaded: .*`dreamt-up`.*\.$"


def wrong_type_of_setting(folder: Path) -> str:
    settle(folder, hidden_size="many")
    return r"cannot be loaded: .*'hidden_size' expected int.*\.$"


def heads_that_do_not_divide(folder: Path) -> str:
    settle(folder, num_attention_heads=3)
    return r"cannot be loaded: .*hidden size.*\.$"


def other_sizes(folder: Path) -> str:
    settle(folder, hidden_size=24)
    return r"does not fit the sizes of its weights\.$"


def more_layers_than_weights(folder: Path) -> str:
    settle(folder, num_hidden_layers=3)
    return r"lack 'encoder\.layer\.2\..*' \(16 missing in all\), which would be random numbers; "


def weights_of_another_model(folder: Path) -> str:
    save_file({"x": torch.zeros(3)}, folder / "model.safetensors", metadata={"format": "pt"})
    return r"lack 'embeddings\..*' \(\d+ missing in all\), which would be random numbers; "


def no_weights(folder: Path) -> str:
    (folder / "model.safetensors").unlink()
    return r"has no safetensors weights, and other formats can run code .*\.$"


def weights_cut_off(folder: Path) -> str:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    return r"the safetensors weights in .* are damaged \(.*\); copy them again\.$"


def weights_of_junk(folder: Path) -> str:
    (folder / "model.safetensors").write_bytes(b"junk" * 100)
    return r"the safetensors weights in .* are damaged \(.*\); copy them again\.$"


def weights_empty(folder: Path) -> str:
    (folder / "model.safetensors").write_bytes(b"")
    return r"the safetensors weights in .* are damaged \(.*\); copy them again\.$"


def more_layers_than_any_model(folder: Path) -> str:
    settle(folder, num_hidden_layers=10**9)
    return r"says that it has 1,000,000,000 layers, which no model has; copy it again\.$"


def config_of_brackets(folder: Path) -> str:
    (folder / "config.json").write_text('{"a":' * 100_000, encoding="utf-8")
    check_place(str(folder))
    check_model(str(folder), layers=[0])  # leaves it to loading
    return r"cannot be loaded: maximum recursion depth exceeded.*\.$"


def empty_folder(folder: Path) -> str:
    for path in folder.iterdir():
        path.unlink()
    return r"holds no config\.json; give the folder of a transformers model\.$"


DAMAGES = (
    no_config,
    config_no_json,
    config_of_bytes,
    config_a_list,
    config_without_type,
    unknown_type,
    wrong_type_of_setting,
    heads_that_do_not_divide,
    other_sizes,
    more_layers_than_weights,
    weights_of_another_model,
    no_weights,
    weights_cut_off,
    weights_of_junk,
    weights_empty,
    more_layers_than_any_model,
    config_of_brackets,
    empty_folder,
)


def refusal(name: str | Path, **options: Any) -> HeadlightError:
    with pytest.raises(HeadlightError) as refused:
        load_model(name, **{"device": "cpu", **options})
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    return refused.value


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damaged_folders_are_refused_in_a_sentence(
    folder: Path, damage: Callable[[Path], str]
) -> None:
    sentence = damage(folder)
    refused = refusal(folder)
    assert isinstance(refused, ModelError)
    assert refused.exit_code == 1
    assert str(folder) in str(refused)
    with pytest.raises(ModelError, match=sentence):
        load_model(folder, device="cpu")


def test_missing_folders_and_files_are_refused_in_a_sentence(folder: Path) -> None:
    assert str(refusal(folder / "nowhere")).startswith(f"there is no folder '{folder}/nowhere'")
    assert str(refusal("./nowhere")).startswith("there is no folder './nowhere'")
    config = folder / "config.json"
    assert str(refusal(config)).startswith(f"{config} is a file; give the folder")
    offline = refusal("nobody/no-such-model")
    assert isinstance(offline, ModelError)
    assert str(offline) == (
        "there is no folder 'nobody/no-such-model', no model of that name is in the cache of the "
        "hub, and HF_HUB_OFFLINE keeps it from being fetched; correct the name, or unset that "
        "variable."
    )


def test_a_name_that_the_hub_does_not_know_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise OSError("bertt is not a valid model identifier listed on the hub.\nIf this is")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("headlight.catalogue.model_checks.hub_answers", lambda: True)
    monkeypatch.setattr("headlight.capture.loading.AutoConfig.from_pretrained", unknown)
    assert str(refusal("bertt")) == (
        "there is no folder 'bertt', no model of that name is in the cache of the hub, and it "
        "cannot be fetched (bertt is not a valid model identifier listed on the hub); correct the "
        "name, or go online."
    )


def test_where_the_hub_does_not_answer_nothing_is_tried_again_and_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At once, with the name of a model that is here and nearly so called."""
    cached = tmp_path / "models--google--bert-tiny" / "snapshots" / "1"
    cached.mkdir(parents=True)
    (cached / "config.json").write_text("{}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("headlight.catalogue.hub.getproxies", dict)
    monkeypatch.setattr("headlight.capture.loading.AutoConfig.from_pretrained", pytest.fail)
    refused = str(refusal("google/bert-tny"))
    assert refused.endswith(
        "http://127.0.0.1:9 does not answer; correct the name, or go online. Did you mean "
        "'google/bert-tiny'?"
    )
    assert "Did you mean 'headlight-small'?" in str(refusal("headlight-smal"))


def test_who_needs_a_classifier_is_told_where_to_get_one() -> None:
    said = str(refusal(EMBEDDED_NAME, head="classification"))
    assert "distilbert-base-uncased-finetuned-sst-2-english of the hub" in said
    assert "headlight-classifier" in said


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_name_is_called_what_it_is(folder: Path) -> None:
    assert "model is of the type int; give the name" in str(refusal(3))  # type: ignore[arg-type]
    loaded: Any = load_model(folder, device="cpu")
    assert "is loaded already; use it as it is" in str(refusal(loaded, device="auto"))


@pytest.mark.slow
def test_unknown_precisions_and_devices_are_refused_in_a_sentence(folder: Path) -> None:
    refused = refusal(folder, dtype="float23")
    assert isinstance(refused, UnknownNameError)
    assert "no precision is called 'float23'. Did you mean 'float32'?" in str(refused)
    for device in ("gpu", "cuda:99", "cpu:-3", "", "meta"):
        refused = refusal(folder, device=device)
        assert isinstance(refused, UsageError)
        assert refused.exit_code == 2
        there = re.fullmatch(rf"there is no device {device!r} here; use (.*)\.", str(refused))
        assert there
        for offered in there[1].split(" or "):
            assert load_model(folder, device=offered).sites


# Never run


def bomb(folder: Path, module: str, attribute: str) -> bytes:
    """The opcodes of a pickle that calls a function of a module; no pickle library needed."""
    return f"c{module}\n{attribute}\n(V{folder / 'ran'}\ntR.".encode()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.bin", "pytorch_model.pt"])
@pytest.mark.parametrize("zipped", [False, True])
def test_pickles_are_never_read(folder: Path, name: str, zipped: bool) -> None:
    (folder / "model.safetensors").unlink()
    content = bomb(folder, "os", "mkdir")
    if zipped:
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("archive/data.pkl", content)
            archive.writestr("archive/version", "3")
    else:
        (folder / name).write_bytes(content)
    assert "has no safetensors weights" in str(refusal(folder))
    assert isinstance(refusal(folder / name), ModelError)
    assert not (folder / "ran").exists()


def test_the_bomb_would_go_off(folder: Path) -> None:
    """So that the test above proves something."""
    (folder / "x.bin").write_bytes(bomb(folder, "os", "mkdir"))
    try:
        torch.load(folder / "x.bin", weights_only=False)
    except Exception:  # noqa: BLE001 - what comes after the explosion does not matter
        assert (folder / "ran").exists()
    assert (folder / "ran").exists()


def plant(folder: Path) -> None:
    """Code beside the model, which says that it ran."""
    code = f"open({str(folder / 'ran')!r}, 'w').close()\n"
    for name in ("configuration_own", "modeling_own", "tokenization_own"):
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    classes = {"AutoConfig": "configuration_own.OwnConfig", "AutoModel": "modeling_own.OwnModel"}
    settle(folder, auto_map=classes)
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["auto_map"] = {"AutoTokenizer": ["tokenization_own.Own", "tokenization_own.Own"]}
    path.write_text(json.dumps(settings), encoding="utf-8")


def test_code_that_comes_with_a_known_model_is_not_run(folder: Path) -> None:
    plant(folder)
    assert len(load_model(folder, device="cpu").sites) == 2
    assert not (folder / "ran").exists()


def test_a_model_that_needs_its_own_code_is_refused(folder: Path) -> None:
    plant(folder)
    settle(folder, model_type="own")
    assert "custom code" in str(refusal(folder))
    assert not (folder / "ran").exists()


def test_code_is_run_only_when_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the tests above prove something."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(folder.parent))
    plant(folder)
    settle(folder, model_type="own")
    with pytest.raises(ModelError):
        load_model(folder, device="cpu", trust_remote_code=True)
    assert (folder / "ran").exists()


def test_special_tokens_may_be_read_as_characters() -> None:
    from headlight.catalogue import find_study
    from headlight.engine.configuration import configuration

    marked, plain = load_model(), load_model(split_special_tokens=True)
    study = find_study("survey")
    kept = [configuration(study, None, study.settings(), each) for each in (marked, plain)]
    assert [each.get("split_special_tokens") for each in kept] == [None, True]  # for workers
    assert marked.identity()["tokenizer"] != plain.identity()["tokenizer"]
    with pytest.raises(UsageError, match="leave out how to load it"):
        load_model(plain.transformer, plain.tokenizer, split_special_tokens=True)


def test_weights_that_are_packed_are_no_numbers() -> None:
    """Dynamic quantisation of torch keeps them as objects of its own."""
    linear: Any = {nn.Linear}
    packed = torch.ao.quantization.quantize_dynamic(transformer("bert"), linear)
    with pytest.raises(UnsupportedModelError, match=r"is no tensor .* before it was quantised\.$"):
        load_model(packed)


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_quantised_weights_without_their_library(
    folder: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise NameError("name 'QuantizeConfig' is not defined")

    settle(folder, quantization_config={"quant_method": method, "bits": 4})
    for missing in (True, False):
        if not missing:
            monkeypatch.setattr(AutoModel, "from_pretrained", fail)
        sentence = str(refusal(folder))
        assert f"is quantised ({method}), and cannot be loaded here (" in sentence
        assert sentence.endswith("as it was before it was quantised, whose weights can be read as "
                                 "numbers.")  # fmt: skip


def test_an_error_of_code_is_called_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("rope")

    monkeypatch.setattr(AutoModel, "from_pretrained", fail)
    assert "cannot be loaded: KeyError in what loads it: 'rope'." in str(refusal(folder))
