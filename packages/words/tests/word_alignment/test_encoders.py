"""Encoders of several families link words by the similarity of their hidden states."""

from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
import torch
import xarray

import example_data
from architectures import GPT2
from encoders import ENCODERS
from headlight.capture import CapturedModel
from headlight.capture.hidden_states import HiddenStates, all_hidden_states
from headlight.encode.batch import Batch, collate
from headlight.errors import UsageError
from headlight.views.result_contents import tables
from headlight.views.result_page import study_page
from headlight_words.corpora import TranslationPair, open_parallel
from headlight_words.encode.translations import translations
from headlight_words.links import open_links, score_links, symmetrized
from headlight_words.studies.alignment import AlignmentSettings
from headlight_words.studies.alignment.study import run as study
from headlight_words.word_alignment import EXTRACTIONS, AlignerSettings
from headlight_words.word_alignment.aligner import Alignment, PairAligner
from headlight_words.word_alignment.directions import align_pairs, encoder_of, usual_layer
from studies.command import Command
from tiny_models import build
from translators import FAMILIES
from word_alignment.similarity_naive import Matrix, Pairs, naive_extracted

PAIRS = [
    TranslationPair("a:1", "das alte haus ist klein .", "the house , so small"),
    TranslationPair("a:2", "haus", "the old house"),
    TranslationPair("a:3", "", "nothing"),
    TranslationPair("a:4", "klein das haus und noch ein sehr langer satz", "small the"),
]


@pytest.fixture(scope="module", params=ENCODERS)
def model(request: pytest.FixtureRequest) -> CapturedModel:
    return ENCODERS[request.param].model()


def aligned(model: CapturedModel, **asked: object) -> list[Alignment]:
    return list(align_pairs(PAIRS, model, AlignerSettings(**asked)))  # type: ignore[arg-type]


def hidden_words(model: CapturedModel, text: str, layer: int) -> tuple[Matrix, list[int]]:
    """Of a sentence alone: the hidden states of its pieces, and the word of each."""
    found = model.tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    ids = torch.tensor([found["input_ids"]])
    with torch.no_grad():
        states = model.transformer(ids, output_hidden_states=True).hidden_states[layer][0]
    rows, words = [], []
    marks = zip(found["offset_mapping"], found["special_tokens_mask"], strict=True)
    for place, ((start, _), special) in enumerate(marks):
        if not special:
            rows.append(states[place].double().numpy())
            blank = text[start] == " "  # which begins the word after it, alone or not
            words.append(len(text[:start].split()) if blank else len(text[: start + 1].split()) - 1)
    return np.array(rows), words


def naive_links(
    model: CapturedModel, pair: TranslationPair, layer: int, extraction: str, unit: str
) -> Pairs:
    (target, target_words), (source, source_words) = (
        hidden_words(model, text, layer) for text in (pair.target, pair.source)
    )
    if unit == "word":
        target, source = (
            np.array([
                np.mean([row for row, own in zip(rows, words, strict=True) if own == word], 0)
                for word in sorted(set(words))
            ])
            for rows, words in ((target, target_words), (source, source_words))
        )  # fmt: skip
        target_words, source_words = (sorted(set(w)) for w in (target_words, source_words))
    links = naive_extracted(extraction, target, source, AlignerSettings().similarity)
    return {(source_words[column], target_words[row]) for row, column in links}


@pytest.mark.parametrize(
    ("extraction", "unit"),
    [("argmax", None), ("argmax", "word"), ("itermax", "piece"), ("softmax", None)],
)
def test_links_are_those_of_each_sentence_alone(
    model: CapturedModel, extraction: str, unit: str | None
) -> None:
    found = aligned(model, extraction=extraction, unit=unit, layer=1)
    assert [each.pair for each in found] == PAIRS
    for each in found:
        if each.omitted:
            assert (each.pair.name, each.links, each.soft) == ("a:3", frozenset(), None)
            continue
        assert each.links == naive_links(model, each.pair, 1, extraction, unit or "piece")
        assert all(0 <= score <= 1 + 1e-6 for score in each.scores.values())


