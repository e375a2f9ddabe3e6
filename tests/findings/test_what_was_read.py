"""What is said first of every result: how much was read, and what so little cannot carry."""

import json

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

from headlight.catalogue import studies
from headlight.findings.thresholds import FEW_EXAMPLES, is_near_majority
from headlight.findings.what_was_read import counted, examples, what_was_read
from headlight.views.result_contents import headline, tables
from headlight.views.result_terminal import study_terminal
from headlight.views.sentences import INTERVAL
from study_runs import StudyRuns


def read(stage, settings=None, variables=None, **attributes):
    about = {"stage": stage, "settings": json.dumps(settings or {}), **attributes}
    return what_was_read(xr.Dataset(variables or {}, attrs=about))


@pytest.mark.parametrize(
    ("stage", "settings", "counts", "sentence"),
    [
        ("survey", {}, {"examples": 40, "tokens": 1234}, "40 documents, 1,234 tokens."),
        ("survey", {"max_examples": 40}, {"examples": 40, "tokens": 1234},
         "The first 40 documents of the corpus, 1,234 tokens."),
        ("survey", {"max_examples": 40}, {"examples": 40, "tokens": 1234, "corpus_share": 0.0312},
         "The first 40 documents (about 3% of the corpus), 1,234 tokens."),
        ("survey", {"max_examples": 40}, {"examples": 40, "tokens": 1234, "corpus_share": 1.0},
         "40 documents, 1,234 tokens."),
        ("dependency", {}, {"examples": 2, "tokens": 9, "corpus_share": 0.9999},
         "2 sentences (about 99% of the corpus), 9 tokens."),
        ("survey", {"overflow": "truncate"},
         {"examples": 40, "tokens": 3751, "truncated": 39, "lost_tokens": 140923},
         "40 documents, 3,751 tokens; 39 of 40 were cut at the limit of tokens: 3% of the tokens "
         "were read, --overflow split reads all."),
        ("survey", {"pairs": True}, {"examples": 2, "tokens": 18, "truncated": 3,
                                     "lost_tokens": 2},
         "2 examples, 18 tokens; 90% of the tokens were read, as pairs are cut to one length."),
        ("survey", {"format": "pairs"}, {"examples": 3, "tokens": 30, "too_long": 2},
         "3 pairs, 30 tokens. 2 pairs are longer than the limit of tokens, and left out."),
        ("dependency", {}, {"examples": 1, "tokens": 9, "too_long": 1, "unencodable": 1},
         "1 sentence, 9 tokens. 1 sentence is longer than the limit of tokens, and left out. "
         "1 sentence is left out, of which the tokenizer does not keep all words."),
        ("parser_probes", {}, {"sentences": np.array([54, 6])},
         "Trained on 54 sentences, tested on 6."),
        ("parser_probes", {}, {"sentences": np.array([54, 6]), "corpus_share": 0.25},
         "Trained on 54 sentences, tested on 6 (about 25% of the corpus)."),
        ("guided", {}, {"examples": 32, "held_out": 8, "tokens": 300, "corpus_share": 0.0004},
         "32 texts to learn from (under 0.1% of the corpus); everything is measured on 8 held-out "
         "texts; 300 tokens in all."),
        ("guided", {}, {"examples": 32, "held_out": 8, "tokens": 300},
         "32 texts to learn from; everything is measured on 8 held-out texts; 300 tokens in all."),
        ("coreference", {"max_length": 128},
         {"answerable": 17, "mentions": 293, "cut": 189, "opening": 87, "documents": 3,
          "documents_without": 1, "tokens": 255},
         "17 of 293 mentions were asked about, in 2 of 3 documents (255 tokens in windows). Of the "
         "others, 87 have no antecedent in their document and 189 lie beyond the 128 tokens of a "
         "window (a larger --max-length reaches more of them, and --overlap, with several windows "
         "to a document, all)."),
    ],
)  # fmt: skip
def test_how_much_was_read_and_why_not_all(stage, settings, counts, sentence):
    assert read(stage, settings, **counts).sentence == sentence


def test_little_is_called_little():
    assert read("survey", examples=FEW_EXAMPLES, tokens=900).cautions == ()
    (few,) = read("survey", examples=FEW_EXAMPLES - 1, tokens=900).cautions
    assert few == "Only 19 documents: that says little of other texts."
    with_interval = {"loss": 1.0, "loss_low": 0.5, "loss_high": 1.5}
    (few,) = read("ablation", variables=with_interval, examples=1, tokens=1).cautions
    assert few.endswith(", and intervals are drawn from these alone.")


@pytest.mark.papers
def test_few_held_out_texts_are_called_little():
    (few,) = read("parser_probes", sentences=np.array([54, 6])).cautions
    assert few.startswith("Only 6 tested sentences")
    assert "--train" in few
    (few,) = read("guided", examples=32, held_out=8).cautions
    assert "--held-out" in few


