"""Words, categories and special tokens of every kind of tokenizer."""

import pytest
from hypothesis import given, settings, strategies as st
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from headlight.encode import encode_one
from headlight.encode.pieces import tokenise
from headlight.encode.token_categories import CLS, OTHER, PUNCTUATION, SEP, Categories
from headlight.errors import UsageError

KINDS = ["bert", "roberta", "gpt2", "t5"]


def test_the_ids_are_those_of_the_tokenizer(tokenizer, sentences):
    for first in sentences:
        example = encode_one(tokenizer, first)
        assert list(example.ids) == tokenizer(first)["input_ids"]
        for second in sentences:
            example = encode_one(tokenizer, first, second)
            theirs = tokenizer(first, second, return_token_type_ids=True)
            assert list(example.ids) == theirs["input_ids"]
            assert list(example.segments) == theirs["token_type_ids"]


def test_categories_by_hand(tokenizers):
    first, second = "the sea, the lake.", "the town"
    expected = {
        "bert": ["[CLS]", "[SEP]", "[SEP]"],
        "roberta": ["<s>", "</s>", "</s>", "</s>"],
        "gpt2": [],
        "t5": ["</s>", "</s>"],
    }
    for kind, special in expected.items():
        tokenizer = tokenizers[kind]
        example = encode_one(tokenizer, first, second)
        tokens = tokenizer.convert_ids_to_tokens(list(example.ids))
        marked = [t for t, c in zip(tokens, example.categories, strict=True) if c in (CLS, SEP)]
        assert marked == special
        assert [c for c in example.categories if c == CLS] == [CLS] * (kind in ("bert", "roberta"))
        points = [t for t, c in zip(tokens, example.categories, strict=True) if c == PUNCTUATION]
        assert [point.lstrip("▁Ġ") for point in points] == [",", "."]
        assert [w == -1 for w in example.words] == [t in special for t in tokens]


def test_a_point_inside_a_word_is_no_punctuation(fresh_bert):
    bert = fresh_bert
    bert.add_tokens("##.")
    example = encode_one(bert, "the ##. sea . [MASK]")
    tokens = bert.convert_ids_to_tokens(list(example.ids))
    assert example.categories[tokens.index("##.")] == OTHER
    assert example.categories[tokens.index(".")] == PUNCTUATION
    assert example.categories[tokens.index("[MASK]")] == OTHER
    assert example.words[tokens.index("[MASK]")] >= 0, "it stands in the text"


def test_the_spellings_of_punctuation():
    pieces = {
        ".": PUNCTUATION, ",": PUNCTUATION, "Ġ.": PUNCTUATION, "▁,": PUNCTUATION,
        ".</w>": PUNCTUATION, "##.": OTHER, "##,": OTHER, ".,": OTHER, "...": OTHER, "Ġ": OTHER,
        ";": OTHER, "▁a.": OTHER,
    }  # fmt: skip
    vocabulary = {piece: index for index, piece in enumerate(["?", *pieces])}
    model = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    categories = Categories.from_tokenizer(PreTrainedTokenizerFast(tokenizer_object=model))
    ids = list(range(1, 1 + len(pieces)))
    assert categories.of_ids(ids, [OTHER] * len(ids)) == tuple(pieces.values())


def test_one_token_for_beginning_and_end(tokenizers):
    end = "<|endoftext|>"
    example = encode_one(tokenizers["gpt2"], f"{end}the sea{end}the lake{end}")
    ids = [index for index, c in enumerate(example.categories) if c in (CLS, SEP)]
    assert [example.categories[index] for index in ids] == [CLS]  # and ends are in the text


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("bert", "The river, old.", [0, 1, 1, 2, 2]),
        ("gpt2", "the  sea", [0, 1, 1]),
        ("t5", "the sea", [0, 1]),
    ],
)
def test_words_by_hand(tokenizers, kind, text, words):
    (pieces,) = tokenise(tokenizers[kind], [text])
    merged = [w for i, w in enumerate(pieces.words) if i == 0 or w != pieces.words[i - 1]]
    assert merged == sorted(set(words))
    assert pieces.word_count == len(text.split())
    if kind == "bert":
        tokens = tokenizers[kind].convert_ids_to_tokens(list(pieces.ids))
        assert [w for t, w in zip(tokens, pieces.words, strict=True) if t in ",."] == [1, 2]


