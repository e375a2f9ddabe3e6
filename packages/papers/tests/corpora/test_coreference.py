"""Coreference: brackets, head words and kinds, in every format, and what can be wrong in them."""

import io
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from headlight.corpora import Sentence
from headlight.errors import CorpusError, UnknownNameError
from headlight_words.corpora import (
    COREFERENCE_FORMATS,
    CoreferenceDocument,
    Mention,
    open_coreference,
)
from headlight_words.corpora.mention_heads import (
    constituency_heads,
    constituents,
    dependency_heads,
    kinds,
    surface_heads,
    surface_kinds,
)


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# CoNLL-2012.


def ontonotes(*words, name="bn/x", part=0):
    """Rows of word, tag, tree and coreference; None stands for the end of a sentence."""
    lines, number = [f"#begin document ({name}); part {part:03}"], 0
    for word in words:
        if word is None:
            lines.append("")
            number = 0
            continue
        text, tag, bit, brackets = word
        start = f"{name}   {part}   {number}"
        lines.append(f"{start}   {text}   {tag}   {bit}   -   -   -   Anna   *   {brackets}")
        number += 1
    return "\n".join([*lines, "", "#end document", ""])


SPEECH = ontonotes(
    ("The", "DT", "(TOP(S(NP(NP*", "(1"),
    ("sister", "NN", "*)", "-"),
    ("of", "IN", "(PP*", "-"),
    ("Mary", "NNP", "(NP(NML*", "(2"),
    ("Ann", "NNP", "*)", "2)"),
    ("Smith", "NNP", "*)))", "1)"),
    ("smiled", "VBD", "(VP*)", "-"),
    (".", ".", "*))", "-"),
    None,
    ("She", "PRP", "(TOP(S(NP*)", "(1)"),
    ("likes", "VBZ", "(VP*", "-"),
    ("her", "PRP$", "(NP(NP*", "(1)|(3"),
    ("mother", "NN", "*", "-"),
    ("'s", "POS", "*)", "3)"),
    ("dog", "NN", "*))))", "(0)"),
)


def test_conll2012(tmp_path):
    path = write(tmp_path, "x.v4_gold_conll", SPEECH)
    title = "bn/x, part 000"
    (document,) = open_coreference(path)
    assert document == CoreferenceDocument(
        f"{path}:1 ({title})",
        (
            Sentence(
                f"{path}:2",
                ("The", "sister", "of", "Mary", "Ann", "Smith", "smiled", "."),
                xpos=("DT", "NN", "IN", "NNP", "NNP", "NNP", "VBD", "."),
                document=title,
            ),
            Sentence(
                f"{path}:11",
                ("She", "likes", "her", "mother", "'s", "dog"),
                xpos=("PRP", "VBZ", "PRP$", "NN", "POS", "NN"),
                document=title,
            ),
        ),
        (
            Mention("1", 0, 5, 1, "nominal"),
            Mention("2", 3, 4, 4, "proper"),
            Mention("1", 8, 8, 8, "pronoun"),
            Mention("3", 10, 12, 12, "nominal"),  # Collins: a phrase that ends in 's has it as head
            Mention("1", 10, 10, 10, "pronoun"),
            Mention("0", 13, 13, 13, "nominal"),
        ),
    )


def test_parts_are_documents_of_their_own(tmp_path):
    second = ontonotes(("He", "PRP", "(TOP(NP*))", "(1)"), part=1)
    corpus = open_coreference(write(tmp_path, "x_conll", SPEECH + second))
    assert [document.name.partition(" ")[2] for document in corpus] == [
        "(bn/x, part 000)",
        "(bn/x, part 001)",
    ]


LITBANK = """\
#begin document (7_mill); part 0
7_mill\t0\t0\tThe\t_\t_\t_\t_\t_\t_\t_\t_\t(0
7_mill\t0\t1\tmiller\t_\t_\t_\t_\t_\t_\t_\t_\t
7_mill\t0\t2\tof\t_\t_\t_\t_\t_\t_\t_\t_\t
7_mill\t0\t3\tTrent\t_\t_\t_\t_\t_\t_\t_\t_\t(1)|0)

7_mill\t0\t0\tsaw\t_\t_\t_\t_\t_\t_\t_\t_\t
7_mill\t0\t1\thim\t_\t_\t_\t_\t_\t_\t_\t_\t(0)

#end document
"""


