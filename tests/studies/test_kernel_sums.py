"""Attention and the sums of its rows, made together, against the definitions in float64."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings, strategies as st

from architectures import ARCHITECTURES
from headlight.capture import CapturedModel
from headlight.capture.attention_masks import LOWEST
from headlight.capture.plain_attention import PlainCall, PlainRecord, seen_ranges
from headlight.measures import attention_kernel
from headlight.measures.attention_kernel import write_rows
from headlight.measures.effective_causal import LONGEST
from headlight.pool import Pairs, membership, to_neighbours
from headlight.studies.survey.kernel_sums import KernelSums, MadeByKernel
from headlight.studies.survey.row_sums import WHOLE, Asked, Links, PairLists
from headlight.studies.survey.study import run as survey
from headlight.vocabulary import CATEGORIES
from studies.models import model, texts
from studies.test_query_blocks import batch as batch_of

OFFSETS = (-1, 0, 1)
MEASURES = ("weight", "norm", "effective")


def random_call(
    batch: int, heads: int, groups: int, keys: int, size: int, mask: str, seed: int
) -> tuple[PlainCall, torch.Tensor, torch.Tensor]:
    """A call, its scores in float64 with −∞ for what is not seen, and which keys there are."""
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    query = random(batch, heads, keys, size) * 2
    key, value = random(batch, groups, keys, size), random(batch, groups, keys, size)
    lengths = torch.randint(1, keys + 1, (batch,), generator=generator)
    places = torch.arange(keys)
    there = places < lengths[:, None]
    if mask == "left":
        there = there.flip(1)
    seen = there[:, None].expand(-1, keys, -1)
    if mask in ("causal", "left", "window"):
        seen = seen & (places <= places[:, None])
    if mask == "window":
        seen = seen & (places > places[:, None] - 5)
    if mask in ("biased", "holes"):
        seen = seen & ((places[:, None] + places) % 3 != 1)
    added = torch.zeros(seen.shape).masked_fill(~seen, LOWEST)[:, None]
    if mask == "biased":
        added = added + random(1, heads, keys, keys).where(seen[:, None], 0)
    given = {"none": None, "boolean": seen[:, None]}.get(mask, added)
    if mask == "none":
        there, seen, added = torch.ones_like(there), torch.ones_like(seen), added * 0
    ranges = seen_ranges(given, batch, keys, keys)
    assert ranges is not None
    # Of few keys the holes may be at their ends.
    assert ranges.bias is None or mask in ("biased", "holes")
    call = PlainCall(query, key, value, 0.3, ranges)
    wide = key.double().repeat_interleave(heads // groups, 1)
    scores = query.double() @ wide.mT * 0.3 + added.double().where(seen[:, None], 0)
    nothing = ~seen.any(-1)[:, None, :, None]
    scores = scores.masked_fill(~seen[:, None], -torch.inf).masked_fill(nothing, 0)
    return call, scores, there


def change_values(value: torch.Tensor, rows: str) -> None:
    """Make rows of values equal, as those of equal tokens are, nearly dependent, or zero."""
    some = value[:, :, 1::3]
    if rows == "equal":
        some[:] = value[:, :, : 3 * some.shape[2] : 3]
    elif rows == "near":
        some[:] = value[:, :, : 3 * some.shape[2] : 3] * 2 + some * 1e-4
    elif rows == "zero":
        some[:] = 0


def site_of(heads: int, groups: int, size: int, seed: int) -> SimpleNamespace:
    """An attention site with a random W^O."""
    generator = torch.Generator().manual_seed(seed)
    output = torch.nn.Linear(heads * size, 3 * size)
    output.weight.data = torch.randn(output.weight.shape, generator=generator)
    from headlight.capture import Projection

    projection = Projection(output, "output", heads)
    return SimpleNamespace(
        projection=projection, heads=heads, kv_heads=groups, head_dim=size, kind="encoder", layer=0,
        value_bias=None, gate=None, name="site",
    )  # fmt: skip


def made_of(
    call: PlainCall,
    site: SimpleNamespace,
    there: torch.Tensor,
    seed: int,
    measures: tuple[str, ...] = MEASURES,
) -> tuple[torch.Tensor | None, MadeByKernel, Asked]:
    """What the kernel makes of a call, with what is asked of it."""
    generator = torch.Generator().manual_seed(seed)
    batch, _, keys = call.shape[:3]
    category = torch.randint(0, 4, (batch, keys), generator=generator).where(there, -1)
    ones = torch.ones(batch, keys, 1)
    columns = torch.cat(
        [membership(category, len(CATEGORIES)), ones, ones * (category == 2)[..., None]], -1
    )
    chosen = torch.rand(batch, keys, keys, generator=generator) < 0.1
    pairs = Pairs(*chosen.nonzero().unbind(1))
    links = Links(torch.arange(0, batch, 2), category[::2] > 0)
    asked = Asked(
        columns, OFFSETS, there, lambda rows, _: PairLists((pairs, pairs), 1, batch, rows), links
    )
    record = PlainRecord(site, call)
    context = KernelSums(asked, measures, "include")(record)
    return context, record.made, asked


def definitions(
    scores: torch.Tensor, call: PlainCall, site: SimpleNamespace
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Weights, norms and effective attention in float64, and the norms of sums over heads."""
    weight = scores.softmax(-1)
    heads = weight.shape[1]
    value = call.value.double().repeat_interleave(heads // call.value.shape[1], 1)
    output = site.projection.weight.double()
    moved = value @ output
    effective = torch.zeros_like(weight)
    visible = scores.isfinite()
    for text, head, query in np.ndindex(*weight.shape[:3]):
        rows = moved[text, head] * visible[text, head, query][:, None]
        left, values, _ = torch.linalg.svd(rows, full_matrices=False)
        limit = values[0] * torch.finfo(torch.float64).eps * max(rows.shape)
        basis = left * (values > limit)
        effective[text, head, query] = weight[text, head, query] @ basis @ basis.T
    norm = weight * moved.norm(dim=-1)[:, :, None]
    merged = torch.einsum("bhqk,bhkd->bqkd", weight, moved).norm(dim=-1)
    return {"weight": weight, "norm": norm, "effective": effective}, merged


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    batch=st.integers(1, 3),
    grouped=st.sampled_from([(1, 1), (2, 2), (4, 2), (3, 1)]),
    keys=st.integers(1, 40),
    size=st.integers(1, 12),
    mask=st.sampled_from(
        ["none", "padded", "boolean", "causal", "left", "window", "biased", "holes"]
    ),
    rows=st.sampled_from(["distinct", "equal", "near", "zero"]),
    seed=st.integers(0, 10**6),
)
@example(batch=2, grouped=(4, 2), keys=90, size=32, mask="causal", rows="distinct", seed=1)
@example(batch=2, grouped=(4, 2), keys=60, size=32, mask="causal", rows="equal", seed=1)
@example(batch=2, grouped=(2, 2), keys=30, size=12, mask="left", rows="near", seed=1)
@example(batch=1, grouped=(2, 1), keys=530, size=4, mask="none", rows="distinct", seed=2)
def test_sums_of_rows_are_those_of_the_definitions(batch, grouped, keys, size, mask, rows, seed):
    heads, groups = grouped
    call, scores, there = random_call(batch, heads, groups, keys, size, mask, seed)
    change_values(call.value, rows)
    site = site_of(heads, groups, size, seed)
    context, made, asked = made_of(call, site, there, seed)
    if context is None:
        assert mask not in ("none", "padded", "causal") or keys > LONGEST * size
        context, made, asked = made_of(call, site, there, seed, MEASURES[:2])
    cells, merged = definitions(scores, call, site)
    counted = there[:, None]
    value = call.value.double().repeat_interleave(heads // groups, 1)

    def same(found, wanted, unit=1.0):
        found, wanted = (torch.as_tensor(each).double().numpy() for each in (found, wanted))
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=3e-6 * float(unit))

    same(context.transpose(1, 2), cells["weight"] @ value, value.abs().max())
    for name, places in made.sums.heads.items():
        cell, sums = cells[name].where(counted[..., None], 0), made.sums
        unit = cell.abs().sum(-1).max()

        def of_rows(field, places=places, sums=sums):
            each = getattr(sums, field)[:, places]
            return each.where(counted.reshape(counted.shape + (1,) * (each.ndim - 3)), 0)

        same(of_rows("total"), cell.sum(-1), unit)
        same(of_rows("size"), cell.abs().sum(-1), unit)
        same(of_rows("square"), cell.square().sum(-1), unit**2)
        same(of_rows("columns"), cell @ asked.columns.double()[:, None], unit)
        wanted = to_neighbours(cell, OFFSETS).where(counted[..., None], 0)
        same(of_rows("neighbours"), wanted, unit)
        share = cell.abs() / cell.abs().sum(-1, keepdim=True).clamp_min(1e-300)
        entropy = -(share * share.clamp_min(1e-300).log()).sum(-1)
        same(of_rows("entropy"), entropy, 2)
        whole = torch.where(counted, 1.0, 0.0) if name != "norm" else cell.sum(-1)
        factor = torch.where(whole > 0, 1 / whole.clamp_min(1e-300), 0)
        most = (cell.abs() * factor[..., None]).sum((2, 3)).max()
        same(sums.received[:, places], (cell * factor[..., None]).sum(2), most)
        diagonal = torch.zeros(batch, heads, 2 * keys - 1, dtype=torch.float64)
        for query in range(keys):
            diagonal[..., keys - 1 - query : 2 * keys - 1 - query] += cell[:, :, query]
        same(sums.diagonal[:, places], diagonal, cell.abs().sum((2, 3)).max())
        barred = torch.where(asked.links.keys, 0.0, -torch.inf)[:, None, None]
        linked = (cells[name][::2] + barred).amax(-1)
        mine = sums.linked[:, places].double()
        seen = (scores[::2].isfinite() & asked.links.keys[:, None, None]).any(-1)
        seen &= counted[::2]
        same(mine.where(seen, 0), linked.where(seen, 0), unit)
        lists = asked.pairs(slice(0, keys), keys).lists[0]
        to_pairs = torch.zeros(batch, heads, keys, dtype=torch.float64)
        for text, query, key in zip(*lists, strict=True):
            to_pairs[text, :, query] += cell[text, :, query, key]
        same(of_rows("pairs")[..., 0], to_pairs, unit)
        text, head, query = torch.randint(0, batch * heads * keys, (5,)).tolist(), 0, 0
        places_of = torch.tensor(text)
        text, rest = places_of // (heads * keys), places_of % (heads * keys)
        head, query = rest // keys, rest % keys
        real = there[text, query]
        single = made.rows(name, text[real], head[real], query[real])
        same(single, cells[name][text, head, query][real], unit)
    of_merged = merged.where(there[..., None], 0) @ asked.columns.double()
    same(made.merged.where(there[..., None], 0), of_merged, merged.sum(-1).max())
    visible = scores.isfinite()[:, 0]
    for text in range(batch):
        some = torch.arange(keys)[there[text]]
        assert torch.equal(call.seen.visible[text].expand(keys, -1)[some], visible[text][some])


