"""What is said about text that was not read."""

import json

import pytest

from headlight.cli.notes import notes


def said(stage, settings=None, **counts):
    return list(notes({"stage": stage, "settings": json.dumps(settings or {}), **counts}))


@pytest.mark.parametrize(
    ("stage", "counts", "note"),
    [
        ("survey", {"truncated": 1}, "1 example cut at the limit of tokens."),
        ("norms", {"truncated": 1234}, "1,234 examples cut at the limit of tokens."),
        ("coreference", {"truncated": 2}, "2 documents cut at the limit of tokens."),
        ("dependency", {"too_long": 2},
         "2 sentences longer than the limit of tokens, and left out."),
        ("survey", {"empty": 1}, "1 document without a token, and left out."),
        ("dependency", {"unencodable": 1},
         "1 sentence left out, of which the tokenizer does not keep all words."),
        ("survey", {"discarded": 8},
         "8 documents with a last paragraph that has no partner, and is left out."),
    ],
)  # fmt: skip
def test_what_was_left_out(stage, counts, note):
    assert said(stage, **counts) == [f"note: {note}"]


def test_pairs_are_made_by_cutting():
    assert said("survey", {"pairs": True}, truncated=3) == []
    found = said("attribution", {"pairs": False, "format": "pairs"}, truncated=3, too_long=2)
    assert found == [
        "note: 3 examples cut at the limit of tokens.",
        "note: 2 pairs longer than the limit of tokens, and left out.",
    ]


def test_only_many_unknown_tokens_are_worth_a_note():
    assert said("survey", unknown=10, tokens=100) == []
    assert said("survey", unknown=14, tokens=20)[0].startswith("note: 14 of 20 tokens are unknown")
    assert said("survey") == []
