"""What groups of texts move a survey by, against surveys without these texts."""

import numpy as np
import pytest
from scipy import stats

from headlight.analysis.batch_texts import groups_of
from headlight.studies.heads import SurveySettings
from headlight.studies.heads.by_group import DIMS
from headlight.studies.heads.study import run as survey
from studies.models import subject, texts
from studies.test_numbers import examples_of

SETTINGS = SurveySettings(passages=False, token_types=0)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_a_group_moves_what_a_survey_without_its_texts_says(family):
    found, corpus = subject(family), texts(7, seed=3)
    whole = survey(corpus, found, SETTINGS, progress=False)
    groups = groups_of(examples_of(found, corpus))
    share = np.bincount(groups, minlength=32) / len(corpus)
    np.testing.assert_array_equal(whole["group_texts"], share * len(corpus))
    alike = (share**2).sum()
    for group, without in left_out(found, corpus, groups):
        for name in DIMS:
            if "distance" in name or "norm" in name:  # of which the whole is not the texts
                continue
            change = (1 - share[group]) * (without[name] - whole[name]) / np.sqrt(1 - alike)
            if "query_category" in change.dims:
                change = change.sel(query_category="all", drop=True)
            moved, freedom = whole[f"{name}_by_group"].sel(group=group), whole[f"{name}_freedom"]
            if "offset" in moved.dims:
                change = change.sel(relative=[-1, 0, 1]).rename(relative="offset")
                change["offset"] = moved["offset"]
            of_all = np.isclose(freedom, 1 / alike - 1)  # texts without such tokens do not count
            change = change.transpose(*moved.dims)
            np.testing.assert_allclose(
                moved.values[of_all], change.values[of_all], atol=2e-5, err_msg=name
            )
            assert of_all.any() or name == "effective_correlation_by_head"


@pytest.mark.slow
def test_what_tokens_tell_is_moved_by_their_share():
    found, corpus = subject("bert"), texts(6, seed=4)
    whole = survey(corpus, found, SETTINGS, progress=False)
    encoded = examples_of(found, corpus)
    groups, sizes = groups_of(encoded), np.array([len(each.ids) for each in encoded])
    share = np.bincount(groups, sizes, minlength=32) / sizes.sum()
    names = ("vector_norm_mean", "vector_norm_std", "vector_norm_cv", "input_norm_cv",
             "distance_std")  # fmt: skip
    squares = dict.fromkeys(names, 0.0)
    for group, without in left_out(found, corpus, groups):
        for name in names:
            change = (1 - share[group]) * (without[name] - whole[name])
            squares[name] = squares[name] + change**2 / (1 - (share**2).sum())
    half = stats.t.ppf(0.975, 1 / (share**2).sum() - 1)
    for name, squared in squares.items():
        ends = [whole[f"{name}_{end}"] - whole[name] for end in ("low", "high")]
        for end, sign in zip(ends, (-1, 1), strict=True):
            expected = sign * half * np.sqrt(squared)
            if "measure" in expected.dims:  # of others the shares of rows are no whole numbers
                expected, end = expected.sel(measure="weight"), end.sel(measure="weight")
            np.testing.assert_allclose(end, expected, rtol=2e-3, atol=1e-6, err_msg=name)


def left_out(found, corpus, groups):
    """The number of each group that has texts, and a survey without them."""
    for group in np.unique(groups):
        rest = [text for text, of in zip(corpus, groups, strict=True) if of != group]
        yield group, survey(rest, found, SETTINGS, progress=False)