def test_batches_change_nothing(model: CapturedModel) -> None:
    asked = MappingProxyType({"layer": 1, "extraction": "match"})
    together, alone = aligned(model, **asked), aligned(model, **asked, batch_tokens=1)
    for one, other in zip(together, alone, strict=True):
        assert one.links == other.links
        if one.soft is not None and other.soft is not None:
            np.testing.assert_allclose(one.soft, other.soft, atol=1e-5)


def text_batch(model: CapturedModel, texts: list[tuple[str, str]]) -> Batch:
    pairs = [TranslationPair("a:1", *text) for text in texts]
    examples = list(translations(pairs, model.tokenizer, decoder_start=None))
    return collate(examples, pad_id=model.tokenizer.pad_token_id).source_alone()


def test_a_pass_ends_after_its_layer(model: CapturedModel) -> None:
    """Also of a batch of another shape than the one in which the place was found."""
    first = text_batch(model, [("das haus", "a"), ("das alte haus ist klein .", "a")])
    second = text_batch(model, [("klein", "a")])
    for layer in range(3):
        states = HiddenStates(model, layer)
        ends: list[int] = []
        handle = model.transformer.register_forward_hook(lambda *_, ends=ends: ends.append(1))
        found = [states(batch) for batch in (first, second, first)]
        handle.remove()
        assert not ends  # no pass comes to the end of the model
        for batch, own in zip((first, second, first), found, strict=True):
            torch.testing.assert_close(own, all_hidden_states(model, batch)[layer])


def test_later_layers_do_not_run() -> None:
    model = ENCODERS["bert"].model(layers=4)
    batch = text_batch(model, [("das haus", "a")])
    states = HiddenStates(model, 2)
    states(batch)
    runs: list[int] = []
    for number, layer in enumerate(model.transformer.encoder.layer):
        layer.register_forward_hook(lambda *_, number=number: runs.append(number))
    states(batch)
    assert runs in ([0], [0, 1])  # the second ends within, where its output is made


def test_where_no_module_puts_them_out_all_of_the_model_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = ENCODERS["bert"].model()
    batch = text_batch(model, [("das haus", "a"), ("klein", "a")])
    wanted = HiddenStates(model, 1)(batch)
    monkeypatch.setattr("headlight.capture.hidden_states._place_of", lambda *_: None)
    torch.testing.assert_close(HiddenStates(model, 1)(batch), wanted)


def test_a_layer_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no hidden states after 3 layers: it has 2"):
        aligned(ENCODERS["bert"].model(), layer=3)


@pytest.mark.parametrize(("layers", "wanted"), [(1, 1), (2, 1), (3, 2), (6, 4), (8, 8), (12, 8)])
def test_the_layer_of_a_shallow_encoder(layers: int, wanted: int) -> None:
    choice = usual_layer(ENCODERS["bert"].model(layers))
    assert choice.layer == wanted
    assert bool(choice.reason) == (layers < 8)


def test_a_word_without_pieces_has_no_link() -> None:
    """The tokenizer of BERT drops what cannot be seen; here in the middle and at the end."""
    model = ENCODERS["bert"].model()
    pair = TranslationPair("a:1", "das \u200b haus \u200b", "the house")
    for unit in ("piece", "word"):
        (found,) = align_pairs([pair], model, AlignerSettings(unit=unit, extraction="match"))
        assert {source for source, _ in found.links} == {0, 2}
        assert found.soft is not None
        assert found.soft.shape == (2, 4)
        assert not found.soft[:, [1, 3]].any()