def test_copies_are_queries_whose_key_gets_as_much_as_any():
    call, scores, there = random_call(2, 2, 1, 20, 8, "causal", 0)
    _, made, asked = made_of(call, site_of(2, 1, 8, 0), there, 0)
    weight = scores.softmax(-1)
    lists = asked.pairs(slice(0, 20), 20).lists[1]
    wanted = torch.zeros(2, 2, 20)
    for text, query, key in zip(*lists, strict=True):
        most = weight[text, :, query, key] >= weight[text, :, query].amax(-1) - 1e-9
        wanted[text, :, query] += most
    found = made.sums.pairs[:, made.sums.heads["weight"], :, 1]
    there = there[:, None].expand_as(found)
    assert torch.equal(found[there] > 0, wanted[there] > 0)
    assert 0 < float(found[there].sum()) < found[there].numel()


def test_no_bit_depends_on_threads_or_on_other_texts(monkeypatch):
    call, _, there = random_call(3, 2, 1, 600, 4, "causal", 0)
    site, found = site_of(2, 1, 4, 0), []
    for threads in (1, 4):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        found.append(made_of(call, site, there, 0, MEASURES[:2]))
    for one, other in zip(*(vars(each[1].sums).items() for each in found), strict=True):
        if one[0] != "heads":
            np.testing.assert_array_equal(one[1], other[1], err_msg=one[0])
    assert torch.equal(found[0][0], found[1][0])
    alone = call.part(slice(1, 2), slice(None))
    context, *_ = made_of(alone, site, there[1:2], 0, MEASURES[:2])
    assert torch.equal(context, found[0][0][1:2])


