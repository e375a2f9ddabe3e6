"""One set of names for the accessor of a result: what one takes all take where it has meaning."""

import re
from itertools import product

import numpy as np
import pytest

from headlight.errors import UnknownNameError
from headlight.result.estimate import MOVED


def known(refused):
    return {*str(refused.value).partition("Known: ")[2].rstrip(".").split(", ")} - {""}


@pytest.fixture(scope="module")
def results(study_runs):
    return study_runs.results()


@pytest.mark.slow
def test_every_number_of_every_study_is_an_interval_and_a_table(results):
    for study, result in results.items():
        accessor, names, tables = (
            result.headlight,
            result.headlight.numbers,
            result.headlight.tables,
        )
        kept = {
            str(name).removesuffix(MOVED) for name in result.coords if str(name).endswith(MOVED)
        }
        assert kept <= {*names}, study
        for name in names[::8]:  # a table is made with all others
            ends = accessor.interval(name)
            if name in tables:
                continue
            frame = accessor.table(name)
            axes = [column for column in frame if column not in ("value", "low", "high")]
            assert {*axes} == {*ends.dims}, (study, name)
            assert len(frame) == np.prod([ends.sizes[axis] for axis in axes], dtype=int)
            for column in ("low", "high"):
                wanted = ends[column].transpose(*axes).values.ravel()
                np.testing.assert_array_equal(frame[column].to_numpy(), wanted)


@pytest.mark.slow
def test_refusals_list_the_same_names(results):
    for study, result in results.items():
        accessor = result.headlight
        with pytest.raises(UnknownNameError, match="no number") as of_interval:
            accessor.interval("nothing")
        with pytest.raises(UnknownNameError, match="no table") as of_table:
            accessor.table("nothing")
        assert known(of_table) - known(of_interval) <= {*accessor.tables}, study
        assert known(of_interval) <= known(of_table), study


@pytest.mark.slow
def test_what_ranks_the_heads_of_a_survey_has_intervals_and_tables(results):
    accessor = results["survey"].headlight
    with pytest.raises(UnknownNameError, match="no behaviour") as refused:
        accessor.heads("nothing")
    assert known(refused) <= {*accessor.numbers}
    for name in sorted(known(refused)):
        ranked = accessor.heads(name)
        assert len(ranked), name
        if name not in ("previous", "sink", "unreached", "particular_tokens", "rank"):
            continue
        frame = accessor.table(name)
        measures = [
            column for column in ranked.columns[2:] if not re.search("_(low|high)$", column)
        ]
        for measure, (_, row) in product(measures, ranked.iterrows()):
            here = (frame["layer"] == row["layer"]) & (frame["head"] == row["head"])
            if measure != "value":
                here &= frame["measure"] == measure
            (cell,) = frame[here].to_dict("records")
            wanted = [row[f"{measure}{end}"] for end in ("", "_low", "_high")]
            found = [cell[column] for column in ("value", "low", "high")]
            np.testing.assert_allclose(found, wanted, err_msg=name)