def test_litbank(tmp_path):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:xz") as archive:
        member = tarfile.TarInfo("conll/7_mill.conll")
        member.size = len(LITBANK)
        archive.addfile(member, io.BytesIO(LITBANK.encode()))
    path = write(tmp_path, "litbank.tar.xz", stream.getvalue())
    (document,) = open_coreference(path)
    assert document.name == f"{path}/conll/7_mill.conll:1 (7_mill, part 0)"
    assert document.words == ("The", "miller", "of", "Trent", "saw", "him")
    assert [sentence.xpos for sentence in document.sentences] == [(), ()]
    assert document.mentions == (
        Mention("0", 0, 3, 1, "nominal"),
        Mention("1", 3, 3, 3, "proper"),
        Mention("0", 5, 5, 5, "pronoun"),
    )


# Entity= in CoNLL-U.


def conllu(*rows, comments=()):
    """Rows of word, tag, head and Entity; an Entity may also be None."""
    lines = list(comments)
    number = 0
    for word, tag, head, entity in rows:
        if word is None:  # an empty node
            name = f"{number}.1"
        else:
            number += 1
            name = str(number)
        misc = "Discourse=x|SpaceAfter=No" if entity is None else f"A=(9)|Entity={entity}|B=1)"
        lines.append(f"{name}\t{word}\t_\t{tag}\t_\t_\t{head}\tdep\t_\t{misc}")
    return "\n".join([*lines, "", ""])


LETTER = conllu(
    ("Old", "ADJ", 2, "(7-person-new-cf1-1-sgl(3-place"),
    ("Rome", "PROPN", 0, "3)"),
    ("and", "CCONJ", 4, None),
    ("Athens", "PROPN", 2, "(4-place-x)7)"),
    comments=["# newdoc id = letter", "# global.Entity = GRP-etype-infstat", "# text = x"],
) + conllu(
    ("they", "PRON", 2, "(7-person-giv:act-cf1-1-coref)"),
    ("fell", "VERB", 0, None),
)


def test_entities(tmp_path):
    path = write(tmp_path, "a.conllu", LETTER)
    (document,) = open_coreference(path)
    assert document.name == f"{path}:1 (letter)"
    assert [sentence.heads for sentence in document.sentences] == [(2, 0, 4, 2), (2, 0)]
    assert [sentence.document for sentence in document.sentences] == ["letter", "letter"]
    assert document.mentions == (
        Mention("7", 0, 3, 1, "proper"),
        Mention("3", 0, 1, 1, "proper"),
        Mention("4", 3, 3, 3, "proper"),
        Mention("7", 4, 4, 4, "pronoun"),
    )


def mentions(tmp_path, text, name="a.conllu"):
    corpus = open_coreference(write(tmp_path, name, text))
    return [
        [(mention.chain, mention.first, mention.last, mention.head) for mention in d.mentions]
        for d in corpus
    ]


def chain_of(words, *entities):
    """A sentence in which every word governs the next, with an Entity for each word."""
    heads = [*range(2, len(words) + 1), 0]
    return conllu(*((w, "NOUN", h, e) for w, h, e in zip(words, heads, entities, strict=True)))


def test_documents_begin_with_newdoc_and_with_files(tmp_path):
    text = "# newdoc id = a\n" + chain_of("xy", "(1", "1)") + "# newdoc\n" + chain_of("z", "(1)")
    assert mentions(tmp_path, text) == [[("1", 0, 1, 1)], [("1", 0, 0, 0)]]


def test_brackets_of_one_chain_nest_and_those_of_others_may_cross(tmp_path):
    text = chain_of("abcd", "(1(2", "(1", "1)2)", "1)")
    assert mentions(tmp_path, text) == [[("1", 0, 3, 3), ("2", 0, 2, 2), ("1", 1, 2, 2)]]


def test_a_mention_may_go_on_in_the_next_sentence(tmp_path):
    text = chain_of("ab", None, "(5") + chain_of("cd", "5)", None)
    assert mentions(tmp_path, text) == [[("5", 1, 2, 1)]]


def test_the_order_of_the_fields_is_what_the_file_says(tmp_path):
    text = "# global.Entity = etype-eid-other\n" + chain_of("ab", "(person-9-x", "9)")
    assert mentions(tmp_path, text) == [[("9", 0, 1, 1)]]
    text = "# global.Entity = entity-GRP\n" + chain_of("ab", "(person-9", "person-9)")
    assert mentions(tmp_path, text) == [[("9", 0, 1, 1)]]


