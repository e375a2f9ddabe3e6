"""A study of mixing ratios against parts that are written out, one text at a time."""

from typing import Any

import numpy as np
import pytest
import torch
import xarray
from scipy.special import expit, ndtr

import definitions
from architectures import WIDE
from headlight.capture import CapturedModel
from headlight.encode import Encoded
from headlight.engine.text_plan import plan_text_study
from headlight.errors import UnsupportedModelError, UsageError
from headlight.findings.estimates import estimates
from headlight.findings.phrases import percent
from headlight.studies.flow import FlowSettings
from headlight.studies.flow.mixing_ratios import BANDS
from headlight.studies.flow.page import sections
from headlight.studies.flow.study import FlowStudy, run
from headlight.views.result_contents import answers, headline
from studies.models import documents, model, texts, tokenizer
from studies.naive import MAPS, layers_of
from tiny_models import build

MIXING, BEHIND = ("mixing",), ("mixing_feed_forward",)
SCOPES = ("weight", "norm", "weight_residual", "norm_residual", "norm_residual_norm")
NORMS = {"bert": "encoder.layer.{}.attention.output.LayerNorm"}
"""The norm behind the sum, where there is one."""
RESIDUALS = {"bert": ("encoder.layer.{}.attention.self", 0), "llama": ("layers.{}", 0)}


def residuals(made: Any, family: str, example: Encoded) -> list[np.ndarray]:
    """What the output of each attention is added to."""
    seen: list[np.ndarray] = []
    modules = dict(made.named_modules())
    name, place = RESIDUALS[family]
    hooks = [
        modules[name.format(layer)].register_forward_pre_hook(
            lambda _, given: seen.append(given[place][0].double().numpy())
        )
        for layer in range(2)
    ]
    inputs = {"input_ids": torch.tensor([example.ids])}
    if family == "bert":
        inputs["mixing_type_ids"] = torch.tensor([example.segments])
    with torch.no_grad():
        made(**inputs)
    for hook in hooks:
        hook.remove()
    return seen


def naive(example: Encoded, made: Any, family: str, kind: str) -> np.ndarray:
    """The mixing ratios of one text, [scope, layer, token]."""
    modules = dict(made.named_modules())
    given = residuals(made, family, example)
    found = []
    for number, layer in enumerate(layers_of(made, family, kind, example, range(2))):
        stored = modules[MAPS[family, kind][1].format(number)].bias
        bias = None if stored is None else stored.detach().double().numpy()
        norm = None
        if family in NORMS:
            behind = modules[NORMS[family].format(number)]
            gain, offset = (each.detach().double().numpy() for each in (behind.weight, behind.bias))
            norm = (True, gain, offset, behind.eps)
        shared = layer.weight, layer.value, layer.output, bias
        nothing = np.zeros_like(given[number])
        parts = [
            definitions.parts_of_layer(*shared, residual, None, last)
            for residual, last in ((nothing, None), (given[number], None), (given[number], norm))
        ]
        mean = layer.weight.mean(0)
        rows: list[list[float]] = [[] for _ in SCOPES]
        for query in range(len(mean)):
            others = [key for key in range(len(mean)) if key != query]
            away, own = mean[query, others].sum(), mean[query, query]
            rows[0].append(away / (away + own))
            rows[2].append(away / (away + own + 1))
            for place, part in zip((1, 3, 4), parts, strict=True):
                lengths = (
                    definitions.length(part[query, others].sum(0)),
                    definitions.length(part[query, query]),
                )
                rows[place].append(lengths[0] / sum(lengths))
        found.append(rows)
    return np.array(found).transpose(1, 0, 2)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "kind"), [("bert", "encoder"), ("llama", "decoder")])
def test_ratios_are_as_defined(family: str, kind: str) -> None:
    found, corpus = model(family), texts(7, longest=20)
    settings = FlowSettings(methods=MIXING, batch_tokens=60)
    result = run(corpus, found, settings, progress=False)
    plan = plan_text_study("flow", "", corpus, found, settings)
    examples = list(plan.examples)
    counts = np.bincount(np.concatenate([each.ids for each in examples]))
    by_text = [naive(each, found.transformer, family, kind) for each in examples]
    near(result["mixing"], np.mean([each.mean(-1) for each in by_text], 0))
    tokens = np.concatenate(by_text, -1)
    near(result["mixing_mean"], tokens.mean(-1))
    near(result["mixing_std"], tokens.std(-1, ddof=0), rtol=1e-3)
    near(result["mixing_min"], tokens.min(-1))
    near(result["mixing_max"], tokens.max(-1))
    for place in range(4):
        means = [
            each[..., np.array(text.categories) == place].mean(-1)
            for text, each in zip(examples, by_text, strict=True)
            if place in text.categories
        ]
        if means:
            near(result["mixing_by_category"][:, place], np.mean(means, 0))
        else:
            assert result["mixing_by_category"][:, place].isnull().all()
    for place, least in enumerate(BANDS):
        last = [*BANDS, 10**9][place + 1]
        means = []
        for text, each in zip(examples, by_text, strict=True):
            of_text = counts[list(text.ids)]
            chosen = (of_text >= least) & (of_text < last)
            if chosen.any():
                means.append(each[..., chosen].mean(-1))
        if means:
            near(result["mixing_by_frequency"][:, place], np.mean(means, 0))
    ends = estimates(result, "mixing", ("scope", "layer"))
    assert (ends.low <= ends.value).all()
    assert (ends.value <= ends.high).all()
    ratios = {
        scope: percent(float(result["mixing"].sel(scope=scope).mean()))
        for scope in ("norm_residual_norm", "norm")
    }
    title, pictures = headline(result).title, headline(result).pictures
    assert title == answers(result)[0]
    assert title.startswith(f"A layer takes {ratios['norm_residual_norm']} ")
    assert f"would take {ratios['norm']} " in title
    assert [bar.value for bar in pictures[0].bars] == list(ratios.values())