def test_one_character_in_several_pieces(tokenizers):
    text = "sea 🜨 lake"
    (pieces,) = tokenise(tokenizers["gpt2"], [text])
    assert pieces.words.count(1) >= 4, "four bytes, none of them in the training text"
    assert list(pieces.words) == sorted(pieces.words)
    assert set(pieces.words) == {0, 1, 2}


def word_by_loop(text, start):
    """The word of the first character at or after `start` that is no blank, else the last."""
    word = -1
    for index, character in enumerate(text):
        begins = not character.isspace() and (index == 0 or text[index - 1].isspace())
        word += begins
        if index >= start and not character.isspace():
            return word
    return word


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_words_against_a_loop_over_characters(tokenizers, kind, data):
    alphabet = st.sampled_from("the sea, lake.\n\t\u2003é🜨ß'-")
    text = data.draw(st.text(alphabet, min_size=1, max_size=40).map(str.strip).filter(bool))
    tokenizer = tokenizers[kind]
    (pieces,) = tokenise(tokenizer, [text])
    theirs = tokenizer([text], add_special_tokens=False, return_offsets_mapping=True)
    assert list(pieces.ids) == theirs["input_ids"][0]
    starts = [start for start, _ in theirs["offset_mapping"][0]]
    assert list(pieces.words) == [word_by_loop(text, start) for start in starts]


def test_words_of_a_byte_level_tokenizer_spell_the_words(tokenizers, sentences):
    """Independent of offsets: the pieces of a word, decoded together, are the word."""
    for kind in ("roberta", "gpt2", "t5"):
        tokenizer = tokenizers[kind]
        for text in [*sentences, "Größe – naïve 🜨🜨 x"]:
            if kind == "t5" and not text.isascii():
                continue  # unknown characters do not decode
            (pieces,) = tokenise(tokenizer, [text])
            for number, word in enumerate(text.split()):
                ids = [i for i, w in zip(pieces.ids, pieces.words, strict=True) if w == number]
                spelled = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
                assert spelled.strip() == word


def test_words_go_on_in_the_second_text(tokenizer):
    example = encode_one(tokenizer, "the sea is old", "the lake")
    words = [word for word in example.words if word >= 0]
    assert words == sorted(words)
    assert set(words) == set(range(6))


def test_a_decoder_gets_the_second_text(tokenizers):
    tokenizer = tokenizers["t5"]
    example = encode_one(tokenizer, "the sea", "the lake.", decoder_start=0)
    assert list(example.ids) == tokenizer("the sea")["input_ids"]
    labels = tokenizer(text_target="the lake.")["input_ids"]
    assert list(example.target) == [0, *labels[:-1]]
    assert example.target_words[0] == -1
    assert set(example.target_words[1:]) == {0, 1}
    assert example.target_categories[0] == CLS
    assert example.target_categories[-1] == PUNCTUATION
    assert len(example.target) == len(example.target_categories) == len(example.target_words)


def test_refusals(bert):
    with pytest.raises(UsageError, match="gives no tokens"):
        encode_one(bert, " ")
    with pytest.raises(UsageError, match="gives no tokens"):
        encode_one(bert, "the sea", "")
    with pytest.raises(UsageError, match="not valid Unicode"):
        encode_one(bert, "\ud800")
    with pytest.raises(UsageError, match=r"has \d+ tokens, more than 4"):
        encode_one(bert, "the sea is old", max_length=4)


def test_a_slow_tokenizer_is_refused(bert):
    class Slow:
        is_fast = False

        def __getattr__(self, name):
            if not name.endswith("_token_id"):  # those are None, where there are no special tokens
                raise AttributeError(name)

        def __call__(self, *_, **__):
            raise AssertionError("it is not even tried")

    with pytest.raises(UsageError, match="Slow is a slow one"):
        encode_one(Slow(), "text")
