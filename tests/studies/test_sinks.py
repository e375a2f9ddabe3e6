"""Sinks against loops over the weights of a model in eager mode, and in models that have some."""

import json

import numpy as np
import pytest
import torch

from headlight.capture import CapturedModel
from headlight.encode.batch import collate
from headlight.engine.text_plan import plan_text_study
from headlight.errors import UnknownNameError, UsageError
from headlight.observations.positions import key_ids
from headlight.studies.survey import SurveySettings, sink_tokens
from headlight.studies.survey.sink_tokens import (
    SINK,
    Sinks,
    SinkType,
    find_sinks,
    kept_categories,
    looks_for_sinks,
)
from studies.models import VOCABULARY, documents, subject, texts, tokenizer, transformer
from studies.naive import layers_of

DOT, COMMA = VOCABULARY.index("."), VOCABULARY.index(",")
PAIRS = [" \n\n ".join(document.paragraphs) for document in documents(10)]
ALL = SurveySettings(sinks="on", sink_multiple=1.0001, sink_share=0.0001)


@pytest.fixture
def every_type(monkeypatch):
    """Types are judged that occur once."""
    monkeypatch.setattr(sink_tokens, "OCCURRENCES", 1)


def drawing(*, dot: bool = False, first: bool = False, family: str = "bert") -> CapturedModel:
    """A BERT whose first layer looks along one axis, on which a full stop or the start lies far.

    The family is that of the tokenizer: with `llama` there is no class token.
    """
    made = transformer("bert")
    embeddings, attention = made.embeddings, made.encoder.layer[0].attention.self
    with torch.no_grad():
        for table in (embeddings.word_embeddings, embeddings.position_embeddings):
            table.weight[:, 0] = 0
        embeddings.token_type_embeddings.weight[:, 0] = 0
        if dot:
            embeddings.word_embeddings.weight[DOT, 0] = 100
        if first:
            embeddings.position_embeddings.weight[0, 0] = 100
        for linear, bias in ((attention.query, 1), (attention.key, 0)):
            linear.weight.zero_()
            linear.bias.fill_(bias)
        attention.key.weight[:, 0] = 1
    return CapturedModel(made, tokenizer(family), "drawing", "1")


def found(made: CapturedModel, settings: SurveySettings, **more) -> Sinks:
    settings = settings.replace(layers=(0,), **more)
    plan = plan_text_study("survey", "", [f"{text} ." for text in texts(40)], made, settings)
    return find_sinks(plan, settings)


def test_a_type_that_draws_attention_is_found_and_nothing_else():
    sinks = found(drawing(dot=True), SurveySettings())
    assert [each.token for each in sinks.tokens] == ["."]
    assert sinks.tokens[0].share == 1
    assert sinks.tokens[0].multiple > 5
    assert not sinks.first
    assert np.isnan(sinks.multiple)  # the first token is the class token, which is not judged
    json.dumps(sinks.settings(), allow_nan=False)


def test_a_beginning_that_draws_attention_is_found_if_it_is_no_class_token():
    sinks = found(drawing(first=True, family="llama"), SurveySettings())
    assert sinks.first
    assert sinks.multiple > 5
    assert sinks.share == 1
    assert sinks.tokens == ()  # types are judged elsewhere than at the beginning
    assert not found(drawing(first=True), SurveySettings()).first


def test_without_sinks_none_is_found():
    sinks = found(subject("bert"), SurveySettings())
    assert not sinks.first
    assert sinks.tokens == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "kind"),
    [("llama", "decoder"), ("t5", "encoder"), ("bart", "cross"), ("bart", "decoder")],
)
@pytest.mark.usefixtures("every_type")
def test_multiples_of_even_attention_are_those_of_loops(family, kind):
    made = subject(family)
    settings = ALL.replace(batch_tokens=64, pairs=family == "bart", kind=kind)
    plan = plan_text_study("survey", "", PAIRS, made, settings)
    sinks = find_sinks(plan, settings)
    firsts, types = [], {}
    for example in plan.examples:
        seen = layers_of(made.transformer, family, plan.kind, example, [0, 1])
        keys = example.target if (family, kind) == ("bart", "decoder") else example.ids
        for key, token in enumerate(keys):
            drawn = [multiple(layer, key, head) for layer in seen for head in range(4)]
            (types.setdefault(token, []) if key else firsts).append(drawn)
    assert sinks.multiple == pytest.approx(np.mean(firsts))
    assert sinks.share == pytest.approx(np.mean(np.mean(firsts, axis=0) >= 1.0001))
    expected = {
        token: np.mean(rows)
        for token, rows in types.items()
        if np.mean(rows, axis=0).max() > 1.0001
    }
    assert {each.id: each.multiple for each in sinks.tokens} == pytest.approx(expected)
    drawn = [each.multiple for each in sinks.tokens]
    assert drawn == sorted(drawn, reverse=True)


