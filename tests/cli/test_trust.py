"""What a file of options, or the folder of a run that others wrote, can make Headlight do."""

import json
from pathlib import Path

import pytest
from typer.main import get_command

from capture.test_loading import plant, settle
from engine.test_workers import stop_before_the_result
from headlight.catalogue import studies
from headlight.cli.program import app
from headlight.cli.setting_options import options_of
from headlight.errors import UsageError
from headlight.reports.study_run import join_run
from studies.models import saved

pytestmark = pytest.mark.usefixtures("undrawn")

FOR_FILES = {
    *("source", "paper", "data", "only", "model", "tokenizer", "revision", "device", "dtype"),
    *("compare", "translator", "json", "listed", "resume", "name", "corpus_name"),
    "split_special_tokens",
}
"""Options that read, print, name, or go on with what the command line names."""


@pytest.fixture
def evil(tmp_path, monkeypatch) -> Path:
    """A model that comes with code, which says that it ran."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path))
    folder = saved("bert", tmp_path / "evil")
    plant(folder)
    settle(folder, model_type="own")
    return folder


@pytest.fixture
def corpus(tmp_path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(f"Line {place} is short." for place in range(10)))
    return path


def test_the_code_runs_if_the_command_line_says_so(headlight, evil, corpus, tmp_path):
    """So that the tests below prove something."""
    trusted = ("--model", evil, "--out", tmp_path / "out", "--trust-remote-code")
    assert headlight("survey", corpus, *trusted)[0] != 0  # it is no model
    assert (evil / "ran").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yaml", "model: {model}\ntrust_remote_code: true\n"),
        ("c.yaml", "model: {model}\ntrust-remote-code: 1\n"),
        ("c.yaml", "model: {model}\ntrust: {{remote-code: yes}}\n"),
        ("c.yaml", "model: {model}\ntrust: {{remote: {{code: true}}}}\n"),
        ("c.toml", 'model = "{model}"\ntrust_remote_code = true\n'),
        ("c.toml", 'model = "{model}"\n[trust]\nremote-code = true\n'),
        ("c.toml", 'model = "{model}"\n[trust.remote]\ncode = true\n'),
    ],
)
@pytest.mark.parametrize(
    "command",
    [("survey",), pytest.param(("reproduce", "clark2019"), marks=pytest.mark.papers)],
)
def test_no_file_lets_code_run(headlight, evil, tmp_path, name, text, command):
    (tmp_path / name).write_text(text.format(model=evil))
    out = tmp_path / "out"
    sentence = headlight.refused(*command, "--config", tmp_path / name, "--out", out, code=2)
    assert "trust_remote_code, which runs code" in sentence
    assert not (evil / "ran").exists()
    assert not out.exists()


@pytest.mark.parametrize(
    "text",
    ["out: other", "overwrite: true", "workers: join", "workers: ray://elsewhere:10001"],
)
def test_no_file_says_what_is_written_removed_or_started(headlight, corpus, tmp_path, text):
    (tmp_path / "c.yaml").write_text(text)
    out = tmp_path / "out"
    given = ("--config", tmp_path / "c.yaml", "--out", out)
    sentence = headlight.refused("survey", corpus, *given, code=2)
    name = text.partition(":")[0]
    assert f"sets {name}, which" in sentence
    assert f"--{name} on the command line" in sentence
    assert not out.exists()


@pytest.mark.papers
def test_of_every_option_it_is_decided_whether_a_file_may_set_it():
    """A new one that is no setting has to be looked at before it is put into one of the two."""
    from headlight.cli.config_file import ON_THE_COMMAND_LINE
    from headlight_papers.papers import NAMES, find_settings
    from headlight_papers.papers.sources import Sources

    commands = get_command(app).commands
    commands = {**commands, **commands["reproduce"].commands}
    of_settings = {
        **{name.replace("_", "-"): (study.settings,) for name, study in studies().items()},
        **{name: (Sources, find_settings(name)) for name in NAMES},
    }
    with_files = {
        name for name, each in commands.items() if any(one.name == "config" for one in each.params)
    }
    assert with_files == set(of_settings)
    for name, classes in of_settings.items():
        settings = {option.parameter().name for each in classes for option in options_of(each)}
        others = {each.name for each in commands[name].params} - settings - {"config"}
        assert others <= FOR_FILES | set(ON_THE_COMMAND_LINE)


@pytest.fixture
def poisoned(evil, corpus, tmp_path, monkeypatch) -> Path:
    """The folder of a shared run, as somebody else left it."""
    monkeypatch.setattr("headlight.engine.batch_runner.SHARD", 4)
    run = tmp_path / "run"
    stop_before_the_result([str(corpus), "--max-length", "16", "--no-passages", "--out", str(run)])
    with (run / "config.yaml").open("a") as file:
        file.write(f"model: {evil}\ntrust_remote_code: true\n")
    return run


@pytest.mark.slow
def test_merging_a_run_of_others_runs_no_code(headlight, poisoned, evil):
    before = {path for path in poisoned.rglob("*") if path.is_file()}
    assert "trust_remote_code, which runs code" in headlight.refused("merge", poisoned, code=2)
    assert not (evil / "ran").exists()
    assert {path for path in poisoned.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_joining_a_run_of_others_runs_no_code(headlight, poisoned, evil):
    join = ("--config", poisoned / "config.yaml", "--out", poisoned, "--workers", "join")
    assert "trust_remote_code, which runs code" in headlight.refused("survey", *join, code=2)
    assert not (evil / "ran").exists()


def test_what_a_worker_is_told_to_run_again_runs_no_code(evil, corpus, tmp_path):
    told = {"study": "survey", "source": str(corpus), "model": str(evil), "dtype": "float32"}
    with pytest.raises(UsageError, match="trust_remote_code"):
        join_run({**told, "trust_remote_code": True}, str(tmp_path / "run"), str(tmp_path))
    assert not (evil / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("study", [None, "serve", "--help", "../survey", 5])
def test_a_plan_of_no_study_is_not_merged(headlight, poisoned, study):
    plan = json.loads((poisoned / "plan.json").read_text())
    plan["signature"]["study"] = study
    (poisoned / "plan.json").write_text(json.dumps(plan))
    assert "which is no study" in headlight.refused("merge", poisoned)
