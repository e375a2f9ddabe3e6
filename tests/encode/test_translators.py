"""Source and target as translators of five families read them: words, special tokens, names."""

import pytest

from headlight.encode import Encoded, encode_one, special_tokens
from headlight.vocabulary import CATEGORIES
from translators import FAMILIES, SOURCE, TARGET

NAMES = {
    "marian": ({"sep": "</s>"}, {"cls": "<pad>"}),
    "t5": ({"sep": "</s>"}, {"cls": "<pad>"}),
    "bart": ({"cls": "<s>", "sep": "</s>"}, {"cls": "</s> and <s>"}),
    "m2m_100": ({"cls": "deu_Latn", "sep": "</s>"}, {"cls": "</s> and eng_Latn"}),
    "mbart": ({"sep": "</s> and de_DE"}, {"cls": "en_XX", "sep": "</s>"}),
}


def encoded(name: str, text: str = SOURCE) -> tuple[Encoded, object]:
    model = FAMILIES[name].model()
    start = model.decoder_start
    return encode_one(model.tokenizer, text, TARGET, decoder_start=start), model.tokenizer


@pytest.mark.parametrize("name", FAMILIES)
def test_what_belongs_to_no_word_is_special(name):
    example, tokenizer = encoded(name)
    for ids, words, categories, text, (before, after) in (
        (example.ids, example.words, example.categories, SOURCE, FAMILIES[name].source),
        (
            example.target, example.target_words, example.target_categories, TARGET,
            FAMILIES[name].target,
        ),
    ):  # fmt: skip
        tokens = tokenizer.convert_ids_to_tokens(list(ids))
        special = [place for place, word in enumerate(words) if word < 0]
        assert tokens[: len(before)] == before
        assert tokens[len(tokens) - len(after) :] == after
        assert special == [
            *range(len(before)), *range(len(tokens) - len(after), len(tokens))
        ]  # fmt: skip
        kinds = [CATEGORIES[categories[place]] for place in special]
        assert kinds == ["cls"] * len(before) + ["sep"] * len(after)
        inner = [word for word in words if word >= 0]
        assert sorted(set(inner)) == list(range(len(text.split())))
        others = {CATEGORIES[c] for c, word in zip(categories, words, strict=True) if word >= 0}
        assert others == {"punctuation", "other"}


@pytest.mark.parametrize("name", FAMILIES)
def test_special_tokens_are_called_what_stands_there(name):
    model = FAMILIES[name].model()
    found = special_tokens(model.tokenizer, model.decoder_start)
    for names, wanted in zip(found, NAMES[name], strict=True):
        assert wanted.items() <= names.items()


def test_a_prefix_is_made_of_words():
    example, _ = encoded("t5", f"translate german to english : {SOURCE}")
    assert max(example.words) == 5 + len(SOURCE.split()) - 1
    assert [word for word in example.words if word < 0] == [-1]
