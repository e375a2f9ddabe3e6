"""What every study of text has from the runner: folders, signatures, passes, origin."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import xarray

from deaths import killed, needs_fork
from headlight.capture import CapturedModel, MaskedLanguageModel, OwnObjective
from headlight.catalogue import studies
from headlight.encode import Encoded
from headlight.engine.batch_runner import BatchRunner
from headlight.engine.batch_size import BATCH_TOKENS
from headlight.engine.folder import RunFolder
from headlight.engine.pass_folders import begin_pass
from headlight.engine.plan import Pass, StudyPlan
from headlight.engine.run import run_plan
from headlight.engine.state import State
from headlight.engine.text_plan import plan_text_study
from headlight.errors import CorpusError, RunError, UsageError
from headlight.files import make_folder
from headlight.observations.positions import Positions
from headlight.output_folder import OutputFolder
from headlight.result import load
from headlight.settings import Settings
from headlight.settings.attribution import AttributionSettings
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.part import Outcome
from headlight.studies.survey.study import dataset
from headlight.study_settings.measures import MeasureSettings
from open_folders import opening
from studies.models import VOCABULARY, model, texts
from studies.test_gradient import with_head

MASKED = MaskedLanguageModel(
    mask_id=3, vocabulary=len(VOCABULARY), special_ids=frozenset(range(4)), rate=0.3
)
ORIGIN = {
    "title", "model", "revision", "kind", "corpus", "corpus_digest", "created", "versions",
    "settings", "format", "stage", "examples", "tokens", "category_names",
    "pieces",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A study, settings that are quick, and others of which the result would be another."""

    name: str
    values: dict[str, Any]
    other: dict[str, Any]
    head: bool = False
    title: str = ""

    @property
    def settings(self) -> Settings:
        return studies()[self.name].settings.from_mapping(self.values)

    def run(self, corpus: Any, **more: Any) -> xarray.Dataset:
        settings = more.pop("settings", self.settings)
        found = with_head("bert") if self.head else model("bert")
        given = {"objective": MASKED} if self.head else {}
        study = studies()[self.name].run
        return opening(study)(corpus, found, settings, progress=False, **given, **more)


FEW = {"passages": False, "token_types": 0}
EXACT = {"attribution": {"method": "exact"}, "exact": 0}
CASES = [
    Case("survey", {"measures": ["weight", "norm"]}, {"measures": ["weight"]}),
    Case(
        "survey",
        {**FEW, "measures": ["weight", "norm"], "numbers": ["ranks"], "sample": 5},
        {"sink_multiple": 3.0},
        title="ranks",
    ),
    Case("attribution", EXACT, {"reach": 3}),
    Case("distances", {"measures": ["weight"]}, {"smoothing": 0.5}),
    Case(
        "survey",
        {**FEW, "measures": ["weight"], "numbers": ["importance"]},
        {"max_length": 8},
        head=True,
        title="importance",
    ),
    Case(
        "survey",
        {**FEW, "measures": ["effective"], "numbers": ["null_space"], "sample": 5},
        {"value_bias": "exclude"},
        title="null_space",
    ),
]
CASES = [case for case in CASES if case.name in studies()]  # one is of papers
CORPUS = texts(4, longest=8)


