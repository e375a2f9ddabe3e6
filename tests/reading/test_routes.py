"""Routes: the shares of all parts of all sums, against their definition written out."""

import json
from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray

import headlight
from headlight.errors import UsageError
from headlight.reading.routes import routes
from studies.models import model as subject, saved

TEXT = "the river is old , the mill near it fell"


def hooked(stack, modules, inputs):
    """What modules put out, or are given, in the next pass."""
    seen = {name: [] for name in modules}
    for name, module in modules.items():
        if name in inputs:
            hook = module.register_forward_pre_hook(
                lambda _, given, name=name: seen[name].append(given[0][0].detach())
            )
        else:
            hook = module.register_forward_hook(
                lambda _, __, output, name=name: seen[name].append(
                    (output[0] if isinstance(output, tuple) else output).detach().squeeze(0)
                )
            )
        stack.callback(hook.remove)
    return seen


def run_naively(model, modules, inputs):
    """Attention weights of all layers, and what the modules saw."""
    network = model.transformer
    ids = torch.tensor([model.tokenizer(TEXT)["input_ids"]])
    with ExitStack() as stack:
        seen = hooked(stack, modules, inputs)
        network.set_attn_implementation("eager")
        weights = network(ids, output_attentions=True).attentions
        network.set_attn_implementation("sdpa")
    return [each[0].detach() for each in weights], seen


def centred(norm):
    """Parts through a LayerNorm, before they are divided."""
    return lambda part: (part - part.mean(-1, keepdim=True)) * norm.weight.detach()


def bert_layers(model):
    """Of each layer what its parts are made of, read off its own modules."""
    modules = {}
    for number, layer in enumerate(model.transformer.encoder.layer):
        modules |= {
            f"x{number}": layer.attention,
            f"v{number}": layer.attention.self.value,
            f"o{number}": layer.attention.output.dense,
            f"m{number}": layer.attention.output.LayerNorm,
            f"f{number}": layer.output.dense,
        }
    weights, seen = run_naively(model, modules, {name for name in modules if name[0] == "x"})
    for number, layer in enumerate(model.transformer.encoder.layer):
        projection = layer.attention.output.dense
        first, second = layer.attention.output.LayerNorm, layer.output.LayerNorm
        yield SimpleNamespace(
            weight=weights[number],
            value=seen[f"v{number}"][0],
            output=projection.weight.T.detach(),
            bias=projection.bias.detach(),
            given=seen[f"x{number}"][0],
            behind=centred(first),
            entered=seen[f"m{number}"][0],
            added=seen[f"f{number}"][0],
            last=centred(second),
        )


def llama_layers(model):
    modules = {}
    for number, layer in enumerate(model.transformer.layers):
        modules |= {
            f"x{number}": layer.input_layernorm,
            f"v{number}": layer.self_attn.v_proj,
            f"m{number}": layer.post_attention_layernorm,
            f"f{number}": layer.mlp,
        }
    weights, seen = run_naively(model, modules, {name for name in modules if name[0] in "xm"})
    for number, layer in enumerate(model.transformer.layers):
        projection = layer.self_attn.o_proj
        yield SimpleNamespace(
            weight=weights[number],
            value=seen[f"v{number}"][0].reshape(-1, 2, 1, 8).expand(-1, 2, 2, 8).flatten(1),
            output=projection.weight.T.detach(),
            bias=projection.bias.detach(),
            given=seen[f"x{number}"][0],
            behind=lambda part: part,
            entered=seen[f"m{number}"][0],
            added=seen[f"f{number}"][0],
            last=lambda part: part,
        )


def missed(total, part):
    return max(0.0, float(total.abs().sum() - (total - part).abs().sum()))


def naive_shares(layer):
    """By query: of each head and key, of the residual and the bias; and of the feed-forward."""
    heads, tokens, keys = layer.weight.shape
    size = layer.output.shape[0] // heads
    for i in range(tokens):
        parts = {}
        for h in range(heads):
            block = slice(h * size, (h + 1) * size)
            for j in range(keys):
                moved = layer.value[j, block] @ layer.output[block]
                parts[h, j] = layer.weight[h, i, j] * moved
        parts["residual"], parts["bias"] = layer.given[i], layer.bias
        total = layer.behind(sum(parts.values()))
        found = {name: missed(total, layer.behind(part)) for name, part in parts.items()}
        whole = sum(found.values())
        after = layer.last(layer.entered[i] + layer.added[i])
        forward = missed(after, layer.last(layer.added[i]))
        kept = missed(after, layer.last(layer.entered[i]))
        yield {name: each / whole for name, each in found.items()}, forward / (forward + kept)


