"""A model's identity: equal where the numbers are, other where anything that they need is."""

import json
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch

import architectures
from architectures import ARCHITECTURES
from headlight.capture import CapturedModel, attention_replaced, load_model
from headlight.capture.model_identity import digest_of_weights
from headlight.catalogue.embedded_models import EMBEDDED, EMBEDDED_NAME
from headlight.engine.folder import RunFolder
from headlight.errors import RunError, RunInterruptedError
from headlight.studies.survey import SurveySettings, study
from long_cases import mostly_long
from open_folders import opening
from studies.models import model as studied, saved, texts, tokenizer, transformer

CORPUS = texts(4, longest=8)


def test_the_same_model_made_twice_has_one_identity() -> None:
    first, second = (studied("bert") for _ in range(2))
    assert first.identity() == second.identity()
    assert all(value for value in first.identity().values())


def trained(model: CapturedModel) -> None:
    with torch.no_grad():
        next(model.transformer.parameters())[0, 0] += 1


def otherwise_normalised(model: CapturedModel) -> None:
    model.transformer.config.layer_norm_eps = 0.1


def other_words(model: CapturedModel) -> None:
    model.tokenizer.add_tokens(["headland"])


def shorter(model: CapturedModel) -> None:
    model.tokenizer.model_max_length = 9


def eager(model: CapturedModel) -> None:
    model.transformer.set_attn_implementation("eager")


def precise(model: CapturedModel) -> None:
    model.transformer.double()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (trained, "weights"),
        (otherwise_normalised, "configuration"),
        (other_words, "tokenizer"),
        (shorter, "tokenizer"),
        (eager, "attention_implementation"),
        (precise, "dtype"),
    ],
)
def test_what_numbers_depend_on_is_in_the_identity(
    change: Callable[[CapturedModel], None], part: str
) -> None:
    model = studied("bert")
    before = model.identity()
    change(model)
    after = model.identity()
    changed = {name for name in before if before[name] != after[name]}
    assert part in changed
    assert changed <= {part, "weights"}  # a precision is one of weights


def test_what_numbers_do_not_depend_on_is_not(tmp_path: Path) -> None:
    model = studied("bert")
    before = model.identity()
    model.tokenizer("a river", truncation=True, max_length=3, padding="max_length")
    model.transformer.config.name_or_path = "elsewhere"
    model.transformer.pooler.dense.weight.data += 1  # random in many checkpoints
    assert model.identity() == before
    with model.capture():
        assert model.identity() == before
    model.transformer.save_pretrained(tmp_path)
    again = CapturedModel(type(model.transformer).from_pretrained(tmp_path), model.tokenizer)
    after = again.identity()
    assert all(after[name] == before[name] for name in after.keys() - {"model", "revision"})


def test_weights_are_read_once_where_nobody_changes_them_and_else_every_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = []

    def counted(network: Any) -> str:
        read.append(network)
        return digest_of_weights(network)

    monkeypatch.setattr("headlight.capture.loaded_model.digest_of_weights", counted)
    model = studied("bert")
    with model.unchanged():
        promised = [model.identity() for _ in range(3)]
        with model.unchanged():
            promised.append(model.identity())
        promised.append(model.identity())
        with attention_replaced(model, {0: lambda weight, site: weight}):
            assert model.identity() != promised[0]
    assert promised == [model.identity()] * 5
    assert len(read) == 2
    trained(model)
    assert model.identity()["weights"] != promised[0]["weights"]


def test_no_two_replacements_of_attention_have_one_identity() -> None:
    model = studied("bert")
    identities = [model.identity()]
    for share in (0.5, 0.25):
        with attention_replaced(model, {0: lambda weight, site, share=share: weight * share}):
            identities.append(model.identity())
    named = [each["attention_implementation"] for each in identities]
    assert len(set(named)) == 3
    assert model.identity() == identities[0]


