"""A row for each text and head of a survey, against readings of each text alone."""

from pathlib import Path

import numpy as np
import pandas
import pytest

import headlight
from headlight.capture.torch_settings import one_thread
from headlight.engine.folder import RunFolder
from headlight.errors import RunInterruptedError, UsageError
from headlight.studies.survey import PROMINENT, SurveySettings
from headlight.studies.survey.per_text import FILE
from headlight.studies.survey.study import run as run_survey
from interruptions import interrupted_after
from open_folders import opening
from studies.models import model, texts, tokenizer, transformer
from studies.test_translators import FAMILIES, pairs

pytestmark = pytest.mark.usefixtures("undrawn")

survey = opening(run_survey)
MEASURES = ("weight", "norm", "effective")
INDEX = ["kind", "text", "layer", "head"]


def table(folder: Path) -> pandas.DataFrame:
    return pandas.read_csv(folder / FILE).set_index(INDEX)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama", "t5"])
def test_each_row_is_the_reading_of_its_text_and_their_mean_the_survey(family, tmp_path):
    read, named = texts(12, longest=9), headlight.Model(transformer(family), tokenizer(family))
    settings = SurveySettings(
        measures=MEASURES, per_text=(PROMINENT,), kind="encoder" if family == "t5" else None
    )
    folder = RunFolder(path=tmp_path)
    result = survey(read, model(family), settings, folder=folder, progress=False)
    rows, compared = table(tmp_path), 0
    kind = result.attrs["kind"]
    assert rows.index.get_level_values("text").max() == 11
    for number, text in enumerate(read):
        reading = named.read(text, kind=kind)["head_number"]
        of_text = rows.loc[kind, number]
        for column in of_text.columns.drop(["document", "passage"]):
            statistic, measure = column.rsplit("_", 1)
            if statistic not in reading.statistic:
                continue
            alone = reading.sel(statistic=statistic, measure=measure).values
            ours = of_text[column].unstack("head").values
            # A reading leaves out a category that its text lacks, which gets nothing.
            known = ~np.isnan(alone)
            np.testing.assert_allclose(ours[known], alone[known], rtol=1e-4, atol=2e-6)
            compared += int(known.sum())
    assert compared > 12 * 8 * 3 * 6
    means = rows.loc[kind].groupby(["layer", "head"]).mean()
    share = result["class_share" if family == "llama" else "share"].sel(query_category="all")
    share = share.sel({share.dims[-1]: "punctuation"})
    for measure in MEASURES[::2]:  # a survey's share of a norm is a ratio of means
        entropy = result["entropy"].sel(query_category="all", measure=measure)
        of_survey = (("punctuation", share.sel(measure=measure)), ("entropy", entropy))
        for name, expected in of_survey:
            found = means[f"{name}_{measure}"].unstack("head").values
            np.testing.assert_allclose(found, expected.values, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("first", [None, "join"])
def test_what_was_interrupted_is_gone_on_with_and_nothing_else_changes(
    first, tmp_path, monkeypatch
):
    monkeypatch.setattr("headlight.engine.batch_runner.SHARD", 4)
    settings = SurveySettings(measures=("weight",), per_text=("sep", "entropy"))
    read, seen = texts(19), model("bert")
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    with one_thread():
        plain = survey(read, seen, SurveySettings(measures=("weight",)), progress=False)
        found = survey(read, seen, settings, folder=RunFolder(path=whole), progress=False)
        with interrupted_after(3), pytest.raises(RunInterruptedError):
            survey(
                read, seen, settings, folder=RunFolder(path=broken, workers=first), progress=False
            )
        resumed = RunFolder(path=broken, resume=True)
        survey(read, seen, settings, folder=resumed, progress=False)
    assert found.drop_attrs().identical(plain.drop_attrs())
    assert (broken / FILE).read_bytes() == (whole / FILE).read_bytes()
    assert {path.name for path in broken.iterdir()} == {".headlight", "result.nc", FILE}
    assert list(table(whole).loc["encoder", :, 0, 0].index) == list(range(19))


@pytest.mark.slow
def test_all_kinds_share_a_table_and_a_text_is_one_number_in_it(tmp_path):
    settings = SurveySettings(measures=("weight",), per_text=("entropy",), kind="all")
    survey(
        pairs(),
        FAMILIES["m2m_100"].model(),
        settings,
        folder=RunFolder(path=tmp_path),
        progress=False,
    )
    rows = table(tmp_path)
    assert rows.index.is_unique
    assert len(rows) == 3 * (2 + 1 + 1) * 4
    assert sorted(set(rows.index.get_level_values("kind"))) == ["cross", "decoder", "encoder"]


def test_what_no_text_has_and_no_folder_holds_is_refused():
    with pytest.raises(UsageError, match="rank is a statistic of a corpus, not of each text"):
        SurveySettings(per_text=("rank",))
    with pytest.raises(UsageError, match="per_text is prominent alone, or names"):
        SurveySettings(per_text=(PROMINENT, "sep"))
    with pytest.raises(UsageError, match="name the folder"):
        survey(texts(2), model("bert"), SurveySettings(per_text=("sep",)), progress=False)
