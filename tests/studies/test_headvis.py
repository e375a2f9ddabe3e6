"""The six numbers by which HeadVis describes a head, by loops, against a survey of a decoder.

They are those of its description: self, previous token, entropy, mean and variance of the distance,
induction.  A query that has no token before it counts as 0 for the previous one.
"""

import json

import numpy as np
import pytest

from headlight.reading import read
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as survey
from headlight.views.headvis import headvis_files
from studies.models import WORDS, model

LAYERS, HEADS = 2, 4


def six(weight: np.ndarray, tokens: list[str]) -> dict[str, float]:
    """Of one text, means over queries: the first token is a key and a query like any other.

    Induction is of queries whose token stood before: what goes to tokens that followed it there.
    HeadVis itself takes shares below 0.01 as 0.
    """
    n = len(weight)
    rows = range(n)
    itself = [weight[i, i] for i in rows]
    before = [weight[i, i - 1] if i else 0.0 for i in rows]
    entropy = [-sum(w * np.log(w) for w in weight[i] if w > 0) for i in rows]
    first = [sum(weight[i, j] * (i - j) for j in range(i + 1)) for i in rows]
    second = [sum(weight[i, j] * (i - j) ** 2 for j in range(i + 1)) for i in rows]
    followed = [
        sum(weight[i, j + 1] for j in earlier)
        for i in rows
        if (earlier := [j for j in range(i) if tokens[j] == tokens[i]])
    ]
    return {
        "self": np.mean(itself),
        "previous": np.mean(before),
        "entropy": np.mean(entropy),
        "distance": np.mean(first),
        "squared distance": np.mean(second),
        "induction": np.mean(followed) if followed else np.nan,
    }


NAMES = {
    "self": "self_attention_score",
    "previous": "prev_token_score",
    "entropy": "pattern_entropy",
    "distance": "qk_distance",
    "variance": "qk_distance_variance",
    "induction": "induction_score",
}
"""As its files call them."""


@pytest.mark.slow
def test_they_are_in_a_survey_and_in_the_files_of_headvis():
    generator = np.random.default_rng(4)
    corpus = [" ".join(generator.choice(WORDS, 24)) for _ in range(5)]  # of one length, as there
    found = model("llama")
    result = survey(corpus, found, SurveySettings(measures=("weight",)), progress=False)
    readings = [read(found, text) for text in corpus]
    assert len({len(each.tokens) for each in readings}) == 1
    here = result.sel(measure="weight")
    files = {path: json.loads(content) for path, content in headvis_files(result)}
    rows = iter(files["scatter_data.json"])
    for layer, head in np.ndindex(LAYERS, HEADS):
        by_text = [
            six(each.weight.sel(layer=layer, head=head).values.astype(float), each.tokens)
            for each in readings
        ]
        wanted = {name: np.nanmean([each[name] for each in by_text]) for name in by_text[0]}
        one = here.sel(layer=layer, head=head)
        variance = wanted.pop("squared distance") - wanted["distance"] ** 2
        told = {
            "self": one["relative_share"].sel(relative=0),
            "previous": one["relative_share"].sel(relative=-1),
            "entropy": one["entropy"].sel(query_category="all"),
            "distance": one["distance_mean"],
            "induction": one["behaviour_share"].sel(behaviour="induction"),
        }
        for name, value in told.items():
            assert float(value) == pytest.approx(wanted[name], rel=1e-6, abs=1e-6), name
        assert float(one["distance_std"]) ** 2 == pytest.approx(variance, rel=1e-6)
        row = next(rows)
        assert (row["layer"], row["head"]) == (layer, head)
        for name, value in {**wanted, "variance": variance}.items():
            assert row[NAMES[name]] == pytest.approx(value, rel=1e-6, abs=1e-6), name
        texts = [[*each.tokens] for each in readings]
        for sequence in files[f"heads/L{layer}H{head}.json"]["sequences"]:
            tokens = [token.strip() for token in sequence["tokens"]]
            weight = readings[texts.index(tokens)].weight.sel(layer=layer, head=head).values
            queries, keys = np.divmod(sequence["attention_indices"], sequence["seq_len"])
            assert len({*queries}) == 1
            assert sequence["attention_values"] == pytest.approx(weight[queries, keys], abs=1e-3)
