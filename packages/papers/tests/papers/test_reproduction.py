"""Results of a reproduction are made once, kept, and made again only when something differs."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import xarray

from headlight import files
from headlight.engine.work_folders import MARK, prepare_work_folders
from headlight.errors import RunError, UnknownNameError, UsageError
from headlight.output_folder import RECORD
from headlight.reading.model import Model, load
from headlight.views.parts import Section
from headlight_papers.papers import NAMES, find_paper, find_settings
from headlight_papers.papers.brunner2020 import Settings as Brunner2020Settings
from headlight_papers.papers.brunner2020.contribution_results import load_contributions
from headlight_papers.papers.brunner2020.identity_maps import load_same_layer
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.clark2019 import MEASURES, Settings as Clark2019Settings
from headlight_papers.papers.clark2019.results import load_survey
from headlight_papers.papers.exhibit import ExhibitSpec, arrange, exhibits_of
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2020 import Settings as Kobayashi2020Settings
from headlight_papers.papers.kobayashi2020.norm_results import load_norms
from headlight_papers.papers.paper import Paper
from headlight_papers.papers.paper_page import reproduce
from headlight_papers.papers.reproduction import Reproduction, reproduction_folder
from headlight_papers.papers.settings import RESULTS, RUNS
from headlight_papers.papers.sources import SOURCES, Sources
from papers.material import folder_of_data, saved_model
from studies.models import tokenizer, transformer


def model(family: str) -> Model:
    return load(transformer(family), tokenizer(family))


def reproduction(folder: Path) -> Reproduction:
    return Reproduction(model("bert"), None, Sources(), Clark2019Settings(), folder)


@exhibits_of("A paper")("table-1", "Table 1", "dependency", title="Heads as parsers")
def table_1(_: Reproduction, writer: object) -> Section:
    return Section(explanation="How to read it.", notes=["One."])


class Maker:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, run: Path) -> xarray.Dataset:
        assert run.is_dir()
        self.calls += 1
        return xarray.Dataset({"value": float(self.calls)})


def test_a_result_is_made_once_and_found_again(tmp_path: Path) -> None:
    make = Maker()
    first = reproduction(tmp_path)
    assert float(first.keep("a", "survey", make)["value"]) == 1
    assert float(first.keep("a", "survey", make)["value"]) == 1
    assert float(reproduction(tmp_path).keep("a", "survey", make)["value"]) == 1
    assert make.calls == 1


def test_a_result_of_another_key_or_model_is_made_again(tmp_path: Path) -> None:
    make = Maker()
    reproduction(tmp_path).keep("a", "survey", make, text="one")
    reproduction(tmp_path).keep("a", "survey", make, text="another")
    reproduction(tmp_path).keep("a", "survey", make, text="another", seed=7)
    reproduction(tmp_path).keep("a", "survey", make, text="another", seed=7, model=model("llama"))
    assert make.calls == 4


def test_what_was_half_done_is_found_unless_it_was_with_another_key(tmp_path: Path) -> None:
    def interrupted(run: Path) -> xarray.Dataset:
        (run / "half").write_text("done")
        raise KeyboardInterrupt

    seen = []

    def make(run: Path) -> xarray.Dataset:
        seen.append((run / "half").exists())
        return xarray.Dataset()

    for seed in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            reproduction(tmp_path / str(seed)).keep("a", "survey", interrupted, seed=0)
        reproduction(tmp_path / str(seed)).keep("a", "survey", make, seed=seed)
    assert seen == [True, False]


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    make = Maker()
    reproduction(tmp_path).keep("a", "survey", make)
    (tmp_path / "results" / "a.nc").write_bytes(b"not a result")
    reproduction(tmp_path).keep("a", "survey", make)
    assert make.calls == 2


def test_what_was_half_done_is_removed_once_the_result_is_kept(tmp_path: Path) -> None:
    def make(run: Path) -> xarray.Dataset:
        (run / "checkpoint.safetensors").write_bytes(bytes(100))
        return xarray.Dataset()

    reproduction(tmp_path).keep("a", "survey", make)
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"a.nc", MARK}
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [MARK]


LOADERS = {
    "survey": (Clark2019Settings, load_survey),
    "norms": (Kobayashi2020Settings, load_norms),
    "attribution": (
        Brunner2020Settings,
        lambda each: load_contributions(each, find_pair_set(each)),
    ),
    "token_identity": (
        Brunner2020Settings,
        lambda each: load_same_layer(each, find_pair_set(each), "linear"),
    ),
}


FEW = {
    "max_examples": 2, "max_length": 24, "max_pairs": 12, "directions": 2, "exact_pairs": 1,
    "folds": 1, "solver": "ridge",
}  # fmt: skip
"""Each paper takes those that it has."""


@dataclass(frozen=True)
class Kept:
    """A folder with all results of `LOADERS`, and what they were made of."""

    model: Path
    data: Path
    folder: Path

    def load_all(self, chosen: dict[str, object], folder: Path) -> None:
        sources, model = Sources.found_in(self.data), load(self.model)
        for kind, result in LOADERS.values():
            settings = kind(**{name: chosen[name] for name in kind.hints() if name in chosen})
            result(Reproduction(model, None, sources, settings, folder, progress=False))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("material")
    model = saved_model(folder / "model", head=False)
    found = Kept(model, folder_of_data(folder / "data"), folder / "kept")
    found.load_all(FEW, found.folder)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "anew"),
    [
        ({"measures": ("weight", "norm")}, {"survey"}),
        pytest.param({"directions": 3}, {"attribution"}, marks=pytest.mark.long),
        pytest.param({"exact_pairs": 2}, {"attribution"}, marks=pytest.mark.long),
        pytest.param({"folds": 2}, {"token_identity"}, marks=pytest.mark.long),
        pytest.param({"max_examples": 3}, {"survey"}, marks=pytest.mark.long),
        ({"max_sentences": 3, "mlp_folds": 1, "overlap": 4, "invalid": "skip"}, set()),
        pytest.param({"max_pairs": 11}, {"attribution", "token_identity"}, marks=pytest.mark.long),
        pytest.param(
            {"seed": 1}, {"survey", "attribution", "token_identity"}, marks=pytest.mark.long
        ),
        ({}, set()),
    ],
    ids=lambda value: ",".join(sorted(value)),
)
def test_a_changed_setting_makes_anew_what_depends_on_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept, changes, anew
) -> None:
    asked = []
    keep = Reproduction.keep

    def counted(self, name, stage, make, **key):
        def told(run: Path) -> xarray.Dataset:
            asked.append(stage)
            return make(run)

        return keep(self, name, stage, told, **key)

    monkeypatch.setattr(Reproduction, "keep", counted)
    folder = shutil.copytree(kept.folder, tmp_path / "kept")
    kept.load_all(FEW | changes, folder)
    assert set(asked) == anew


def test_unknown_measures_and_exhibits_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="weight"):
        Clark2019Settings(measures=("wieght",))
    with pytest.raises(UnknownNameError, match="gradient"):
        Clark2019Settings(measures=("attribution",))
    with pytest.raises(UsageError, match="no measure"):
        Clark2019Settings(measures=())
    with pytest.raises(UsageError, match="folds must be at least 1"):
        Brunner2020Settings(folds=0)
    paper = Paper("clark2019", Clark2019Settings, "", (table_1,))
    assert paper.select(["table-1"]) == paper.select(None) == [table_1]
    with pytest.raises(UnknownNameError, match="table-1"):
        paper.select(["table-l"])
    with pytest.raises(UsageError, match="no exhibit"):
        paper.select([])


def test_settings_are_explained_where_they_are_declared() -> None:
    for name in NAMES:
        assert all(find_settings(name).explanations().values())
    assert all(Sources.explanations().values())
    assert Clark2019Settings().measures == MEASURES


def test_a_paper_sets_segment_ids_unless_somebody_else_does() -> None:
    assert Clark2019Settings().segment_ids == "zeros"
    assert Clark2019Settings(segment_ids="pair").segment_ids == "pair"
    assert Brunner2020Settings().segment_ids == "pair"


@pytest.mark.parametrize("name", NAMES)
def test_a_paper_takes_what_it_reads_and_no_more(headlight, name: str) -> None:
    """Every option is one of its settings, its sources or its models; help has no other."""
    taken = find_settings(name)
    assert {*taken.reads} <= {*Sources.hints()}
    needed = {need for spec in find_paper(name).exhibits for need in spec.needs}
    rows = SOURCES
    assert all(
        any(need in rows[source].needed_by for source in taken.reads)
        for need in needed & {use for row in rows.values() for use in row.needed_by}
    )
    code, said, _ = headlight("reproduce", name, "--help")
    assert code == 0
    options = set(re.findall(r"--([a-z-]+)", said)) - {"no-trust-remote-code"}
    for other in {*Sources.hints()} - {*taken.reads}:
        assert other.replace("_", "-") not in options
    for each in (*taken.reads, *taken.hints(), *taken.models):
        assert each.replace("_", "-") in options


def test_an_option_of_another_paper_is_refused(headlight) -> None:
    said = headlight.refused("reproduce", "brunner2020", "--max-words", "3", code=2)
    papers = "yang2020, jain2019, wiegreffe2019"
    assert f"brunner2020 does not take --max-words, an option of {papers}" in said


@pytest.mark.parametrize(
    ("paper", "option"),
    [
        ("brunner2020", "--compare"),
        *(
            ("kobayashi2020", f"--{name}")
            for name in ("model", "tokenizer", "translator", "translations", "gold", "links")
        ),
    ],
)
def test_what_is_not_there_is_refused_before_a_model_is_loaded(
    headlight, monkeypatch, tmp_path: Path, paper: str, option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headlight_papers.papers.reproduction.load_model", None)
    _, _, complained = headlight("reproduce", paper, option, "nowhere/none")
    assert "nowhere/none" in complained
    assert len(complained.splitlines()) == 1
    assert [*tmp_path.rglob("*.html")] == []


def test_without_a_paper_the_papers_are_listed_in_lines_of_their_own(headlight) -> None:
    code, said, _ = headlight("reproduce", "--list")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == [*NAMES]
    refusal = headlight.refused("reproduce", "--only", "table-1", code=2)
    assert all(name in refusal for name in NAMES)
    assert "\\n" not in refusal
    assert "'nope'" in headlight.refused("reproduce", "nope", code=2)


def test_options_may_stand_before_the_paper(headlight) -> None:
    code, said, _ = headlight("reproduce", "--out", "jain2019", "--list", "clark2019")
    assert code == 0
    assert "Heads as parsers" in said


def test_an_exhibit_says_its_name_once_and_what_it_lacks(tmp_path: Path) -> None:
    without = reproduction(tmp_path)
    assert "--dependency" in str(table_1.missing(without))
    without.sources = without.sources.replace(dependency=("x.conllu",))
    assert table_1.missing(without) is None
    made = table_1.create(without)
    assert isinstance(table_1, ExhibitSpec)
    assert (made.name, made.title, made.source) == (
        "table-1", "Heads as parsers", "A paper, Table 1",
    )  # fmt: skip
    assert (made.explanation, made.notes, made.files) == ("How to read it.", ["One."], [])


def test_results_of_before_are_neither_mixed_nor_lost(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with reproduction_folder(out).opened():
        reproduction(out).keep("a", "survey", Maker())
        with (
            pytest.raises(RunError, match="in use by another run"),
            reproduction_folder(out, overwrite=True).opened(),
        ):
            raise AssertionError("removed under a running process")
    with pytest.raises(UsageError, match="resume=True"):
        reproduction_folder(out).check_free()
    with reproduction_folder(out, resume=True).opened():
        assert (out / "results" / "a.nc").exists()
    with reproduction_folder(out, overwrite=True).opened():
        assert not (out / "results").exists()
        assert not (out / "runs").exists()
    with pytest.raises(UsageError, match="choose"):
        reproduction_folder(out, resume=True, overwrite=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="is a file"):
        reproduction_folder(tmp_path / "file").check_free()


def paper_of_two(second: Callable[[], Section]) -> Paper:
    def make(_: Reproduction, writer: object) -> Section:
        return Section(explanation="How to read it.")

    first = ExhibitSpec("table-1", "The first", "A paper, Table 1", make)
    other = ExhibitSpec("table-2", "The second", "A paper, Table 2", lambda *_: second())
    return Paper("ours", Clark2019Settings, "", (first, other))


def test_the_page_is_there_from_the_first_exhibit_on(tmp_path: Path) -> None:
    def interrupted() -> Section:
        page = (tmp_path / "index.html").read_text(encoding="utf-8")
        assert 'id="table-1"' in page
        assert "<dt>The second</dt><dd>Not made yet" in page
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(paper_of_two(interrupted), reproduction(tmp_path))
    page = reproduce(paper_of_two(lambda: Section(explanation="Later.")), reproduction(tmp_path))
    text = page.read_text(encoding="utf-8")
    assert 'id="table-2"' in text
    assert "Not made yet" not in text
    assert not list(tmp_path.rglob("*.partial"))


def test_weights_are_read_once_in_a_reproduction(tmp_path: Path, monkeypatch) -> None:
    read = []
    name = "headlight.capture.loaded_model.digest_of_weights"
    monkeypatch.setattr(name, lambda network: read.append(network) or "sha256:0")
    made = reproduction(tmp_path)

    def content() -> Section:
        for result in ("a", "b"):
            made.keep(result, "survey", Maker())
        return Section(explanation="")

    reproduce(paper_of_two(content), made)
    assert len(read) == 1
    made.keep("c", "survey", Maker())
    assert len(read) == 2  # between reproductions a model may be trained


def test_nothing_half_done_is_left_at_the_end(tmp_path: Path) -> None:
    prepare_work_folders(tmp_path, (RESULTS, RUNS))
    files.make_folder(tmp_path / "runs" / "shared" / "tokens")
    reproduce(paper_of_two(lambda: Section(explanation="")), reproduction(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"index.html", "results", RECORD}


def test_an_exhibit_is_named_by_its_docstring_and_its_paper() -> None:
    exhibit = exhibits_of("A paper", "text")

    @exhibit("figure-1", "Figure 1", "pairs")
    def figure(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
        """Heads that look back."""
        return Section()

    beyond = exhibit("more", "Beyond {}, after Section 2", title="More")(figure.make)
    assert (figure.title, figure.source) == ("Heads that look back", "A paper, Figure 1")
    assert figure.needs == ("text", "pairs")
    assert (beyond.title, beyond.source) == ("More", "Beyond A paper, after Section 2")
    module = ModuleType("of_a_paper")
    module.figure = figure
    ordered = arrange("more figure-1", module, beyond)
    assert [each.name for each in ordered] == ["more", "figure-1"]
