"""The command line: what it says, what it refuses, and with which exit code."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas
import pytest
from typer.main import get_command

import headlight as headlight_in_python
from architectures import ARCHITECTURES, REFUSED
from headlight.catalogue import studies
from headlight.catalogue.questions import QUESTIONS
from headlight.cli.program import app
from headlight.cli.setting_options import SettingOption
from headlight.errors import CorpusError, UsageError
from headlight.result import load
from headlight.views import parse_page
from headlight.views.accessor import HeadlightAccessor
from own_models import own_model
from studies.command import done
from studies.models import saved, texts, tokenizer
from studies.processes import start
from tiny_models import Refused

pytestmark = pytest.mark.usefixtures("undrawn")

COMMANDS = sorted(get_command(app).commands)
OUTSIDE = [row for row in REFUSED if row.name in ("Longformer", "FNet", "Mamba")]


@pytest.fixture(scope="session")
def bert(tmp_path_factory) -> Path:
    return saved("bert", tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture
def corpus(tmp_path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(texts(5)))
    return path


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_examples(headlight, command):
    code, said, _ = headlight(command, "--help")
    assert code == 0
    assert "Examples" in said
    assert said.count(f"headlight {command}") > 1


def test_every_study_is_a_command():
    assert {name.replace("_", "-") for name in studies()} <= set(COMMANDS)


@pytest.mark.parametrize("name", studies())
def test_every_setting_is_an_option_and_is_explained(name):
    settings = studies()[name].settings
    assert all(settings.explanations().values())
    options = {
        option
        for each in get_command(app).commands[name.replace("_", "-")].params
        for option in each.opts
    }
    for field in settings.hints():
        flag = f"--{field.replace('_', '-')}"
        assert any(option == flag or option.startswith(f"{flag}-") for option in options)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_name_options_that_exist(name):
    command = get_command(app).commands[name]
    papers = [*getattr(command, "commands", {}).values()]
    for each in (command, *papers):
        made_of = (command, *papers) if each is command else (each,)
        known = {option for one in made_of for parameter in one.params for option in parameter.opts}
        used = {word for word in each.epilog.split() if word.startswith("--")}
        assert used or name == "merge"  # which has none
        assert used <= known | {"--help"}


def test_without_anything_it_shows_its_help(headlight):
    code, said, _ = headlight()
    assert code == 0
    for command in COMMANDS:
        assert command in said


def test_the_version(headlight):
    assert headlight("--version")[:2] == (0, "headlight 0.1.0\n")


# Refusals that need no model


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--nonsense"], "--nonsense"),
        (["read"], "give a text, --chat, --audio, or --image"),
        (["reed", "the sea"], "read"),
        (["read", "the sea", "--measure", "nrom"], "nrom"),
        (["read", "the sea", "--top", "0"], "--top"),
        (["survey", "--max-examples", "many"], "'--max-examples'"),
        (["survey", "--kind", "sideways"], "sideways"),
        (["survey", "--format", "lines"], "name a corpus"),
        (["survey", "--layers", "x"], "'x' is not a number"),
        (["survey", "--layers", "L3H2"], "L3H2 is head 2 of layer 3, and only layers are named"),
        (["survey", "--layers", "L9"], "no layer 9"),
        (["read", "the sea", "--heads", "L3H2"], "only heads are named here; write 2"),
        (["survey", "--layers", "3-1"], "the ends of 3-1 are reversed; write 1-3"),
        (["survey", "--layers", ""], "'' is not a number"),
        (["survey", "--layers", "0-99999999"], "is not a number"),
        (["survey", "--max-examples", "0"], "--max-examples must be at least 1"),
        (["survey", "--batch-tokens", "0"], "--batch-tokens must be at least 1"),
        (["survey", "--measures", "wait"], "no measure is called 'wait'"),
        (["survey", "--attribution-method", "exact"], "add attribution to --measures"),
        (
            ["survey", "--measures", "attribution", "--attribution-directions", "1"],
            "--attribution-directions must be at least 2",
        ),
        pytest.param(["aer"], "Missing argument", marks=pytest.mark.words),
        (["survey", "--sink-share", "2"], "--sink-share must be above 0 and at most 1"),
        (["survey", "--resume", "--overwrite"], "choose one"),
        (["read", "the sea", "--html", "sea.pdf"], "must end in .html"),
        (["read", "the sea", "--json", "nowhere/sea.json"], "there is no folder nowhere"),
        (["read", "the sea", "--layers", "1,,2"], "'' is not a number"),
        (["read", "the sea", "--attribution-method", "exact"], "choose --measure attribution"),
        (["read", "the sea", "--compare-text", "the sun"], "say where it goes with --html"),
        (["read", " \n"], "the text is empty"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_requests_are_refused_before_a_model_is_loaded(
    headlight, monkeypatch, tmp_path, arguments, part
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headlight.capture.load_model", None)
    assert part in headlight.refused(*arguments, code=2)
    assert files(tmp_path) == set()


def binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 8)


def latin(path: Path) -> None:
    path.write_bytes("Der Fluß trägt Sand.\n".encode("latin-1"))


def empty(path: Path) -> None:
    path.write_text("\n \n")


def broken_archive(path: Path) -> None:
    path.write_bytes(b"\x1f\x8b\x08\x00 this is no archive")


@pytest.mark.parametrize(
    ("name", "make", "options", "code", "part"),
    [
        ("missing.txt", None, (), 1, "there is no file or folder"),
        ("folder", Path.mkdir, (), 1, "holds no text files"),
        ("junk.txt", binary, (), 1, "binary data"),
        ("old.txt", latin, (), 1, "is not UTF-8"),
        ("empty.txt", empty, (), 1, "holds no text"),
        ("cut.txt.gz", broken_archive, (), 1, "cannot be read"),
        ("text.txt", latin, ("--format", "prose"), 2, "no format is called 'prose'"),
        ("text.txt", lambda p: p.write_text("a"), ("--column", "c"), 2, "has no columns"),
        ("table.csv", lambda p: p.write_text("a,b\n1,2\n"), ("--column", "c"), 1, "'c'"),
        ("lines.jsonl", lambda p: p.write_text("{oops\n"), (), 1, "lines.jsonl:1"),
    ],
)
def test_a_corpus_that_cannot_be_read_is_refused_before_a_model_is_loaded(
    headlight, monkeypatch, tmp_path, name, make, options, code, part
):
    monkeypatch.setattr("headlight.capture.load_model", None)
    path, out = tmp_path / name, tmp_path / "out"
    if make is not None:
        make(path)
    sentence = headlight.refused("survey", path, *options, "--out", out, code=code)
    assert part in sentence
    assert name in sentence or code == 2
    assert not out.exists()


@pytest.mark.slow
def test_a_missing_file_is_reported_without_importing_a_model_library(tmp_path):
    script = (
        "import sys\nfrom headlight.cli import main\n"
        f"sys.argv = ['headlight', 'survey', {str(tmp_path / 'missing.txt')!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    print('torch' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert said.stdout == "False\n"


# Refusals that need a model


def test_a_model_that_is_not_there(headlight, tmp_path, corpus):
    sentence = headlight.refused(
        "survey", corpus, "--model", tmp_path / "nothing", "--out", tmp_path / "out"
    )
    assert "nothing" in sentence
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("row", OUTSIDE, ids=lambda row: row.name)
@pytest.mark.parametrize("command", ["check", "read", "survey"])
def test_a_model_outside_the_attention_interface(
    headlight, tmp_path, corpus, row: Refused, command
):
    folder, out = tmp_path / "model", tmp_path / "out"
    row.build().save_pretrained(folder)
    tokenizer("llama").save_pretrained(folder)
    arguments = {
        "check": ("check", folder),
        "read": ("read", "the sea", "--model", folder, "--html", tmp_path / "sea.html"),
        "survey": ("survey", corpus, "--model", folder, "--out", out),
    }[command]
    assert "attention interface" in headlight.refused(*arguments)
    assert not out.exists()
    assert not (tmp_path / "sea.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt_neo", "xlnet"])
def test_a_model_with_attention_in_code_of_its_own(headlight, tmp_path, corpus, name):
    folder, page = tmp_path / "model", tmp_path / "sea.html"
    own_model(name).save_pretrained(folder)
    tokenizer("llama").save_pretrained(folder)
    _, said, _ = headlight("check", folder)
    assert said.startswith(f"Yes: {folder} can be read exactly (error ")
    assert headlight("read", "the sea", "--model", folder, "--html", page)[0] == 0
    assert "null" in page.read_text(encoding="utf-8")
    code, _, _ = headlight("survey", corpus, "--model", folder, "--out", tmp_path / "out")
    assert code == 0


@pytest.mark.slow
def test_layers_kinds_and_lengths_that_the_model_does_not_have(headlight, tmp_path, corpus, bert):
    def refused(*options):
        out = tmp_path / "out"
        sentence = headlight.refused(
            "survey", corpus, "--model", bert, "--out", out, *options, code=2
        )
        assert not out.exists()
        return sentence

    assert "no layer 9: its layers are 0 to 1" in refused("--layers", "9")
    assert "no decoder attention; it has: encoder" in refused("--kind", "decoder")
    assert "takes at most 64 tokens" in refused("--max-length", "65")
    assert "leaves no room" in refused("--max-length", "2")
    assert "--max-length must be at least 1" in refused("--max-length", "0")
    assert "--seed must be at least 0" in refused("--pairs", "--seed=-1")
    assert "there is no device 'abacus'" in refused("--device", "abacus")
    assert "no precision is called 'float23'" in refused("--dtype", "float23")


@pytest.mark.parametrize(
    "arguments", [("read", "the sea", "--layers", "9"), ("alternatives", "the sea", "--layer", "9")]
)
def test_layers_are_looked_up_before_weights_are_read(headlight, tmp_path, bert, arguments):
    without = tmp_path / "without"
    without.mkdir()
    (without / "config.json").write_bytes((bert / "config.json").read_bytes())
    sentence = headlight.refused(*arguments, "--model", without, code=2)
    assert "without has no layer 9: its layers are 0 to 1" in sentence


@pytest.mark.slow
def test_a_text_beside_another_on_one_page(headlight, tmp_path, bert):
    page = tmp_path / "both.html"
    compared = ("--compare-text", "the sun", "--compare-model", bert)
    code, said, _ = headlight("read", "the sea", "--model", bert, "--html", page, *compared)
    assert (code, f"written: {page}" in said) == (0, True)
    first, second = (parse_page(page.read_text(), second=which) for which in (False, True))
    assert (first.attrs["text"], second.attrs["text"]) == ("the sea", "the sun")
    assert first["weight"].shape == second["weight"].shape


@pytest.mark.slow
def test_texts_longer_than_the_model_takes(headlight, tmp_path, bert):
    long = "the sea " * 50
    corpus = tmp_path / "long.txt"
    corpus.write_text(f"the sea\n\n{long}\n\n{long}\n")
    page = tmp_path / "sea.html"
    read = headlight.refused("read", long, "--model", bert, "--html", page, code=2)
    assert read == "the text has 102 tokens, more than 64; shorten it."
    assert not page.exists()
    out = tmp_path / "out"
    survey = ("survey", corpus, "--model", bert, "--out", out)
    assert "long.txt:3" in headlight.refused(*survey, "--overflow", "error")
    assert not (out / "result.nc").exists()
    code, said, _ = headlight(*survey, "--overwrite")
    assert code == 0
    line = "3 documents, 132 tokens; 2 of 3 were cut at the limit of tokens: 63%"
    assert line in " ".join(said.split())
    result = load(out / "result.nc", stage="survey")
    assert (result.attrs["truncated"], result.attrs["tokens"]) == (2, 4 + 64 + 64)
    code, said, _ = headlight(*survey, "--overwrite", "--overflow", "split")
    assert "2 documents were longer than the limit of tokens" in said


@pytest.mark.slow
def test_pairs_of_documents_of_one_paragraph(headlight, tmp_path, bert):
    corpus, out = tmp_path / "prose.txt", tmp_path / "out"
    corpus.write_text("the sea is full\n\nthe mill is old\n\nthe town is near\n")
    pairs = ("survey", corpus, "--model", bert, "--out", out, "--pairs")
    said = headlight.refused(*pairs)
    assert "a pair needs a document of two paragraphs or more" in said
    assert "lines without a blank line between them" in said
    with pytest.raises(CorpusError, match="a document of two paragraphs or more"):
        headlight_in_python.survey(["the sea", "the mill"], model=bert, pairs=True, progress=False)
    corpus.write_text("the sea is full\nthe mill is old\n")
    _, said, _ = headlight(*pairs, "--max-length", "9")
    assert "cut at the limit" not in said  # that is how pairs are made


@pytest.mark.slow
def test_text_that_the_tokenizer_does_not_know(headlight, tmp_path, bert):
    corpus, out = tmp_path / "corpus.txt", tmp_path / "out"
    corpus.write_text("שלום עולם the sea\n\nпривет\n")
    code, said, _ = headlight("survey", corpus, "--model", bert, "--out", out)
    assert code == 0
    assert "3 of 9 tokens are unknown to the tokenizer" in said
    assert load(out / "result.nc", stage="survey").attrs["unknown"] == 3
    assert "note: 2 of 6 tokens are" in headlight("read", "the שלום עולם sea", "--model", bert)[2]
    assert headlight("read", "the sea", "--model", bert)[2] == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--layers", "0,9"), "no layer 9"),
        (("--out", "{used}"), "holds a run already"),
        (("--max-examples", "0"), "max-examples"),
        (("--measures", "wieght"), "weight"),
        (("--model", "{used}/nowhere"), "no folder"),
        (("survey", "--numbers", "ranks", "--frequency-ranks", "{used}/none.txt"), "none.txt"),
        *(
            pytest.param(*row, marks=pytest.mark.words)
            for row in (
                (("parser-probes", "--train", "{used}/none.conllu"), "none.conllu"),
                (("parser-probes", "--word-vectors", "{used}/none.vec"), "none.vec"),
            )
        ),
        pytest.param(
            ("attribution", "--tags", "upos"),
            "parts of speech are known of treebank sent",
            marks=pytest.mark.papers,
        ),
    ],
)
def test_cheap_mistakes_are_told_before_weights_are_loaded(
    headlight, tmp_path, corpus, bert, monkeypatch, options, said
):
    def unwanted(*_: object, **__: object) -> None:
        raise AssertionError("the weights were loaded")

    monkeypatch.setattr("headlight.capture.loading._model", unwanted)
    used = tmp_path / "used"
    used.mkdir()
    (used / "result.nc").write_bytes(b"there")
    treebank = used / "bank.conllu"
    treebank.write_text("1\tsea\tsea\tNOUN\t_\t_\t0\troot\t_\t_\n\n")
    given = [option.format(used=used) for option in options]
    study = "survey" if given[0].startswith("--") else given.pop(0)
    source = treebank if study == "parser-probes" else corpus
    model = () if "--model" in options else ("--model", bert)
    code, _, complained = headlight(study, source, *model, *given)
    assert code in (1, 2)
    assert said in complained


@pytest.mark.slow
def test_a_corpus_too_short_for_pairs_leaves_nothing_to_go_on_from(headlight, tmp_path, bert):
    corpus, out = tmp_path / "short.txt", tmp_path / "out"
    corpus.write_text("the sea\n")
    survey = ("survey", corpus, "--model", bert, "--out", out)
    assert "no example could be made" in headlight.refused(*survey, "--pairs")
    assert not out.exists()
    assert headlight(*survey)[0] == 0


# The folder of a survey


@pytest.fixture(scope="module")
def finished(tmp_path_factory, bert):
    """A folder with a corpus and the survey of it."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "corpus.txt").write_text("\n\n".join(texts(5)))
    done("survey", folder / "corpus.txt", "--model", bert, "--out", folder / "out")
    return folder


