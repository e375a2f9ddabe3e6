"""Some heads and queries of a text, read in blocks of queries: the same numbers as of all."""

import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headlight.capture import query_blocks
from headlight.errors import UsageError
from headlight.reading import read
from headlight.views.reading.page import parse_page
from headlight.vocabulary import measure_table
from studies.models import model, uneven

TEXT = "the old mill , the river and the sea keeps sand near the town ."
PAIR = "a lake is full of mud"


def assert_part(found, whole, heads, queries):
    """Equal to what is chosen of the whole, wherever the values came in blocks."""
    wanted = whole.dataset.sel(head=heads, query=queries)
    for row in measure_table():
        if row.name in wanted:
            np.testing.assert_allclose(
                found.dataset[row.name], wanted[row.name], rtol=1e-5, atol=1e-6, err_msg=row.name
            )
    assert found.dataset["head"].values.tolist() == heads
    assert found.dataset["query"].values.tolist() == queries
    assert found.tokens == [whole.tokens[at] for at in queries]


@pytest.mark.parametrize(
    ("family", "kind", "pair"),
    [("bert", "encoder", PAIR), ("llama", "decoder", None), ("bart", "cross", PAIR)],
)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
@pytest.mark.slow
def test_some_heads_and_queries_by_blocks_of_any_size(family, kind, pair, data):
    subject = model(family)
    whole = read(subject, TEXT, pair, kind=kind, residual=True)
    sizes = whole.dataset.sizes
    heads = data.draw(st.sets(st.integers(0, sizes["head"] - 1), min_size=1))
    queries = data.draw(st.sets(st.integers(0, sizes["query"] - 1), min_size=1))
    cells = data.draw(st.integers(1, 2 * sizes["head"] * sizes["key"] * sizes["query"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_blocks, "CELLS", {"cpu": cells})
        patch.setattr(query_blocks, "GRAIN", 1)
        found = read(subject, TEXT, pair, kind=kind, heads=heads, queries=queries, residual=True)
    assert_part(found, whole, sorted(heads), sorted(queries))


@pytest.mark.slow
def test_contributions_are_cut_alike(monkeypatch):
    whole = read(model("llama"), TEXT, attribution=True)
    monkeypatch.setattr(query_blocks, "CELLS", {"cpu": 64})
    monkeypatch.setattr(query_blocks, "GRAIN", 1)
    assert_part(
        read(model("llama"), TEXT, queries=[1, 5], attribution=True), whole, [0, 1, 2, 3], [1, 5]
    )


@pytest.mark.slow
def test_layers_of_several_kinds_keep_their_own_heads():
    whole, part = (
        read(model("bart"), TEXT, PAIR, kind="all", heads=asked) for asked in (None, [1])
    )
    for kind in whole.kinds:
        everything = whole.of_kind(kind).dataset["query"].values.tolist()
        assert_part(part.of_kind(kind), whole.of_kind(kind), [1], everything)


def test_a_head_that_a_layer_lacks_is_no_number():
    found = read(uneven(), TEXT, heads=[1, 3]).weight
    assert np.isfinite(found.sel(layer=0)).all()
    assert np.isfinite(found.sel(layer=1, head=1)).all()
    assert np.isnan(found.sel(layer=1, head=3)).all()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"heads": [4]}, "no head 4; choose from 0 to 3"),
        ({"queries": [99]}, "no query 99; choose from 0 to"),
        ({"queries": [-1]}, "queries must be at least 0, not -1"),
        ({"heads": []}, "no head is selected"),
    ],
)
def test_what_is_not_there_is_refused(asked, said):
    with pytest.raises(UsageError, match=said):
        read(model("llama"), TEXT, **asked)


@pytest.mark.slow
def test_a_part_is_written_as_data_and_refused_as_a_page(tmp_path):
    reading = read(model("llama"), TEXT, heads=[2], queries=[3, 4])
    some, whole = read(model("llama"), TEXT, queries=[3, 4]), read(model("llama"), TEXT)
    written = json.loads(reading.save(tmp_path / "x.json").read_text())
    assert (written["head_numbers"], written["query_numbers"]) == ([2], [3, 4])
    assert np.shape(written["weight"])[1:3] == (1, 2)
    x = tmp_path / "x.html"
    pages = (lambda: reading.save(x), reading.explore, lambda: some.save(x, compare=whole))
    for page in pages:
        with pytest.raises(UsageError, match="all heads of a text"):
            page()
    assert not x.exists()


@pytest.mark.slow
def test_a_page_of_some_queries_has_their_places_and_cells(tmp_path):
    some, whole = read(model("llama"), TEXT, queries=[3, 4]), read(model("llama"), TEXT)
    shown = parse_page(some.save(tmp_path / "x.html").read_text())
    assert shown["query"].values.tolist() == [3, 4]
    np.testing.assert_allclose(
        shown["weight"], whole.dataset["weight"].sel(query=[3, 4]), atol=0.01
    )
