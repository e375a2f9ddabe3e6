"""A long text is given to the tokenizer in stretches, and has the pieces of the whole."""

import pytest
from hypothesis import given, settings, strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from encode.small_tokenizers import KINDS, SENTENCES, WORDS
from headlight.corpora import Document
from headlight.encode import pieces, texts
from headlight.encode.pieces import Tokenizer as AnyTokenizer, encodings, tokenise
from headlight.errors import CorpusError


def without_words():
    """As Llama: blanks are characters like others, and pieces may go across words."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>"], max_token_length=16)
    tokenizer.train_from_iterator(SENTENCES * 3, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


def stripping():
    """As T5: blanks at both ends are dropped, and several are one."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Strip(), normalizers.Replace(" {2,}", "▁")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=["<unk>"], unk_token="<unk>")
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


ALL = {**KINDS, "without words": without_words, "stripping": stripping}
MADE = {}

parts = st.one_of(
    st.sampled_from([*WORDS, *SENTENCES, "</s>", "[MASK]", "<s>", ".", "a\u0301", "水は流れる"]),
    st.sampled_from([" ", "  ", "\n", "\t", "\u3000", " " * 30, "\u00a0"]),
    st.text(max_size=8),
    st.just("x" * 70),
)
long_texts = st.lists(parts, max_size=40).map("".join).filter(bool)


@pytest.fixture
def short_stretches(monkeypatch):
    monkeypatch.setattr(pieces, "STRETCH", 40)
    monkeypatch.setattr(pieces, "CONTEXT", 60)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_stretches_have_the_pieces_of_the_whole(monkeypatch, kind):
    tokenizer = MADE.setdefault(kind, ALL[kind]())

    @settings(max_examples=60, deadline=None)
    @given(text=long_texts)
    def check(text):
        monkeypatch.setattr(pieces, "STRETCH", 2**18)
        (whole,), (found,) = encodings(tokenizer, [text]), tokenise(tokenizer, [text])
        monkeypatch.setattr(pieces, "STRETCH", 40)
        monkeypatch.setattr(pieces, "CONTEXT", 60)
        stretched, short = encodings(tokenizer, [text, "the"])
        assert tuple(stretched.ids) == whole.ids
        # Unknown characters in a row may be one piece, of which only the beginning is found.
        assert stretched.offsets[:, 0].tolist() == whole.offsets[:, 0].tolist()
        assert tuple(short.ids) == encodings(tokenizer, ["the"])[0].ids
        (again,) = tokenise(tokenizer, [text])
        assert list(again.words) == list(found.words)
        assert again.word_count == found.word_count
        (by_blanks,) = tokenise(tokenizer, [text], special_apart=False)
        assert by_blanks.word_count == len(text.split())

    check()


class Watched(AnyTokenizer):
    """Knows the longest text that it was given."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self.longest = 0

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)

    def __call__(self, *arguments, **options):
        for value in (*arguments, *options.values()):
            if isinstance(value, list):
                self.longest = max([self.longest, *map(len, value)])
        return self._tokenizer(*arguments, **options)


@pytest.mark.parametrize("overflow", ["truncate", "split"])
def test_no_text_is_given_as_a_whole(bert, short_stretches, overflow):
    watched = Watched(bert)
    long = "the sea is sand " * 200
    read = texts([Document("d", (long,))], watched, max_length=10, overflow=overflow)
    examples = list(read)
    assert 0 < watched.longest < 300
    assert examples[0].ids[1:-1] == tuple(encodings(bert, [long[:40]])[0].ids[:8])
    assert read.counts.lost_tokens == (800 - 8 if overflow == "truncate" else 0)
    assert len(examples) == (1 if overflow == "truncate" else 100)


def test_a_text_without_blanks_is_refused(bert, monkeypatch):
    monkeypatch.setattr(pieces, "STRETCH", 40)
    monkeypatch.setattr(pieces, "LONGEST_WORD", 100)
    for text in ("the sea " + "x" * 200, "the" + " " * 200 + "sea"):
        with pytest.raises(CorpusError, match=r"begins with 'the.* more than 100 characters"):
            tokenise(bert, [text])
