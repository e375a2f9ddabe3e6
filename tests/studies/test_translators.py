"""Studies of translators of five families: what their results say, and what they are called."""

import json

import pytest

from headlight.corpora.pairs.pair_corpus import open_sentence_pairs
from headlight.corpora.pairs.sentence_pair import SentencePair
from headlight.findings import highlights
from headlight.studies.heads.settings import SurveySettings
from headlight.studies.heads.study import run as survey
from headlight.studies.norms.settings import NormSettings
from headlight.studies.norms.study import run as norms
from headlight.views import report
from headlight.views.studies import tables
from translators import FAMILIES, SOURCE, TARGET

TEXTS = [
    (SOURCE, TARGET),
    ("der hund , der bellt", "the dog that barks"),
    ("wir sehen das haus .", "we see it"),
]
ABSENT = {"marian": "<s>", "t5": "<s>", "bart": "<pad>", "m2m_100": "<s>", "mbart": "<s>"}
"""What is nowhere in the texts of a family, neither in the source nor in the target."""


def pairs():
    return open_sentence_pairs(
        [SentencePair(f"pair {n}", *texts, None) for n, texts in enumerate(TEXTS)]
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_only_what_stands_there_is_named(family):
    settings = SurveySettings(kind="cross")
    result = survey(pairs(), FAMILIES[family].model(), settings, progress=False)
    source, target = (
        json.loads(result.attrs[name]) for name in ("category_names", "query_category_names")
    )
    page = report(result)
    said = [page, *(each.text for each in highlights(result))]
    assert not any(
        ABSENT[family] in text.replace("&lt;", "<").replace("&gt;", ">") for text in said
    )
    assert "[CLS]" not in page.replace("where [SEP] attends to [SEP]", "")
    occurring = {str(name) for name in result["key_category"].values[result["token_share"] > 0]}
    assert ("cls" in occurring) == bool(FAMILIES[family].source[0])
    columns = tables(result)["heads"].frame.columns
    assert f"weight {source['sep']} %" in columns
    assert not [c for c in columns if "next" in c]
    assert f"from {target['cls']}".replace("<", "&lt;").replace(">", "&gt;") in page


def test_norms_of_the_source_alone():
    model = FAMILIES["marian"].model()
    result = norms(pairs(), model, NormSettings(kind="cross"), progress=False)
    assert result["token_count"].sel(key_category="cls") == 0
    correlations = tables(result)["correlations"].frame
    assert list(correlations["category"]) == ["</s>", "punctuation", "other tokens"]