@pytest.fixture(params=CASES, ids=lambda case: case.title or case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From then on, no batch may be observed."""

    def forbid() -> None:
        def busy(*_: object) -> None:
            raise AssertionError("the model ran")

        monkeypatch.setattr(BatchRunner, "__call__", busy)

    return forbid


@pytest.mark.slow
def test_a_finished_run_is_handed_back_and_what_differs_is_refused(
    case: Case, tmp_path: Path, idle: Callable[[], None]
) -> None:
    first = case.run(CORPUS, folder=RunFolder(path=tmp_path))
    xarray.testing.assert_identical(load(tmp_path / "result.nc", stage=case.name), first)
    assert {path.name for path in tmp_path.iterdir()} == {".headlight", "result.nc"}
    resumed = RunFolder(path=tmp_path, resume=True)
    with pytest.raises(UsageError, match="holds a run already"):
        case.run(CORPUS, folder=RunFolder(path=tmp_path))
    idle()
    xarray.testing.assert_identical(case.run(CORPUS, folder=resumed), first)
    smaller = case.settings.replace(batch_tokens=7)
    with pytest.raises(RunError, match=r"other settings \(batch_tokens"):
        case.run(CORPUS, folder=resumed, settings=smaller)
    other = studies()[case.name].settings.from_mapping(case.values | case.other)
    with pytest.raises(RunError, match=rf"other settings \({next(iter(case.other))}"):
        case.run(CORPUS, folder=resumed, settings=other)
    with pytest.raises(RunError):
        case.run([*CORPUS[:-1], "the sea"], folder=resumed)
    assert load(tmp_path / "result.nc").identical(first)


@pytest.mark.slow
def test_what_a_run_killed_at_its_very_end_has_left_is_removed(tmp_path: Path) -> None:
    case = CASES[0]
    first = case.run(CORPUS, folder=RunFolder(path=tmp_path))
    left = ("checkpoint.safetensors", "gradient/checkpoint.safetensors", "gradient/.pass")
    with (tmp_path / ".headlight").open("a") as record:
        record.writelines(f"{name}\n" for name in left)
    for name in (*left, ".a.nc.7.8.partial", "gradient/.a.nc.7.8.partial"):
        make_folder((tmp_path / name).parent)
        (tmp_path / name).write_bytes(b"left")
    again = case.run(CORPUS, folder=RunFolder(path=tmp_path, resume=True))
    xarray.testing.assert_identical(again, first)
    assert {path.name for path in tmp_path.iterdir()} == {".headlight", "result.nc"}


@pytest.mark.slow
def test_a_folder_is_left_alone_while_another_run_is_in_it(tmp_path: Path) -> None:
    case = CASES[0]
    case.run(CORPUS, folder=RunFolder(path=tmp_path))
    before = (tmp_path / "result.nc").read_bytes()
    with RunFolder(path=tmp_path, resume=True).opened() as mine:
        for theirs in (RunFolder(path=tmp_path, overwrite=True), mine.request):
            with pytest.raises(RunError, match=rf"in use by another run \(process {os.getpid()}"):
                case.run(CORPUS, folder=theirs)
        assert (tmp_path / "result.nc").read_bytes() == before
        assert (tmp_path / ".lock").exists()
        case.run(CORPUS, folder=mine)


@pytest.mark.slow
def test_a_run_is_overwritten_if_that_is_said(case: Case, tmp_path: Path) -> None:
    first = case.run(CORPUS, folder=RunFolder(path=tmp_path))
    again = case.run(CORPUS[:2], folder=RunFolder(path=tmp_path, overwrite=True))
    assert (first.attrs["examples"], again.attrs["examples"]) == (4, 2)
    xarray.testing.assert_identical(load(tmp_path / "result.nc"), again)


@pytest.mark.slow
def test_a_result_says_where_it_is_from(case: Case) -> None:
    found = case.run(CORPUS, command="as asked")
    assert set(found.attrs) >= ORIGIN
    assert not [name for name, value in found.attrs.items() if value is None]
    assert (found.attrs["stage"], found.attrs["format"]) == (case.name, "2")
    assert found.attrs["command"] == "as asked"
    assert found.attrs["examples"] == len(CORPUS)
    for variable in found.data_vars.values():
        assert variable.attrs["long_name"]
        assert "units" in variable.attrs


@pytest.mark.slow
def test_only_a_study_of_measures_depends_on_them(case: Case) -> None:
    signature = json.loads(case.run(CORPUS[:2]).attrs["settings"])
    of_measures = "measures" in studies()[case.name].settings.hints()
    assert of_measures == ("measures" in signature)
    assert signature["study"] == case.name
    assert signature["batch_tokens"] == (case.settings.batch_tokens or BATCH_TOKENS)


@pytest.mark.slow
def test_an_empty_corpus_is_refused_and_leaves_nothing_to_go_on_from(
    case: Case, tmp_path: Path
) -> None:
    with pytest.raises(CorpusError):
        case.run([], folder=RunFolder(path=tmp_path))
    assert not (tmp_path / "result.nc").exists()
    assert case.run(CORPUS, folder=RunFolder(path=tmp_path)).attrs["examples"] == len(CORPUS)


@pytest.mark.papers
@pytest.mark.slow
def test_contributions_alone_run_no_captured_model(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[bool] = []
    run = CapturedModel.run

    def counted(self: CapturedModel, *given: Any, **more: Any) -> Any:
        runs.append(True)
        return run(self, *given, **more)

    monkeypatch.setattr(CapturedModel, "run", counted)
    settings = studies()["attribution"].settings.from_mapping(EXACT | {"batch_tokens": 1})
    by_size = []
    for number in (2, 6):
        runs.clear()
        studies()["attribution"].run(
            texts(number, longest=6), model("bert"), settings, progress=False
        )
        by_size.append(len(runs))
    assert by_size[0] == by_size[1]  # what is verified once, and nothing for each batch


def test_measures_that_are_not_asked_for_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_: object, **__: object) -> None:
        raise AssertionError("contributions were computed")

    monkeypatch.setattr("headlight.engine.batch_runner.attribute", unwanted)
    quick = AttributionSettings(directions=2)
    settings = SurveySettings(measures=("weight",), attribution=quick)
    found = studies()["survey"].run(CORPUS, model("bert"), settings, progress=False)
    assert "effective_correlation" not in found
    assert "vector_norm_mean" not in found


# Several passes


class Interruption(Exception):  # noqa: N818 - not an error of anyone's
    """Raised on purpose."""


def two_passes(found: CapturedModel, objective: Any, seen: list[str], **more: Any) -> Any:
    """A survey that looks at weights first, and then at their gradient."""
    measures = ("gradient", "weight")
    passes = (Pass(("weight",)), Pass(("gradient",), objective, None, "backward"))
    plan: StudyPlan[Encoded] = plan_text_study(
        "survey", "Two passes", CORPUS, found, SurveySettings(batch_tokens=1),
        passes=passes, measures=measures,
    )  # fmt: skip

    def observe(part: StudyPlan[Encoded], batch: Any, _: Any) -> HeadsObserver:
        (one,) = part.passes
        seen.append(one.measures[0])
        sides = Positions.for_kind(batch, plan.kind)
        return HeadsObserver(*sides, plan.kind, measures=one.measures)

    def to_dataset(part: StudyPlan[Encoded], state: State) -> xarray.Dataset:
        (one,) = part.passes
        return dataset(Outcome(plan, one, SurveySettings(), state.tally))

    return opening(run_plan)(plan, observe, to_dataset, progress=False, **more)


@pytest.mark.slow
def test_a_run_that_ends_between_passes_goes_on_with_the_second(tmp_path: Path) -> None:
    whole_seen: list[str] = []
    whole = two_passes(with_head("bert"), MASKED, whole_seen)
    assert whole["measure"].values.tolist() == ["gradient", "weight"]
    assert whole_seen == ["weight"] * 4 + ["gradient"] * 4

    class Broken(MaskedLanguageModel):
        def loss(self, output: Any, batch: Any) -> Any:
            raise Interruption

    broken = Broken(
        mask_id=3, vocabulary=len(VOCABULARY), special_ids=frozenset(range(4)), rate=0.3
    )
    with pytest.raises(Interruption):
        two_passes(with_head("bert"), broken, [], folder=RunFolder(path=tmp_path))
    assert not (tmp_path / "result.nc").exists()
    seen: list[str] = []
    resumed = two_passes(
        with_head("bert"), MASKED, seen, folder=RunFolder(path=tmp_path, resume=True)
    )
    assert seen == ["gradient"] * 4
    xarray.testing.assert_equal(resumed, whole)
    finished: list[str] = []
    again = two_passes(
        with_head("bert"), MASKED, finished, folder=RunFolder(path=tmp_path, resume=True)
    )
    xarray.testing.assert_identical(again, resumed)
    assert finished == []


@pytest.mark.slow
def test_another_objective_makes_another_study(tmp_path: Path) -> None:
    two_passes(with_head("bert"), MASKED, [], folder=RunFolder(path=tmp_path))
    resume = RunFolder(path=tmp_path, resume=True)
    with pytest.raises(RunError, match=r"other settings \(objective\)"):
        two_passes(with_head("bert"), replace(MASKED, seed=1), [], folder=resume)
    own = OwnObjective(lambda output, _: output.logits.sum((1, 2)), "own")
    with pytest.raises(RunError, match=r"other settings \(objective\)"):
        two_passes(with_head("bert"), own, [], folder=resume)


# The table of studies


@pytest.mark.slow
def test_settings_of_all_studies_need_no_torch() -> None:
    program = (
        "import sys\n"
        "from headlight.catalogue import studies\n"
        "for study in studies().values(): study.settings.explanations()\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
    )
    assert ran.stdout.strip() == "set()"


@pytest.mark.parametrize("name", studies())
def test_every_study_has_the_same_shape(name: str) -> None:
    study = studies()[name]
    unexplained = [field for field, words in study.settings.explanations().items() if not words]
    assert unexplained == []
    assert issubclass(study.settings, Settings)
    assert study.settings() == study.settings.from_mapping(study.settings().signature())
    parameters = inspect.signature(study.run).parameters
    assert list(parameters)[1:3] == ["model", "settings"]
    by_name = [each.name for each in parameters.values() if each.kind is each.KEYWORD_ONLY]
    common = {"objective", "folder", "command", "progress"}  # some have one of their own besides
    of_loss = study.name == "ablation"
    objective = ["objective"] if of_loss or issubclass(study.settings, MeasureSettings) else []
    assert [each for each in by_name if each in common] == [
        *objective,
        "folder",
        "command",
        "progress",
    ]


@needs_fork
@pytest.mark.parametrize("number", range(1, 6))
def test_a_pass_that_was_killed_as_it_began_leaves_nothing(tmp_path, number):
    OutputFolder(tmp_path).claim(["result.nc"])  # as a run does before it begins a pass
    killed(lambda: begin_pass(tmp_path, "inputs"), tmp_path, "any", number)
    with RunFolder(path=tmp_path, resume=True).opened() as mine:
        begin_pass(tmp_path, "inputs")
        mine.tidy()
    assert list(tmp_path.iterdir()) == []


def test_no_empty_folder_is_left_of_a_pass(tmp_path):
    """A kill may come between the removal of the checkpoint of a pass and that of its folder."""
    begin_pass(tmp_path, "inputs")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes.txt").write_text("kept")
    with RunFolder(path=tmp_path, resume=True).opened() as mine:
        mine.tidy()
    assert [path.name for path in tmp_path.iterdir()] == ["own"]