def test_of_a_mention_in_parts_the_part_with_the_head_is_kept(tmp_path):
    # Every word governs the next: the head of all parts is the last word of the last part.
    text = chain_of("abcdef", "(1[1/2]-x(2", "1[1/2])2)", None, "(1[2/2]-x", "1[2/2])", "(2)")
    path = write(tmp_path, "a.conllu", text)
    corpus = open_coreference(path)
    for _ in range(2):
        (document,) = corpus
        assert corpus.counts.discontinuous == 1, "each iteration counts anew"
        assert [(m.chain, m.first, m.last, m.head) for m in document.mentions] == [
            ("2", 0, 1, 1),
            ("1", 3, 4, 4),
            ("2", 5, 5, 5),
        ]


def test_mentions_of_empty_nodes_alone_are_counted(tmp_path):
    text = conllu(
        ("a", "NOUN", 0, "(2"),
        (None, "_", "_", "(1)(3"),
        ("b", "NOUN", 1, "3)"),
        (None, "_", "_", "2)"),
    )
    corpus = open_coreference(write(tmp_path, "a.conllu", text))
    (document,) = corpus
    assert [(m.chain, m.first, m.last) for m in document.mentions] == [("2", 0, 1), ("3", 1, 1)]
    assert (corpus.counts.without_words, corpus.counts.discontinuous) == (1, 0)


def test_without_trees_heads_come_from_the_words(tmp_path):
    rows = [("the", "_", "_", "(1"), ("men", "_", "_", None), ("of", "_", "_", None)]
    text = conllu(*rows, ("Rome", "_", "_", "1)"))
    assert mentions(tmp_path, text) == [[("1", 0, 3, 1)]]


# Head words.


@pytest.mark.parametrize(
    ("heads", "punctuation", "mention", "head"),
    [
        ((2, 0, 2), "", (0, 1), 1),  # the root is governed from outside
        ((2, 3, 0), "", (0, 1), 1),
        ((3, 3, 0, 3), "", (0, 1), 0),  # two with one governor: the first
        ((2, 3, 0, 3), "", (0, 3), 3),  # a is below b, which is not there: d is nearer to the root
        ((3, 3, 0), "0", (0, 1), 1),  # punctuation is no head beside another word
        ((3, 3, 0), "01", (0, 1), 0),
        ((2, 0, 2), "", (2,), 2),
    ],
)
def test_heads_from_dependencies(heads, punctuation, mention, head):
    relations = tuple("punct" if str(n) in punctuation else "dep" for n in range(len(heads)))
    before = Sentence("x", ("w", "w"), (0, 1), ("root", "dep"))
    sentence = Sentence("y", ("w",) * len(heads), heads, relations)
    rule = dependency_heads([before, sentence])
    assert rule([word + 2 for word in mention]) == head + 2


# Each phrase as "(LABEL word/TAG ...)", with the head word of the whole marked by an asterisk.
PHRASES = [
    "(NP the/DT red/JJ *house/NN)",
    "(NP (NP the/DT *house/NN) (PP of/IN (NP brick/NN)))",
    "(NP (NP John/NNP *'s/POS) )",
    "(NP (NP John/NNP 's/POS) *dog/NN)",
    "(NP *they/PRP)",
    "(NP *John/NNP and/CC Mary/NNP)",
    "(NP (NP the/DT *king/NN) ,/, and/CC (NP the/DT queen/NN))",
    "(NP (NP the/DT *man/NN) (SBAR (WHNP who/WP) (S (VP came/VBD))))",
    "(NP the/DT (ADJP very/RB *rich/JJ))",
    "(NP the/DT *five/CD)",
    "(NP the/DT *poor/JJ ,/,)",
    "(NP ``/`` *Ulysses/NNP ''/'')",
    "(NP the/DT (NML New/NNP York/NNP) *mayor/NN)",
    "(NP $/$ (QP 5/CD million/CD))|$",
    "(NP all/PDT *that/DT)",
    "(NP all/PDT *that/DT ,/,)",
    "(NP *John/NNP ,/, and/CC ,/, Mary/NNP)",
    "(NP ,/, *:/:)",
    "(VP will/MD (VP *go/VB))|will",
    "(S (NP He/PRP) (VP *left/VBD))",
    "(WHNP *which/WDT)",
    "(WHNP (WHNP *whose/WP$) )",
    "(PP *of/IN (NP Rome/NNP))",
    "(ADVP *home/RB)",
    "(X *who/WP knows/XX)|knows",
]