@pytest.fixture
def again(finished, headlight, tmp_path, bert):
    """A copy of it, and the command that made it."""
    shutil.copytree(finished / "out", tmp_path / "out")

    def survey(*options, code=0):
        arguments = ("survey", finished / "corpus.txt", "--model", bert, "--out", tmp_path / "out")
        if code:
            return headlight.refused(*arguments, *options, code=code)
        found, said, complained = headlight(*arguments, *options)
        assert found == 0, complained
        return said

    return SimpleNamespace(survey=survey, out=tmp_path / "out", corpus=finished / "corpus.txt")


@pytest.fixture
def died(again, monkeypatch):
    """The same, of a survey that died before its result was written."""

    class Death(BaseException):
        """Nothing catches it."""

    def die(*_: object) -> None:
        raise Death

    before = load(again.out / "result.nc", stage="survey")
    with monkeypatch.context() as patched:
        patched.setattr("headlight.engine.kept_results.save", die)
        with pytest.raises(Death):
            again.survey("--overwrite")
    assert not (again.out / "result.nc").exists()
    return SimpleNamespace(**vars(again), whole=before)


def not_again(*_: object) -> None:
    raise AssertionError("what was measured already is measured again")


@pytest.mark.slow
def test_what_a_survey_leaves(finished):
    found = files(finished / "out")
    tables = {name for name in found if name.startswith("tables/")}
    assert tables
    assert found - tables == {"report.html", "result.nc", "config.yaml", ".headlight"}


