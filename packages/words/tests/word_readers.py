"""The readers of annotated and parallel text among those of `test_reader_fuzz`."""

from pathlib import Path

import example_data
from corpora.readers import Reader, corpus
from headlight_words.corpora import (
    PARALLEL_FORMATS,
    TREEBANK_FORMATS,
    open_coreference,
    open_parallel,
    open_treebank,
    read_word_vectors,
)
from headlight_words.links import LINK_FORMATS, open_links

TREE = example_data.treebank([["the", "old", "cat", "sees", "a", "dog", "."]] * 3)
COLUMNS = "the\tDT\t2\tdet\ncat\tNN\t3\tnsubj\nsat\tVBD\t0\troot\n\n" * 3
CONLL09 = """1\tIt\t_\t_\tPRP\t_\t_\t_\t2\t_\tnsubj\t_
2\tran\t_\t_\tVBD\t_\t_\t_\t0\t_\troot\t_

"""
ENTITIES = """# global.Entity = eid-etype-head-other
# newdoc id = d
1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\tEntity=(e1-person-2-
2\tcat\tcat\tNOUN\t_\t_\t3\tnsubj\t_\tEntity=e1)
3\tsees\tsee\tVERB\t_\t_\t0\troot\t_\tEntity=(e2[1/2]-event-1-)
4\tit\tit\tPRON\t_\t_\t3\tobj\t_\tEntity=(e1-person-1-)
4.1\t_\t_\tPRON\t_\t_\t_\t_\t3:obj\tEntity=(e3-x-1-)
5-6\tdont\t_\t_\t_\t_\t_\t_\t_\t_
5\tdo\tdo\tVERB\t_\t_\t3\tdep\t_\tEntity=(e2[2/2]-event-1-)
6\tnot\tnot\tPART\t_\t_\t5\tadvmod\t_\t_

"""
ONTONOTES = """#begin document (nw/wsj/0001); part 000
nw 0 0 The DT (TOP(S(NP* - - - - * (0
nw 0 1 cat NN *) - - - - * 0)
nw 0 2 sees VBZ (VP* - - - - * -
nw 0 3 it PRP (NP*)))) - - - - * (0)|(1)

#end document
"""
TRANSLATIONS = {
    "bars": "A mill . ||| Eine Mühle .\n\n||| Ja\n",
    "tsv": "source\tid\ttarget\nA mill.\t1\tEine Mühle.\n\nYes\t\tJa\n",
    "csv": '"A ""mill""",Eine\n\n"eins\nzwei",two\n',
    "jsonl": '{"translation": {"en": "A mill.", "de": null}}\n\n',
}
LINKS = {
    "pharaoh": "0\t0-0:0.5 2-1\n\n3-2 ||| -1\n",
    "talp": "1-1 3p2\n\n1-1\n",
    "naacl": "1 1 1 S\n1 3 2 P 0.5\n3 1 1\n",
    "tsv": "sentence\tsource\ttarget\tkind\n0\t0\t0\tS\n2\t3\t1\tP\n",
    "jsonl": '{"links": [[0, 0]], "possible": [[1, 2]]}\n\n',
}
NAMES = [
    *(f"parallel {name}" for name in (*PARALLEL_FORMATS, "guessed", "two files")),
    *(f"links {name}" for name in (*LINK_FORMATS, "guessed")),
    *(f"treebank {name}" for name in (*TREEBANK_FORMATS, "guessed")),
    *(f"coreference {name}" for name in ("conll2012", "litbank", "corefud")),
    "vectors GloVe",
    "vectors word2vec",
]


def beside_itself(path: Path) -> object:
    return list(open_parallel(str(path), str(path)))


def readers() -> dict[str, Reader]:
    """All of them, by name."""
    found = {}
    for name, text in TRANSLATIONS.items():
        found[f"parallel {name}"] = Reader(corpus(open_parallel, format=name), "a.txt", text)
    found["parallel guessed"] = Reader(corpus(open_parallel), "a.jsonl", TRANSLATIONS["jsonl"])
    found["parallel two files"] = Reader(beside_itself, "a.txt", "A mill .\n\nYes\n")
    for name, text in LINKS.items():
        found[f"links {name}"] = Reader(corpus(open_links, format=name), "a.txt", text)
    found["links guessed"] = Reader(corpus(open_links, sentences=3), "a", LINKS["naacl"])
    trees = {"conllu": TREE, "conllx": TREE, "conll2009": CONLL09, "columns": COLUMNS}
    trees["words"] = "the 2-det\ncat 3-nsubj\nsat 0-root\n\n"
    for name, text in trees.items():
        read = corpus(open_treebank, format=name, invalid="skip")
        found[f"treebank {name}"] = Reader(read, "a.txt", text)
    found["treebank guessed"] = Reader(corpus(open_treebank), "a.txt", COLUMNS)
    read, litbank = corpus(open_coreference), example_data.document()
    found["coreference conll2012"] = Reader(read, "a.conll", ONTONOTES * 2)
    found["coreference litbank"] = Reader(read, "a.conll", litbank)
    found["coreference corefud"] = Reader(read, "a.conllu", ENTITIES * 2)
    vectors = "the 0.1 -2e-3 4\ncat 1 2 3\n. 5 6 7\n"
    found["vectors GloVe"] = Reader(read_word_vectors, "a.txt", vectors)
    found["vectors word2vec"] = Reader(read_word_vectors, "a.txt", f"3 3\n{vectors}")
    return found