def parsed(phrase):
    """Words, tags and bits of a phrase as above, and the number of its head."""
    text, _, named = phrase.partition("|")
    words, tags, bits, head = [], [], [], None
    pending = ""
    for piece in text.replace(")", " )").split():
        if piece.startswith("("):
            pending += piece
        elif piece == ")":
            bits[-1] += ")"
        else:
            word, _, tag = piece.rpartition("/")
            if (word.startswith("*") and not named) or word == named:
                head = len(words)
            words.append(word)
            tags.append(tag)
            bits.append(pending + "*")
            pending = ""
    return words, tags, bits, head


@pytest.mark.parametrize("phrase", PHRASES)
def test_heads_from_constituents(phrase):
    words, tags, bits, head = parsed(phrase)
    tree = constituents(bits, tags, start=10)
    found = constituency_heads([constituents(["*"] * 10, ["X"] * 10), tree])
    assert found(range(10, 10 + len(words))) == 10 + head


def test_heads_within_flat_phrases():
    _, tags, bits, _ = parsed("(S (NP the/DT Bank/NNP of/IN China/NNP office/NN) fell/VBD)")
    rule = constituency_heads([constituents(bits, tags)])
    assert rule([0, 1, 2, 3, 4]) == 4
    assert rule([1, 2, 3]) == 3  # no phrase: its words are searched like those of the NP
    assert rule([3, 4, 5]) == 3  # across phrases: S is searched from the left, and none is found
    assert rule([5, 6, 7]) == 5  # beyond the sentence


def test_of_a_mention_of_two_sentences_the_first_counts():
    _, tags, bits, _ = parsed("(VP had/VBD seen/VBN him/PRP)")
    trees = [constituents(bits, tags), constituents(["(NP*)"], ["NN"], start=3)]
    assert constituency_heads(trees)([1, 2, 3]) == 1  # as in a VP, not as in a noun phrase


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("the old man", "man"),
        ("the old man of the sea", "man"),
        ("a man who laughs", "man"),
        ("my uncle , a sailor", "uncle"),
        ("Bath and Bristol", "Bath"),
        ("John 's", "John"),
        ("Lincoln 's Inn Hall", "Hall"),
        ("' s", "s"),
        ("'s", "'s"),
        ("his so - called “ friend ”", "friend"),
        ("of the sea", "sea"),  # nouns cannot end before they begin
        ("to", "to"),
        (",", ","),
        ("it", "it"),
    ],
)
def test_heads_from_words(text, head):
    words = ["before", *text.split()]
    found = surface_heads(words)(range(1, len(words)))
    assert words[found] == head


# Kinds.


def test_kinds_from_parts_of_speech():
    words = ("She", "saw", "Rome", "that", "dog")
    upos = ("PRON", "VERB", "PROPN", "PRON", "NOUN")
    xpos = ("PRP", "VBD", "NNP", "DT", "NN")
    expected = ["pronoun", "nominal", "proper", "pronoun", "nominal"]
    for sentence in (
        Sentence("a", words, upos=upos, xpos=("NN",) * 5),
        Sentence("a", words, xpos=xpos),
    ):
        rule = kinds([sentence])
        assert [rule(word) for word in range(5)] == expected
    mixed = kinds([Sentence("a", words, upos=upos), Sentence("b", ("Rome",))])
    assert mixed(4) == "nominal"
    assert mixed(5) == "proper"


def test_kinds_from_words():
    sentences = [
        Sentence("a", ("“", "Dogs", "chased", "Harriet", "and", "her", "dogs")),
        Sentence("b", ("Harriet", "ran", "from", "England")),
        Sentence("c", ("THE", "DOGS", "OF", "WAR", "AND", "ENGLAND")),
        Sentence("d", ("War", "is", "war")),
        Sentence("e", ("Paris", "is", "1st")),
        Sentence("f", ("I", "will", "see", "Will")),
        Sentence("g", ("Will", "came")),
    ]
    rule = surface_kinds(sentences)
    words = [word for sentence in sentences for word in sentence.words]
    found = {(n, word): rule(n) for n, word in enumerate(words)}
    assert found[1, "Dogs"] == "nominal"  # begins the sentence, and is found in small letters
    assert found[3, "Harriet"] == "proper"
    assert found[5, "her"] == "pronoun"
    assert found[6, "dogs"] == "nominal"
    assert found[7, "Harriet"] == "proper"  # begins the sentence, but is a name elsewhere
    assert found[12, "DOGS"] == "nominal"  # all in capitals
    assert found[16, "ENGLAND"] == "proper"  # nowhere in small letters
    assert found[17, "War"] == "nominal"
    assert found[20, "Paris"] == "proper"
    assert found[22, "1st"] == "nominal"
    assert found[27, "Will"] == "proper"  # found in small letters, but is a name elsewhere