@pytest.mark.slow
@pytest.mark.parametrize("left", ["checkpoint.safetensors", "result.nc", "report.html"])
def test_what_is_there_is_not_replaced_unasked(again, left):
    (again.out / "checkpoint.safetensors").write_bytes(b"half")
    for name in {"checkpoint.safetensors", "result.nc", "report.html"} - {left}:
        (again.out / name).unlink()
    before = (again.out / left).read_bytes()
    sentence = again.survey(code=2)
    assert f"holds a run already ({left})" in sentence
    assert "--resume" in sentence
    assert "--overwrite" in sentence
    assert (again.out / left).read_bytes() == before


@pytest.mark.slow
def test_a_finished_survey_is_resumed_without_measuring(again, monkeypatch):
    before = (again.out / "result.nc").read_bytes()
    (again.out / "report.html").unlink()
    monkeypatch.setattr("headlight.engine.batch_runner.BatchRunner.__call__", not_again)
    assert "report.html" in again.survey("--resume")
    assert (again.out / "report.html").exists()
    assert (again.out / "result.nc").read_bytes() == before


@pytest.mark.slow
def test_a_survey_that_died_before_its_result_was_written(died, monkeypatch):
    monkeypatch.setattr("headlight.engine.batch_runner.BatchRunner.__call__", not_again)
    died.survey("--resume")
    before, after = died.whole, load(died.out / "result.nc", stage="survey")
    assert after.identical(before.assign_attrs({n: after.attrs[n] for n in ("created", "command")}))


