"""Pieces are shown as the text that they stand for, whatever the vocabulary writes."""

import pytest
import xarray as xr
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import BertTokenizerFast, PreTrainedTokenizerFast

from headlight.encode import piece_style
from headlight.findings import piece_text
from headlight.findings.token_names import split_words

TEXT = "Mary\nsaid  thanks, and the naïve dog 🐶 barked.\n\tEnd"
BLANKS = str.maketrans({"␣": " ", "↵": "\n", "⇥": "\t"})


def trained(model, trainer, split, decoder) -> PreTrainedTokenizerFast:
    inner = Tokenizer(model)
    inner.pre_tokenizer, inner.decoder = split, decoder
    inner.train_from_iterator([TEXT.replace("naïve dog 🐶", "dog")] * 3, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner)


def byte_level() -> PreTrainedTokenizerFast:
    """As GPT-2's."""
    trainer = trainers.BpeTrainer(
        vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return trained(models.BPE(), trainer, split, decoders.ByteLevel())


def sentencepiece() -> PreTrainedTokenizerFast:
    """As Llama's: unknown letters are bytes."""
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=pieces, show_progress=False)
    split = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return trained(models.BPE(byte_fallback=True), trainer, split, decoder)


def document_of(shown) -> str:
    """The text that pieces together are."""
    text = "".join(f"{' ' if each.mark == ' ' else ''}{each.text}" for each in shown)
    return text.translate(BLANKS)


@pytest.mark.parametrize(
    ("make", "style"), [(byte_level, "byte-level"), (sentencepiece, "sentencepiece")]
)
def test_pieces_are_the_text_of_the_document(make, style):
    tokenizer = make()
    assert piece_style(tokenizer) == style
    pieces = tokenizer.convert_ids_to_tokens(tokenizer(TEXT)["input_ids"])
    shown = [piece_text(piece, style) for piece in pieces]
    alone = [letter.encode().decode("ascii", errors="backslashreplace") for letter in "ï🐶"]
    assert document_of(shown) == TEXT.replace("ï", alone[0]).replace("🐶", alone[1])
    assert not set("ĠĊ▁") & set("".join(each.label for each in shown))


def test_what_goes_on_with_a_word_keeps_its_mark(tmp_path):
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "in", "##deed"])
    )
    tokenizer = BertTokenizerFast(str(tmp_path / "vocab.txt"))
    assert piece_style(tokenizer) == "wordpiece"
    shown = [piece_text(piece, "wordpiece") for piece in tokenizer.tokenize("indeed")]
    assert [(each.mark, each.text, each.label) for each in shown] == [
        ("", "in", "in"),
        ("##", "deed", "##deed"),
    ]


@pytest.mark.parametrize(
    ("piece", "style", "mark", "text"),
    [
        ("ĠMary", "byte-level", " ", "Mary"),
        ("ĊĊ", "byte-level", "", "↵↵"),
        ("Ġ", "byte-level", "", "␣"),
        ("ĠaĊĠ", "byte-level", " ", "a↵␣"),
        ("ĠĠif", "byte-level", " ", "␣if"),
        ("Ã¯ve", "byte-level", "", "ïve"),
        ("ĠðŁ", "byte-level", " ", "\\xf0\\x9f"),
        ("<|endoftext|>", "byte-level", "", "<|endoftext|>"),
        ("日本", "byte-level", "", "日本"),
        ("▁the", "sentencepiece", " ", "the"),
        ("<0x0A>", "sentencepiece", "", "↵"),
        ("##", "wordpiece", "", "##"),
        ("a▁b", "wordpiece", "", "a▁b"),
        ("Ġ", "wordpiece", "", "Ġ"),
        ("cat</w>", "end-of-word", "", "cat"),
        ("##ing", "", "##", "ing"),
        ("▁the", "", " ", "the"),
    ],
)
def test_marks_and_blanks(piece, style, mark, text):
    shown = piece_text(piece, style)
    assert (shown.mark, shown.text) == (mark, text)


def test_a_label_is_safe_for_a_terminal():
    assert piece_text("\x1b[31m", "wordpiece").label == "\\x1b[31m"


@pytest.mark.parametrize(
    ("style", "tokens", "words"),
    [
        ("wordpiece", ["[CLS]", "out", "##ran", "it", "."], {1: "outran", 2: "outran"}),
        ("byte-level", ["out", "ran", "Ġit", ",", "Ġand"], {0: "outran", 1: "outran"}),
        (
            "sentencepiece",
            ["▁out", "ran", "▁it", "s"],
            {0: "outran", 1: "outran", 2: "its", 3: "its"},
        ),
        ("sentencepiece", ["▁long", *"abcdefghijklmnopqrstuvwxyz01234"], {}),
    ],
)
def test_pieces_of_a_split_word_know_it(style, tokens, words):
    result = xr.Dataset(coords={"token_text": ("token", tokens)}, attrs={"pieces": style})
    assert split_words(result, "token_text") == words
