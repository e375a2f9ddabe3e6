"""Text that models generate, against the most probable tokens, one read of the whole, and eager."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from architectures import GPT2, GROUPED, WIDE
from headlight.catalogue.question_settings import ReadingSettings
from headlight.encode import encode_one
from headlight.errors import MissingHeadError, UsageError
from headlight.reading import read_example
from headlight.reading.generation import generate
from headlight.reading.model import Model
from headlight.reading.view_functions import FUNCTIONS
from headlight.result import load
from headlight.result.kinds import split_kinds
from headlight.views.reading.page import parse_page
from studies.command import Command
from studies.models import VOCABULARY, model, tokenizer
from tiny_models import build
from translators import FAMILIES

DECODERS = {
    "llama": {**GROUPED, "attention_bias": True},
    "gpt2": GPT2,
    "gemma2": {**GROUPED, "head_dim": 8, "sliding_window": 4},
    "gpt_neox": WIDE,
}
TEXT = "the river keeps a bridge near"
SOURCE = "das Haus ist gross"


def decoder(family: str = "llama") -> Any:
    """A tiny one with its head."""
    settings = {**DECODERS[family], "vocab_size": len(VOCABULARY)}
    bare = build(family, settings, seed=7)
    torch.manual_seed(5)
    network = AutoModelForCausalLM.from_config(bare.config).eval()
    return Model(network, tokenizer("llama"), family, "1")


def translator(family: str = "marian") -> Any:
    """A tiny one with its head."""
    bare = FAMILIES[family].model(head=True)
    return Model(bare.transformer, bare.tokenizer, family, "1")


@pytest.mark.slow
@pytest.mark.parametrize("family", list(DECODERS))
def test_rows_of_a_decoder_are_those_of_one_read_of_the_whole(family: str) -> None:
    made = decoder(family)
    data = made.generate(TEXT, max_new_tokens=5).dataset
    example = encode_one(made.tokenizer, TEXT)
    ids = [*example.ids]
    for _ in range(5):  # each time the most probable, by a pass over the whole
        with torch.no_grad():
            logits = made.transformer(torch.tensor([ids])).logits[0]
        ids.append(int(logits[-1].argmax()))
        if ids[-1] == made.tokenizer.eos_token_id:
            break
    start, more = len(example.ids), len(ids) - len(example.ids)
    assert [*data["key_token"].values] == made.tokenizer.convert_ids_to_tokens(ids)
    assert data["query"].values.tolist() == [*range(start - 1, len(ids))]
    assert [*data["query_next"].values] == [*data["key_token"].values[start:], ""]
    with torch.no_grad():
        shares = made.transformer(torch.tensor([ids])).logits[0].softmax(-1)
    expected = [float(shares[at, ids[at + 1]]) for at in range(start - 1, len(ids) - 1)]
    np.testing.assert_allclose(data["query_probability"].values[:-1], expected, atol=1e-5)
    assert [*data["key_segment"].values] == ["prompt"] * start + ["answer"] * more
    whole = replace(
        example,
        ids=tuple(ids),
        segments=(0,) * len(ids),
        categories=(*example.categories, *(3,) * more),
        words=(*example.words, *range(6, 6 + more)),
    )
    attributes = {"text": "", "pair": "", "command": "", "other_kinds": ""}
    reading = read_example(made, whole, ReadingSettings(), attributes=attributes).dataset
    for name in ("weight", "norm", "merged_norm", "effective", "entropy"):
        row = reading[name].sel(query=data["query"])
        np.testing.assert_allclose(data[name], row, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["marian", "t5"])
def test_rows_of_an_encoder_decoder_are_those_of_eager_attention(family: str) -> None:
    made = translator(family)
    generation = made.generate(SOURCE, max_new_tokens=6)
    parts = split_kinds(generation.dataset)
    assert {*parts} == {"encoder", "decoder", "cross"}
    cross = parts["cross"]
    ids = made.tokenizer.convert_tokens_to_ids([*cross["query_token"].values])
    source = made.tokenizer(SOURCE, return_tensors="pt")
    made.transformer.set_attn_implementation("eager")
    with torch.no_grad():
        output = made.transformer(
            **source, decoder_input_ids=torch.tensor([ids]), output_attentions=True
        )
    for kind in ("cross", "decoder"):
        eager = torch.stack(output[f"{kind}_attentions"])[:, 0]
        np.testing.assert_allclose(parts[kind]["weight"], eager, atol=1e-5)
        assert [*parts[kind]["query_next"].values] == [*cross["query_token"].values[1:], ""]
    shares = output.logits[0].softmax(-1)
    expected = [float(shares[at, number]) for at, number in enumerate(ids[1:])]
    np.testing.assert_allclose(cross["query_probability"].values[:-1], expected, atol=1e-5)
    assert "query_next" not in parts["encoder"]


@pytest.mark.slow
def test_a_prediction_of_each_token_is_that_of_predict() -> None:
    made = decoder()
    data = made.generate(TEXT, max_new_tokens=3, predict=True).dataset
    first, start = data["query"].values.tolist()[0], len(made.read(TEXT).tokens)
    alone = made.predict(TEXT, position=first).dataset
    added = alone["token_total"].values + alone["position_total"].values
    np.testing.assert_allclose(data["contribution"].values[0, :start], added, rtol=1e-4, atol=1e-5)
    assert not data["contribution"].values[0, start:].any(), "no token adds to one before it"
    assert np.isnan(data["contribution"].values[-1]).all()
    cross = split_kinds(translator().generate(SOURCE, max_new_tokens=2, predict=True).dataset)
    assert np.isfinite(cross["cross"]["contribution"].values[:-1]).all()
    assert "contribution" not in cross["encoder"]


def test_the_end_of_a_generation_is_no_token_of_its_text() -> None:
    made = decoder()
    made.transformer.generation_config.forced_eos_token_id = made.tokenizer.eos_token_id
    data = made.generate(TEXT, max_new_tokens=2).dataset
    assert data["key_token"].values[-1] == made.tokenizer.eos_token
    assert data["key_category"].values[-1] == "sep"
    assert "special" not in data.attrs


@pytest.mark.slow
def test_files_have_the_generated_tokens(tmp_path: Path) -> None:
    generation = decoder().generate(TEXT, max_new_tokens=3, predict=True)
    written = json.loads(generation.save(tmp_path / "x.json").read_text())
    assert written["text"] == TEXT
    assert written["answer"] == generation.answer
    assert [each["token"] for each in written["generated"]] == [
        *generation.dataset["query_next"].values[:-1]
    ]
    assert len(written["generated"][0]["contribution"]) == generation.dataset.sizes["key"]
    assert load(generation.save(tmp_path / "x.nc")).identical(generation.dataset)
    page = generation.save(tmp_path / "x.html").read_text()
    shown = parse_page(page)
    np.testing.assert_allclose(shown["weight"], generation.dataset["weight"], atol=0.01)
    assert page.count('small-button" data-row="') == 3
    both = json.loads(translator().generate(SOURCE).save(tmp_path / "y.json").read_text())
    assert both["kinds"]["cross"]["generated"][0]["query"] == 0


@pytest.mark.slow
def test_what_cannot_go_on_is_refused() -> None:
    with pytest.raises(MissingHeadError, match="does not go on with a text"):
        generate(model("bert"), "the river")
    with pytest.raises(UsageError, match="max_new_tokens"):
        generate(decoder(), "the river", max_new_tokens=0)
    with pytest.raises(UsageError, match="no decoder layer 7"):
        generate(decoder(), "the river", layers=[7])
    with pytest.raises(UsageError, match="leave the second out"):
        generate(decoder(), "the river", "the bridge")
    with pytest.raises(UsageError, match="empty"):
        generate(translator(), " ")
    made = decoder()
    longest = made.longest
    assert longest is not None
    with pytest.raises(UsageError, match="takes no more"):
        generate(made, "the " * (longest - 1))
    data = made.generate("the river").dataset
    with pytest.raises(UsageError, match="was generated"):
        [*FUNCTIONS["each_head"](made, data, {"kind": "decoder"})]


@pytest.mark.slow
def test_the_command(headlight: Command, tmp_path: Path) -> None:
    made = decoder()
    made.transformer.save_pretrained(tmp_path / "model")
    made.tokenizer.save_pretrained(tmp_path / "model")
    code, out, said = headlight(
        "generate", TEXT, "--model", str(tmp_path / "model"), "--max-new-tokens", "3",
        "--layers", "1", "--predict", "--top", "10", "--html", str(tmp_path / "x.html"),
    )  # fmt: skip
    assert code == 0, said
    assert f"goes on with “{TEXT}”" in out
    assert re.search(r"largest\s+parts of", out)
    assert "set aside:" in " ".join(out.split())
    assert parse_page((tmp_path / "x.html").read_text())["layer"].values.tolist() == [1]
    code, _, said = headlight("generate", TEXT, "--model", "headlight-small")
    assert code != 0
    assert "which does not go on with a text" in said