@pytest.mark.slow
def test_resuming_with_other_settings_is_refused(again):
    before = files(again.out)
    assert "other settings (--max-length)" in again.survey("--resume", "--max-length", "9", code=1)
    assert files(again.out) == before


@pytest.mark.slow
def test_going_on_with_other_settings_is_refused(died):
    before = files(died.out)
    sentence = died.survey("--resume", "--max-length", "9", code=1)
    assert "--max-length was not set and is now 9" in sentence.replace("null", "not set")
    assert files(died.out) == before


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["again", "died"])
def test_resuming_on_another_corpus_is_refused(folder, request):
    kept = request.getfixturevalue(folder)
    corpus = kept.corpus.read_text()
    try:
        kept.corpus.write_text(f"{corpus}\n\nthe mill")
        assert "the corpus has changed" in kept.survey("--resume", code=1)
    finally:
        kept.corpus.write_text(corpus)


@pytest.mark.slow
def test_overwriting_begins_anew_and_leaves_other_files(again):
    (again.out / "notes.txt").write_text("mine")
    again.survey("--overwrite", "--max-examples", "2")
    assert load(again.out / "result.nc", stage="survey").attrs["examples"] == 2
    assert (again.out / "notes.txt").read_text() == "mine"


@pytest.mark.slow
def test_overwriting_does_not_touch_a_run_that_goes_on(again):
    import fcntl

    before = (again.out / "result.nc").read_bytes()
    with (again.out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "is in use by another run" in again.survey("--overwrite", code=1)
    assert (again.out / "result.nc").read_bytes() == before


@pytest.mark.slow
def test_a_result_of_another_version_or_damaged(again):
    import h5py

    with h5py.File(again.out / "result.nc", "r+") as file:
        file.attrs["format"] = "99"
    assert "in format 99" in again.survey("--resume", code=1)
    (again.out / "result.nc").write_bytes(b"nonsense")
    assert "no readable NetCDF file" in again.survey("--resume", code=1)
    (again.out / "result.nc").unlink()
    (again.out / "checkpoint.safetensors").write_bytes(b"nonsense")
    assert "no record of writing it" in again.survey("--resume", code=1)


def test_an_out_that_is_a_file_or_cannot_be_made(headlight, tmp_path, corpus, bert):
    survey = ("survey", corpus, "--model", bert, "--out")
    assert "is a file" in headlight.refused(*survey, corpus)
    assert "a part of that path is a file" in headlight.refused(*survey, corpus / "out")
    assert files(tmp_path) == {"corpus.txt"}


@pytest.mark.slow
def test_a_read_only_out(headlight, monkeypatch, tmp_path, corpus, bert):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("headlight.files._write_through", refuse)
    out = tmp_path / "out"
    sentence = headlight.refused("survey", corpus, "--model", bert, "--out", out)
    assert "may not be written to" in sentence
    assert not out.exists()


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system that holds a checkpoint, but no report."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if mount is None or os.geteuid() != 0 or subprocess.run(command, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full(headlight, tiny_disk, corpus, bert):
    sentence = headlight.refused("survey", corpus, "--model", bert, "--out", tiny_disk)
    assert "the disk is full" in sentence
    assert not [name for name in files(tiny_disk) if "partial" in name]


# The configuration of a run


@pytest.mark.slow
def test_a_run_is_repeated_by_its_configuration(finished, headlight, tmp_path, bert):
    config = tmp_path / "config.yaml"
    config.write_text((finished / "out" / "config.yaml").read_text())
    out = tmp_path / "again"
    code, _, complained = headlight("survey", "--config", config, "--out", out)
    assert code == 0, complained
    first, again = (load(each / "result.nc", stage="survey") for each in (finished / "out", out))
    assert again.equals(first)
    assert again.attrs["settings"] == first.attrs["settings"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(
            "c.toml", 'max-examples = 2\nmeasures = ["weight", "attribution"]\nlayers = [1]\n'
            'pairs = false\n[attribution]\ndirections = 4\n', marks=pytest.mark.long,
        ),
        ("c.yaml", "max_examples: 2\nmeasures: [weight, attribution]\nlayers: 1\nkind: null\n"
         "pairs: false\nattribution: {directions: 4}\n"),
    ],
)  # fmt: skip
def test_options_from_a_file(headlight, tmp_path, corpus, bert, name, text):
    (tmp_path / name).write_text(text)
    out = tmp_path / "out"
    survey = ("survey", corpus, "--model", bert, "--out", out, "--config", tmp_path / name)
    assert headlight(*survey)[0] == 0
    result = load(out / "result.nc", stage="survey")
    assert result.attrs["examples"] == 2
    assert result["measure"].values.tolist() == ["weight", "attribution"]
    assert result["layer"].values.tolist() == [1]
    assert json.loads(result.attrs["settings"])["attribution"]["directions"] == 4
    assert headlight(*survey, "--overwrite", "--max-examples", "1")[0] == 0
    assert load(out / "result.nc", stage="survey").attrs["examples"] == 1


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("c.toml", "max-exmples = 2", "Did you mean 'max_examples'"),
        ("c.toml", "max-examples 2", "is no TOML"),
        ("c.yaml", "a: b: c", "is no YAML"),
        ("c.yaml", "- 1", "holds no options"),
        ("c.yaml", "0", "holds no options"),
        ("c.yaml", f"seed: {'9' * 5000}", "is no YAML"),
        ("c.toml", f"seed = {'9' * 5000}", "is no TOML"),
        ("c.yaml", "seed: 2020-99-99", "is no YAML"),
        ("c.yaml", "[" * 1000, "is no YAML"),
        ("c.yaml", "attribution: &a {attribution: *a}", "repeats a value by its name"),
        ("c.yaml", "layers: [[1]]", "layers is a list of lists"),
        ("c.yaml", "max_examples: many", "--max-examples"),
        ("c.yaml", "measures: wait", "no measure is called 'wait'"),
        ("missing.yaml", None, "cannot be read"),
    ],
)
def test_a_file_of_options_that_is_wrong(headlight, tmp_path, name, text, part):
    if text is not None:
        (tmp_path / name).write_text(text)
    out = tmp_path / "out"
    sentence = headlight.refused("survey", "--config", tmp_path / name, "--out", out, code=2)
    assert part in sentence
    assert not out.exists()