BLOCKS = {"bert": "encoder.layer.{}.", "llama": "layers.{}."}
READ = {"bert": "attention.output.LayerNorm", "llama": "post_attention_layernorm"}
"""The norm at the end of the attention block, or at the beginning of the next."""


def naive_behind(example: Encoded, made: Any, family: str, kind: str) -> np.ndarray:
    """Ratios behind the feed-forward network and the norm after it, [scope, layer, token]."""
    modules = dict(made.named_modules())
    seen: list[np.ndarray] = []

    def see(_: Any, given: Any, put_out: Any) -> None:
        whole = put_out if family == "bert" else given[0]
        seen.append(whole[0].detach().double().numpy())

    hooks = [
        modules[BLOCKS[family].format(layer) + READ[family]].register_forward_hook(see)
        for layer in range(2)
    ]
    given = residuals(made, family, example)
    for hook in hooks:
        hook.remove()
    found = []
    for number, layer in enumerate(layers_of(made, family, kind, example, range(2))):
        block = _Block(made, BLOCKS[family].format(number), last=number == 1)
        bias = block(MAPS[family, kind][1].format(number) + ".bias", whole_name=True)
        norm = None
        if family == "bert":
            names = (f"{READ[family]}.weight", f"{READ[family]}.bias")
            norm = (True, *map(block, names), block.eps(READ[family]))
        parts = definitions.parts_of_layer(
            layer.weight, layer.value, layer.output, bias, given[number], None, norm
        )
        rows: list[list[float]] = [[], []]
        through = block.of_bert if family == "bert" else block.of_llama
        for query, whole in enumerate(seen[number]):
            others = [key for key in range(len(parts)) if key != query]
            vectors = parts[query, others].sum(0), parts[query, query]
            for row, (away, own) in zip(rows, through(whole, vectors), strict=True):
                lengths = np.linalg.norm(away), np.linalg.norm(own)
                row.append(float(lengths[0] / sum(lengths)))
        found.append(rows)
    return np.array(found).transpose(1, 0, 2)


class _Block:
    """What follows the attention of a layer, in numpy."""

    def __init__(self, made: Any, name: str, *, last: bool) -> None:
        self.made, self.name, self.last = made, name, last

    def __call__(self, name: str, *, whole_name: bool = False) -> Any:
        stored = dict(self.made.named_parameters()).get(name if whole_name else self.name + name)
        return None if stored is None else stored.detach().double().numpy()

    def eps(self, name: str) -> float:
        module = self.made.get_submodule(self.name + name)
        return float(getattr(module, "eps", getattr(module, "variance_epsilon", 0)))

    def of_bert(self, whole: np.ndarray, vectors: Any) -> tuple[Any, Any]:
        """The chord of GELU from the bias; the mean of the norm, which divides both alike."""
        start, inner = self("intermediate.dense.bias"), self("intermediate.dense.weight")
        wide, outer = inner @ whole, self("output.dense.weight")
        gelu = (wide + start) * ndtr(wide + start) - start * ndtr(start)
        behind = [each + outer @ (gelu / wide * (inner @ each)) for each in vectors]
        gain = self("output.LayerNorm.weight")
        return behind, [gain * (each - each.mean()) for each in behind]

    def of_llama(self, whole: np.ndarray, vectors: Any) -> tuple[Any, Any]:
        """The gate is a constant; the final norm follows the last layer."""
        length = np.sqrt((whole**2).mean() + self.eps(READ["llama"]))
        scaled = self(f"{READ['llama']}.weight") / length
        gate, up, down = (self(f"mlp.{each}_proj.weight") for each in ("gate", "up", "down"))
        bent = gate @ (scaled * whole)
        bent = bent * expit(bent)
        behind = [each + down @ (bent * (up @ (scaled * each))) for each in vectors]
        gain = self("norm.weight", whole_name=True) if self.last else 1.0
        return behind, [gain * each for each in behind]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "kind"), [("bert", "encoder"), ("llama", "decoder")])