@pytest.mark.parametrize(("family", "layers"), [("bert", bert_layers), ("llama", llama_layers)])
def test_shares_by_their_definition(family, layers, monkeypatch):
    monkeypatch.setattr("headlight.reading.routes.LEAST", 0.002)
    model = subject(family)
    model.transformer.double()
    found = routes(model, TEXT).dataset
    for place, layer in enumerate(layers(model)):
        here = found.isel(part=(found["part_layer"] == place).values)
        kept = {
            (int(query), int(head), int(key)): float(share)
            for query, head, key, share in zip(
                *(here[f"part_{name}"].values for name in ("query", "head", "key")),
                here["share"].values,
                strict=True,
            )
        }
        for i, (shares, forward) in enumerate(naive_shares(layer)):
            for name in ("residual", "bias"):
                assert float(found[name][place, i]) == pytest.approx(shares.pop(name), abs=1e-9)
            assert float(found["forward"][place, i]) == pytest.approx(forward, abs=1e-9)
            large = {name: share for name, share in shares.items() if share >= 0.002}
            mine = {(h, j): share for (query, h, j), share in kept.items() if query == i}
            assert mine == pytest.approx(large, abs=1e-9)
            rest = sum(shares.values()) - sum(large.values())
            assert float(found["rest"][place, i].sum()) == pytest.approx(rest, abs=1e-9)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    model = headlight.load(saved("llama", tmp_path_factory.mktemp("llama")))
    return model.routes(TEXT)


def test_parts_of_a_token_add_up(made):
    found = made.dataset
    total = (found["residual"] + found["bias"] + found["rest"].sum("key")).values.copy()
    places = found["part_layer"].values, found["part_query"].values
    np.add.at(total, places, found["share"].values)
    np.testing.assert_allclose(total, 1, rtol=1e-5)
    assert (found["part_key"] <= found["part_query"]).all()  # nothing is taken from ahead
    assert np.isfinite(found["forward"]).all()


def test_routes_are_saved_whole(made, tmp_path):
    for suffix in ("html", "json", "svg", "nc"):
        path = made.save(tmp_path / f"routes.{suffix}", token=2, least=0.1)
        assert path.stat().st_size > 0
    told = json.loads((tmp_path / "routes.json").read_text(encoding="utf-8"))
    assert (told["text"], told["layers"]) == (TEXT, [0, 1])
    sums = told["sums"][1]
    assert len(sums["key"]) == len(sums["share"]) == sums["begin"][-1]
    xarray.testing.assert_allclose(headlight.open(tmp_path / "routes.nc"), made.dataset)
    assert TEXT in (tmp_path / "routes.html").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r"saved as \.html"):
        made.save(tmp_path / "routes.png")
    with pytest.raises(UsageError, match="there is no token 99: this text has"):
        made.save(tmp_path / "routes.svg", token=99)
    with pytest.raises(UsageError, match="no layer 7"):
        made.save(tmp_path / "routes.svg", layer=7)


def test_two_texts_that_differ_in_a_word(tmp_path):
    model = headlight.load(saved("llama", tmp_path / "llama"))
    other_text = TEXT.replace("river", "mill")
    both = model.routes(TEXT, compare_text=other_text)
    names = ("part_layer", "part_head", "part_query", "part_key")
    alone = [model.routes(each).dataset for each in (TEXT, other_text)]
    for name, dataset in zip(("share", "compare_share"), alone, strict=True):
        places = zip(*(dataset[each].values.tolist() for each in names), strict=True)
        expected = dict(zip(places, dataset["share"].values.tolist(), strict=True))
        places = zip(*(both.dataset[each].values.tolist() for each in names), strict=True)
        shares = dict(zip(places, both.dataset[name].values.tolist(), strict=True))
        assert {place: share for place, share in shares.items() if share} == pytest.approx(expected)
    for name in ("residual", "rest"):
        np.testing.assert_array_equal(both.dataset[name], alone[0][name])
    rows = json.loads(both.save(tmp_path / "a.json").read_text(encoding="utf-8"))["changes"]
    sizes = [abs(row["difference"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert rows[0]["share"] - rows[0]["other"] == pytest.approx(rows[0]["difference"])
    assert any("river / mill" in row["takes from"] for row in rows)
    page = both.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"{100 * sizes[0]:.1f} points" in page
    assert "No kept part" in model.routes(TEXT, compare_text=TEXT).save(
        tmp_path / "b.html"
    ).read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="as many tokens"):
        model.routes(TEXT, compare_text=TEXT + " .")


def test_what_cannot_be_followed_is_refused(tmp_path):
    bart = subject("bart")
    with pytest.raises(UsageError, match="stands beside another"):
        routes(bart, TEXT, TEXT, kind="decoder")
    assert routes(bart, TEXT).dataset.attrs["kind"] == "encoder"
    with pytest.raises(UsageError, match="least must be"):
        routes(bart, TEXT, least=2)


def test_parallel_blocks_say_what_the_feed_forward_adds():
    from architectures import WIDE
    from headlight.capture import CapturedModel
    from studies.models import tokenizer
    from tiny_models import build

    network = build("gpt_neox", WIDE, seed=3).double()
    model = CapturedModel(network, tokenizer("llama"), "neox", "1")
    found = routes(model, TEXT).dataset
    ids = torch.tensor([model.tokenizer(TEXT)["input_ids"]])
    layer, seen = network.layers[0], {}
    with torch.no_grad(), ExitStack() as stack:
        modules = {"x": layer.input_layernorm, "a": layer.attention, "f": layer.mlp}
        seen = hooked(stack, modules, {"x"})
        network(ids)
    entered, added = seen["x"][0] + seen["a"][0], seen["f"][0]
    for i in range(ids.shape[1]):
        forward = missed(entered[i] + added[i], added[i])
        kept = missed(entered[i] + added[i], entered[i])
        wanted = forward / (forward + kept)
        assert float(found["forward"][0, i]) == pytest.approx(wanted, abs=1e-6)
    assert np.isnan(found["forward"][1]).all()  # the last sum is seen by no module