@pytest.mark.slow
def test_a_summary_for_machines(headlight, tmp_path, corpus, bert):
    out = tmp_path / "out"
    code, said, _ = headlight(
        "survey", corpus, "--model", bert, "--numbers", "ranks", "--out", out, "--json"
    )
    assert code == 0
    found = json.loads(said)
    assert found["stage"] == "survey"
    assert found["examples"] == 5
    assert found["folder"] == str(out)
    assert -1 <= found["summary"]["spearman_other"] <= 1


# What goes well


@pytest.mark.slow
@pytest.mark.parametrize("name", studies())
def test_every_study_leaves_a_page_and_tables(study_runs, name):
    out, result = study_runs.folder(name), study_runs.result(name)
    page = (out / "report.html").read_text()
    assert page.startswith("<!")
    assert result.attrs["title"] in page
    shown = HeadlightAccessor(result)
    for table in shown.tables:
        written = pandas.read_csv(out / "tables" / f"{table}.csv")
        assert written.shape == shown.table(table).shape
    assert all(shown.plot(each) is not None for each in shown.plots)
    assert all({"long_name", "units"} <= set(each.attrs) for each in result.data_vars.values())


def test_check_of_a_model_that_is_supported(headlight, bert):
    code, said, complained = headlight("check", bert)
    assert (code, complained) == (0, "")
    assert "2 attention modules; Eq. 3" in said
    assert "the parts add up to what leaves the layer, to " in said