def test_ratios_behind_the_feed_forward_network(family: str, kind: str) -> None:
    """By its definition: of each part what slopes of the whole give it."""
    found, corpus = model(family), texts(4, longest=12)
    settings = FlowSettings(methods=BEHIND, batch_tokens=60)
    result = run(corpus, found, settings, progress=False)
    examples = list(plan_text_study("flow", "", corpus, found, settings).examples)
    wanted = [naive_behind(each, found.transformer, family, kind).mean(-1) for each in examples]
    near(result["mixing"][5:], np.mean(wanted, 0))
    without = run(corpus, found, settings.replace(methods=MIXING), progress=False)
    near(result["mixing"][:5], without["mixing"].values)
    with_it, alone = sections(result), sections(without)
    assert [each.name for each in with_it] == [each.name for each in alone]
    assert "straight lines (chord)" in with_it[0].explanation
    assert "straight lines" not in alone[0].explanation


def test_a_feed_forward_network_beside_the_attention_is_refused() -> None:
    network = build("gpt_neox", WIDE, seed=7)
    found = CapturedModel(network, tokenizer("llama"), "gpt_neox", "1")
    with pytest.raises(UnsupportedModelError, match="beside it, so that nothing can be followed"):
        run(texts(2), found, FlowSettings(methods=BEHIND), progress=False)


def near(found: xarray.DataArray, wanted: np.ndarray, rtol: float = 2e-5) -> None:
    np.testing.assert_allclose(found.values, wanted, rtol=rtol, atol=1e-6)


@pytest.mark.slow
def test_masks_are_a_state_of_their_own_and_of_no_frequency() -> None:
    found, corpus = model("bert"), texts(5, longest=20)
    found.tokenizer.mask_token = "<unk>"
    settings = FlowSettings(methods=MIXING, masks=0.3)
    result = run(corpus, found, settings, progress=False)
    given = list(plan_text_study("flow", "", corpus, found, settings).examples)
    examples = list(FlowStudy(corpus, found, settings).plan.examples)
    masked = [np.array(each.ids) == found.tokenizer.mask_token_id for each in examples]
    special = [np.isin(each.ids, [0, 1, 2]) for each in given]
    for one, other, hidden, kept in zip(given, examples, masked, special, strict=True):
        assert hidden.sum() == max(1, round(0.3 * len(one.ids)))
        assert not (hidden & kept).any()
        assert (np.array(one.ids) == other.ids)[~hidden].all()
        assert {other.categories[place] for place in np.flatnonzero(hidden)} == {3}
    ratios = [naive(each, found.transformer, "bert", "encoder") for each in examples]
    for state, chosen in (
        ("masked", masked),
        ("given", [~hidden & ~kept for hidden, kept in zip(masked, special, strict=True)]),
    ):
        means = [each[..., one].mean(-1) for each, one in zip(ratios, chosen, strict=True)]
        near(result["mixing_by_state"].sel(state=state), np.mean(means, 0))
    assert sum(each.sum() for each in masked) >= 10  # a type of the second band, were it one
    assert result["mixing_by_frequency"].sel(frequency=10).isnull().all()
    means = [each[..., ~hidden].mean(-1) for each, hidden in zip(ratios, masked, strict=True)]
    near(result["mixing_by_frequency"].sel(frequency=1), np.mean(means, 0))
    assert [each.name for each in sections(result)][-1] == "mixing_state"
    again = run(corpus, model("bert"), FlowSettings(methods=MIXING), progress=False)
    assert "mixing_state" not in [each.name for each in sections(again)]
    with pytest.raises(UsageError, match="no mask token"):
        run(corpus, model("llama"), settings, progress=False)


def test_where_no_norm_follows_the_last_scope_is_the_one_before() -> None:
    result = run(texts(3, longest=12), model("llama"), FlowSettings(methods=MIXING), progress=False)
    last = result["mixing"].sel(scope="norm_residual_norm").values
    np.testing.assert_array_equal(last, result["mixing"].sel(scope="norm_residual").values)


@pytest.mark.slow
def test_batches_and_cross_attention() -> None:
    corpus, found = texts(6, longest=16), model("bert")
    one, many = (
        run(
            corpus,
            found,
            FlowSettings(methods=MIXING, batch_tokens=size),
            progress=False,
        )
        for size in (16, 4096)
    )
    for name in one:
        np.testing.assert_allclose(one[name].values, many[name].values, rtol=1e-4, atol=1e-6)
    pairs = [" \n\n ".join(document.paragraphs) for document in documents(3)]
    with pytest.raises(UsageError, match="the residual belongs to no key"):
        run(
            pairs,
            model("bart"),
            FlowSettings(methods=MIXING, pairs=True, kind="cross"),
            progress=False,
        )


def test_layers_that_cannot_be_followed_are_refused_in_a_sentence() -> None:
    found = model("bert")
    site = found.sites[0]
    from headlight.capture import NoResidualSite

    found.residuals[site] = NoResidualSite("layer 0: it cannot be followed.")
    with pytest.raises(UnsupportedModelError, match=r"^layer 0: it cannot be followed\.$"):
        run(texts(3), found, FlowSettings(methods=MIXING), progress=False)
