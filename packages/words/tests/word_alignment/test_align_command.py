"""`headlight align` as a user meets it."""

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import example_data
import headlight
from example_data import TRANSLATIONS
from headlight.errors import RunError, UsageError
from headlight.measures import Scores
from headlight_words.corpora import TranslationPair
from headlight_words.links import open_links
from headlight_words.word_alignment import AlignerSettings
from headlight_words.word_alignment.aligner import Aligner, encode
from headlight_words.word_alignment.directions import choose_layer
from headlight_words.word_alignment.output import LinkFile
from studies.command import Command
from translators import FAMILIES

SETTINGS = ("--layer", "1", "--null", "exclude")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    example_data.pairs_and_links(folder)
    FAMILIES["marian"].saved(folder / "model", tie_word_embeddings=True)
    FAMILIES["marian"].model(head=True).transformer.save_pretrained(folder / "model")
    return folder


@pytest.mark.slow
def test_a_line_for_a_line_and_nothing_else(headlight: Command, data: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("das haus ||| the house\n\n ||| nothing\nklein ||| small\n")
    code, said, complained = headlight("align", pairs, "--model", data / "model", *SETTINGS)
    assert code == 0
    lines = said.split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, False]
    assert complained == "note: 2 pairs without words on a side, and without links.\n"
    assert set(lines[3].split()) == {"0-0"}


def test_one_pair_can_be_given_itself(headlight: Command, data: Path) -> None:
    asked = ("align", "das haus ||| the house", "--model", data / "model", *SETTINGS)
    code, said, _ = headlight(*asked, "--output-format", "jsonl", "--scores")
    assert code == 0
    found = json.loads(said)
    assert (found["source"], found["target"]) == (["das", "haus"], ["the", "house"])
    assert all(0 <= score <= 1 for _, _, score in found["scores"])
    assert {target for _, target in found["links"]} == {0, 1}


def test_standard_input_is_two_texts_between_bars(
    headlight: Command, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"haus ||| house\n")))
    assert headlight("align", "-", "--model", data / "model", *SETTINGS)[:2] == (0, "0-0\n")


@pytest.mark.slow
def test_the_layer_that_is_used_is_told(headlight: Command, data: Path) -> None:
    _, _, complained = headlight("align", data / "test.de-en", "--model", data / "model")
    assert complained.startswith("note: layer ")
    assert "agrees best with what predictions lose" in complained
    assert "no gold is looked at" in complained
    assert "AER" not in complained


def test_a_layer_of_a_model_without_predictions_is_chosen_by_its_norms() -> None:
    made = FAMILIES["marian"].model()
    pairs = [TranslationPair("a:1", source, target) for source, target, _ in TRANSLATIONS]
    choice = choose_layer(made, AlignerSettings(), pairs)
    norms = {}
    for pair in pairs:
        (example,) = encode(made, [pair], AlignerSettings())
        with made.capture(made.sites_of("cross")) as recorder:
            recorder.visit = lambda record: norms.setdefault(record.site.layer, []).append(
                float(Scores(record).merged_norm.mean())
            )
            made.run(made.collate([example]))
    means = {layer: sum(found) / len(found) for layer, found in norms.items()}
    assert choice.layer == max(means, key=lambda layer: means[layer])
    assert "mean norm is the highest" in choice.reason
    with pytest.raises(UsageError, match="name a layer"):
        choose_layer(made, AlignerSettings(step="output"), pairs)
    assert choose_layer(made, AlignerSettings(), [TranslationPair("a:1", "", "")]).layer == 0


@pytest.mark.slow
def test_the_layer_is_the_one_that_agrees_with_what_predictions_lose() -> None:
    made = FAMILIES["marian"].model(head=True)
    pairs = [TranslationPair("a:1", source, target) for source, target, _ in TRANSLATIONS]
    choice = choose_layer(made, AlignerSettings(), pairs)
    reader = headlight.Model(made.transformer, made.tokenizer, made.name)
    judge = [a.links for a in reader.align(pairs, measure="difference")]
    rates = {}
    for layer in (0, 1):
        found = [a.links for a in Aligner(made, AlignerSettings(layer=layer)).align(pairs)]
        counts = [
            (len(one), len(other), len(one & other))
            for one, other in zip(judge, found, strict=True)
        ]
        all_of_one, all_of_other, common = map(sum, zip(*counts, strict=True))
        rates[layer] = 1 - 2 * common / (all_of_one + all_of_other)
    assert rates[choice.layer] == min(rates.values())
    assert f"{rates[choice.layer]:.1%}" in choice.reason
    chosen = [a.links for a in Aligner(made, AlignerSettings(layer=choice.layer)).align(pairs)]
    assert [a.links for a in reader.align(pairs)] == chosen


@pytest.mark.slow
def test_two_directions_are_put_together(headlight: Command, data: Path, tmp_path: Path) -> None:
    found = {}
    for method in ("intersection", "union"):
        out = tmp_path / method
        code, _, complained = headlight(
            "align", data / "test.de", data / "test.en", "--model", data / "model",
            "--reverse-model", data / "model", "--symmetrize", method, "--out", out,
        )  # fmt: skip
        assert code == 0, complained
        assert "agrees best" in complained
        found[method] = [links.sure for links in open_links(out)]
    for both, either in zip(found["intersection"], found["union"], strict=True):
        assert both <= either