def multiple(layer, key: int, head: int) -> float:
    """Mean over the queries that see the key of α times how many keys the query sees."""
    seen = [
        layer.weight[head, query, key] * layer.visible[query].sum()
        for query in range(len(layer.visible))
        if layer.visible[query, key]
    ]
    return float(np.mean(seen))


@pytest.mark.slow
@pytest.mark.usefixtures("every_type")
def test_only_the_first_documents_and_types_that_are_frequent_enough_are_judged(monkeypatch):
    every = found(subject("bert"), ALL)
    with monkeypatch.context() as changed:
        changed.setattr(sink_tokens, "DOCUMENTS", 2)
        few = found(subject("bert"), ALL)
    with monkeypatch.context() as changed:
        changed.setattr(sink_tokens, "OCCURRENCES", 12)
        often = found(subject("bert"), ALL)
    assert len(few.tokens) < len(every.tokens)
    assert 0 < len(often.tokens) < len(every.tokens)
    # By what they show: since Python 3.13 a NaN in a dataclass is not equal to itself.
    assert repr(found(subject("bert"), ALL, max_examples=2)) == repr(few)


@pytest.mark.slow
@pytest.mark.usefixtures("every_type")
def test_the_result_does_not_depend_on_the_batches():
    one, other = (found(subject("llama"), ALL, batch_tokens=size) for size in (24, 4096))
    assert [each.id for each in one.tokens] == [each.id for each in other.tokens]
    assert one.multiple == pytest.approx(other.multiple)


def test_sinks_are_taken_out_of_their_category_but_not_out_of_those_that_are_kept():
    category = torch.tensor([[0, 2, 3, 1, -1], [-1, -1, 3, 2, 1]])
    ids = torch.tensor([[1, DOT, 9, 2, 0], [0, 0, 9, COMMA, 2]])
    dot = (SinkType(DOT, ".", 9.0, 1.0), SinkType(2, "</s>", 9.0, 1.0))
    both = Sinks(True, 9.0, 1.0, dot, kept=())
    assert both.in_category(category, ids).tolist() == [
        [SINK, SINK, 3, SINK, -1], [-1, -1, SINK, 2, SINK],
    ]  # fmt: skip
    kept = Sinks(True, 9.0, 1.0, dot, kept=(0, 1))
    assert kept.in_category(category, ids).tolist() == [[0, SINK, 3, 1, -1], [-1, -1, SINK, 2, 1]]
    none = Sinks(False, 1.0, 0.0, (), kept=())
    assert torch.equal(none.in_category(category, ids), category)


def test_sinks_are_looked_for_where_nothing_else_marks_the_ends_of_a_text():
    bert, llama, auto = tokenizer("bert"), tokenizer("llama"), SurveySettings()
    assert kept_categories(bert) == (0, 1)
    assert kept_categories(llama) == ()
    assert not looks_for_sinks("encoder", bert, auto)
    assert looks_for_sinks("encoder", llama, auto)
    assert looks_for_sinks("decoder", bert, auto)
    assert looks_for_sinks("encoder", bert, SurveySettings(sinks="on"))
    assert not looks_for_sinks("decoder", llama, SurveySettings(sinks="off"))


def test_ids_of_the_keys():
    settings = SurveySettings(pairs=True, kind="cross")
    plan = plan_text_study("survey", "", PAIRS, subject("bart"), settings)
    batch = collate(list(plan.examples), pad_id=0)
    assert key_ids(batch, "cross") is batch.input_ids
    assert key_ids(batch, "encoder") is batch.input_ids
    assert key_ids(batch, "decoder") is batch.target_ids


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sink_multiple": 1.0}, "sink_multiple"),
        ({"sink_share": 0.0}, "sink_share"),
        ({"sink_share": 1.5}, "sink_share"),
        ({"sample": 0}, "sample"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, said):
    with pytest.raises(UsageError, match=said):
        SurveySettings(**options)


def test_an_unknown_way_to_look_is_refused(unchecked):
    with pytest.raises(UnknownNameError, match="sinks"):
        SurveySettings(sinks="never")