def test_check_says_of_which_layers_the_whole_cannot_be_had(headlight, tmp_path):
    next(row for row in ARCHITECTURES if row.name == "MobileBERT").build().save_pretrained(tmp_path)
    code, said, complained = headlight("check", str(tmp_path))
    assert (code, complained) == (0, "")
    assert said.count("Measures of the whole layer cannot be had: encoder.layer.") == 2


def test_eighty_columns_hold_the_modules_of_bert(headlight, monkeypatch, bert):
    monkeypatch.setenv("COLUMNS", "80")
    _, *lines, _, _, _ = headlight("check", bert)[1].splitlines()  # the others are sentences
    assert max(map(len, lines)) <= 80
    (row,) = [line for line in lines if "encoder.layer.*.attention.self " in line]
    assert row.startswith("encoder 0–1 ")


def test_reading_offers_only_measures_that_it_has(headlight):
    (option,) = (
        each for each in get_command(app).commands["read"].params if each.name == "measure"
    )
    assert "merged_norm" in option.help
    assert "gradient" not in option.help
    said = headlight.refused("read", "the sea", "--measure", "gradient", code=2)
    assert "no measure is called 'gradient'" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reed"], "No such command 'reed'. Did you mean 'read'? See --help."),
        (
            ["survey", "--max-examples", "x"],
            "Invalid value for '--max-examples': a whole number is needed; see --help.",
        ),
        (
            ["survey", "--kind", "foo"],
            "Invalid value for '--kind': 'foo' is not one of 'encoder', 'decoder', 'cross', 'all'; "
            "see --help.",
        ),
        (
            ["read", "the sea", "--top", "0"],
            "Invalid value for '--top': it must be at least 1; see --help.",
        ),
    ],
)
def test_refusals_of_the_parser_are_sentences(headlight, arguments, said):
    assert headlight.refused(*arguments, code=2) == said