def test_digits_that_heads_lose_as_they_cancel_one_another_are_found_again(monkeypatch):
    """Two heads send opposite vectors: what is left is far smaller than its parts."""
    call, scores, there = random_call(2, 2, 1, 12, 4, "none", 3)
    call = PlainCall(call.query[:, :1].repeat(1, 2, 1, 1), call.key, call.value, 0.3, call.seen)
    site = site_of(2, 1, 4, 0)
    weight = site.projection.module.weight.data
    weight[:, 4:] = -weight[:, :4] * (1 + 1e-4)
    wide = scores[:, :1].expand(-1, 2, -1, -1)
    _, merged = definitions(wide, call, site)
    for room in (512, 4):
        monkeypatch.setattr(attention_kernel, "LOST", room)
        _, made, asked = made_of(call, site, there, 0)
        np.testing.assert_allclose(made.merged, merged @ asked.columns.double(), rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "served"),
    [
        ("BERT", True), ("GPT-2", True), ("Llama", True), ("Mistral", True), ("ModernBERT", True),
        ("Gemma 2", False), ("GPT-OSS", False), ("T5", False),
    ],
)  # fmt: skip
def test_what_is_not_plain_goes_the_other_way(name, served):
    """Soft caps, learnt sinks and position biases beside the mask are the model's business."""
    row = next(row for row in ARCHITECTURES if row.name == name)
    found = CapturedModel(row.build().float(), name=name)
    given_batch = batch_of(torch.Generator().manual_seed(0), [9, 5], found.has_decoder_inputs)
    kind = found.kinds[0]
    calls, records = [], []

    def kernel(record):
        calls.append(record)
        weight = record.call.weights()
        groups = weight.shape[1] // record.value.shape[1]
        return (weight @ record.value.repeat_interleave(groups, 1)).transpose(1, 2)

    with found.capture(found.sites_of(kind)) as recorder:
        recorder.visit, recorder.kernel = records.append, kernel
        found.run(given_batch)
        assert not recorder.refused
    assert bool(calls) == served
    assert len(records) == len(found.sites_of(kind))
    assert all(isinstance(each, PlainRecord) == served for each in records)