# What can be wrong.

START = "#begin document (a); part 0\n"
ROW = "a 0 {} w NN * - - - x * {}\n"
BROKEN = {
    "not closed": (chain_of("ab", "(1", "(2)"), 1, "chain '1' that opens here is not closed"),
    "never opened": (chain_of("ab", "(1)", "2)"), 2, "chain '2' is closed that was never"),
    "closed twice": (chain_of("abc", "(1", "1)", "1)"), 3, "chain '1' is closed that was"),
    "no brackets": (chain_of("ab", "(1)", "12"), 2, "Entity='12' is not made of brackets"),
    "half brackets": (chain_of("ab", "(1)", "(2)x"), 2, "Entity='(2)x' is not made of"),
    "empty brackets": (chain_of("ab", "(1)", "()"), 2, "Entity='()' is not made of"),
    "nameless": (chain_of("ab", "(1)", "(-x)"), 2, "names no chain"),
    "part missing": (chain_of("ab", "(1[1/2]", "1[1/2])"), 2, "has 1 of its 2 parts"),
    "parts swapped": (chain_of("ab", "(1[2/2])", "(1[1/2])"), 1, "part 2 of 2"),
    "part of nothing": (chain_of("ab", "(1)", "(1[3/2])"), 2, "no part 3 of 2"),
    "on a range": (
        "1-2\tab\t_\t_\t_\t_\t_\t_\t_\tEntity=(1)\n" + chain_of("ab", None, None), 1,
        "a multi-word token has an Entity",
    ),
    "tree": (chain_of("ab", "(1)", None).replace("\t0\t", "\t7\t"), 2, "the head '7' is not"),
    "some heads only": (chain_of("ab", "(1)", None).replace("\t0\t", "\t_\t"), 2, "head '_'"),
    "2012, not closed": (START + ROW.format(0, "(1") + "#end document\n", 2, "not closed within"),
    "2012, never opened": (START + ROW.format(0, "1)") + "#end document\n", 2, "never opened"),
    "2012, no bracket": (START + ROW.format(0, "1") + "#end document\n", 2, "'1' in the last"),
    "2012, half": (START + ROW.format(0, "(1)|") + "#end document\n", 2, "'(1)|' in the last"),
    "2012, columns": (START + "a 0 0 w NN *\n" + "#end document\n", 2, "6 columns instead of at"),
    "2012, ragged": (
        START + ROW.format(0, "-") + "x " + ROW.format(1, "-") + "#end document\n", 3,
        "13 columns instead of 12 as above",
    ),
    "2012, gap": (
        START + ROW.format(0, "-") + ROW.format(2, "-") + "#end document\n", 3, "numbered '2'",
    ),
    "2012, number": (START + ROW.format("x", "-") + "#end document\n", 2, "numbered 'x'"),
    "2012, no word": (
        START + ROW.format(0, "-").replace(" ", "\t").replace("w", "") + "#end document\n", 2,
        "the word is empty",
    ),
    "2012, no end": (START + ROW.format(0, "(1)"), 1, "has no '#end document'"),
    "2012, phrase open": (
        START + ROW.format(0, "-").replace("NN *", "NN (NP*") + "#end document\n", 2,
        "the phrase 'NP' is not closed",
    ),
    "2012, phrase closed": (
        START + ROW.format(0, "-").replace("NN *", "NN *)") + "#end document\n", 2,
        "closed that was never opened",
    ),
    "2012, two words": (
        START + ROW.format(0, "-").replace("NN *", "NN **") + "#end document\n", 2,
        "'**' is no part of a tree",
    ),
    "2012, empty phrase": (
        START + ROW.format(0, "-").replace("NN *", "NN *(NP)") + "#end document\n", 2, "is empty",
    ),
}  # fmt: skip
FINE = {"conllu": chain_of("ab", "(1)", "(1)"), "conll2012": SPEECH}


