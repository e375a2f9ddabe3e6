"""Special tokens that are written in texts: counted, of no word, and not the tokenizer's own."""

from itertools import groupby

import pytest

from headlight.corpora import Document
from headlight.encode import encode_one, texts
from headlight.encode.special_tokens import Assembly
from headlight.encode.token_categories import CLS, OTHER, SEP

CHAT = "<s>the sea</s>\n<s>and the river</s>\n"


def written(tokenizer, text):
    return Assembly.from_tokenizer(tokenizer).marks.written(encode_one(tokenizer, text))


@pytest.mark.parametrize(
    ("kind", "text", "number", "doubled"),
    [
        ("bert", "the sea", 0, False),
        ("bert", "the [SEP] sea", 1, False),
        ("bert", "[CLS] the sea [SEP]", 2, True),
        ("bert", "the [MASK] is xyz é", 0, False),
        ("bert", "[SEP]", 1, False),
        ("roberta", "<s>the sea", 1, True),
        ("roberta", "</s>the sea", 1, False),
        ("roberta", CHAT, 4, True),
        ("gpt2", "<|endoftext|>the sea<|endoftext|>", 2, False),
        ("gpt2", "<|endoftext|><|endoftext|>the sea", 2, False),
        ("gpt2", "the sea", 0, False),
    ],
)
def test_they_are_counted(tokenizers, kind, text, number, doubled):
    assert written(tokenizers[kind], text) == (number, doubled)
    examples = texts([Document("a", (text,))] * 3, tokenizers[kind], max_length=64)
    assert len(list(examples)) == 3
    assert (examples.counts.special, examples.counts.doubled) == (3 * number, 3 * doubled)


def test_they_are_neither_beginning_nor_end(tokenizers):
    for kind, text in (("bert", "the [SEP] sea [CLS] is [SEP]"), ("roberta", CHAT)):
        example = encode_one(tokenizers[kind], text)
        assert (example.categories[0], example.categories[-1]) == (CLS, SEP)
        assert not {CLS, SEP} & {*example.categories[1:-1]}
    # What is written first of an example to which the tokenizer adds nothing begins it.
    example = encode_one(tokenizers["gpt2"], "<|endoftext|>the sea<|endoftext|>")
    assert [example.categories[0], example.categories[-1]] == [CLS, OTHER]
    pair = encode_one(tokenizers["bert"], "the [SEP] sea", "is [SEP] and")
    assert [at for at, each in enumerate(pair.categories) if each == SEP] == [4, 8]


def test_they_are_part_of_no_word(tokenizers):
    tokenizer = tokenizers["roberta"]
    example = encode_one(tokenizer, CHAT)
    special = {tokenizer.convert_tokens_to_ids(name) for name in ("<s>", "</s>")}
    assert [word < 0 for word in example.words] == [token in special for token in example.ids]
    tokens = tokenizer.convert_ids_to_tokens(list(example.ids))
    by_word = {}
    for token, word in zip(tokens, example.words, strict=True):
        by_word.setdefault(word, []).append(token)
    del by_word[-1]
    assert ["".join(pieces) for pieces in by_word.values()] == [
        "the", "Ġsea", "Ċ", "and", "Ġthe", "Ġriver", "Ċ"
    ]  # fmt: skip
    assert sorted(by_word) == list(range(7))
    glued = encode_one(tokenizer, "the</s>the sea")
    assert [word for word, _ in groupby(glued.words)] == [-1, 0, -1, 1, 2, -1]


def test_words_behind_them_are_counted_on_in_windows_and_pairs(tokenizers):
    tokenizer = tokenizers["bert"]
    (first, second) = texts(
        [Document("a", ("the [SEP] sea is [SEP] river",))],
        tokenizer,
        max_length=5,
        overflow="split",
    )
    assert first.words == (-1, 0, -1, 1, -1)
    assert second.words == (-1, 0, -1, 1, -1)
    pair = encode_one(tokenizer, "the [SEP] sea", "[SEP] river")
    assert pair.words == (-1, 0, -1, 1, -1, -1, 2, -1)


def test_they_can_be_read_as_characters(tokenizers):
    tokenizer = tokenizers["roberta"]
    marked = encode_one(tokenizer, CHAT)
    tokenizer.split_special_tokens = True
    try:
        plain = encode_one(tokenizer, CHAT)
        assert Assembly.from_tokenizer(tokenizer).marks.written(plain) == (0, False)
    finally:
        tokenizer.split_special_tokens = False
    assert plain.ids[0] == marked.ids[0]
    assert tokenizer.decode(plain.ids[1:-1]) == CHAT
    assert len(plain.ids) > len(marked.ids)


def test_texts_of_one_word_are_counted(tokenizers):
    made = texts([Document("a", (text,)) for text in ("sea", "the sea", "xyz", "[SEP] sea")],
                 tokenizers["bert"], max_length=16)  # fmt: skip
    assert len(list(made)) == 4
    assert made.counts.one_word == 3