@pytest.mark.parametrize("row", [architectures.case(row) for row in ARCHITECTURES])
def test_every_model_has_an_identity_that_is_json(row: Any) -> None:
    model = row.build()
    identity = CapturedModel(model).identity()
    assert json.loads(json.dumps(identity)) == identity == CapturedModel(model).identity()


@pytest.mark.slow
def test_the_embedded_model_is_the_one_that_was_published() -> None:
    """A flipped bit in a file of weights shows in nothing else."""
    model = load_model(device="cpu")
    assert model.name == EMBEDDED_NAME
    assert model.revision == "sha256:d98f1e925b0154b0"
    assert load_model(EMBEDDED, device="cpu").revision == model.revision


def test_the_revision_of_a_model_of_the_hub_is_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "models--someone--tiny"
    saved("bert", repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    model = load_model("someone/tiny", device="cpu")
    assert (model.name, model.revision) == ("someone/tiny", commit)
    assert load_model("someone/tiny", device="cpu", revision=commit).revision == commit


def survey(folder: Path, model: CapturedModel) -> Any:
    settings = SurveySettings(measures=("weight",))
    place = RunFolder(path=folder, resume=True)
    return opening(study.run)(CORPUS, model, settings, folder=place, progress=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", mostly_long([trained, otherwise_normalised, other_words, eager], trained)
)
def test_a_finished_result_is_handed_back_for_the_same_model_only(
    change: Callable[[CapturedModel], None], tmp_path: Path
) -> None:
    survey(tmp_path, studied("bert"))
    again = survey(tmp_path, studied("bert"))
    assert again.attrs["stage"] == "survey"
    other = studied("bert")
    change(other)
    with pytest.raises(RunError, match="other settings"):
        survey(tmp_path, other)


@pytest.mark.slow
def test_a_model_of_the_callers_own_is_known_by_its_weights(tmp_path: Path) -> None:
    """Made by hand, it has no revision at all."""
    survey(tmp_path, CapturedModel(transformer("bert"), tokenizer("bert")))
    other = CapturedModel(transformer("bert"), tokenizer("bert"))
    trained(other)
    with pytest.raises(RunError, match=r"other settings \(weights\)"):
        survey(tmp_path, other)


@pytest.fixture
def unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A survey that was stopped after its first examples."""
    monkeypatch.setattr("headlight.engine.batch_runner.SHARD", 1)
    ran = []

    def run(model: CapturedModel, batch: Any, **options: Any) -> None:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(batch)
        normal(model, batch, **options)

    normal = CapturedModel.run
    with monkeypatch.context() as stopped:
        stopped.setattr(CapturedModel, "run", run)
        with pytest.raises(RunInterruptedError):
            survey(tmp_path, studied("bert"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("change", [trained, otherwise_normalised, other_words, eager])
def test_a_run_goes_on_with_the_same_model_only(
    change: Callable[[CapturedModel], None], unfinished: Path
) -> None:
    other = studied("bert")
    change(other)
    with pytest.raises(RunError, match=r"was \"\w.*\" and is now \"\w"):
        survey(unfinished, other)
    assert survey(unfinished, studied("bert")).attrs["examples"] == len(CORPUS)


@pytest.mark.slow
def test_a_run_does_not_go_on_with_other_libraries(
    unfinished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = metadata.version("torch")
    known = metadata.version
    versions = {"torch": "9.9"}
    with monkeypatch.context() as upgraded:
        upgraded.setattr(metadata, "version", lambda name: versions.get(name) or known(name))
        with pytest.raises(RunError, match=f'torch was "{re.escape(before)}" and is now "9.9"'):
            survey(unfinished, studied("bert"))
    survey(unfinished, studied("bert"))
    with monkeypatch.context() as upgraded:
        upgraded.setattr(metadata, "version", lambda name: versions.get(name) or known(name))
        finished = survey(unfinished, studied("bert"))  # handed back: nothing is mixed
    assert json.loads(finished.attrs["versions"])["torch"] == before