def around(case):
    """The case between two documents that are fine, and the lines before it."""
    text, line, complaint = BROKEN[case]
    if case.startswith("2012"):
        return SPEECH, text + SPEECH, line, complaint
    newdoc = "# newdoc id = x\n"
    return newdoc + FINE["conllu"] + newdoc, text + newdoc + FINE["conllu"], line, complaint


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_document_is_refused_by_file_and_line(tmp_path, case):
    before, text, line, complaint = around(case)
    path = write(tmp_path, "broken", before + text)
    with pytest.raises(CorpusError) as refusal:
        list(open_coreference(path))
    message = str(refusal.value)
    assert message.startswith(f"{path}:{before.count(chr(10)) + line}: ")
    assert complaint in message


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_document_is_skipped_whole_and_counted(tmp_path, case):
    before, text, _, _ = around(case)
    corpus = open_coreference(write(tmp_path, "broken", before + text), invalid="skip")
    for _ in range(2):
        first, last = corpus
        assert first.words == last.words
        assert [m.chain for m in first.mentions] == [m.chain for m in last.mentions]
        assert corpus.skipped == 1


@pytest.mark.parametrize(
    ("text", "invalid", "complaint"),
    [
        ("", "refuse", "holds no mention; it is not annotated"),
        (chain_of("ab", None, None), "refuse", "holds no mention; it is not annotated"),
        (chain_of("a", "(1"), "skip", r"holds no mention \(1 invalid documents were skipped\)"),
        (SPEECH + "a b\n", "skip", r"x:19: the line is outside '#begin document"),
        ("It was a bright day.\n", "skip", r"x:1: the file is in none of the formats of"),
        (b"#begin document (\xff)\n", "skip", "x:1: byte 18 of the line is not UTF-8"),
    ],
)
def test_a_corpus_without_mentions_is_refused(tmp_path, text, invalid, complaint):
    with pytest.raises(CorpusError, match=complaint):
        list(open_coreference(write(tmp_path, "x", text), invalid=invalid))


def test_unknown_names(tmp_path):
    path = write(tmp_path, "a.conllu", LETTER)
    with pytest.raises(UnknownNameError, match="no coreference format is called 'conll2011'"):
        open_coreference(path, format="conll2011")
    with pytest.raises(UnknownNameError, match="'ignore'"):
        open_coreference(path, invalid="ignore")


def test_a_compressed_file_that_is_named_by_a_pattern(tmp_path):
    write(tmp_path, "a.conllu.xz", lzma.compress(LETTER.encode()))
    write(tmp_path, "b.other", "junk")
    corpus = open_coreference(str(tmp_path / "*.conllu*"))
    assert corpus.source == str(tmp_path / "*.conllu*")
    assert [len(document.mentions) for document in corpus] == [4]


# What is written comes back.


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


LENGTHS = (4, 1, 5)
spans = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda pair: tuple(sorted(pair))),
    min_size=1,
    max_size=8,
)


def brackets(spans, form):
    """For every word its brackets: each span is a chain of its own."""
    texts = [[] for _ in range(sum(LENGTHS))]
    for chain, (first, last) in enumerate(spans):
        if first == last:
            texts[first].append(form.format(f"({chain}", ")"))
        else:
            texts[first].append(form.format(f"({chain}", ""))
            texts[last].append(f"{chain})")
    return texts


def sentences_of(items):
    start = 0
    for length in LENGTHS:
        yield items[start : start + length]
        start += length


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(spans=spans)
def test_spans_come_back(folder, spans):
    expected = sorted((first, -last, str(chain)) for chain, (first, last) in enumerate(spans))
    rows = []
    for part in sentences_of(brackets(spans, "{}{}")):
        rows += [("w", "NN", "*", "|".join(item) or "-") for item in part] + [None]
    columns = write(folder, "x_conll", ontonotes(*rows))
    entities = write(folder, "x.conllu", "".join(
        # Closing brackets come first: "(1-person" and "2)" could not be told from "(1-person2)".
        chain_of("w" * len(part), *("".join(sorted(i, key=lambda b: b[0] == "(")) for i in part))
        for part in sentences_of(brackets(spans, "{}-person-new{}"))
    ))  # fmt: skip
    for path in (columns, entities):
        (document,) = open_coreference(path)
        assert [(m.first, -m.last, m.chain) for m in document.mentions] == expected
        assert all(m.first <= m.head <= m.last for m in document.mentions)


