"""Files that are JSON arrays, and paths into objects, against what the library json reads."""

import io
import json
import tracemalloc

import pytest

from headlight.chats import Chat, begins_as_chat
from headlight.corpora import open_corpus, open_sentence_pairs
from headlight.corpora.json_lines import json_values
from headlight.corpora.lines import Lines
from headlight.errors import CorpusError

SHAREGPT = [
    {"from": "system", "value": "Be brief."},
    {"from": "human", "value": "A river?"},
    {"from": "gpt", "value": "A sea."},
]
ROLES = ["system", "user", "assistant"]


def values(text):
    return [value for _, value in json_values(Lines(io.BytesIO(text.encode()), "a.json"))]


STRANGE = 'a é[]{},:"\\\n\u2028😀'
ARRAY = [{"a": STRANGE, STRANGE: [1, -2.5, True, None, [], {}]}, STRANGE, [[["b"]]], {}, {"c": {}}]


@pytest.mark.parametrize("layout", [{}, {"indent": 1}, {"separators": ("\n,\n", "\n:\n")}])
def test_elements_are_those_of_the_library_and_no_cut_is_read(layout):
    text = json.dumps(ARRAY, **layout)
    assert values(f"\n {text}\n\n") == ARRAY
    assert values("[ \n]") == []
    for end in range(1, len(text)):
        with pytest.raises(CorpusError, match=r"cut short|not JSON"):
            values(text[:end])


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_on_lines_is_read_in_little_memory(tmp_path, monkeypatch, indent):
    path, number = tmp_path / "a.json", 3000
    rows = (json.dumps({"text": f"{7 ** (900 + at)}"}, indent=indent) for at in range(number))
    path.write_text("[" + ",\n".join(rows) + "]")
    tracemalloc.start()
    try:
        assert sum(1 for _ in open_corpus(path)) == number
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < path.stat().st_size / 4
    monkeypatch.setattr("headlight.corpora.json_lines.DOCUMENT_LIMIT", 100)
    path.write_text('["a",\n[' + "1,\n" * 200 + "1]]")
    with pytest.raises(CorpusError, match=r"a\.json:2\[1\]: .* is longer than 100 characters"):
        list(open_corpus(path))


def test_paths_lead_into_objects(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"data": {"text": "A river.", "n": {}}, "a.b": "A sea."}\n')
    for column, text in {"data.text": "A river.", "a.b": "A sea."}.items():
        assert [document.paragraphs for document in open_corpus(path, column=column)] == [(text,)]
    for column in ("data.texts", "data.n.text", "data.text.a", "other.text"):
        with pytest.raises(CorpusError, match=rf"jsonl:1: there is no column '{column}'; .*'data'"):
            list(open_corpus(path, column=column))
    rows = [{"in": {"a": f"river {n}", "b": "sea"}, "out": {"class": n}} for n in range(3)]
    path.write_text(json.dumps(rows))
    pairs = open_sentence_pairs(path, columns=["in.a", "in.b"], label="out.class")
    assert [(pair.name, pair.first, pair.second, pair.label) for pair in pairs] == [
        (f"{path}:1[{n}]", f"river {n}", "sea", f"{n}") for n in range(3)
    ]


def test_chats_of_sharegpt_have_roles(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"conversations": SHAREGPT}, {"conversations": SHAREGPT[:2]}]))
    first, second = open_corpus(path)
    assert first.chat == Chat.of(SHAREGPT) == Chat.of({"conversations": SHAREGPT})
    assert [message["role"] for message in first.chat.messages] == ROLES
    assert first.chat.contents == [message["value"] for message in SHAREGPT]
    assert second.chat.contents == first.chat.contents[:2]
    assert begins_as_chat('[{"from": "human", "val')
    for known, place in ((SHAREGPT, 4), ([], 1)):
        path.write_text(json.dumps([{"conversations": [*known, {"from": "tool", "value": "3"}]}]))
        with pytest.raises(
            CorpusError, match=rf"a\.json:1\[0\]: message {place} has the role 'tool'"
        ):
            list(open_corpus(path))
