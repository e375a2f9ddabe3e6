"""Templates are filled in as they read, and every rule has the values of all its templates."""

from string import Formatter

import numpy as np
import pytest
import xarray as xr

from headlight.findings import ablation, circuits, distances, flow, importance, null_space
from headlight.findings.estimates import Estimate
from headlight.findings.sentence_rules import FORMS, HOLDS, Evidence, Rule, sentences, write
from headlight.findings.survey_rules import survey_rules

RESULT = xr.Dataset(coords={"layer": [3, 5], "head": [0, 1]})
ONE = Estimate.with_ends(0.5, 0.4, 0.625)
WITHOUT_ENDS = Estimate.with_ends(-0.5)


@pytest.mark.parametrize(
    ("template", "value", "expected"),
    [
        ("{x:share}", ONE, "50% (95%: 40% to 62%)"),
        ("{x:percent} of it{x:interval}", ONE, "50% of it (95%: 40% to 62%)"),
        ("{x:percent}", 0.004, "0.4%"),
        ("{x:estimate}", WITHOUT_ENDS, "−0.5"),
        ("{x:decimal}", ONE, "0.50 (95%: 0.40 to 0.62)"),
        ("{x:nats}", WITHOUT_ENDS, "−0.50 nats"),
        ("{x:name}", (1, 0), "L5H0"),
        ("{x:name}", (1,), "layer 5"),
        ("{x:names}", [(0, 1), (1, 0)], "L3H1 and L5H0"),
        ("{x:layers}", [1, 2, 4], "layers 1 to 2 and 4"),
        ("{x:heads}", np.array(["above", "below", "inconclusive"]), "1 head (1 inconclusive)"),
        ("{x:,.0f}", 1234.5, "1,234"),
    ],
)
def test_a_field_is_written_in_its_form(template, value, expected):
    assert write(RESULT, template, {"x": value}) == expected


@pytest.mark.parametrize("missing", [None, "", []])
def test_a_clause_is_left_out_where_one_of_its_values_is_missing(missing):
    template = "It is so[, by {a} and {b}][: {a}]."
    assert write(RESULT, template, {"a": "x", "b": missing}) == "It is so: x."
    assert write(RESULT, template, {"a": "x", "b": 0}) == "It is so, by x and 0: x."


def test_brackets_and_braces_of_values_are_text():
    assert write(RESULT, "to {x}[ and {x}]", {"x": "[SEP] {y}"}) == "to [SEP] {y} and [SEP] {y}"


def test_sentences_are_those_of_the_rules_that_hold():
    rules = [
        Rule(topic="a", evidence=lambda _: Evidence(values={"x": 1}), templates={HOLDS: "a {x}"}),
        Rule(topic="b", evidence=lambda _: None, templates={HOLDS: "b"}),
        Rule(
            topic="c",
            evidence=lambda _: Evidence(values={}, template="unclear"),
            templates={HOLDS: "c", "unclear": "c?"},
        ),
    ]
    assert sentences(RESULT, rules) == ["a 1", "c?"]


def test_forms_of_all_templates_are_known():
    modules = (ablation, circuits, distances, flow, null_space)
    rules = [*survey_rules(), importance._RULE, *(rule for each in modules for rule in each._RULES)]
    for rule in rules:
        for template in rule.templates.values():
            for _, name, form, _ in Formatter().parse(template.replace("[", "").replace("]", "")):
                known = form in FORMS or not form or form in (",", "g", ".0f", ".1f", ".2f", ",.0f")
                assert name is None or known, (rule.topic, name, form)


def test_topics_tell_rules_apart():
    topics = [rule.topic for rule in survey_rules()]
    assert len(topics) == len(set(topics))