HINTS = [
    START.encode(), b"#end document\n", ROW.format(0, "(1)").encode(), b"# newdoc id = x\n",
    chain_of("ab", "(1", "1)").encode(), b"Entity=(1", b"1)", b"|", b"[1/2]", b"(NP*", b"*)",
    b"\n", b"\n\n", b"\t", b"_", b"\xef\xbb\xbf", b"# global.Entity = eid\n",
]  # fmt: skip
junk = st.lists(
    st.one_of(st.binary(max_size=20), st.sampled_from(HINTS), st.text(max_size=9).map(
        lambda text: text.encode("utf-8", "surrogatepass"))), max_size=12,
).map(b"".join)  # fmt: skip


def check_that_only_our_errors_escape(path, format, invalid):
    try:
        found = list(open_coreference(path, format=format, invalid=invalid))
    except CorpusError:
        return
    for document in found:
        for mention in document.mentions:
            assert 0 <= mention.first <= mention.head <= mention.last < len(document.words)
            assert mention.chain


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    content=junk,
    format=st.sampled_from([None, *COREFERENCE_FORMATS]),
    suffix=st.sampled_from(["", ".conllu", ".tar", ".zip"]),
    invalid=st.sampled_from(["refuse", "skip"]),
)
def test_only_our_own_errors_escape(folder, content, format, suffix, invalid):
    check_that_only_our_errors_escape(write(folder, f"file{suffix}", content), format, invalid)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(text=st.sampled_from([SPEECH, LETTER, LITBANK]), data=st.data())
def test_only_our_own_errors_escape_from_damaged_files(folder, text, data):
    content = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b"(", b")", b"*", b"|", b"\t", b"\n", b" ", b"[1/2]", b"_", b"1"])
        )
    check_that_only_our_errors_escape(write(folder, "file", bytes(content)), None, "skip")


def test_the_formats_are_described():
    page = (Path(__file__).parents[4] / "docs" / "corpora.md").read_text(encoding="utf-8")
    for format in COREFERENCE_FORMATS:
        assert f"| `{format}` |" in page.split("### Coreference")[1].split("### ")[0]


# The real corpora, where they are.

COUNT = """
import sys
from headlight_words.corpora import open_coreference
for source in sys.argv[1:]:
    corpus = open_coreference(source)
    mentions = words = documents = chains = 0
    for document in corpus:
        documents += 1
        words += len(document.words)
        mentions += len(document.mentions)
        chains += len({mention.chain for mention in document.mentions})
    print(documents, words, mentions, chains)
"""
REAL = {
    "ud_english_gum/*dev*": (20, 18432, 5133, 2569),
    "ud_english_gum/*train*": (129, 131192, 37144, 19338),
    "ontogum_coref/*dev*": (20, 18432, 2366, 529),
    "ontogum_coref/*train*": (128, 129805, 16854, 3895),
    "litbank_coref": (86, 181231, 25110, 6815),
}


@pytest.mark.data
@pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set")
def test_real_corpora():
    # In a process of its own, where no annotation is checked at each of millions of calls.
    sources = [str(Path(os.environ["HEADLIGHT_DATA"]) / source) for source in REAL]
    run = subprocess.run(
        [sys.executable, "-c", COUNT, *sources], capture_output=True, text=True, check=True
    )
    counts = [tuple(map(int, line.split())) for line in run.stdout.splitlines()]
    assert counts == list(REAL.values())


@pytest.mark.data
@pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set")
def test_rules_without_syntax_agree_with_the_annotation():
    # docs/corpora.md gives the shares for the larger part, which is measured the same way.
    source = Path(os.environ["HEADLIGHT_DATA"]) / "ontogum_coref" / "*dev*"
    heads = same_kind = count = 0
    for document in open_coreference(str(source)):
        head_rule = surface_heads(document.words)
        kind_rule = surface_kinds(document.sentences)
        for mention in document.mentions:
            head = head_rule(range(mention.first, mention.last + 1))
            heads += head == mention.head
            same_kind += kind_rule(head) == mention.kind
            count += 1
    assert count == 2366
    assert heads / count > 0.92
    assert same_kind / count > 0.95