@pytest.mark.slow
def test_reading_writes_every_kind_of_file(headlight, tmp_path, bert):
    paths = [tmp_path / f"sea.{suffix}" for suffix in ("html", "json", "nc")]
    code, said, complained = headlight(
        "read", "the sea.", "the mill", "--model", bert, "--layers", "1",
        "--html", paths[0], "--json", paths[1], "--out", paths[2],
    )  # fmt: skip
    assert (code, complained) == (0, "")
    assert files(tmp_path) == {path.name for path in paths}
    assert said.count("written: ") == 3
    assert paths[0].read_text().startswith("<!")
    assert json.loads(paths[1].read_text())
    reading = load(paths[2], stage="reading")
    assert list(reading["layer"].values) == [1]
    assert list(reading["query_token"].values) == [
        "<s>", "the", "sea", ".", "</s>", "the", "mill", "</s>"
    ]  # fmt: skip
    assert reading.attrs["command"].startswith("headlight read 'the sea.'")


def test_reading_standard_input(headlight, monkeypatch, tmp_path, bert):
    def given(text: bytes):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        return ("read", "-", "--model", bert, "--json", tmp_path / "sea.json")

    assert headlight(*given(b"the sea\n"))[0] == 0
    assert '"the sea"' in (tmp_path / "sea.json").read_text()
    assert "not UTF-8" in headlight.refused(*given(b"\xff\xfe"), code=2)
    assert "the text is empty" in headlight.refused(*given(b"\n"), code=2)


@pytest.mark.slow
def test_surveying_standard_input(headlight, monkeypatch, tmp_path, bert):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the sea\n\nthe mill\n")))
    assert headlight("survey", "-", "--model", bert, "--out", tmp_path / "out")[0] == 0
    assert load(tmp_path / "out" / "result.nc", stage="survey").attrs["examples"] == 2


@pytest.mark.slow
def test_file_names_that_are_not_text(headlight, tmp_path, bert):
    corpus = Path(os.fsdecode(os.fsencode(tmp_path) + b"/corpus\xff.txt"))
    corpus.write_text("the sea\n")
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/out\xff"))
    code, said, complained = headlight("survey", corpus, "--model", bert, "--out", out)
    assert code == 0, complained
    assert "out\ufffd/report.html" in said
    assert "corpus\ufffd.txt" in load(out / "result.nc", stage="survey").attrs["command"]


@pytest.mark.long
def test_a_reader_that_goes_away_is_no_error(tmp_path, bert):
    page = tmp_path / "sea.html"
    process = start("read", "the sea " * 20, "--model", bert, "--html", page, "--top", "9")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    complained = process.stderr.read()
    assert process.wait(timeout=120) in (1, 141)
    assert all(line.endswith(" …") for line in complained.splitlines()), complained
    assert page.exists()  # files come first


def test_lists_as_people_write_them():
    def parsed(value, hint):
        return SettingOption(("layers",), hint, None, "").parsed(value)

    assert parsed("0, 3-5,4", tuple[int, ...] | None) == [0, 3, 4, 5]
    assert parsed("-1,0,1", tuple[int, ...]) == [-1, 0, 1]
    assert parsed("1e-3,0.5", tuple[float, ...]) == [0.001, 0.5]
    assert parsed("weight, norm", tuple[str, ...]) == ["weight", "norm"]
    for wrong, hint in (("1-", tuple[int, ...]), ("much", tuple[float, ...])):
        with pytest.raises(UsageError, match=r"--layers .* is not a number"):
            parsed(wrong, hint)


@pytest.mark.long
def test_a_tokenizer_is_named_for_a_model_without_one(headlight, bert, corpus, tmp_path):
    bare = tmp_path / "bare"
    shutil.copytree(bert, bare)
    for path in bare.glob("tokenizer*"):
        path.unlink()
    code, _, error = headlight("read", "the sea", "--model", bare)
    assert code == 2
    assert "name one with --tokenizer" in error
    assert headlight("read", "the sea", "--model", bare, "--tokenizer", bert)[0] == 0
    out, again = tmp_path / "out", tmp_path / "again"
    options = ("--model", bare, "--tokenizer", bert, "--measures", "weight")
    assert headlight("survey", corpus, *options, "--out", out)[0] == 0
    assert headlight("survey", "--config", out / "config.yaml", "--out", again)[0] == 0
    assert load(again / "result.nc").equals(load(out / "result.nc"))


@pytest.mark.long
def test_a_file_of_one_sentence_a_line(headlight, tmp_path, bert):
    corpus, out = tmp_path / "lines.txt", tmp_path / "out"
    corpus.write_text("".join(f"the {'sea ' * (n % 5)}is full.\n" for n in range(30)))
    survey = ("survey", corpus, "--model", bert, "--out", out, "--max-length", "8")
    said = headlight(*survey)[1]
    assert "reading lines.txt. 30 documents, " in " ".join(said.split())
    assert "Each line was read as a text, since no line is blank; --format paragraphs" in (
        " ".join(said.split())
    )
    said = headlight(*survey, "--overwrite", "--format", "paragraphs")[1]
    assert "1 document, 8 tokens; 1 of 1 was cut" in " ".join(said.split())
    assert "Each line" not in said
    said = headlight(*survey, "--overwrite", "--format", "lines")[1]
    assert "reading lines.txt. 30 documents, " in " ".join(said.split())
    assert "Each line" not in said


