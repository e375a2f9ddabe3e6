"""Links of cross-attention against the procedure of Kobayashi et al., written as loops."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings as hypothesis_settings, strategies as st

from headlight.capture import CapturedModel, LayerRecord
from headlight_words.corpora import TranslationPair
from headlight_words.links import Links
from headlight_words.word_alignment import STEPS, AlignerSettings, Step
from headlight_words.word_alignment.aligner import Aligner, Sides, encode, links_of_words
from translators import FAMILIES

PAIRS = [
    TranslationPair("a:1", "das alte haus ist klein .", "the house , so small"),
    TranslationPair("a:2", "haus", "the old house"),
    TranslationPair("a:3", "", "nothing"),
    TranslationPair("a:4", "klein das haus", "small the"),
]


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> CapturedModel:
    return FAMILIES[request.param].model()


def records(model: CapturedModel, pair: TranslationPair) -> dict[int, LayerRecord]:
    """The cross-attention of one pair alone, by layer."""
    found: dict[int, LayerRecord] = {}
    (example,) = encode(model, [pair], AlignerSettings(layer=0))
    with model.capture(model.sites_of("cross")) as recorder:
        recorder.visit = lambda record: found.update({record.site.layer: record})
        model.run(model.collate([example]))
    return found


def naive_soft(record: LayerRecord, measure: str, head: int | None) -> np.ndarray:
    """Between pieces, by the definitions of the paper, in float64."""
    weight = record.weight[0].double().numpy()
    value = record.value[0].double().numpy()
    output = record.site.projection.weight.double().numpy()
    groups = weight.shape[0] // value.shape[0]
    heads, queries, keys = weight.shape
    made = np.zeros((queries, keys))
    for query in range(queries):
        for key in range(keys):
            moved = [
                weight[h, query, key] * (value[h // groups, key] @ output[h]) for h in range(heads)
            ]
            if measure == "norm":
                chosen = sum(moved) if head is None else moved[head]
                made[query, key] = np.linalg.norm(chosen)
            else:
                rows = weight[:, query, key]
                made[query, key] = rows.mean() if head is None else rows[head]
    return made


def naive_links(model: CapturedModel, pair: TranslationPair, soft: np.ndarray, step: Step) -> Links:
    """Pieces of a source word summed, those of a target word averaged, then the largest."""
    (example,) = encode(model, [pair], AlignerSettings(layer=0))
    links = set()
    for target in range(len(pair.target.split())):
        places = [at for at, word in enumerate(example.target_words) if word == target]
        rows = [at if step == "input" else at - 1 for at in places]
        if not rows:
            continue
        mean = sum(soft[row] for row in rows) / len(rows)
        by_word: dict[object, float] = {}
        for at, word in enumerate(example.words):
            name = word if word >= 0 else ("special", at)
            by_word[name] = by_word.get(name, 0.0) + mean[at]
        best = max(by_word, key=lambda name: by_word[name])
        if isinstance(best, int):
            links.add((best, target))
    return frozenset(links)


@pytest.mark.parametrize("head", [None, 1])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("measure", ["weight", "norm"])
def test_links_are_those_of_the_definition(
    model: CapturedModel, measure: str, step: Step, head: int | None
) -> None:
    asked = AlignerSettings(measure=measure, step=step, layer=1, head=head)  # type: ignore[arg-type]
    found = list(Aligner(model, asked).align(PAIRS))
    assert [each.pair for each in found] == PAIRS
    for each in found:
        if each.omitted:
            assert (each.pair.name, each.links) == ("a:3", frozenset())
            continue
        soft = naive_soft(records(model, each.pair)[1], measure, head)
        assert each.links == naive_links(model, each.pair, soft, step)


def test_batches_change_nothing(model: CapturedModel) -> None:
    together = list(Aligner(model, AlignerSettings(layer=0)).align(PAIRS))
    alone = list(Aligner(model, AlignerSettings(layer=0, batch_tokens=1)).align(PAIRS))
    assert [each.links for each in together] == [each.links for each in alone]
    for one, other in zip(together, alone, strict=True):
        if one.soft is not None and other.soft is not None:
            np.testing.assert_allclose(one.soft, other.soft, atol=1e-5)


def sides(read: list[int], source: list[int]) -> Sides:
    """Of one pair, from the words of its places."""
    row = torch.tensor([read])
    predicted = torch.tensor([[*read[1:], -1]])
    return Sides(row, predicted, torch.tensor([source]))


def test_weight_on_a_special_token_is_no_link_and_excluded_it_is() -> None:
    """By hand: two words in three pieces, then the end of the sentence."""
    places = sides([-1, 0, 1], [0, 0, 1, -1])
    soft = torch.tensor(
        [[[0.0, 0.0, 0.0, 1.0], [0.2, 0.2, 0.3, 0.3], [0.1, 0.1, 0.3, 0.5]]], dtype=torch.float64
    )[:, None]
    pooled = places.pairs["input"].pool(soft)
    torch.testing.assert_close(
        pooled[0, 0], torch.tensor([[0.4, 0.3, 0.3], [0.2, 0.3, 0.5]], dtype=torch.float64)
    )
    kept = links_of_words(pooled, places, "special")[0, 0]
    assert kept.tolist() == [[True, False], [False, False]]
    left_out = links_of_words(pooled, places, "exclude")[0, 0]
    assert left_out.tolist() == [[True, False], [False, True]]
    shifted = links_of_words(places.pairs["output"].pool(soft), places, "exclude")[0, 0]
    assert shifted.tolist() == [[False, False], [True, False]]  # the row before; nothing in it


@hypothesis_settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_links_of_words_are_those_of_loops(data: st.DataObject) -> None:
    words = data.draw(st.integers(1, 4), label="source words")
    source = [
        *[-1] * data.draw(st.integers(0, 2)),
        *[w for w in range(words) for _ in range(data.draw(st.integers(1, 3)))],
        *[-1] * data.draw(st.integers(0, 2)),
    ]
    targets = data.draw(st.integers(1, 4), label="target words")
    read = [-1, *[w for w in range(targets) for _ in range(data.draw(st.integers(1, 2)))]]
    null = data.draw(st.sampled_from(["special", "exclude"]))
    seed = data.draw(st.integers(0, 10**6))
    soft = torch.rand((1, 1, len(read), len(source)), generator=_seeded(seed), dtype=torch.float64)
    places = sides(read, source)
    found = links_of_words(places.pairs["input"].pool(soft), places, null)[0, 0]
    for target in range(targets):
        rows = [at for at, word in enumerate(read) if word == target]
        mean = soft[0, 0, rows].mean(0).numpy()
        units: dict[int, float] = {}
        for at, word in enumerate(source):
            name = word if word >= 0 else -1 - at
            units[name] = units.get(name, 0.0) + float(mean[at])
        allowed = {n: v for n, v in units.items() if n >= 0 or null == "special"}
        best = max(allowed, key=lambda name: allowed[name])
        assert found[target].nonzero().flatten().tolist() == ([best] if best >= 0 else [])


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
