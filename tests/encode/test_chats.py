"""Chats: the ids of the template, and which tokens are whose."""

import copy
import json
import sys

import pytest

from headlight.corpora import Chat, Document, open_corpus
from headlight.encode import encode_one, texts
from headlight.encode.chat_templates import write_chat
from headlight.encode.special_tokens import Assembly
from headlight.errors import CorpusError, UsageError
from headlight.vocabulary import SEGMENTS

END = "<|endoftext|>"
CHATML = (
    "{% if messages[0]['role'] != 'system' %}" + END + "the sea is old\n{% endif %}"
    "{% for message in messages %}" + END + "{{ message['role'] }}\n{{ message['content'] }}\n"
    "{% endfor %}{% if add_generation_prompt %}" + END + "assistant\n{% endif %}"
)
STRIPPED = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] | trim }}{% endfor %}"
CHAT = [
    {"role": "user", "content": "is the sea full?"},
    {"role": "assistant", "content": "the lake is full."},
    {"role": "user", "content": " ü 😀 the river \n"},
]


@pytest.fixture
def templated(tokenizers):
    tokenizer = copy.deepcopy(tokenizers["gpt2"])
    tokenizer.chat_template = CHATML
    return tokenizer


def by_segment(tokenizer, example):
    """The text of each run of tokens of one segment."""
    runs = []
    for token, name in zip(example.ids, example.segment_names, strict=True):
        if not runs or runs[-1][0] != name:
            runs.append((name, []))
        runs[-1][1].append(token)
    return [(name, tokenizer.decode(ids)) for name, ids in runs]


@pytest.mark.parametrize(
    "messages",
    [
        CHAT,
        [{"role": "system", "content": "the river"}, *CHAT],
        CHAT * 20,
        [{"role": "user", "content": ""}, {"role": "assistant", "content": "sea"}],
        [{"role": "user", "content": f"sea {END} user\nis {END}"}],
        [{"role": "user", "content": [{"type": "text", "text": "the sea"}]}],
        [{"role": "user", "content": "the sea", "name": "ann", "id": 3}],
        [{"role": "user", "content": "\ue0000\ue001 the sea"}],
    ],
)
@pytest.mark.parametrize("answer", [False, True])
def test_ids_are_those_of_the_template(templated, messages, answer):
    chat = Chat(Chat.of(messages).messages, answer=answer)
    example = encode_one(templated, chat)
    plain = chat.with_contents(chat.contents)
    ids = templated.apply_chat_template(plain, add_generation_prompt=answer)["input_ids"]
    assert list(example.ids) == ids
    assert len(example.segment_names) == len(ids)
    assert set(example.segment_names) <= set(SEGMENTS)
    # The contents are what is not the template's, in their order.
    own = [text for name, text in by_segment(templated, example) if name != "template"]
    assert "".join("".join(own).split()) == "".join("".join(chat.contents).split())


def test_the_prompt_of_the_template_is_no_message(templated):
    example = encode_one(templated, Chat.of(CHAT))
    runs = by_segment(templated, example)
    assert runs[0] == ("template", f"{END}the sea is old\n{END}user\n")
    assert [name for name, _ in runs[1::2]] == ["user", "assistant", "user"]
    own = encode_one(templated, Chat.of(CHAT, system="the river"))
    runs = by_segment(templated, own)
    assert runs[:2] == [("template", f"{END}system\n"), ("system", "the river")]
    again = Chat.of([{"role": "system", "content": "old"}, *CHAT], system="the river")
    assert again == Chat.of(CHAT, system="the river")


def test_a_token_that_is_typed_is_counted_and_the_template_is_not(templated):
    def written(content):
        example = encode_one(templated, Chat.of([{"role": "user", "content": content}]))
        return Assembly.from_tokenizer(templated).marks.written(example)

    assert written("the sea") == (0, False)
    assert written(f"the {END} sea {END}") == (2, False)
    templated.chat_template = END + CHATML  # which begins twice by itself
    assert written("the sea") == (0, True)


