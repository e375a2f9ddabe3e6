"""Maps of a treebank: what is stored is what the definitions say, and is made only once."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

import definitions
from headlight.capture import CapturedModel
from headlight.corpora import Sentence
from headlight.encode import sentences as encode_sentences
from headlight.encode.batch import collate
from headlight.errors import CorpusError, RunError, UnknownNameError, UsageError
from headlight.vocabulary import MEASURES
from headlight_words.settings import SentenceSettings
from headlight_words.studies.parser_probes import word_maps as extraction
from headlight_words.studies.parser_probes.word_map_store import NO_HEAD, header_path
from headlight_words.studies.parser_probes.word_maps import extract, plan_word_maps
from studies.models import WORDS, model, uneven


def treebank(sentences: int = 7, seed: int = 0) -> list[Sentence]:
    """Some words have two or three pieces: those with a dash."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(sentences):
        length = int(generator.integers(1, 8))
        words = [
            "-".join(generator.choice(WORDS, size=generator.integers(1, 3))) for _ in range(length)
        ]
        words[-1] = "."
        heads = (*range(2, length + 1), 0)
        relations = ("dep",) * (length - 1) + ("punct",)
        found.append(Sentence(f"bank:{number}", tuple(words), heads, relations))
    return found


def by_definition(record, measure: str) -> np.ndarray:
    """[head, query, key] of the only text of a batch."""
    weight = record.weight[0].double().numpy()
    value, output = record.value[0].numpy(), record.site.projection.weight.numpy()
    if measure == "weight":
        return weight
    if measure == "norm":
        return definitions.weighted_norm(weight, value, output)
    seen = np.ones(weight.shape[1:], dtype=bool)
    if record.visible is not None:
        seen = record.visible[0].expand(weight.shape[1:]).numpy()
    return definitions.effective(weight, value, output, seen)


def units(example) -> list[list[int]]:
    """Tokens of the beginning, the end and each word."""
    groups = [[], [], *([] for _ in range(example.kept))]
    for token, word in enumerate(example.words):
        if word >= 0:
            groups[word + 2].append(token)
        elif token in (0, len(example.words) - 1):
            groups[min(token, 1)].append(token)
    return groups


def naive_maps(made: CapturedModel, example, measure: str) -> np.ndarray:
    """[unit, unit, head] of one sentence, one cell at a time."""
    layers = []
    with made.capture() as recorder:
        recorder.visit = lambda record: layers.append(by_definition(record, measure))
        made.run(collate([example], 0))
    tokens, groups = np.concatenate(layers), units(example)
    pooled = np.zeros((len(groups), len(groups), len(tokens)))
    for (a, queries), (b, keys) in product(enumerate(groups), repeat=2):
        if queries and keys:
            sums = [sum(tokens[:, query, key] for key in keys) for query in queries]
            pooled[a, b] = np.mean(sums, axis=0)
    return pooled


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("family", ["bert", "llama", "t5", "uneven"])
def test_maps_are_those_of_the_definition(tmp_path, family, measure):
    made = uneven() if family == "uneven" else model(family)
    sentences = treebank(4)
    plan = plan_word_maps(sentences, made, SentenceSettings(batch_tokens=24))
    word_maps = extract(plan, tmp_path, [measure], progress=False)[measure]
    examples = list(
        encode_sentences(sentences, made.tokenizer, max_length=plan.settings.max_length)
    )
    assert len(word_maps.index) == len(examples) == 4
    for number, example in enumerate(examples):
        expected = naive_maps(plan.model, example, measure)
        found = word_maps.maps([number])[0].double().numpy() * word_maps.scale
        np.testing.assert_allclose(found, expected, rtol=2**-10, atol=1e-6)


def test_which_special_tokens_there_are():
    there = {
        family: plan_word_maps(treebank(), model(family)).index.special.tolist()
        for family in ("bert", "llama", "t5")
    }
    assert there == {"bert": [True, True], "llama": [True, False], "t5": [False, True]}


def test_the_index_says_what_the_sentences_say(tmp_path):
    sentences = treebank()
    plan = plan_word_maps(sentences, model("bert"))
    index = plan.index
    assert index.lengths.tolist() == [len(sentence) for sentence in sentences]
    assert index.heads.tolist() == [head for sentence in sentences for head in sentence.heads]
    words = [word for sentence in sentences for word in sentence.words]
    assert [index.vocabulary[entry] for entry in index.word] == words
    assert index.punctuation.tolist() == [word == "." for word in words]
    assert len(set(index.vocabulary)) == len(index.vocabulary)
    assert plan.counts.examples == len(sentences)


def test_pieces_of_a_word_are_those_that_the_model_reads():
    made = model("bert")
    index = plan_word_maps(treebank(), made).index
    ends = np.cumsum(index.piece_counts)
    for word, pieces in zip(index.vocabulary, np.split(index.pieces, ends[:-1]), strict=True):
        assert made.tokenizer.convert_ids_to_tokens(pieces) == word.replace("-", " - ").split()


def test_weights_of_a_row_sum_to_one_over_all_units(tmp_path):
    word_maps = extract(plan_word_maps(treebank(), model("bert")), tmp_path, progress=False)[
        "weight"
    ]
    for number, length in enumerate(word_maps.index.lengths):
        rows = word_maps.maps([number])[0].float().sum(1)
        torch.testing.assert_close(rows, torch.ones(int(length) + 2, 8), rtol=0, atol=2e-3)


