"""Where a token of one text comes from, as it is said: against the shares of the dataset."""

import json

import numpy as np
import pytest

from headlight.findings import labels_of
from headlight.reading.flow import flow
from headlight.views.reading.flow import headline
from headlight.views.result_page import result_page
from page_words import words_when_open
from studies.models import model as subject

TEXT = "the river is old , the mill near it fell"


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_the_title_is_what_the_shares_are(family):
    found = flow(subject(family), TEXT, methods=("rollout", "alti"))
    dataset = found.dataset
    place = len(dataset["query"]) - 1 if family == "llama" else 0
    row = dataset["share"].sel(map="alti")[-1, place].values
    labels = labels_of(dataset, "query_token")
    apart = {place: "itself"}
    if family == "llama":
        apart[0] = f"from the first token (“{labels[0]}”)"
    else:
        apart[len(row) - 1] = "from special tokens"
    names = {
        at: apart.get(at, f"from “{labels[at]}”")
        for at in range(len(row))
        if at in apart or not labels[at].startswith(("[UNK]", "<unk>"))
    }
    best = max((at for at in names if at not in apart), key=lambda at: row[at])
    title = headline(dataset).title
    assert title.startswith(f"After the last layer “{labels[place]}” is {row[place]:.0%} itself; ")
    assert f"{row[best]:.0%} " in title
    assert names[best] in title
    for at, name in apart.items():
        if at != place:
            assert (name in title) == (row[at] > row[best])
    assert str(found).startswith(title)
    assert json.loads(found.to_json())["findings"][0] == title
    assert "shares are by ALTI" in headline(dataset).read


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_bars_add_up_to_the_whole_token(family):
    bars = headline(flow(subject(family), TEXT).dataset).pictures[0].bars
    assert bars[0].label.endswith("itself")
    assert bars[0].is_reference
    values = [float(bar.value.removesuffix("%").removeprefix("under ")) for bar in bars]
    assert sum(values) == pytest.approx(100, abs=0.5 * len(values))


def test_a_method_with_another_largest_source_is_named():
    dataset = flow(subject("bert"), TEXT, methods=("rollout", "globenc", "alti")).dataset
    dataset = dataset.copy(deep=True)
    labels = labels_of(dataset, "query_token")
    dataset["share"][:] = 0.01
    last = dataset["share"][:, -1, 0]
    last.loc[{"map": ["alti", "globenc"], "key": 3}] = 0.5
    last.loc[{"map": "rollout", "key": 5}] = 0.4
    note = headline(dataset).pictures[0].note
    assert note == f"Largest source by other methods: “{labels[5]}” by rollout (40%)."


def test_decompx_is_taken_before_alti_and_alti_before_all_others():
    model = subject("llama")
    for methods, label in (
        (("rollout", "alti", "decompx"), "DecompX"),
        (("globenc", "alti"), "ALTI"),
        (("globenc", "rollout"), "GlobEnc"),
    ):
        assert f"by {label} (" in headline(flow(model, TEXT, methods=methods).dataset).read


def test_layers_that_are_left_out_are_not_called_the_last():
    title = headline(flow(subject("bert"), TEXT, layers=(0,)).dataset).title
    assert title.startswith("After layer 0 “")


def test_a_text_of_one_token_is_itself():
    dataset = flow(subject("llama"), "river").dataset
    place = dataset.sizes["query"] - 1
    title = headline(dataset).title
    if place == 0:
        assert title == "After the last layer “river” is 100% itself."


def test_special_tokens_are_one_source():
    dataset = flow(subject("bert"), TEXT, "the mill").dataset
    special = np.flatnonzero(np.isin(dataset["query_category"].values, ("cls", "sep")))
    row = dataset["share"].sel(map="alti")[-1, 0].values
    bars = {bar.label: bar.value for bar in headline(dataset).pictures[0].bars}
    if "special tokens" in bars:
        assert bars["special tokens"] == f"{row[special[special != 0]].sum():.0%}"
    assert not {"“[SEP]”", "“[CLS]”"} & set(bars)


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_the_page_opens_with_the_answer_in_few_words(family):
    found = flow(subject(family), TEXT)
    words = words_when_open(found.to_html())
    assert headline(found.dataset).title in " ".join(words)
    assert len(words) <= 200


def test_labels_of_bars_run_left_to_right_whatever_they_quote():
    dataset = flow(subject("bert"), TEXT).dataset
    tokens = dataset["query_token"].values.astype(object)
    tokens[3] = "עולם"
    page = result_page(dataset.assign_coords(query_token=("query", tokens)))
    assert 'dir="ltr">“\u2068עולם\u2069”' in page
