"""Models in GGUF files, written here with the library of the format."""

import importlib.util
import shutil
from pathlib import Path

import gguf
import numpy as np
import pytest
from typer.testing import CliRunner

import headlight
from headlight.cli.program import app
from headlight.errors import ModelError, UsageError

SIZE, WIDE, HEADS, LAYERS = 64, 96, 2, 2
WORDS = ["<s>", "</s>", *"abcdefghijklmnopqrstuvwxyzĠ.", "th", "the"]
TEXT = "the old bridge was closed."


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of two layers, whose matrices are rounded to four bits."""
    made = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = gguf.GGUFWriter(str(made), "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(64)
    writer.add_embedding_length(SIZE)
    writer.add_feed_forward_length(WIDE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(WORDS))
    writer.add_file_type(int(gguf.LlamaFileType.MOSTLY_Q4_1))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(WORDS)
    writer.add_token_merges(["t h", "th e"])
    writer.add_token_types([3, 3, *[1] * (len(WORDS) - 2)])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    generator = np.random.default_rng(0)

    def matrix(name: str, *shape: int) -> None:
        values = generator.normal(0, 0.3, shape).astype(np.float32)
        kind = gguf.GGMLQuantizationType.Q4_1
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    for name in ("token_embd", "output"):
        matrix(f"{name}.weight", len(WORDS), SIZE)
    norms = ["output_norm"]
    for n in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(f"blk.{n}.{name}.weight", SIZE, SIZE)
        matrix(f"blk.{n}.ffn_gate.weight", WIDE, SIZE)
        matrix(f"blk.{n}.ffn_up.weight", WIDE, SIZE)
        matrix(f"blk.{n}.ffn_down.weight", SIZE, WIDE)
        norms += [f"blk.{n}.attn_norm", f"blk.{n}.ffn_norm"]
    for name in norms:
        writer.add_tensor(f"{name}.weight", np.ones(SIZE, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return made


def test_a_gguf_file_is_a_model_whose_weights_are_numbers(path: Path) -> None:
    model = headlight.load(path, head="language_model")
    assert model.quantisation == "Q4_1"
    assert len(model.sites) == LAYERS
    stored = {each.name: each for each in gguf.GGUFReader(str(path)).tensors}
    for layer in range(LAYERS):
        packed = stored[f"blk.{layer}.attn_v.weight"]
        given = gguf.quants.dequantize(packed.data, packed.tensor_type)
        loaded = model.transformer.get_parameter(f"model.layers.{layer}.self_attn.v_proj.weight")
        np.testing.assert_allclose(loaded.detach().numpy(), given, rtol=1e-6)


@pytest.mark.slow
def test_a_reading_says_what_its_weights_were_rounded_to(path: Path) -> None:
    said = headlight.load(path).read(TEXT).dataset.attrs
    assert (said["model"], said["quantisation"]) == (str(path), "Q4_1")
    assert "quantisation" not in headlight.load().read("The cat.").dataset.attrs


def test_a_folder_with_one_gguf_file_is_that_model(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path)
    assert headlight.load(tmp_path).revision == headlight.load(path).revision


def test_of_several_gguf_files_one_must_be_named(path: Path, tmp_path: Path) -> None:
    for name in ("one.gguf", "two.gguf"):
        shutil.copy(path, tmp_path / name)
    with pytest.raises(ModelError, match=r"holds 2 GGUF files; name one of them, such as .*one\."):
        headlight.load(tmp_path)
    assert headlight.load(tmp_path / "two.gguf").quantisation == "Q4_1"


def test_what_is_missing_is_said_before_any_work(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match=r"there is no file 'none\.gguf'"):
        headlight.load("none.gguf")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "headlight.catalogue.model_folders.find_spec",
        lambda name: None if name == "gguf" else find(name),
    )
    with pytest.raises(UsageError, match=r"needs the library gguf; .*headlight-attention\[gguf\]"):
        headlight.load(path)


@pytest.mark.long
def test_a_run_on_a_gguf_file_is_resumed_and_says_its_weights(path: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text(f"{TEXT}\n", encoding="utf-8")
    out = tmp_path / "run"
    first = headlight.survey(texts, model=path, out=out)
    assert first.attrs["quantisation"] == "Q4_1"
    assert headlight.survey(texts, model=path, out=out, resume=True).identical(first)
    assert "Q4_1" in (out / "report.html").read_text(encoding="utf-8")
    assert "tokenizer" not in (out / "config.yaml").read_text(encoding="utf-8")


def test_check_says_how_weights_are_quantised(path: Path) -> None:
    done = CliRunner().invoke(app, ["check", str(path)])
    assert done.exit_code == 0, done.output
    assert "quantised: Q4_1" in done.output


@pytest.mark.parametrize("share", [0.0005, 0.01, 0.05, 0.5, 0.99])
def test_a_file_that_is_cut_short_is_refused_in_a_sentence(
    path: Path, tmp_path: Path, share: float
) -> None:
    content = path.read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelError, match=r"cut\.gguf is damaged or cut short .*; copy it again\."):
        headlight.load(cut)


def test_a_file_of_more_layers_than_any_model_is_refused(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(str(tmp_path / "deep.gguf"), "llama")
    writer.add_block_count(10**9)
    for add in (writer.add_embedding_length, writer.add_feed_forward_length, writer.add_head_count):
        add(8)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ModelError, match="1,000,000,000 layers, which no model has"):
        headlight.load(tmp_path / "deep.gguf")
