"""Stretches of text in which the best heads find antecedents, against their definition."""

import numpy as np
import pytest
import xarray
from hypothesis import given, strategies as st

from headlight.result import load, save
from headlight.views.result_contents import pictures
from headlight_words.example_sentences import LONGEST
from headlight_words.findings.coreference import best_heads
from headlight_words.studies.coreference.study import AROUND, best_stretch
from studies.coreference_documents import windows
from studies.models import model
from studies.test_coreference_heads import documents, found, word_maps


@st.composite
def mentions(draw) -> list[tuple[int, int, bool]]:
    """Places of a mention and of what is picked for it, and whether that is right."""
    place = st.integers(0, 49)
    heads = draw(st.lists(place, min_size=1, max_size=12, unique=True))
    return [
        (head, picked := draw(st.integers(-1, 49)), picked >= 0 and draw(st.booleans()))
        for head in heads
    ]


@pytest.mark.slow
@given(mentions(), st.booleans())
def test_no_stretch_has_more_that_is_right(asked, long) -> None:
    length = 50 if long else 1 + max(max(head, picked) for head, picked, _ in asked)
    words = tuple(f"w{place}" for place in range(length))
    shown = best_stretch(words, *map(np.array, zip(*asked, strict=True)))
    balances = []
    for first in range(max(length - LONGEST, 0) + 1):
        here = range(first, first + LONGEST)
        inside = [each for each in asked if each[0] in here]
        balances.append(
            sum(right and picked in here for _, picked, right in inside)
            - sum(not right for *_, right in inside)
        )
    assert shown.balance == max(balances) or not shown.words
    if not shown.words:
        assert max(balances) <= 0
        return
    assert len(shown.words) <= LONGEST
    start = int(shown.words[0][1:])
    lines = {
        (place + start, int(to) + start, bool(right))
        for place, (to, right) in enumerate(zip(shown.predicted, shown.right, strict=True))
        if to >= 0
    }
    assert lines <= set(asked)
    ends = [end for *both, _ in lines for end in both]
    assert min(ends) - AROUND <= start <= min(ends)
    assert max(ends) < start + len(shown.words) <= max(ends) + AROUND + 1


@pytest.mark.slow
def test_what_is_shown_is_what_the_best_head_picks(tmp_path) -> None:
    corpus = documents()
    result = found(corpus, measures=("norm", "weight"), sentences=True)
    save(result, tmp_path / "result.nc")
    xarray.testing.assert_equal(load(tmp_path / "result.nc"), result)
    shown = 0
    for row in best_heads(result, "weight").to_dict("records"):
        here = result.sel(measure="weight", mention_kind=row["mention_kind"])
        words = [word for word in here["sentence_word"].values if word]
        for place in np.flatnonzero(here["sentence_found"] >= 0):
            shown += 1
            assert picks(corpus, words, place, row) == int(here["sentence_found"][place])
    assert shown > 4
    pictures(result)["sentences"].draw()
    assert "sentences" not in pictures(result.drop_vars("sentence_word"))


def picks(corpus, words, place, row) -> int:
    """What the head picks for a word of a stretch, by the attention that the model returns."""
    made = model("bert")
    for document in corpus:
        for span in windows(document, made.tokenizer, max_length=40):
            text = document.words[: span.kept]
            for start in range(len(text) - len(words) + 1):
                if list(text[start : start + len(words)]) == words:
                    square = word_maps(made, span)[row["layer"], row["head"]]
                    query = start + place
                    scores = square[:, query] if row["direction"] == "antecedent" else square[query]
                    sizes = [mention.chain for mention in document.mentions]
                    heads = {
                        m.head
                        for m in document.mentions
                        if sizes.count(m.chain) > 1 and m.last < span.kept and m.head < query
                    }
                    return max(sorted(heads), key=lambda word: scores[word]) - start
    raise AssertionError(words)
