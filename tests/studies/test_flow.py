"""The study of what hidden tokens come from, against means written out, one text at a time."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from headlight.engine.text_plan import plan_text_study
from headlight.errors import UsageError
from headlight.studies.flow import FlowSettings
from headlight.studies.flow.study import DISTANCES, agreement, run
from headlight.token_flow.input_maps import input_maps
from headlight.views.result_contents import answers, headline
from headlight.views.result_page import result_page
from page_words import words_when_open
from studies.intervals import agrees
from studies.models import documents, model, texts

METHODS = ("rollout", "alti")


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_shares_are_means_over_tokens_and_then_over_texts(family: str) -> None:
    found, corpus = model(family), texts(6, longest=20)
    settings = FlowSettings(batch_tokens=60, methods=METHODS)
    result = run(corpus, found, settings, progress=False)
    examples = list(plan_text_study("flow", "", corpus, found, settings).examples)
    own, by_category, by_distance, maps_of = [], [], [], []
    for example in examples:
        maps = input_maps(found, example, METHODS)
        shares = np.stack([maps[name].numpy() for name in METHODS])
        tokens = shares.shape[-1]
        maps_of.append(shares)
        own.append([[np.diag(each).mean() for each in one] for one in shares])
        of_category = np.full((2, 4, 2), np.nan)
        for code in set(example.categories):
            chosen = np.array(example.categories) == code
            of_category[:, code] = shares[..., -1, chosen].sum(-1)
        by_category.append(of_category)
        of_band = np.full((2, len(DISTANCES), 2), np.nan)
        for place, least in enumerate(DISTANCES):
            last = [*DISTANCES, 10**6][place + 1]
            pairs = [
                (i, j) for i in range(tokens) for j in range(tokens) if least <= abs(i - j) < last
            ]
            if pairs:
                of_band[:, place] = sum(shares[..., i, j] for i, j in pairs) / tokens
        by_distance.append(of_band)
    near = np.testing.assert_allclose
    near(result["own"].sel(token="all"), np.mean(own, 0), rtol=1e-6)
    near(result["by_category"].sel(token="last"), np.nanmean(by_category, 0), rtol=1e-6)
    near(result["by_distance"].sel(token="all"), np.nanmean(by_distance, 0), rtol=1e-6)
    agrees(result.sel(token="all"), "own", np.array(own), np.ones((6, 1, 1)))
    if family == "llama":
        near(result["first"].sel(token="first"), 1)
    said = answers(result)
    assert "at its own place" in said[1 + (family == "llama")]
    title = headline(result).title
    assert said[0] == title
    alti, rollout = (np.mean(own, 0)[at, -1] for at in (1, 0))
    assert title.startswith("After the last layer, a token is ")
    assert f"a token is {alti:.0%} (95%: " in title
    assert f"other methods say {rollout:.0%}." in title
    of_first = np.mean([shares[1, -1, :, 0].mean() for shares in maps_of], 0)
    assert (f"and {of_first:.0%} (95%: " in title) == (family == "llama")
    assert len(words_when_open(result_page(result))) <= 200


@pytest.mark.parametrize("causal", [False, True])
def test_agreement_is_spearmans(causal: bool) -> None:
    maps = np.random.default_rng(3).integers(0, 4, (3, 2, 6, 6)).astype(float)
    found = agreement(maps, causal=causal)
    for a, b, layer in np.ndindex(found.shape):
        rows = []
        for query in range(6):
            keys = query + 1 if causal else 6
            one, other = maps[a, layer, query, :keys], maps[b, layer, query, :keys]
            if keys >= 3 and len(set(one)) > 1 and len(set(other)) > 1:
                rows.append(spearmanr(one, other).statistic)
        np.testing.assert_allclose(found[a, b, layer], np.mean(rows), rtol=1e-10)


def test_cross_attention_is_refused() -> None:
    pairs = [" \n\n ".join(document.paragraphs) for document in documents(3)]
    with pytest.raises(UsageError, match="through one text"):
        run(pairs, model("bart"), FlowSettings(pairs=True, kind="cross"), progress=False)