@pytest.mark.words
def test_few_mentions_and_documents_of_coreference():
    counts = {"answerable": 17, "mentions": 293, "documents": 3, "documents_without": 1}
    sizes = {"accuracy": (("layer", "head", "direction"), np.zeros((6, 12, 2)))}
    best, interval = read("coreference", variables=sizes, **counts).cautions
    assert best.startswith("Only 17 mentions: the best of 144 candidates")
    assert interval.startswith("No interval is shown: it would be drawn from 2 documents")


@pytest.mark.papers
@pytest.mark.parametrize(
    ("accuracy", "low", "majority", "near"),
    [
        (0.575, 0.52, 0.5, True),  # finds 15% of the rest
        (0.95, 0.93, 0.9, False),  # finds half of it
        (0.7, 0.49, 0.5, True),  # the interval reaches it
        (0.3, 0.2, 0.5, True),
        (1.0, 1.0, 1.0, True),  # there is one class alone
        (0.9, 0.85, 0.5, False),
        (0.9, float("nan"), float("nan"), False),
    ],
)
def test_a_model_near_the_most_frequent_class(accuracy, low, majority, near):
    assert is_near_majority(accuracy, low, majority) is near
    variables = {"own_accuracy": accuracy, "own_accuracy_low": low, "majority_accuracy": majority}
    said = read("permutation", variables=variables, examples=400, tokens=4000).cautions
    assert [each for each in said if "always predicted the most frequent class" in each] == (
        list(said) if near else []
    )


@pytest.mark.parametrize(
    ("counts", "sentences"),
    [
        ({}, []),
        ({"special": 1}, ["1 special token is written in the texts, and counted as other"]),
        ({"special": 1200}, ["1,200 special tokens are written", "--split-special-tokens reads"]),
        ({"special": 2, "doubled": 1}, ["1 of 40 documents begins with the very token"]),
        ({"special": 9, "doubled": 9}, ["9 of 40 documents begin with the very token"]),
    ],
)
def test_special_tokens_in_texts_are_said(counts, sentences):
    said = read("survey", examples=40, tokens=1234, **counts).sentence
    assert all(sentence in said for sentence in sentences)
    assert ("special" in said) == bool(counts)


@pytest.mark.parametrize(
    ("settings", "one_word", "part"),
    [
        ({}, 21, "21 of 40 documents are one word: blanks alone separate words."),
        ({}, 20, None),
        ({"column": "label"}, 40, "words, or the column 'label' holds labels and no texts."),
    ],
)
def test_texts_of_one_word_are_said(settings, one_word, part):
    cautions = read("survey", settings, examples=40, tokens=1234, one_word=one_word).cautions
    assert [each for each in cautions if "one word" in each] == [
        each for each in cautions if part and part in each
    ]
    assert len([each for each in cautions if "one word" in each]) == bool(part)


def test_only_many_unknown_tokens_are_worth_a_word():
    assert read("survey", examples=50, unknown=10, tokens=100).cautions == ()
    (said,) = read("survey", examples=50, unknown=14, tokens=20).cautions
    assert said.startswith("14 of 20 tokens are unknown")


@pytest.mark.slow
@pytest.mark.parametrize("name", studies())
def test_every_page_and_terminal_says_it_below_the_answer(name: str, study_runs: StudyRuns) -> None:
    result = study_runs.result(name)
    said = what_was_read(result)
    texts = [e.text for e in study_runs.page(name).all("p")]
    assert said.sentence
    # Behind the kind of page and the line of what was read; the whole of it is folded.
    assert tuple(texts[2 : 2 + len(said.cautions)]) == said.cautions
    assert any(text.endswith(said.sentence) for text in texts)
    console = Console(width=2000)
    with console.capture() as shown:
        console.print(study_terminal(result))
    lines = [line.strip() for line in shown.get().splitlines()]
    answer = headline(result)
    assert answer
    assert INTERVAL.sub("", lines[0]).startswith(answer.title.split(" (95%")[0].split(". ")[0])
    assert set(said.cautions) <= set(lines)
    assert any("Only" in each for each in said.cautions)  # runs of tests are small
    assert counted(result)
    assert 0 < examples(result) < FEW_EXAMPLES


@pytest.mark.papers
@pytest.mark.parametrize("name", ["permutation", "instance_adversary", "guided", "adversary"])
def test_classifiers_are_beside_the_most_frequent_class(name: str, study_runs: StudyRuns) -> None:
    result = study_runs.result(name)
    assert "always predicted the most frequent class" in what_was_read(result).cautions[0]
    texts = examples(result)
    share = float(result["majority_accuracy"]) * texts
    assert share == pytest.approx(round(share))
    assert share >= texts / 2  # of two classes


@pytest.mark.words
def test_an_interval_of_too_few_documents_is_not_shown(study_runs: StudyRuns) -> None:
    frame = tables(study_runs.result("coreference"))["best"].frame
    assert frame[["low", "high"]].isna().all(axis=None)


@pytest.mark.words
@pytest.mark.parametrize("said", ["[" * 100_000, "[1]", "{}", "nope"])
def test_what_was_left_out_is_not_read_where_it_cannot_be(said):
    found = read("parser_probes", sentences=np.array([54, 6]), left_out=said)
    assert found.sentence == "Trained on 54 sentences, tested on 6."