@pytest.mark.long
def test_what_is_joined_or_left_out_is_said(headlight, tmp_path, bert):
    """A few texts, one a line, would be one text: that is said where one looks, and how not."""
    few, rows = tmp_path / "few.txt", tmp_path / "rows.jsonl"
    few.write_text("the sea is full.\nthe mill is old.\n")
    rows.write_text('{"text": "the sea"}\n{"text": null}\n{"text": "a mill\\n\\nthe sea"}\n')
    survey = ("--model", bert, "--measures", "weight")
    said = " ".join(headlight("survey", few, *survey, "--out", tmp_path / "a")[1].split())
    assert "The document is of several lines (2 in all), which were joined by blanks; " in said
    assert "--format lines reads each line as a text, --format raw a file with its line" in said
    for options in ((), ("--resume",)):
        out = ("--out", tmp_path / "b", *options)
        said = " ".join(headlight("survey", rows, *survey, *out)[1].split())
        assert "1 document is of several paragraphs, which were joined by blanks." in said
        assert "1 document is blank, and left out." in said
    for name, options in {"raw": ("--format", "raw"), "pairs": ("--pairs",)}.items():
        code, said, _ = headlight("survey", few, *survey, *options, "--out", tmp_path / name)
        assert code == 0
        assert "joined by blanks" not in said


def test_a_table_of_one_line_has_a_header_alone(headlight, tmp_path):
    (tmp_path / "hello.txt").write_text("Hello there.\n")
    said = headlight.refused("survey", tmp_path / "hello.txt", "--format", "csv")
    assert "holds no text" in said
    assert "The first line of a table is taken as its header" in said


@pytest.mark.slow
def test_of_a_part_of_a_result_there_is_no_table(study_runs):
    result = study_runs.result("survey")
    assert len(result.sel(layer=[1]).headlight.table())
    with pytest.raises(UsageError, match=r"one layer was chosen .* sel\(layer=\[...\]\)"):
        result.sel(layer=1).headlight.table()


WRITTEN = {"html": ".html", "json": ".json", "csv": ".csv", "out": ".nc"}
ONE_TEXT = [row.name for row in QUESTIONS.values() if row.is_command]


@pytest.mark.parametrize("command", ONE_TEXT)
def test_names_that_no_file_can_have_are_refused_before_a_model_is_loaded(headlight, command):
    asked = {each.name for each in get_command(app).commands[command].params}
    for option in asked & WRITTEN.keys():
        place = "n" * 300 + WRITTEN[option]
        needed = {"sources": ["--context", "a"], "patch": ["--compare-text", "a c"]}
        sentence = headlight.refused(
            *(command, "a b", *needed.get(command, [])),
            *(f"--{option}", place, "--model", "/nonexistent"),
            code=2,
        )
        assert sentence == (
            f"{place} cannot be written: the name is too long; choose a shorter one."
        )


@pytest.mark.parametrize("option", ["--audio", "--image"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "nothing"])
def test_what_is_no_file_is_refused_before_a_model_is_loaded(headlight, option, kind, tmp_path):
    place = tmp_path / "place.wav"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    sentence = headlight.refused("read", option, place, "--model", "/nonexistent", code=2)
    what = {"--audio": "audio file", "--image": "picture"}[option]
    sentences = {
        "pipe": f"{place} cannot be read: it is a pipe or a device; give a file.",
        "folder": f"{place} cannot be read: it is a folder; give a file.",
        "nothing": f"there is no {what} '{place}'; correct its path.",
    }
    assert sentence == sentences[kind]


def test_a_file_that_vanishes_is_no_traceback(headlight, monkeypatch, tmp_path):
    def vanish(*_, **__):
        (tmp_path / "gone").stat()

    monkeypatch.setattr("headlight.cli.program.app", vanish)
    assert headlight.refused("status", tmp_path).startswith(f"{tmp_path / 'gone'} cannot be used: ")


@pytest.mark.parametrize(
    "asked",
    [
        ("survey", "corpus.txt"),
        ("compare", "one", "two"),
        pytest.param(("reproduce", "clark2019"), marks=pytest.mark.papers),
    ],
    ids=lambda asked: asked[0],
)
def test_nothing_is_written_between_the_files_of_others(headlight, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("The cat sat.")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    sentence = headlight.refused(*asked, "--out", "mine", code=2)
    assert sentence == (
        "mine holds something already, and no run; choose another folder with --out, or write "
        "into it with --overwrite, which removes and replaces none of it."
    )
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["notes.txt"]