@pytest.mark.slow
def test_a_page_shows_the_first_pairs(headlight: Command, data: Path, tmp_path: Path) -> None:
    page = tmp_path / "soft.html"
    code, said, _ = headlight(
        "align", data / "test.de", data / "test.en", "--model", data / "model", *SETTINGS,
        "--html", page, "--gold", data / "gold.talp", "--out", tmp_path / "links.txt",
    )  # fmt: skip
    assert code == 0
    assert said.startswith(f"written: {page}\n")
    text = page.read_text()
    scored = headlight("aer", data / "gold.talp", tmp_path / "links.txt", "--json")[1]
    (score,) = json.loads(scored)["files"]
    low, high = score["intervals"]["error_rate"]
    assert (low, high) == (None, None)  # so few pairs have no interval
    rate = f"{score['error_rate']:.1%}"
    number = len(example_data.TRANSLATIONS)
    assert re.search(rf"AER by the gold links, \w+, {number} pairs: {re.escape(rate)}\n", said)
    assert re.search(
        rf"<dt>AER by the gold links, \w+, {number} pairs</dt><dd>{re.escape(rate)}</dd>", text
    )
    assert "Pair 1: " in text
    assert text.count("data:image/svg+xml") == len(example_data.TRANSLATIONS)
    assert "The gold links are framed" in text


@pytest.mark.slow
def test_the_layer_of_page_and_file_is_chosen_once(
    headlight: Command, data: Path, tmp_path: Path
) -> None:
    out, page = tmp_path / "links.txt", tmp_path / "soft.html"
    asked = ("align", data / "test.de-en", "--model", data / "model")
    code, said, complained = headlight(*asked, "--out", out, "--html", page)
    assert (code, said) == (0, f"written: {page}\nwritten: {out}\n")
    assert complained.count("is used: it agrees best") == 1
    assert headlight(*asked)[1] == out.read_text()


def test_measures_of_the_input_need_no_layer(headlight: Command, data: Path) -> None:
    asked = ("align", data / "test.de-en", "--model", data / "model", "--measure", "difference")
    code, said, complained = headlight(*asked)
    assert (code, complained) == (0, "")
    assert said.count("\n") == len(example_data.TRANSLATIONS)
    assert "has no layers" in headlight.refused(*asked, "--layer", "0", code=2)


@pytest.mark.slow
def test_an_interrupted_file_is_gone_on_with(
    headlight: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is kept after every pair here; the same file in the end, and nothing beside it."""
    monkeypatch.setattr("headlight_words.word_alignment.output.EVERY", 1)
    monkeypatch.setattr("headlight_words.word_alignment.aligner.WINDOW", 1)
    asked = ("align", data / "test.de-en", "--model", data / "model", *SETTINGS)
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert headlight(*asked, "--out", whole)[0] == 0

    def stop(aligner: object, window: list[object], *, seen: list[int] = []) -> list[object]:  # noqa: B006
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return original(aligner, window)

    original = Aligner._align_window
    with monkeypatch.context() as patched:
        patched.setattr(Aligner, "_align_window", stop)
        assert headlight(*asked, "--out", out)[0] != 0
    assert not out.exists()
    assert "half done" in headlight.refused(*asked, "--out", out, code=2)
    other = ("--step", "output")
    assert "other settings" in headlight.refused(*asked, *other, "--out", out, "--resume", code=1)
    assert headlight(*asked, "--out", out, "--resume")[0] == 0
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "whole"]
    assert "is there already" in headlight.refused(*asked, "--out", out, code=2)
    assert headlight(*asked, "--out", out, "--overwrite")[0] == 0


def test_what_is_not_a_state_is_refused(tmp_path: Path) -> None:
    file = LinkFile(tmp_path / "links", {"a": 1}, resume=True)
    file.partial.write_text("0-0\n")
    file.state.write_text("nonsense")
    with pytest.raises(RunError, match="cannot be read"), file.opened():
        pass
    with pytest.raises(UsageError, match="there is no folder"):
        LinkFile(tmp_path / "none" / "links", {}).check_free()
    with pytest.raises(UsageError, match="choose one of the two"):
        LinkFile(tmp_path / "links", {}, resume=True, overwrite=True).check_free()


@pytest.mark.slow
def test_wrong_requests(headlight: Command, data: Path, tmp_path: Path) -> None:
    pairs, model = data / "test.de-en", data / "model"
    refused = headlight.refused
    assert "no cross layer 7" in refused("align", pairs, "-m", model, "--layer", "7", code=2)
    assert "no head 9" in refused(
        "align", pairs, "-m", model, "--layer", "1", "--head", "9", code=2
    )
    assert "name the layer" in refused("align", pairs, "-m", model, "--head", "1", code=2)
    assert "--html" in refused("align", pairs, "-m", model, "--gold", data / "gold.talp", code=2)
    assert "--out" in refused("align", pairs, "-m", model, "--resume", code=2)
    assert "no place for scores" in refused(
        "align", pairs, "-m", model, "--output-format", "talp", "--scores", code=2
    )
    bert = example_data.tiny_model(tmp_path)
    assert "no decoder" in refused("align", pairs, "-m", bert, "--measure", "norm", code=2)


def test_what_is_no_pair_and_no_file_is_told_how_a_pair_is_written(headlight: Command) -> None:
    assert "'das haus ||| the house'" in headlight.refused("align", "das haus")
    assert "|||" not in headlight.refused("align", "haus.txt")


@pytest.mark.slow
def test_a_layer_may_be_asked_to_be_chosen(headlight: Command, data: Path) -> None:
    asked = ("align", "das haus ||| the house", "--model", data / "model", "--layer")
    assert headlight(*asked, "auto") == headlight(*asked[:-1])
    code, _, complained = headlight(*asked, "last")
    assert (code, complained) == (2, "error: --layer must be a number or auto, not 'last'.\n")
    assert AlignerSettings.from_mapping({"layer": "auto"}) == AlignerSettings()
    with pytest.raises(UsageError, match="layer must be at least 0, not -1"):
        AlignerSettings.from_mapping({"layer": -1})