def test_a_kernel_that_differs_from_the_model_is_refused():
    found, seen = model("bert"), []
    given_batch = batch_of(torch.Generator().manual_seed(0), [9, 5], False)
    with found.capture() as recorder:
        recorder.visit = seen.append
        recorder.kernel = lambda record: torch.ones(
            *record.shape[:3:2], record.shape[1], record.value.shape[3]
        )
        found.run(given_batch)
        assert set(recorder.refused) == set(found.sites)
    assert not any(isinstance(record, PlainRecord) for record in seen)


@pytest.mark.slow
def test_a_survey_says_what_the_kernel_was_refused_for(monkeypatch):
    found = model("bert")
    attributes = survey(texts(3), found, progress=False).attrs
    assert "written_attention" not in attributes
    monkeypatch.setattr("headlight.capture.recorder.difference_of", lambda *_: 0.5)
    refused = survey(texts(3), found, progress=False)
    assert json.loads(refused.attrs["written_attention"]) == {"0": 0.5, "1": 0.5}


def test_single_rows_are_those_of_all():
    call, scores, there = random_call(2, 2, 1, 15, 3, "window", 5)
    text, head, query = (
        each.flatten()
        for each in torch.meshgrid(
            torch.arange(2), torch.arange(2), torch.arange(15), indexing="ij"
        )
    )
    rows = write_rows(call, text, head, query).view(2, 2, 15, 15)
    np.testing.assert_allclose(rows, scores.softmax(-1), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(rows, call.weights(), rtol=1e-5, atol=1e-7)
    assert len(CATEGORIES) == WHOLE
    assert there.any()
