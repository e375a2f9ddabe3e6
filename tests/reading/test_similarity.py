"""Similarity of two texts: parts of cosines, against models that run again without a token."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from headlight.capture import CapturedModel
from headlight.capture.one_text import one_text
from headlight.capture.sentence_embedding import Pooling
from headlight.corpora import SentencePair
from headlight.errors import ModelError, UnsupportedModelError, UsageError
from headlight.reading.similarity import SIDES, TERMS, similarity
from headlight.views.reading.similarity import findings, frame_of, headline
from reading.replay import Replay
from reading.test_prediction import close
from studies.command import Command
from studies.models import model as tiny

A, B = "the old river keeps a town .", "snow melts near spring , sea falls"
DIM = 32
RULES: dict[str, list[dict[str, Any]]] = {
    "mean": [],
    "cls_token": [{"type": "sentence_transformers.models.Normalize"}],
    "lasttoken": [],
    "weightedmean_tokens": [
        {"type": "sentence_transformers.models.Dense", "path": "2_Dense"},
        {"type": "sentence_transformers.models.Normalize"},
    ],
}
"""Rules of pooling, and the modules behind it; the first is assumed, and the folder has none."""
SUBJECTS = [("bert", rule) for rule in RULES] + [("llama", "lasttoken"), ("llama", "mean")]


def sentence_encoder(folder: Path, family: str, rule: str, **config: Any) -> CapturedModel:
    """Return a model of random weights whose folder says how texts are embedded."""
    made = tiny(family)
    made.transformer.double()
    made.name = str(folder)
    if rule == "mean":
        return made
    modules = [
        {"type": "sentence_transformers.models.Transformer", "path": ""},
        {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
        *RULES[rule],
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    for name in ("1_Pooling", "2_Dense"):
        (folder / name).mkdir()
    flags = {f"pooling_mode_{name}": name == rule for name in (*RULES, "max_tokens")} | config
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(flags))
    activation = {"activation_function": "torch.nn.modules.activation.Tanh"}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(activation))
    numbers = torch.Generator().manual_seed(3)
    weights = {
        "linear.weight": torch.randn(8, DIM, generator=numbers),
        "linear.bias": torch.randn(8, generator=numbers),
    }
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    return made


def naive(folder: Path, rule: str, states: torch.Tensor, slope: Any = None) -> tuple[Any, Any]:
    """Return the embedding of hidden tokens by loops, and the slopes of its dense layer."""
    length, total = len(states), torch.zeros(DIM, dtype=torch.float64)
    for at in range(length):
        total += (
            states[at]
            * {
                "mean": 1 / length,
                "cls_token": at == 0,
                "lasttoken": at == length - 1,
                "weightedmean_tokens": (at + 1) / sum(range(1, length + 1)),
            }[rule]
        )
    if rule == "weightedmean_tokens":
        dense = load_file(folder / "2_Dense" / "model.safetensors")
        total = dense["linear.weight"].double() @ total + dense["linear.bias"].double()
        slope = total.tanh() / total if slope is None else slope
        total = total * slope
    return total, slope


@pytest.mark.parametrize(("family", "rule"), SUBJECTS)
def test_a_pair_adds_what_the_dot_product_of_what_is_lost_without_each_says(
    family: str, rule: str, tmp_path: Path
) -> None:
    made = sentence_encoder(tmp_path, family, rule)
    data = similarity(made, A, B).dataset
    parts, wholes, biases = [], [], []
    for text in (A, B):
        _, example = one_text(made, text, None, None, purpose="a test")
        seen: list[torch.Tensor] = []

        def kept(output: Any, seen: list[torch.Tensor] = seen) -> torch.Tensor:
            seen.append(output[0][0])
            return output[0].sum()

        inputs = made.inputs(made.collate([example]))
        again = Replay(made, inputs, kept, gated=family == "llama")
        whole, slope = naive(tmp_path, rule, seen[0])
        for at in range(len(example.ids)):
            again.without(embedding=(0, at))
        lost = [whole - naive(tmp_path, rule, states, slope)[0] for states in seen[1:]]
        parts.append(lost)
        wholes.append(whole)
        biases.append(whole - sum(lost))
    scale = float(wholes[0].norm() * wholes[1].norm())
    close(float(data["cosine"]), float(wholes[0] @ wholes[1]) / scale)
    bias = float(biases[0] @ wholes[1] + (wholes[0] - biases[0]) @ biases[1]) / scale
    close(float(data["bias"]), bias)
    for i, of_a in enumerate(parts[0]):
        for j, of_b in enumerate(parts[1]):
            close(float(data["pair_part"][i, j]), float(of_a @ of_b) / scale)
    assert float(data["pair_part"].sum()) + bias == pytest.approx(float(data["cosine"]), abs=1e-5)
    assert float(abs(data["pair_part"]).max()) > 1e-3
    assert data.attrs["assumed"] == (rule == "mean")


def test_heads_and_all_else_add_up_and_words_are_sums_of_their_pieces(tmp_path: Path) -> None:
    data = similarity(sentence_encoder(tmp_path, "bert", "weightedmean_tokens"), A, B).dataset
    cosine = float(data["cosine"])
    close(data["head_part"].sum(("layer", "head")) + data["rest_part"], [cosine, cosine])
    words = [data[f"{side}_word_of"].values for side in SIDES]
    for i, j in np.ndindex(*data["word_part"].shape):
        pieces = data["pair_part"].values[words[0] == i][:, words[1] == j]
        close(float(data["word_part"][i, j]), pieces.sum())
    assert data["b_word_text"].values.tolist() == B.replace(",", "").split()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_a_head_adds_what_is_lost_without_all_that_it_takes(family: str, tmp_path: Path) -> None:
    made = sentence_encoder(tmp_path, family, "mean")
    data = similarity(made, A, B).dataset
    (_, a), (_, b) = (one_text(made, text, None, None, purpose="a test") for text in (A, B))
    a, b = (made.inputs(made.collate([example])) for example in (a, b))
    with torch.no_grad():
        other, own = (made.transformer(**inputs)[0][0].mean(0) for inputs in (b, a))
    direction = other / (other.norm() * own.norm())
    gated = family == "llama"
    again = Replay(made, a, lambda output: output[0][0].mean(0) @ direction, gated=gated)
    for site in made.sites:
        for head in range(site.heads):
            lost = [
                again.without(cell=(site, head, key), direct=True)
                for key in range(data.sizes["a_token"])
            ]
            close(float(data["head_part"].sel(side="a", layer=site.layer, head=head)), sum(lost))
    assert float(abs(data["head_part"]).max()) > 1e-3


def test_what_is_removed_is_read_again(tmp_path: Path) -> None:
    made = sentence_encoder(tmp_path, "bert", "mean")
    data = similarity(made, A, B, number=3).dataset
    texts = ([*A.split()], ["snow", "melts", "near", "spring", ",", "sea", "falls"])
    for at in range(3):
        shorter = [list(text) for text in texts]
        for side, text in zip(SIDES, shorter, strict=True):
            text.remove(str(data[f"{side}_word_text"].values[int(data[f"pair_{side}"][at])]))
        wanted = similarity(made, *map(" ".join, shorter)).dataset["cosine"]
        close(float(data["without_cosine"][at]), float(wanted))
    assert np.isnan(similarity(made, "river", "sea").dataset["without_cosine"]).all()


def test_a_text_is_as_like_itself_as_can_be(tmp_path: Path) -> None:
    result = similarity(sentence_encoder(tmp_path, "llama", "lasttoken"), A, A)
    assert float(result.dataset["cosine"]) == pytest.approx(1)
    np.testing.assert_allclose(result.dataset["pair_part"], result.dataset["pair_part"].T)


def test_what_cannot_be_taken_apart_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no single encoder or decoder"):
        similarity(tiny("t5"), A, B)
    made = tiny("bert")
    with pytest.raises(UsageError, match="give a second one"):
        similarity(made, A)
    with pytest.raises(UsageError, match="at least one"):
        similarity(made, [])
    with pytest.raises(UsageError, match="give strings"):
        similarity(made, Path(A))
    with pytest.raises(UsageError, match="pair 2 is not of two texts"):
        similarity(made, [(A, B), (A,)])
    with pytest.raises(UsageError, match="pair 2: the text is empty"):
        similarity(made, [(A, B), (A, "")])
    for name in ("max", "two", "rule", "pickle"):
        (tmp_path / name).mkdir()
    flags = {"pooling_mode_lasttoken": False, "pooling_mode_max_tokens": True}
    largest = sentence_encoder(tmp_path / "max", "bert", "lasttoken", **flags)
    with pytest.raises(UnsupportedModelError, match="pools by max, and a cosine is a sum over"):
        similarity(largest, A, B)
    both = sentence_encoder(tmp_path / "two", "bert", "lasttoken", pooling_mode_cls_token=True)
    with pytest.raises(UnsupportedModelError, match="cls and lasttoken"):
        similarity(both, A, B)
    made.name = str(tmp_path / "rule")
    for modules, error, match in (
        ('[{"type": "a.LSTM", "path": "1"}]', UnsupportedModelError, "embeds texts by LSTM, for"),
        ("[]", UnsupportedModelError, "by nothing"),
        ("{", ModelError, "is damaged"),
        ('["a.Pooling"]', ModelError, "is damaged"),
        (
            '[{"type": "Transformer"}, {"type": "a.Pooling", "path": "../max/1_Pooling"}]',
            ModelError,
            "not there as a file",
        ),
    ):
        (tmp_path / "rule" / "modules.json").write_text(modules)
        with pytest.raises(error, match=match):
            Pooling.of(made)
    dense = sentence_encoder(tmp_path / "pickle", "bert", "weightedmean_tokens")
    weights = tmp_path / "pickle" / "2_Dense" / "model.safetensors"
    save_file({"linear.weight": torch.ones(8, DIM), "linear.bias": torch.ones(9)}, weights)
    with pytest.raises(ModelError, match="no dense layer"):
        similarity(dense, A, B)
    weights.unlink()
    (tmp_path / "pickle" / "2_Dense" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelError, match="safetensors alone"):
        similarity(dense, A, B)


def test_several_pairs_have_a_row_each(tmp_path: Path) -> None:
    made = sentence_encoder(tmp_path, "bert", "cls_token")
    pairs = [SentencePair("1", A, B, "1"), (B, A), SentencePair("3", A, A, None), (A, ".")]
    result = similarity(made, pairs)
    single = similarity(made, A, B)
    rows = frame_of(result.dataset)
    assert rows["label"].tolist() == ["1", "", "", ""]
    close(rows["cosine"][:3], [float(single.dataset["cosine"])] * 2 + [1.0])
    close(rows[list(TERMS[1:])].sum(axis=1), rows["cosine"])
    close(result.dataset["mean"][1:].sum(), float(result.dataset["mean"][0]))
    first = frame_of(single.dataset).iloc[0]
    assert rows["first words"][0] == f"“{first['first text']}” × “{first['second text']}”"
    assert findings(result.dataset)[0].startswith("The mean cosine of 4 pairs is")
    assert json.loads(result.to_json())["pairs"][1]["a_text"] == B
    assert "The mean cosine" in result.to_html()


def test_the_title_names_the_largest_pair_and_the_drawing_is_escaped(tmp_path: Path) -> None:
    made = sentence_encoder(tmp_path, "bert", "mean")
    result = similarity(made, A, f"{B} <b> the the")
    row, answer = frame_of(result.dataset).iloc[0], headline(result.dataset)
    assert f"“{row['first text']}” × “{row['second text']}”" in answer.title
    assert f"{float(result.dataset['cosine']):.2f}" in answer.title.replace("−", "-")
    bars, lines, without = answer.pictures
    assert "<b>" not in lines.html
    assert lines.html.count("<line") == 10
    assert ">the (2)<" in lines.html
    written = [float(bar.value.replace("−", "-")) for bar in bars.bars]
    assert sum(written) == pytest.approx(float(result.dataset["cosine"]), abs=0.1)
    assert without.bars[-1].is_reference
    assert "assumed" in answer.read


@pytest.mark.slow
def test_the_command(headlight: Command, tmp_path: Path) -> None:
    code, out, said = headlight(
        "similarity",
        "The cat sat.",
        "A dog slept.",
        "--csv",
        str(tmp_path / "pairs.csv"),
        "--html",
        str(tmp_path / "page.html"),
        "--json",
        str(tmp_path / "all.json"),
    )
    assert code == 0, said
    assert out.startswith("The cosine of the two texts is ")
    assert len((tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines()) == 10
    (tmp_path / "pairs.tsv").write_text("sentence1\tsentence2\tlabel\na cat\ta dog\t1\n")
    code, out, said = headlight("similarity", "--pairs", str(tmp_path / "pairs.tsv"))
    assert code == 0, said
    assert "The mean cosine of 1 pair is" in out
    for arguments in (["a text"], [], ["a", "b", "--pairs", str(tmp_path / "pairs.tsv")]):
        assert headlight("similarity", *arguments)[0] != 0
