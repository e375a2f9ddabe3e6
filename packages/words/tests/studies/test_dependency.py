"""Heads as parsers from end to end, on tiny random models, against loops."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray

from headlight.capture import CapturedModel, OwnObjective
from headlight.corpora import Sentence
from headlight.encode.batch import collate
from headlight.engine.folder import RunFolder
from headlight.errors import (
    CorpusError,
    MissingHeadError,
    RunError,
    RunInterruptedError,
    UnknownNameError,
    UsageError,
)
from headlight.findings.estimates import estimates
from headlight.measures import Scores
from headlight.result import load, save
from headlight.result.estimate import slot_coordinates
from headlight.views.result_contents import pictures
from headlight_words.findings.dependency import best_heads
from headlight_words.studies.dependency import DependencySettings, study as module
from headlight_words.studies.dependency.gold import summarize
from open_folders import opening
from studies import dependency_naive as naive
from studies.models import WORDS, model, uneven

NAMES = ("nsubj", "obl:tmod", "obl", "punct", "poss")
QUIET = {"progress": False, "sentences": False}


def trees(number: int, longest: int = 12) -> list[Sentence]:
    """Random trees of words that are cut into pieces at hyphens, and of some possessors."""
    generator = np.random.default_rng(number)
    return [_tree(place, int(generator.integers(1, longest + 1)), generator)
            for place in range(number)]  # fmt: skip


def _tree(place: int, length: int, generator: np.random.Generator) -> Sentence:
    words = ["-".join(generator.choice(WORDS, generator.choice([1, 1, 2]))) for _ in range(length)]
    order = generator.permutation(length)
    heads = np.zeros(length, dtype=int)
    for at, word in enumerate(order[1:], start=1):
        heads[word] = 1 + order[generator.integers(at)]
    relations = np.where(heads == 0, "root", generator.choice(NAMES, length))
    for word in range(length - 1):
        if relations[word] == "poss":
            words[word + 1] = "'s"
    return Sentence(f"trees:{place}", tuple(words), tuple(heads.tolist()), tuple(relations))


TREES = trees(14)


def evaluate(source, found, *, objective=None, folder=None, progress=False, **settings):
    place = folder if folder is None or isinstance(folder, RunFolder) else RunFolder(path=folder)
    chosen = DependencySettings(**settings)
    return opening(module.run)(
        source, found, chosen, objective=objective, folder=place, progress=progress
    )


@pytest.fixture(scope="module")
def bert() -> CapturedModel:
    return model("bert")


@pytest.fixture(scope="module")
def result(bert: CapturedModel) -> xarray.Dataset:
    return evaluate(TREES, bert, **QUIET)


def words_of(found: CapturedModel, tree: Sentence) -> list[int | None]:
    """The word of every token; None for special ones."""
    return found.tokenizer(list(tree.words), is_split_into_words=True).word_ids()


def pooled(score: np.ndarray, words: list[int | None], length: int) -> np.ndarray:
    """Summed over the pieces of the attended word, averaged over those of the attending one."""
    found = np.zeros((length, length))
    for query in range(length):
        for key in range(length):
            rows = [at for at, word in enumerate(words) if word == query]
            columns = [at for at, word in enumerate(words) if word == key]
            found[query, key] = np.mean([sum(score[row, at] for at in columns) for row in rows])
    return found


def example_of(found: CapturedModel, tree: Sentence) -> module.EncodedSentence:
    words = words_of(found, tree)
    ids = found.tokenizer(list(tree.words), is_split_into_words=True)["input_ids"]
    return module.EncodedSentence(
        name=tree.name, ids=tuple(ids), segments=(0,) * len(ids), categories=(3,) * len(ids),
        words=tuple(-1 if word is None else word for word in words), sentence=tree, kept=len(tree),
    )  # fmt: skip


def maps(found: CapturedModel, tree: Sentence, measure: str) -> dict[int, np.ndarray]:
    """Of every layer, head × word × word, the sentence alone in its batch."""
    words = words_of(found, tree)
    layers = {}

    def visit(record) -> None:
        scores = Scores(record).of(measure)[0].double().numpy()
        layers[record.site.layer] = np.stack([pooled(each, words, len(tree)) for each in scores])

    with found.capture() as recorder:
        recorder.visit = visit
        found.run(collate([example_of(found, tree)], pad_id=0))
    return layers


def assert_same_as_loops(
    result: xarray.Dataset, found: CapturedModel, given: list[Sentence]
) -> None:
    lengths = [len(tree) for tree in given]
    for measure in result.measure.values:
        layers = [maps(found, tree, measure) for tree in given]
        for layer, head, direction in np.ndindex(len(layers[0]), 4, 2):
            name = ("dependent", "head")[direction]
            predicted = [
                [naive.governor(each[layer][head], word, name) for word in range(length)]
                for each, length in zip(layers, lengths, strict=True)
            ]
            cells = result.correct.sel(measure=measure, layer=layer, head=head, direction=name)
            expected = naive.counts(given, lengths, predicted, rule=True)
            for relation, (right, count) in expected.items():
                assert cells.sel(relation=relation) == right
                assert result["count"].sel(relation=relation) == count
            assert cells.sel(relation="all") == sum(right for right, _ in expected.values())


@pytest.mark.slow
def test_every_count_is_that_of_the_loops(result: xarray.Dataset, bert: CapturedModel) -> None:
    assert {dim: size for dim, size in result.sizes.items() if dim != "slot"} == {
        "measure": 3, "layer": 2, "head": 4, "direction": 2, "relation": 7, "offset": 6,
    }  # fmt: skip
    assert_same_as_loops(result, bert, TREES)


@pytest.mark.slow
def test_sentences_show_what_the_best_head_predicts(bert: CapturedModel, tmp_path) -> None:
    result = evaluate(TREES, bert, **(QUIET | {"sentences": True, "measures": ("norm", "weight")}))
    save(result, tmp_path / "result.nc")
    xarray.testing.assert_equal(load(tmp_path / "result.nc"), result)
    shown = 0
    for row in best_heads(result, min_count=1).to_dict("records"):
        here = result.sel(measure=row["measure"], relation=row["relation"])
        words = tuple(word for word in here["sentence_word"].values if word)
        if not words:
            continue
        shown += 1
        tree = next(each for each in TREES if each.words == words)
        score = maps(bert, tree, row["measure"])[row["layer"]][row["head"]]
        predicted = [naive.governor(score, at, row["direction"]) for at in range(len(tree))]
        judged = naive.judged(tree, len(tree), predicted, rule=True)
        right = [judged[at] for at in judged if tree.relations[at] == row["relation"]]
        assert sum(right) > len(right) / 2
        for at, found in enumerate(here["sentence_found"].values):
            if at < len(tree) and tree.relations[at] == row["relation"]:
                assert found + 1 == predicted[at]
                assert here["sentence_right"].values[at] == judged[at]
            else:
                assert np.isnan([found, here["sentence_right"].values[at]]).all()
    assert shown > 4
    pictures(result)["norm_sentences"].draw()
    assert "norm_sentences" not in pictures(result.drop_vars("sentence_word"))


@pytest.mark.slow
def test_batches_do_not_matter(result: xarray.Dataset, bert: CapturedModel) -> None:
    alone = evaluate(TREES, bert, batch_tokens=1, **QUIET)
    xarray.testing.assert_equal(alone, result)


@pytest.mark.slow
def test_what_it_says_of_itself(result: xarray.Dataset, tmp_path) -> None:
    said = result.attrs
    assert (said["stage"], said["model"], said["kind"]) == ("dependency", "bert", "encoder")
    assert (said["sentences"], said["words"]) == (14, sum(map(len, TREES)))
    assert (said["too_long"], said["cut_words"], said["lost_words"], said["invalid"]) == (0,) * 4
    assert json.loads(said["settings"])["possessive"] == "clark"
    save(result, tmp_path / "result.nc")
    xarray.testing.assert_identical(load(tmp_path / "result.nc", stage="dependency"), result)


def test_subtypes_may_be_cut_off(result: xarray.Dataset, bert: CapturedModel) -> None:
    base = evaluate(TREES, bert, relations="base", **QUIET)
    assert "obl:tmod" not in base.relation
    two = result.correct.sel(relation=["obl", "obl:tmod"]).sum("relation")
    xarray.testing.assert_equal(base.correct.sel(relation="obl", drop=True), two)


def test_possessors_may_be_treated_as_all_others(
    result: xarray.Dataset, bert: CapturedModel
) -> None:
    strict = evaluate(TREES, bert, possessive="strict", **QUIET)
    different = (strict.correct != result.correct).any(["measure", "layer", "head", "direction"])
    assert set(strict.relation.values[different.values]) == {"all", "poss"}


def test_long_sentences_are_left_out_and_counted(bert: CapturedModel) -> None:
    sizes = [len(words_of(bert, tree)) for tree in TREES]
    result = evaluate(TREES, bert, max_length=12, **QUIET)
    short = [tree for tree, size in zip(TREES, sizes, strict=True) if size <= 12]
    assert 0 < len(short) < len(TREES)
    assert result.attrs["too_long"] == len(TREES) - len(short)
    expected = evaluate(short, bert, **QUIET)
    kept = slot_coordinates(expected)  # sentences that are left out are units, too
    xarray.testing.assert_equal(result.drop_vars(kept), expected.drop_vars(kept))


def test_words_that_lost_their_governor_are_counted(bert: CapturedModel) -> None:
    result = evaluate(TREES, bert, max_length=12, overflow="truncate", **QUIET)
    said = result.attrs
    kept = []
    for tree in TREES:
        words = words_of(bert, tree)
        inside = words[1:-1][:10] if len(words) > 12 else words[1:-1]
        whole = [word for word in set(inside) if inside.count(word) == words.count(word)]
        kept.append(len(whole))
    pairs = list(zip(TREES, kept, strict=True))
    cut = sum(head > count for tree, count in pairs for head in tree.heads[:count])
    assert said["truncated"] == sum(len(tree) > count for tree, count in pairs) > 0
    assert said["lost_words"] == sum(len(tree) - count for tree, count in pairs) > 0
    assert (said["cut_words"], said["words"]) == (cut, sum(kept))
    assert cut > 0
    assert result["count"].sel(relation="all") == sum(kept) - cut


def test_sentences_of_the_same_words_are_units_of_their_own(bert: CapturedModel) -> None:
    """One in which a head finds everything, and one in which it finds nothing, make an interval."""
    tree = TREES[3]
    twin = replace(tree, name="trees:99", heads=tree.heads[1:] + tree.heads[:1])
    result = evaluate([tree, twin], bert, progress=False, measures=("weight",))
    assert (result.slot_units > 0).sum() == 2
    assert (result.accuracy_by_slot.isel(slot=0) != 0).any()


@pytest.mark.slow
def test_intervals_are_as_wide_as_the_spread_of_sentences(bert: CapturedModel) -> None:
    """Beside the standard error of a ratio over clusters, by hand, for each head."""
    cells = evaluate(TREES, bert, progress=False, measures=("weight",)).sel(
        measure="weight", relation="all"
    )
    layers = [maps(bert, tree, "weight") for tree in TREES]
    sizes = np.array([len(tree) for tree in TREES])
    ratios = []
    for layer, head in np.ndindex(2, 4):
        right = []
        for tree, each in zip(TREES, layers, strict=True):
            score = each[layer][head]
            predictions = [naive.governor(score, word, "head") for word in range(len(tree))]
            right.append(sum(naive.judged(tree, len(tree), predictions, rule=True).values()))
        rest = np.array(right) - sizes * sum(right) / sizes.sum()
        cell = cells.sel(layer=layer, head=head, direction="head")
        error = np.sqrt((rest**2).sum()) / sizes.sum()
        number = estimates(cell, "accuracy", ())
        ratios.append(float(number.error / error))
        assert number.low <= cell.accuracy <= number.high
    assert 0.8 < np.median(ratios) < 1.2


def test_layers_may_come_in_any_order(bert: CapturedModel) -> None:
    examples = [example_of(bert, tree) for tree in TREES]
    batch = collate(examples, pad_id=0)
    records = []
    with bert.capture() as recorder:
        recorder.visit = records.append
        bert.run(batch)
    names = summarize(TREES, "full").relations
    codes = {name: number for number, name in enumerate(names)}
    totals = []
    for order in (records, records[::-1]):
        observer = module.DependencyObserver(
            batch, examples, bert.sites, DependencySettings(), ("weight",), codes
        )
        for record in order:
            observer.visit(record)
        totals.append(observer.tally()["correct"].compute()["part"].sum(0))
    assert (totals[0][:, 0] != totals[0][:, 1]).any()
    np.testing.assert_array_equal(*totals)


def test_some_layers_and_sentences(result: xarray.Dataset, bert: CapturedModel) -> None:
    some = evaluate(TREES, bert, layers=(1,), max_examples=5, **QUIET)
    first = evaluate(TREES[:5], bert, **QUIET)
    assert some.attrs["sentences"] == 5
    xarray.testing.assert_equal(some, first.sel(layer=[1]))


def test_a_layer_with_fewer_heads_has_no_others() -> None:
    result = evaluate(TREES[:4], uneven(), measures=("weight",), **QUIET)
    assert result.accuracy.sel(layer=1, head=[2, 3]).isnull().all()
    assert result.accuracy.sel(layer=1, head=[0, 1]).notnull().all()


def test_a_causal_head_predicts_nothing_that_it_cannot_see() -> None:
    """Effective attention may be negative; what lies ahead, at 0, must not win for that."""
    llama = model("llama")
    result = evaluate(TREES, llama, **QUIET)
    assert result.attrs["kind"] == "decoder"
    ahead = [
        (tree, word) for tree in TREES for word, head in enumerate(tree.heads) if head - 1 > word
    ]
    rightward = replace(TREES[0], words=("sea", "-", "lake"), heads=(2, 3, 0), relations=("a",) * 3)
    found = evaluate([rightward], llama, **QUIET)
    assert ahead
    assert (found.correct.sel(direction="dependent", relation="all") == 0).all()
    assert (
        found.correct.sel(direction="head", relation="all") >= 1
    ).all()  # only one can see 'sea-'


@pytest.mark.slow
def test_the_encoder_of_an_encoder_decoder_reads_a_treebank() -> None:
    result = evaluate(TREES[:3], model("t5"), **QUIET)
    assert result.attrs["kind"] == "encoder"
    with pytest.raises(UsageError, match="choose the encoder"):
        evaluate(TREES[:3], model("t5"), kind="decoder", **QUIET)


@pytest.mark.slow
def test_a_run_that_was_interrupted_goes_on(
    result: xarray.Dataset, bert: CapturedModel, tmp_path, monkeypatch
) -> None:
    calls = []
    visit = module.DependencyObserver.visit

    def interrupted(observer, record) -> None:
        calls.append(record)
        if len(calls) == 3:
            raise KeyboardInterrupt
        visit(observer, record)

    with monkeypatch.context() as patched:
        patched.setattr(module.DependencyObserver, "visit", interrupted)
        with pytest.raises(RunInterruptedError, match="resume=True"):
            evaluate(TREES, bert, folder=tmp_path, batch_tokens=100, **QUIET)
    resumed = evaluate(
        TREES, bert, folder=RunFolder(path=tmp_path, resume=True), batch_tokens=100, **QUIET
    )
    xarray.testing.assert_equal(resumed, result)
    again = evaluate(
        TREES, bert, folder=RunFolder(path=tmp_path, resume=True), batch_tokens=100, **QUIET
    )
    xarray.testing.assert_equal(again, result)
    assert again.attrs["sentences"] == 14


@pytest.mark.slow
def test_other_trees_over_the_same_words_are_no_part_of_the_same_run(
    bert: CapturedModel, tmp_path
) -> None:
    evaluate(TREES, bert, folder=tmp_path, **QUIET)
    other = [*TREES[:-1], replace(TREES[-1], relations=("dep",) * len(TREES[-1]))]
    with pytest.raises(RunError, match="trees"):
        evaluate(other, bert, folder=RunFolder(path=tmp_path, resume=True), **QUIET)


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"measures": ("nrom",)}, UnknownNameError, "no measure is called 'nrom'"),
        ({"measures": ()}, UsageError, "at least one"),
        ({"measures": ("norm", "norm")}, UsageError, "each of them once"),
        ({"measures": ("gradient",)}, MissingHeadError, "language-model head"),
        ({"max_length": 10**6}, UsageError, "takes at most"),
        ({"max_length": 3}, CorpusError, "are all its sentences longer"),
        ({"layers": (9,)}, UsageError, "has no encoder layer 9"),
    ],
)
def test_what_cannot_be_asked(bert: CapturedModel, settings, kind, message: str) -> None:
    long = [tree for tree in TREES if len(tree) > 1]
    with pytest.raises(kind, match=message):
        evaluate(long, bert, **{**QUIET, **settings})


def test_what_cannot_be_chosen() -> None:
    settings = DependencySettings()
    for name, value, known in [
        ("possessive", "lax", "clark, strict"),
        ("kind", "cross", "decoder, encoder"),  # goes from one text to another
    ]:
        chosen = settings.replace()
        object.__setattr__(chosen, name, value)  # the types of the tests would refuse it
        with pytest.raises(UnknownNameError, match=f"no {name} is called .* Known: {known}"):
            chosen.__post_init__()


def test_sentences_must_be_there_twice(bert: CapturedModel) -> None:
    with pytest.raises(UsageError, match="read more than once"):
        evaluate(iter(TREES), bert, **QUIET)


def test_a_model_without_a_tokenizer_reads_no_treebank(bert: CapturedModel) -> None:
    with pytest.raises(UsageError, match="has no tokenizer"):
        evaluate(TREES, CapturedModel(bert.transformer), **QUIET)


def test_reads_a_treebank_from_a_file(bert: CapturedModel, tmp_path) -> None:
    path = tmp_path / "trees.conllu"
    path.write_text(
        "".join(
            "".join(
                f"{at}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n"
                for at, (word, head, relation) in enumerate(
                    zip(tree.words, tree.heads, tree.relations, strict=True), start=1
                )
            )
            + "\n"
            for tree in TREES
        )
    )
    found = evaluate(path, bert, **QUIET)
    expected = evaluate(TREES, bert, **QUIET)
    xarray.testing.assert_equal(found.correct, expected.correct)
    assert found.attrs["corpus"] == str(path)


def test_the_gradient_of_a_loss_of_ones_own(bert: CapturedModel) -> None:
    objective = OwnObjective(lambda output, _: output.last_hidden_state[:, 0].sum(-1), "first")
    result = evaluate(TREES, bert, objective=objective, measures=("gradient", "weight"), **QUIET)
    assert list(result.measure.values) == ["gradient", "weight"]
    weight = evaluate(TREES, bert, measures=("weight",), **QUIET)
    xarray.testing.assert_equal(result.correct.sel(measure=["weight"]), weight.correct)
    gradient = result.correct.sel(measure="gradient")
    assert (gradient != weight.correct.sel(measure="weight")).any()
    assert torch.is_grad_enabled()