def test_words_end_with_their_segment(templated):
    templated.chat_template = (
        "{% for m in messages %}{{ m['role'] }}:{{ m['content'] }}{% endfor %}"
    )
    example = encode_one(templated, Chat.of(CHAT[:2]))
    of_word = {}
    for word, name in zip(example.words, example.segment_names, strict=True):
        of_word.setdefault(word, set()).add(name)
    assert all(len(names) == 1 for names in of_word.values())
    assert sorted(of_word) == list(range(len(of_word)))


def test_blanks_that_the_template_removes_are_no_content(templated):
    templated.chat_template = STRIPPED
    written = write_chat(templated, Chat.of(CHAT))
    assert written.text.endswith("[user] ü 😀 the river")
    assert [name for name in written.segments if name != "template"] == [
        "user",
        "assistant",
        "user",
    ]
    encode_one(templated, Chat.of(CHAT))


@pytest.mark.parametrize(
    ("template", "part"),
    [
        (None, "has no chat template"),
        ("{{ raise_exception('Roles must alternate') }}", "not take this chat: Roles must"),
        ("{{ messages[0].nothing.at_all }}", "does not take this chat"),
        (
            "{% for m in messages %}{{ m['content'] | upper }}{% endfor %}",
            "changes, moves or leaves",
        ),
        ("{{ messages[-1]['content'] }}", "changes, moves or leaves"),
        ("{% for m in messages[::-1] %}{{ m['content'] }}{% endfor %}", "changes, moves or leaves"),
        ("{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}", "changes, moves or"),
        ("{% for m in messages %}{{ m.content | length }}{% endfor %}", "changes, moves or leaves"),
        (
            "{% for m in messages %}{{ m.content }}{% if 'lake' in m.content %}!{% endif %}"
            "{% endfor %}",
            "changes, moves or leaves",
        ),
    ],
)
def test_templates_whose_messages_cannot_be_found_are_refused(templated, template, part):
    templated.chat_template = template
    with pytest.raises(UsageError, match=part):
        encode_one(templated, Chat.of(CHAT))
    bare = encode_one(templated, Chat.of(CHAT, template=False))
    assert templated.decode(bare.ids) == "\n\n".join(each["content"] for each in CHAT)


LOOPS = "{% for i in range(99999) %}{% for j in range(99999) %}a{% endfor %}{% endfor %}"
GROWS = (
    "{% set all = namespace(text='a') %}"
    "{% for i in range(99) %}{% set all.text = all.text ~ all.text %}{% endfor %}{{ all.text }}"
)