def test_two_directions_of_one_encoder_are_put_together() -> None:
    model = ENCODERS["bert"].model()
    one, other = (aligned(model, extraction=name) for name in ("forward", "reverse"))
    found = list(align_pairs(PAIRS, model, AlignerSettings(), symmetrization="grow-diag"))
    for forward, reverse, both in zip(one, other, found, strict=True):
        assert both.links == symmetrized("grow-diag", forward.links, reverse.links)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_encoder_of_a_translator_reads_both_languages(family: str) -> None:
    """With the special tokens of each, such as language codes."""
    model = FAMILIES[family].model()
    found = aligned(model, measure="similarity", layer=1)
    encoder = model.encoder()
    for each in found:
        if each.omitted:
            continue
        texts = {"text": each.pair.source}, {"text_target": each.pair.target}
        vectors = []
        for text in texts:
            made = model.tokenizer(**text, return_special_tokens_mask=True)
            with torch.no_grad():
                states = encoder.transformer(
                    torch.tensor([made["input_ids"]]), output_hidden_states=True
                ).hidden_states[1][0]
            real = [not special for special in made["special_tokens_mask"]]
            vectors.append(states[real].double().numpy())
        source, target = vectors
        (example,) = translations([each.pair], model.tokenizer, decoder_start=None)
        source_words, target_words = (
            [word for word in words if word >= 0] for words in (example.words, example.target_words)
        )
        links = naive_extracted("argmax", target, source, AlignerSettings().similarity)
        assert each.links == {(source_words[j], target_words[i]) for i, j in links}


# ---------------------------------------------------------------- the study


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    example_data.pairs_and_links(folder)
    ENCODERS["bert"].saved(folder / "bert")
    FAMILIES["marian"].saved(folder / "marian")
    return folder


def judged(data: Path, model: CapturedModel, **asked: object) -> xarray.Dataset:
    settings = AlignmentSettings(gold=str(data / "gold.talp"), **asked)  # type: ignore[arg-type]
    return study(data / "test.de-en", model, settings, progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [None, "word"])
def test_rates_are_those_of_the_links_of_each_layer(data: Path, unit: str | None) -> None:
    model = ENCODERS["xlm-roberta"].model()
    result = judged(data, model, unit=unit, extractions=EXTRACTIONS)
    assert result.attrs["kind"] == "encoder"
    assert list(result["layer"].values) == [0, 1, 2]
    gold = list(open_links(data / "gold.talp"))
    pairs = list(open_parallel(data / "test.de-en"))
    for layer in range(3):
        for extraction in EXTRACTIONS:
            asked = AlignerSettings(layer=layer, extraction=extraction, unit=unit)  # type: ignore[arg-type]
            links = [found.links for found in align_pairs(pairs, model, asked)]
            score = score_links(gold, links)
            cell = result.sel(layer=layer, extraction=extraction)
            for rate in ("precision", "recall", "error_rate"):
                assert float(cell[f"similarity_{rate}"]) == pytest.approx(getattr(score, rate))
            assert int(cell["similarity_links"]) == sum(map(len, links))
            ends = cell.headlight.interval("similarity_error_rate")
            expected = score.intervals["error_rate"]
            np.testing.assert_allclose([ends.low, ends.high], expected, rtol=1e-5)


def test_some_layers_and_the_encoder_of_a_translator(data: Path) -> None:
    model = FAMILIES["mbart"].model()
    result = judged(data, model, measures=("similarity",), layers=(0, 2), extractions=("match",))
    assert result["similarity_error_rate"].dims == ("extraction", "layer")
    assert result["similarity_error_rate"].shape == (1, 2)
    with pytest.raises(UsageError, match="no hidden states after 3 layers"):
        judged(data, model, measures=("similarity",), layers=(3,))
    with pytest.raises(UsageError, match="ask for it alone"):
        judged(data, model, measures=("similarity", "norm"))
    with pytest.raises(UsageError, match="weight is of a translation model"):
        judged(data, ENCODERS["bert"].model(), measures=("weight",))


def test_a_report_of_an_encoder(data: Path) -> None:
    result = judged(data, ENCODERS["bert"].model())
    shown = tables(result)
    assert list(shown["extractions"].frame["extraction"]) == [
        "argmax", "itermax", "match", "softmax"
    ]  # fmt: skip
    best = result["similarity_error_rate"].sel(extraction="match").min()
    frame = shown["extractions"].frame.set_index("extraction")
    assert frame.loc["match", "AER"] == pytest.approx(float(best))
    assert list(shown["layers"].frame["layer"]) == [0, 1, 2]
    page = study_page(result)
    assert "Which extraction links words best" in page
    assert "cross-attention" not in page


