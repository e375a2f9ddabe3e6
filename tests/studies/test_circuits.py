"""What weights say, and what heads do on probes, against loops and against other tools."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

from architectures import GPT2, GROUPED, WIDE
from headlight.capture import CapturedModel
from headlight.capture.head_weights import head_weights, norm_gains
from headlight.errors import HeadlightError, UsageError
from headlight.measures.circuits import compositions, copying, gram, matching
from headlight.studies.circuits import CircuitsSettings, study
from headlight.studies.circuits.facts import FACTS as FIRST, Fact
from headlight.studies.circuits.greedy_answers import Answer, answer
from headlight.studies.circuits.probe_texts import probes
from headlight.studies.circuits.retrieval import fuzzy_span
from headlight.studies.circuits.study import CircuitsStudy
from studies.intervals import agrees
from studies.models import VOCABULARY, tokenizer

FAMILIES = {
    "llama": GROUPED,
    "qwen3": {**GROUPED, "head_dim": 8},
    "gpt2": GPT2,
    "gpt_neox": {**WIDE, "max_position_embeddings": 128},
    "bert": WIDE,
}
FACTS = (
    Fact("the old mill", "keeps a sea of sand near the bridge .", "the mill ?"),
    Fact("the river knows", "a full valley , down the lake .", "the river ?"),
)
SMALL = {"sequences": 3, "tokens": 9, "needles": 3, "haystack": 14}
HAY = ["the snow falls on the town. the week is down. a stone widens the valley near the lake."]


def made(family: str, **changed: Any) -> CapturedModel:
    """With a head, in float64, and norms that change what they are given."""
    given = {**FAMILIES[family], "vocab_size": len(VOCABULARY), "n_positions": 256}
    given |= {"max_position_embeddings": 256, "bos_token_id": 1, "eos_token_id": 2, **changed}
    kind = AutoModelForMaskedLM if family == "bert" else AutoModelForCausalLM
    torch.manual_seed(3)
    network = kind.from_config(AutoConfig.for_model(family, **given)).double().eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.normal_(float(parameter.ndim == 1 and "norm" in name.lower()), 0.5)
    reader = "llama" if kind is AutoModelForCausalLM else "bert"
    return CapturedModel(network, tokenizer(reader), family, "1")


def own_weights(model: CapturedModel, layer: int) -> tuple[torch.Tensor, ...]:
    """W_Q, W_K, W_V by head and W_O, read from the modules by their names, gains folded in."""
    net: Any = model.transformer
    if model.name in ("llama", "qwen3"):
        block = net.model.layers[layer]
        attention, gain = block.self_attn, block.input_layernorm.weight
        parts = [getattr(attention, f"{name}_proj").weight.T for name in "qkv"]
        output = attention.o_proj.weight.T
    elif model.name == "gpt2":
        block = net.transformer.h[layer]
        parts, gain = list(block.attn.c_attn.weight.chunk(3, 1)), block.ln_1.weight
        output = block.attn.c_proj.weight
    elif model.name == "gpt_neox":
        block = net.gpt_neox.layers[layer]
        fused = block.attention.query_key_value.weight.T.reshape(32, 4, 3, 8)
        parts = [fused[:, :, at].reshape(32, 32) for at in range(3)]
        output, gain = block.attention.dense.weight.T, block.input_layernorm.weight
    else:
        block = net.bert.encoder.layer[layer].attention
        parts = [getattr(block.self, name).weight.T for name in ("query", "key", "value")]
        before = net.bert.encoder.layer[layer - 1].output if layer else net.bert.embeddings
        output, gain = block.output.dense.weight.T, before.LayerNorm.weight
    heads = [(gain[:, None] * each).reshape(32, -1, 8).permute(1, 0, 2) for each in parts]
    heads = [each.repeat_interleave(4 // len(each), 0) for each in heads]
    return (*(each.detach() for each in heads), output.detach().reshape(4, 8, 32))


def score(matrix: torch.Tensor) -> float:
    """Of a matrix as wide as the vocabulary; Σλ is its trace."""
    values = torch.linalg.eigvals(matrix)
    return float(values.sum().real / values.abs().sum())


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_of_weights_are_those_of_the_full_matrices(family: str) -> None:
    model = made(family)
    found = [each for site, each in head_weights(model).items()]
    net: Any = model.transformer
    embedded = net.get_input_embeddings().weight.detach()
    reader = net.get_output_embeddings().weight.detach()
    own = [own_weights(model, layer) for layer in range(2)]
    for weights, (query, key, value, output) in zip(found, own, strict=True):
        for name, wanted in (("query", query), ("key", key), ("value", value), ("output", output)):
            torch.testing.assert_close(getattr(weights, name), wanted, rtol=1e-4, atol=1e-4)
        # The eigenvalues of a matrix that is not normal move with the last bits of it.
        query, key, value, output = weights.query, weights.key, weights.value, weights.output
        copied = copying(weights, gram(reader, embedded))
        matched = matching(weights, gram(embedded, embedded))
        for head in range(4):
            circuit = embedded @ value[head] @ output[head] @ reader.T
            assert float(copied[head]) == pytest.approx(score(circuit), abs=1e-9)
            circuit = embedded @ query[head] @ key[head].T @ embedded.T
            assert float(matched[head]) == pytest.approx(score(circuit), abs=1e-9)
    ((earlier, later, paths),) = compositions(found)
    assert (earlier, later) == (0, 1)
    for one, two in product(range(4), range(4)):
        writes = found[0].value[one] @ found[0].output[one]
        matches = found[1].query[two] @ found[1].key[two].T
        moves = found[1].value[two] @ found[1].output[two]
        for values, reads in zip(paths, (matches, matches.T, moves), strict=True):
            wanted = (writes @ reads).norm() / (writes.norm() * reads.norm())
            assert float(values[one, two]) == pytest.approx(float(wanted), abs=1e-9)


def test_the_gain_before_the_unembedding_is_found() -> None:
    model = made("llama")
    reader = model.transformer.get_output_embeddings()
    wanted = model.transformer.model.norm.weight.detach()
    torch.testing.assert_close(norm_gains(model, [reader])[reader], wanted, rtol=1e-4, atol=1e-4)


@pytest.fixture
def lens() -> Any:
    """TransformerLens, where it is installed."""
    return pytest.importorskip("transformer_lens")


def test_composition_is_that_of_transformerlens(lens: Any) -> None:
    utilities = pytest.importorskip("transformer_lens.utilities.matrix")
    first, second = head_weights(made("llama")).values()
    ((_, _, found),) = compositions([first, second])
    writes = lens.FactoredMatrix(first.value, first.output)
    matches = lens.FactoredMatrix(second.query, second.key.mT)
    moves = lens.FactoredMatrix(second.value, second.output)
    for values, reads in zip(found, (matches, matches.T, moves), strict=True):
        wanted = utilities.composition_scores(writes, reads)
        torch.testing.assert_close(values, wanted, rtol=1e-6, atol=1e-6)


def shares(model: CapturedModel, ids: list[int]) -> dict[str, np.ndarray]:
    """Weights and norms of each row, scaled to 1, ``layer head query key``; by the model's own."""
    net: Any = model.transformer
    net.set_attn_implementation("eager")
    with torch.no_grad():
        output = net(input_ids=torch.tensor([ids]), output_attentions=True,
                     output_hidden_states=True)  # fmt: skip
    net.set_attn_implementation("sdpa")
    weight = torch.stack([each[0] for each in output.attentions]).numpy()
    norm = np.zeros_like(weight)
    for layer in range(len(weight)):
        block = net.model.layers[layer]
        values = block.self_attn.v_proj(block.input_layernorm(output.hidden_states[layer]))[0]
        values = values.detach().numpy().reshape(len(ids), 2, 8)
        matrices = block.self_attn.o_proj.weight.detach().numpy().T.reshape(4, 8, 32)
        for head, query in product(range(4), range(len(ids))):
            sizes = np.linalg.norm(values[:, head // 2] @ matrices[head], axis=1)
            row = weight[layer, head, query] * sizes
            norm[layer, head, query] = row / row.sum()
    return {"weight": weight, "norm": norm}


def test_scores_of_repeated_tokens_are_those_of_loops() -> None:
    model = made("llama")
    settings = CircuitsSettings(parts=("repeated",), **SMALL)
    found = CircuitsStudy.run(None, model, settings, progress=False)
    texts = list(probes(model, settings, ("repeated",), None))
    assert [text.ids[0] for text in texts] == [1] * 3  # <s>
    assert not {each for text in texts for each in text.ids[1:]} & {0, 1, 2, 3}
    scores: dict[str, list[np.ndarray]] = {}
    for text in texts:
        assert text.ids[1:10] == text.ids[10:]
        assert len(set(text.ids[1:])) == 9
        for name, rows in shares(model, list(text.ids)).items():
            for behaviour, values in by_loops(rows, text.ids).items():
                scores.setdefault(f"{behaviour} {name}", []).append(values)
    for name, values in scores.items():
        behaviour, measure = name.split()
        seen = found.repeated.sel(behaviour=behaviour, measure=measure)
        np.testing.assert_allclose(seen, np.mean(values, axis=0), atol=1e-9)
        cells = found.sel(behaviour=behaviour, measure=measure)
        agrees(cells, "repeated", np.array(values), np.ones((3, 1, 1)))
    assert len(scores) == 2 * found.sizes["behaviour"]


def by_loops(rows: np.ndarray, ids: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Every score of one text, from the definitions of its authors, by which tokens are equal."""
    size, found = len(ids), {}
    earlier = {q: [k for k in range(q) if ids[k] == ids[q]] for q in range(size)}
    asked = [q for q in range(size) if earlier[q]]
    for name, shift in (("prefix_matching", 1), ("duplicate_token", 0)):
        given = [sum(rows[..., q, k + shift] for k in earlier[q]) for q in asked]
        found[name] = np.mean(given, axis=0)
        tool = {"prefix_matching": "induction", "duplicate_token": "duplicate"}[name]
        found[f"transformerlens_{tool}"] = np.sum(given, axis=0) / rows.sum((-1, -2))
    found["previous_token"] = np.mean([rows[..., q, q - 1] for q in asked], axis=0)
    given = [rows[..., q, q - 1] for q in range(1, size)]
    found["transformerlens_previous"] = np.sum(given, axis=0) / rows.sum((-1, -2))
    large = np.where(rows >= 0.01, rows, 0)
    given = [sum(large[..., q, k + 1] for k in earlier[q]) for q in asked]
    found["headvis_induction"] = np.sum(given, axis=0) / len(asked)
    return found


def test_shares_of_patterns_are_those_of_transformerlens(lens: Any) -> None:
    detector = pytest.importorskip("transformer_lens.head_detector")
    model = made("llama")
    settings = CircuitsSettings(parts=("repeated",), **{**SMALL, "sequences": 1})
    found = CircuitsStudy.run(None, model, settings, progress=False).repeated
    (text,) = probes(model, settings, ("repeated",), None)
    rows = torch.tensor(shares(model, list(text.ids))["weight"])
    for name in ("induction", "duplicate", "previous"):
        kind = "induction_head" if name == "induction" else f"{name}_token_head"
        make = getattr(detector, f"get_{kind}_detection_pattern")
        for layer, head in product(range(2), range(4)):
            wanted = detector.compute_head_attention_similarity_score(
                rows[layer, head], make(torch.tensor([text.ids])),
                exclude_bos=False, exclude_current_token=False, error_measure="mul",
            )  # fmt: skip
            seen = found.sel(behaviour=f"transformerlens_{name}", measure="weight")
            assert float(seen[layer, head]) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.slow
def test_blocks_of_queries_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.studies.circuits.probe_texts.FACTS", FACTS)
    monkeypatch.setattr("headlight.studies.circuits.retrieval.FOUND", -1)
    settings = CircuitsSettings(parts=("repeated", "needle"), **SMALL)
    whole = CircuitsStudy.run(HAY, made("llama"), settings, progress=False)
    monkeypatch.setattr("headlight.capture.recorder.block_size", lambda *_: 5)
    monkeypatch.setattr(CapturedModel, "verify_on", lambda *_: None)  # looks at whole layers
    parts = CircuitsStudy.run(HAY, made("llama"), settings, progress=False)
    for name in ("repeated", "retrieval"):
        np.testing.assert_allclose(parts[name], whole[name], atol=1e-6)


def test_the_model_goes_on_as_it_does_word_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.studies.circuits.probe_texts.FACTS", FACTS)
    model = made("llama")
    settings = CircuitsSettings(parts=("needle",), **SMALL)
    for text in probes(model, settings, ("needle",), HAY):
        needle = tokenizer("llama").encode(FACTS[text.number % 2].needle, add_special_tokens=False)
        assert list(text.ids[text.start : text.stop]) == needle
        said, ids = [], list(text.ids)
        while len(said) < 2 * len(needle) and 2 not in said:
            with torch.no_grad():
                said.append(int(model.transformer(torch.tensor([ids])).logits[0, -1].argmax()))
            ids.append(said[-1])
        found = answer(model, text, 2 * len(needle))
        assert found.produced == tuple(said)
        assert found.text.ids == tuple(ids[:-1])
        assert found.first == len(text.ids) - 1


def test_retrieval_is_that_of_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model that says the needle and then goes on; random weights would find none."""

    def told(model: CapturedModel, text: Any, most: int) -> Answer:
        needle = text.ids[text.start : text.stop]
        said = (*needle, needle[0], 7)
        more = {name: getattr(text, name) + (0,) * (len(said) - 1)
                for name in ("segments", "categories", "words")}  # fmt: skip
        whole = type(text)(text.name, text.ids + said[:-1], **more, number=text.number)
        return Answer(whole, said, len(text.ids) - 1)

    monkeypatch.setattr("headlight.studies.circuits.probe_texts.FACTS", FACTS)
    monkeypatch.setattr(study, "answer", told)
    model = made("llama")
    settings = CircuitsSettings(parts=("needle",), **SMALL)
    found = CircuitsStudy.run(HAY, model, settings, progress=False)
    assert found.recall.values.tolist() == [1, 1, 1]
    wanted: dict[tuple[str, str], list[np.ndarray]] = {}
    for text in probes(model, settings, ("needle",), HAY):
        said = told(model, text, 0)
        needle = list(text.ids[text.start : text.stop])
        start, stop = fuzzy_span(text.ids, needle)
        for measure, rows in shares(model, list(said.text.ids)).items():
            paper, code = np.zeros((2, 4)), np.zeros((2, 4))
            for place in product(range(2), range(4)):
                tops = [
                    (int(rows[place][said.first + step].argmax()), token)
                    for step, token in enumerate(said.produced)
                ]
                tops = [(top, token) for top, token in tops if said.text.ids[top] == token]
                copied = {token for top, token in tops if text.start <= top < text.stop}
                paper[place] = len(copied & set(needle)) / len(set(needle))
                code[place] = sum(start <= top < stop for top, _ in tops) / len(needle)
            wanted.setdefault(("paper", measure), []).append(paper)
            wanted.setdefault(("code", measure), []).append(code)
    assert any(np.sum(values) for values in wanted.values())
    for (version, measure), values in wanted.items():
        seen = found.retrieval.sel(version=version, measure=measure)
        np.testing.assert_allclose(seen, np.mean(values, axis=0), atol=1e-9)


def test_needles_lie_at_all_depths_also_of_a_short_haystack() -> None:
    model = made("llama")
    settings = CircuitsSettings(parts=("needle",), needles=4, haystack=14)
    hay = len(model.tokenizer("the mill is old.", add_special_tokens=False).input_ids)
    beginnings = []
    for text in probes(model, settings, ("needle",), ["the mill is old."]):
        words = [word for word in text.words if word >= 0]
        assert words == sorted(words)
        assert len({*words}) == words[-1] + 1
        beginning = len(model.tokenizer(FIRST[text.number].beginning, add_special_tokens=False)[0])
        beginnings.append(text.start - 1 - beginning)
    assert beginnings == [0, 0, hay, hay]


def test_a_needle_is_looked_for_by_its_tokens() -> None:
    assert fuzzy_span([9, 1, 2, 3, 9], [1, 2, 3]) == (1, 4)
    assert fuzzy_span([9, 3, 2, 1, 9], [1, 2, 3]) == (1, 4)
    assert fuzzy_span([9, 1, 2, 9, 9], [1, 2, 3]) == (0, 0)
    tokens = list(range(20))
    assert fuzzy_span([50, *tokens[1:], 60], tokens) == (0, 20)  # 19 of 20


def test_a_needle_that_is_not_found_says_nothing_of_heads() -> None:
    found = CircuitsStudy.run(
        HAY, made("llama"), CircuitsSettings(parts=("needle",), **SMALL), progress=False
    )
    missed = found.recall.values <= 0.5
    assert missed.all() == bool(found.retrieval.isnull().all())


def test_what_cannot_be_asked_is_refused() -> None:
    encoder = made("bert")
    for given, settings, says in (
        (None, {"parts": ("repeated",)}, "repeated needs a decoder, .* copying, matching"),
        (None, {"parts": ("needle",)}, "needle needs a decoder"),
        (HAY, {}, "none are hidden here; leave the corpus out"),
    ):
        with pytest.raises(UsageError, match=says):
            CircuitsStudy.run(given, encoder, CircuitsSettings(**settings), progress=False)
    bare = CapturedModel(encoder.transformer.bert, encoder.tokenizer, "bare", "1")
    with pytest.raises(UsageError, match="copying needs a language-model head, and bare has none"):
        CircuitsStudy.run(None, bare, CircuitsSettings(parts=("copying",)), progress=False)
    short = made("llama", max_position_embeddings=64)
    for settings, says in (
        (
            {"tokens": 40, "parts": ("repeated",)},
            "tokens is 40, and 36 of the .* can be drawn; ask for",
        ),
        ({"tokens": 34, "parts": ("repeated",)}, "at most 64 tokens; ask for at most 31"),
        ({"parts": ("needle",)}, "haystack is 400, and llama takes texts of at most 64 tokens"),
    ):
        with pytest.raises(HeadlightError, match=says):
            CircuitsStudy.run(None, short, CircuitsSettings(**settings), progress=False)


def test_an_encoder_has_scores_of_weights_alone() -> None:
    found = CircuitsStudy.run(None, made("bert"), CircuitsSettings(), progress=False)
    assert {"copying", "matching", "composition"} <= set(found.data_vars)
    assert "repeated" not in found
    assert "retrieval" not in found
    assert found.attrs["stage"] == "circuits"
    bare = CapturedModel(made("bert").transformer.bert, tokenizer("bert"), "bare", "1")
    without = CircuitsStudy.run(None, bare, CircuitsSettings(), progress=False)
    assert "copying" not in without
    np.testing.assert_allclose(without.matching, found.matching, atol=1e-9)
