"""The survey is a table of parts: every variable is of one part."""

from collections import Counter

import pytest

from headlight.engine.observer import Observer
from headlight.studies.survey import page
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.part_observer import PartObserver
from headlight.studies.survey.study import PARTS, VARIABLES, SurveyStudy, run
from studies.models import model, texts


def test_no_two_parts_share_a_name_or_a_variable() -> None:
    for names in (
        [part.name for part in PARTS],
        [name for part in PARTS for name in part.variables],
    ):
        assert max(Counter(names).values()) == 1


@pytest.mark.slow
def test_every_variable_of_a_result_is_that_of_a_part() -> None:
    result = run(texts(6), model("llama"), progress=False)
    assert set(result.data_vars) <= set(VARIABLES)
    assert "residual" in [section.name for section in page.sections(result)]


def test_no_observer_is_hung_onto_another(monkeypatch) -> None:
    made: list[HeadsObserver] = []
    whole = SurveyStudy.observe

    def observe(*given) -> HeadsObserver:
        made.append(whole(*given))
        return made[-1]

    monkeypatch.setattr(SurveyStudy, "observe", observe)
    run(texts(3), model("llama"), progress=False)
    for each in made:
        public = {name for name in vars(each) if not name.startswith("_")}
        assert public <= set(dir(Observer))


def test_a_part_observes_what_it_overrides_and_ignores_the_rest() -> None:
    nothing = PartObserver()
    assert nothing.members() == {}
    assert not nothing.wants_stream
