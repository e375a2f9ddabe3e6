"""Induction on a trained decoder: the head that attends to the token before is why it happens."""

from pathlib import Path

import numpy as np
import pytest
import torch

import headlight
from real.models import MODELS, needs_models

pytestmark = needs_models

INDUCTION = [(17, 3), (18, 6), (18, 7)]
FIGURES = {
    (17, 3): (19, 0.763, 0.022, 0.000, 0.020, 0.757),
    (18, 6): (20, 0.963, 0.104, 0.007, 0.717, 0.962),
    (18, 7): (20, 0.734, 0.000, 0.000, 0.236, 0.721),
}
"""Texts of 20 in whose largest pair L16H0 is; mean weights: of all, without the pair, without its
writer in the query, without that in the key, and without the median pair of writers."""
REPEATED = """
river lake bridge town mill snow sand stone water week spring apple garden table window chair street
music paper horse green light summer winter doctor letter market island forest engine silver kitchen
dinner castle pocket button camera bottle ticket mirror
"""
WORDS = REPEATED.split()
TEXTS, RANDOM_PAIRS = 20, 20
TEXT = "Mary met John in the garden, and later in the evening Mary met"


@pytest.fixture(scope="module")
def model():
    assert MODELS is not None
    return headlight.load(Path(MODELS) / "smollm2")


@pytest.mark.parametrize(("layer", "head"), INDUCTION)
def test_induction_heads_find_what_the_previous_token_head_wrote(model, layer, head):
    found = model.explain(TEXT, layer=layer, head=head, query=-1, key=2)
    frame = found.to_dataframe("key")
    score = float(found.dataset["score"])
    assert frame["score"].sum() == pytest.approx(score, abs=1e-3)
    heads = frame[frame["kind"] == "head"]
    first = heads.iloc[0]
    assert first["part"] == "L16H0"
    assert first["score"] > 0
    assert first["takes from"].strip().startswith("met")


def test_routes_go_through_both(model):
    routes = model.routes(TEXT).dataset
    parts = routes.isel(part=(routes["share"] >= 0.02).values)
    layers = routes["layer"].values[parts["part_layer"].values]
    rest = (parts[f"part_{name}"].values for name in ("head", "query", "key"))
    found = set(zip(layers.tolist(), *(each.tolist() for each in rest), strict=True))
    last = routes.sizes["query"] - 1
    assert (18, 6, last, 2) in found  # from John
    assert (16, 0, 2, 1) in found  # where "met" was brought


def writer(label):
    """The layer and the head of a label, or the layer and None of a feed-forward layer."""
    if label.startswith("feed-forward "):
        return int(label.split()[1]), None
    layer, head = label[1:].split("H")
    return int(layer), int(head)


@torch.no_grad()
def weights_without(model, ids, cell, pairs):
    """α of a cell in copies of a text, each without what two writers wrote for query and key."""
    layer, head, query, key = cell
    layers, size = model.transformer.model.layers, 64

    def silenced(written, at, heads):
        written = written.clone()
        for copy, (for_query, for_key) in enumerate(pairs):
            for (below, which), place in ((for_query, query), (for_key, key)):
                if below == at and (which is not None) == heads:
                    first = 0 if which is None else which * size
                    last = None if which is None else first + size
                    written[copy, place, first:last] = 0
        return written

    hooks = []
    for at, block in enumerate(layers[:layer]):
        fed = lambda _, __, output, at=at: silenced(output, at, False)  # noqa: E731
        brought = lambda _, inputs, at=at: (silenced(inputs[0], at, True),)  # noqa: E731
        hooks.append(block.mlp.register_forward_hook(fed))
        hooks.append(block.self_attn.o_proj.register_forward_pre_hook(brought))
    model.transformer.set_attn_implementation("eager")
    copies = torch.tensor([ids] * len(pairs))
    weights = model.transformer(copies, output_attentions=True).attentions[layer]
    model.transformer.set_attn_implementation("sdpa")
    for hook in hooks:
        hook.remove()
    return weights[:, head, query, key].tolist()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("layer", "head"), INDUCTION)
def test_the_largest_pair_is_the_token_and_what_the_previous_token_head_wrote(model, layer, head):
    """On words in random order that are repeated, against the token behind the key."""
    draw = np.random.default_rng(0)
    below = [(at, None) for at in range(layer)]
    below += [(at, which) for at in range(layer) for which in range(9)]
    pairs, numbers = [], []
    for _ in range(TEXTS):
        words, again = draw.choice(WORDS, 12, replace=False).tolist(), int(draw.integers(4, 9))
        text, key = " ".join(["The", *words, *words[:again]]), again + 1
        found = model.explain(text, layer=layer, head=head, key=key, against_key=key + 1)
        ids = model.tokenizer(text)["input_ids"]
        assert len(ids) == found.dataset.sizes["token"] == 13 + again
        row = found.to_dataframe("pairs").iloc[0]
        pairs.append((row["query part"], row["key part"]))
        of_query, of_key = map(writer, pairs[-1])
        drawn = [
            tuple(below[at] for at in draw.integers(0, len(below), 2)) for _ in range(RANDOM_PAIRS)
        ]
        nothing = (-1, None)
        tried = [(nothing, nothing), (of_query, of_key), (of_query, nothing), (nothing, of_key)]
        cell = (layer, head, len(ids) - 1, key)
        whole, pair, query_alone, key_alone, *others = weights_without(
            model, ids, cell, tried + drawn
        )
        assert whole == pytest.approx(float(found.dataset["weight"]), abs=1e-3)
        numbers.append([whole, pair, query_alone, key_alone, float(np.median(others))])
    columns = np.array(numbers).T
    shown = sum("L16H0" in pair for pair in pairs)
    assert [shown, *columns.mean(1)] == pytest.approx(FIGURES[layer, head], abs=0.01)
    for without in (columns[1], columns[3]):
        lower = columns[4] - without
        half = 2.093 * lower.std(ddof=1) / TEXTS**0.5  # Student's t of 19 degrees of freedom
        assert lower.mean() - half > 0.1