def test_texts_of_one_message_are_joined_as_by_a_template_that_takes_them(templated):
    templated.chat_template = (
        "{% for m in messages %}[{{ m.role }}] {% if m.content is string %}{{ m.content }}"
        "{% else %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}{% endfor %}"
    )
    parts = [{"type": "text", "text": text} for text in ("the sea ", "is", " old.\n")]
    messages = [{"role": "user", "content": parts}, *CHAT[1:]]
    expected = templated.apply_chat_template(messages, return_dict=True)["input_ids"]
    assert list(encode_one(templated, Chat.of(messages)).ids) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "part"),
    [
        (LOOPS, "takes more than"),
        ("{{ 9 ** (9 ** 9) }}", "takes more than"),
        ("{{ 'a' * 10 ** 10 }}", "MB of memory"),
        (GROWS, "MB of memory"),
        ("{{ 'a'.rjust(10 ** 10) }}", "MB of memory"),
        ("{{ [0] * 10 ** 10 }}", "MB of memory"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "does not take this chat"),
    ],
    ids=["loops", "power", "product", "growing", "filled", "list", "recursion"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are not copied")
def test_a_template_ends_or_is_ended(templated, template, part, monkeypatch):
    monkeypatch.setattr("headlight.processes.SECONDS", 2.0 if "memory" not in part else 600.0)
    templated.chat_template = template
    with pytest.raises(UsageError, match=part):
        encode_one(templated, Chat.of(CHAT))
    templated.chat_template = CHATML
    assert encode_one(templated, Chat.of(CHAT)).segment_names


def test_other_ids_than_those_of_the_tokenizer_are_refused(templated, monkeypatch):
    own = type(templated).apply_chat_template

    def other(self, messages, **options):
        made = own(self, messages, **options)
        return {"input_ids": made["input_ids"][1:]} if options.get("tokenize", True) else made

    monkeypatch.setattr(type(templated), "apply_chat_template", other)
    with pytest.raises(UsageError, match="makes other tokens of this chat"):
        encode_one(templated, Chat.of(CHAT))


def test_without_a_template_the_tokenizer_adds_its_own_tokens(tokenizers):
    example = encode_one(tokenizers["bert"], Chat.of(CHAT[:2], template=False))
    whole = encode_one(tokenizers["bert"], "is the sea full?\n\nthe lake is full.")
    assert (example.ids, example.categories) == (whole.ids, whole.categories)
    assert example.segment_names[0] == example.segment_names[-1] == "template"
    assert example.beginning(3).segment_names == example.segment_names[:3]


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ([], "a chat is a list of messages"),
        ({"messages": []}, "a chat is a list of messages"),
        ({"messages": "the sea"}, "a chat is a list of messages"),
        ([{"content": "the sea"}], "message 1 has no role"),
        ([*CHAT, "the sea"], "message 4 has no role"),
        ([{"role": "tool", "content": "3"}], "message 1 has the role 'tool'"),
        ([{"role": ["user"], "content": "3"}], "message 1 has the role"),
        ([{"role": "user", "content": None}], "message 1 has no content"),
        ([{"role": "user"}], "message 1 has no content"),
        ([{"role": "assistant", "tool_calls": [{}], "content": "a"}], "has 'tool_calls'"),
        ([{"role": "assistant", "thinking": "hm", "content": "a"}], "has 'thinking'"),
        ({"messages": CHAT, "tools": [{}]}, "the chat has 'tools'"),
        ([{"role": "user", "content": [{"type": "image"}]}], "a list of image"),
        (
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}],
            "a list of text, image_url",
        ),
        ([{"role": "user", "content": [{"type": "text"}]}], "text without a string"),
        ([{"role": "user", "content": ["the sea"]}], "a list of str"),
        ([{"role": "user", "content": "\ud800"}], "message 1 holds half of a surrogate pair"),
        ([{"role": "user", "content": " "}], "all messages of the chat are empty"),
    ],
)
def test_what_is_not_read_is_named(value, part):
    with pytest.raises(UsageError, match=part):
        Chat.of(value)


def test_a_chat_comes_back_from_json():
    for chat in (
        Chat.of(CHAT),
        Chat.of(CHAT, template=False),
        Chat(Chat.of(CHAT).messages, True, True),
    ):
        assert Chat.of_json(chat.as_json()) == chat


def test_a_corpus_of_chats(templated, tmp_path):
    rows = [{"messages": CHAT}, {"messages": [{"role": "user", "content": f"a {END}"}]}]
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = texts(open_corpus(path), templated, max_length=64)
    first, second = made
    assert first.ids == encode_one(templated, Chat.of(CHAT)).ids
    assert first.segment_names == encode_one(templated, Chat.of(CHAT)).segment_names
    assert (made.counts.special, made.counts.doubled) == (1, 0)
    windows = list(texts(open_corpus(path), templated, max_length=5, overflow="split"))
    joined = [token for each in windows for token in each.ids]
    assert tuple(joined) == (*first.ids, *second.ids)
    assert all(len(each.segment_names) == len(each.ids) for each in windows)
    # A chat among texts, each as it is read alone.
    mixed = [Document("text", ("the sea",)), *open_corpus(path)]
    plain, chat, _ = texts(mixed, templated, max_length=64)
    assert plain.ids == encode_one(templated, "the sea").ids
    assert (plain.segment_names, chat.segment_names) == ((), first.segment_names)
    templated.chat_template = None
    with pytest.raises(CorpusError, match=r"chats.jsonl:1: .*has no chat template"):
        list(texts(open_corpus(path), templated, max_length=64))


def test_the_template_is_not_read_as_characters(templated):
    templated.split_special_tokens = True
    with pytest.raises(UsageError, match="leave out split_special_tokens"):
        encode_one(templated, Chat.of(CHAT))
