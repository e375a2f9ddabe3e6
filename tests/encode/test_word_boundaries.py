"""Slow tokenizers of SentencePiece: the words of their pieces, found by the marks at beginnings."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings, strategies as st
from transformers import M2M100Tokenizer, MarianConfig, MarianMTModel, MarianTokenizer

from headlight.capture import CapturedModel, loading
from headlight.encode import encode_one
from headlight.encode.pieces import tokenise
from headlight.errors import UsageError
from translators import FAMILIES

GERMAN = ["das alte haus ist klein", "der hund sieht das haus , und die katze auch ."]
ENGLISH = ["the old house is small", "the dog sees the house , and so does the cat ."]


def spm(texts: list[str], path: Path, size: int) -> list[str]:
    """A model of SentencePiece in a file; gives its pieces."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 20), model_writer=model, vocab_size=size,
        model_type="bpe", hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    path.write_bytes(model.getvalue())
    loaded = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [loaded.IdToPiece(at) for at in range(loaded.GetPieceSize())]


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("marian")
    pieces = [*spm(GERMAN, folder / "source.spm", 60), *spm(ENGLISH, folder / "target.spm", 60)]
    known = ["</s>", "<unk>", *dict.fromkeys(p for p in pieces if p[:1] != "<"), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: at for at, piece in enumerate(known)}))
    return MarianTokenizer(
        str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json")
    )


@pytest.fixture(scope="module")
def m2m(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("m2m")
    pieces = spm(GERMAN + ENGLISH, folder / "spm.model", 80)
    known = ["<s>", "<pad>", "</s>", "<unk>", *(p for p in pieces if p[:1] != "<")]
    (folder / "vocab.json").write_text(json.dumps({piece: at for at, piece in enumerate(known)}))
    return M2M100Tokenizer(
        str(folder / "vocab.json"), str(folder / "spm.model"), src_lang="de", tgt_lang="en"
    )


def words_of(tokenizer: Any, text: str) -> list[str]:
    """Words made of their pieces again."""
    (found,) = tokenise(tokenizer, [text])
    pieces = tokenizer.tokenize(text)
    assert len(pieces) == len(found)
    made = [""] * found.word_count
    for piece, word in zip(pieces, found.words, strict=True):
        made[word] += piece.removeprefix("▁")
    return made


@pytest.mark.parametrize("text", ["das alte haus", "  das\tHaus ,ist  klein", "."])
def test_pieces_are_those_of_the_tokenizer_and_belong_to_their_words(
    marian: Any, text: str
) -> None:
    assert words_of(marian, text) == text.split()
    (found,) = tokenise(marian, [text])
    assert list(found.ids) == marian(text, add_special_tokens=False)["input_ids"]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text("adhuskx.,é½\u00a8…", min_size=1, max_size=5), min_size=1, max_size=5))
def test_every_piece_belongs_to_a_word_in_order(marian: Any, words: list[str]) -> None:
    (found,) = tokenise(marian, [" ".join(words)])
    assert found.word_count == len(words)
    assert list(found.words) == sorted(found.words)
    assert set(found.words) <= set(range(len(words)))


def test_a_word_of_which_the_tokenizer_makes_two_keeps_its_pieces(marian: Any) -> None:
    # NFKC makes a blank and a combining mark of a diaeresis that stands alone.
    (found,) = tokenise(marian, ["das \u00a8 haus"])
    alone = [len(marian.tokenize(word)) for word in ("das", "\u00a8", "haus")]
    assert [list(found.words).count(word) for word in range(3)] == alone


def test_special_tokens_stand_where_the_tokenizer_puts_them(marian: Any, m2m: Any) -> None:
    example = encode_one(marian, "das haus", "the house", decoder_start=marian.pad_token_id)
    assert list(example.ids) == marian("das haus")["input_ids"]
    assert example.words[-1] == -1
    labels = marian(text_target="the house")["input_ids"]
    assert list(example.target) == [marian.pad_token_id, *labels[:-1]]
    assert sorted(set(example.target_words)) == [-1, 0, 1]
    example = encode_one(m2m, "das haus", "the house", decoder_start=m2m.eos_token_id)
    assert list(example.ids) == m2m("das haus")["input_ids"]
    assert (example.words[0], example.words[-1]) == (-1, -1)  # the language and the end
    labels = m2m(text_target="the house")["input_ids"]
    assert list(example.target) == [m2m.eos_token_id, *labels[:-1]]
    assert list(example.target_words[:2]) == [-1, -1]
    assert m2m("das haus")["input_ids"][0] == m2m.get_lang_id("de")  # it reads German again


@pytest.mark.words
@pytest.mark.slow
def test_a_translator_with_a_slow_tokenizer_aligns(marian: Any) -> None:
    from headlight_words.corpora import TranslationPair
    from headlight_words.word_alignment import AlignerSettings
    from headlight_words.word_alignment.aligner import Aligner

    sizes = {
        f"{side}_{what}": 2
        for side in ("encoder", "decoder")
        for what in ("layers", "attention_heads")
    }
    config = MarianConfig(
        vocab_size=len(marian), d_model=16, encoder_ffn_dim=16, decoder_ffn_dim=16, **sizes,
        pad_token_id=marian.pad_token_id, eos_token_id=0, max_position_embeddings=64,
        decoder_start_token_id=marian.pad_token_id,
    )  # fmt: skip
    made = CapturedModel(MarianMTModel(config).eval(), marian, "opus", "1")
    pairs = [TranslationPair("a:1", *both) for both in zip(GERMAN, ENGLISH, strict=True)]
    for measure, layer in (("norm", 1), ("difference", None)):
        asked = AlignerSettings(measure=measure, layer=layer, null="exclude")  # type: ignore[arg-type]
        for found in Aligner(made, asked).align(pairs):
            assert {target for _, target in found.links} == set(
                range(len(found.pair.target.split()))
            )


def test_a_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise ImportError("MarianTokenizer requires the SentencePiece library but it was not found")

    FAMILIES["marian"].saved(tmp_path)
    monkeypatch.setattr(loading.AutoTokenizer, "from_pretrained", missing)
    made = loading.load_model(tmp_path)
    with pytest.raises(UsageError, match="pip install sentencepiece"):
        made.require_tokenizer("words are aligned")