# ---------------------------------------------------------------- as a user meets it


def test_an_encoder_aligns(headlight: Command, data: Path, tmp_path: Path) -> None:
    asked = ("align", data / "test.de-en", "--model", data / "bert")
    code, said, complained = headlight(*asked)
    assert code == 0
    assert complained == (
        f"note: layer 1 is used: {data / 'bert'} has 2 layers, fewer than the usual 8.\n"
    )
    assert said.count("\n") == len(example_data.TRANSLATIONS)
    out = tmp_path / "links"
    assert headlight(*asked, "--layer", "1", "--out", out)[::2] == (0, "")
    assert out.read_text() == said
    changed = ("--extraction", "softmax", "--similarity-threshold", "0.1")
    code, other, _ = headlight(*asked, "--layer", "1", *changed, "--scores")
    assert code == 0
    assert ":" in other


def test_an_interrupted_file_is_gone_on_with(
    headlight: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is kept after every pair here; the same file in the end."""
    monkeypatch.setattr("headlight_words.word_alignment.output.EVERY", 1)
    monkeypatch.setattr("headlight_words.word_alignment.aligner.WINDOW", 1)
    asked = ("align", data / "test.de-en", "--model", data / "bert", "--layer", "1")
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert headlight(*asked, "--out", whole)[0] == 0
    seen: list[int] = []

    def stop(aligner: PairAligner, window: list[TranslationPair]) -> list[Alignment]:
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return original(aligner, window)

    original = PairAligner._align_window
    with monkeypatch.context() as patched:
        patched.setattr(PairAligner, "_align_window", stop)
        assert headlight(*asked, "--out", out)[0] != 0
    assert not out.exists()
    other = ("--extraction", "match")
    assert "other settings" in headlight.refused(*asked, *other, "--out", out, "--resume", code=1)
    assert headlight(*asked, "--out", out, "--resume")[0] == 0
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_a_page_of_similarities(headlight: Command, data: Path, tmp_path: Path) -> None:
    page = tmp_path / "soft.html"
    assert headlight(
        "align", data / "test.de", data / "test.en", "--model", data / "bert", "--layer", "1",
        "--html", page, "--gold", data / "gold.talp",
    )[0] == 0  # fmt: skip
    text = page.read_text()
    assert text.count("data:image/svg+xml") == len(example_data.TRANSLATIONS)
    assert "shares of the source" not in text
    assert "how similar" in text


@pytest.mark.slow
def test_what_does_not_go_together(headlight: Command, data: Path, tmp_path: Path) -> None:
    pairs, bert, marian = data / "test.de-en", data / "bert", data / "marian"

    def refused(model: Path, *asked: object) -> str:
        return headlight.refused("align", pairs, "-m", model, *map(str, asked), code=2)

    assert "norm is of a translation model" in refused(bert, "--measure", "norm")
    for option in (
        ("--head", "1", "--layer", "1"), ("--step", "output"), ("--null", "exclude"),
        ("--pooling", "vectors"),
    ):  # fmt: skip
        assert "hidden states are compared here" in refused(bert, *option)
    assert "no other direction" in refused(bert, "--reverse-model", marian)
    both = ("--extraction", "match", "--symmetrize", "union")
    assert "one extraction (match)" in refused(bert, *both)
    assert "no hidden states after 7 layers" in refused(bert, "--layer", "7")
    assert "extraction of links is of similarities" in refused(marian, "--extraction", "match")
    assert "similarities" in refused(marian, "--similarity-distortion", "0.5")
    assert "name a reverse model" in refused(marian, "--symmetrize", "union", "--layer", "0")


def test_what_reads_from_left_to_right_is_no_encoder() -> None:
    tokenizer = ENCODERS["roberta"].tokenizer()
    made = build("gpt2", {**GPT2, "vocab_size": len(tokenizer)}, seed=1)
    with pytest.raises(UsageError, match="reads from left to right"):
        encoder_of(CapturedModel(made, tokenizer))
