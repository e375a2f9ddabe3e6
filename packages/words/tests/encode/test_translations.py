"""Special tokens that are written in translations."""

from headlight.encode.token_categories import CLS, SEP
from headlight_words.corpora import TranslationPair
from headlight_words.encode.translations import translations


def test_words_of_translations_are_those_that_links_number(tokenizers):
    pair = TranslationPair("a", "the [SEP] sea", "is [SEP]sea and")
    (example,) = translations([pair], tokenizers["bert"], decoder_start=None)
    assert example.words == (-1, 0, 1, 2, -1)
    assert example.target_words == (-1, 0, 1, 1, 2, -1)
    assert not {CLS, SEP} & {*example.categories[1:-1], *example.target_categories[1:-1]}