def test_norms_are_scaled_to_the_size_of_weights(tmp_path):
    plan = plan_word_maps(treebank(), model("bert"))
    word_maps = extract(plan, tmp_path, ["norm"], progress=False)["norm"]
    rows = np.concatenate(
        [
            word_maps.maps([number])[0].numpy()[2:].astype(float).sum(1)
            for number in range(len(word_maps.index))
        ]
    )
    np.testing.assert_allclose(rows.mean(0), 1, rtol=1e-3)
    assert word_maps.scale.min() > 0


def test_sentences_too_long_lose_words_and_heads_where_asked():
    sentences = [Sentence("one", ("sea", "lake", "hill"), (3, 1, 0), ("a", "b", "root"))]
    made = model("bert")
    cut = plan_word_maps(sentences, made, SentenceSettings(max_length=4, overflow="truncate"))
    assert cut.index.lengths.tolist() == [2]
    assert cut.index.heads.tolist() == [NO_HEAD, 1]
    assert cut.counts.truncated == 1
    with pytest.raises(CorpusError, match="no sentence"):
        plan_word_maps(sentences, made, SentenceSettings(max_length=4))


def test_without_relations_characters_say_what_is_punctuation():
    sentence = Sentence("one", ("sea", "-", "(", "."), (0, 1, 1, 1))
    assert plan_word_maps([sentence], model("bert")).index.punctuation.tolist() == [
        False, True, True, True,
    ]  # fmt: skip


def test_subtypes_of_punct_are_punctuation_too():
    sentence = Sentence("one", ("sea", "lake"), (0, 1), ("punct:x", "punctual"))
    assert plan_word_maps([sentence], model("bert")).index.punctuation.tolist() == [True, False]


def test_maps_are_made_once_and_only_what_is_missing(tmp_path, monkeypatch):
    passes = []
    whole = extraction._pass

    def counted(plan, examples, measures, use, progress):
        passes.append(list(measures))
        return whole(plan, examples, measures, use, progress)

    monkeypatch.setattr(extraction, "_pass", counted)
    made = model("bert")
    for measures in (["weight"], ["weight"], ["weight", "effective"], ["effective", "weight"]):
        found = extract(plan_word_maps(treebank(), made), tmp_path, measures, progress=False)
        assert list(found) == measures
    assert passes == [["weight"], ["effective"]]


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"sentences": treebank(6)}, "corpus_digest"),
        ({"revision": "2"}, "revision"),
        ({"settings": SentenceSettings(queries="first")}, "queries"),
        ({"settings": SentenceSettings(max_length=20)}, "max_length"),
        ({"heads": True}, "annotation_digest"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_maps_of_something_else_are_refused(tmp_path, change, difference):
    made, sentences = model("bert"), treebank()
    extract(plan_word_maps(sentences, made), tmp_path, progress=False)
    before = header_path(tmp_path, "weight").read_bytes()
    sentences = change.get("sentences", sentences)
    if "heads" in change:
        sentences = [replace(each, heads=(0,) * len(each)) for each in sentences]
    made = replace(made, revision=change.get("revision", made.revision))
    with pytest.raises(RunError, match=difference):
        extract(plan_word_maps(sentences, made, change.get("settings")), tmp_path, progress=False)
    assert header_path(tmp_path, "weight").read_bytes() == before


def test_batches_do_not_matter(tmp_path):
    made = model("bert")
    found = []
    for tokens in (1, 10_000):
        plan = plan_word_maps(treebank(), made, SentenceSettings(batch_tokens=tokens))
        found.append(extract(plan, tmp_path, ["norm"], progress=False)["norm"])
        header_path(tmp_path, "norm").unlink()
    for number in range(len(found[0].index)):
        torch.testing.assert_close(found[0].maps([number]), found[1].maps([number]))


def test_what_cannot_be_read_twice_or_has_no_heads_is_refused(tmp_path):
    made = model("bert")
    with pytest.raises(UsageError, match="read more than once"):
        plan_word_maps(iter(treebank()), made)
    with pytest.raises(CorpusError, match="bank:0 has no heads"):
        plan_word_maps([replace(each, heads=()) for each in treebank()], made)
    with pytest.raises(UsageError, match="tokenizer"):
        plan_word_maps(treebank(), replace(made, tokenizer=None))
    with pytest.raises(UnknownNameError, match="norm"):
        extract(plan_word_maps(treebank(), made), tmp_path, ["nrom"], progress=False)
    with pytest.raises(UsageError, match="allow fewer"):
        plan_word_maps(treebank(), made, SentenceSettings(max_length=10**6))


def test_how_much_is_written_is_said_before(tmp_path, capsys):
    plan = plan_word_maps(treebank(), model("bert"))
    extract(plan, tmp_path)
    said = capsys.readouterr().err
    assert "maps of 8 heads (weight) between the words of 7 sentences take 0.0" in said


def test_sentences_that_change_between_readings_leave_nothing(tmp_path):
    class Changing:
        def __init__(self):
            self.read = 0

        def __iter__(self):
            self.read += 1
            return iter(treebank(seed=min(self.read, 3)))

    plan = plan_word_maps(Changing(), model("bert"))
    with pytest.raises(RunError, match="others"):
        extract(plan, tmp_path, progress=False)
    assert not list(tmp_path.glob("*weight*"))


def test_layers_may_be_chosen(tmp_path):
    whole = plan_word_maps(treebank(), model("bert"))
    some = plan_word_maps(treebank(), model("bert"), SentenceSettings(layers=(1,)))
    assert (whole.heads, some.heads) == (8, 4)
    expected = extract(whole, tmp_path / "whole", progress=False)["weight"].maps([0])
    found = extract(some, tmp_path / "some", progress=False)["weight"].maps([0])
    torch.testing.assert_close(found, expected[..., 4:])
