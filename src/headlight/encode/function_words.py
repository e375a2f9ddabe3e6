"""Function words of English: the closed classes, by the tokens that are one of them alone."""

from itertools import product
from typing import Any, cast

from headlight.encode.categories import BOUNDARIES, ENDINGS
from headlight.encode.pieces import Tokenizer
from headlight.encode.word_boundaries import with_words

DETERMINERS_AND_PRONOUNS = """
a an the this that these those each every either neither some any no all both half such another
i you he she it we they me him her us them my your his its our their mine yours hers ours theirs
myself yourself himself herself itself ourselves themselves who whom whose which what one none
somebody someone something anybody anyone anything nobody nothing everybody everyone everything
"""

PREPOSITIONS_AND_CONJUNCTIONS = """
about above across after against along among around as at before behind below beneath beside
between beyond by down during for from in inside into near of off on onto out outside over past
since through throughout till to toward towards under until up upon with within without
and but or nor so yet if unless although though because while whereas whether than when where why
how
"""

AUXILIARIES = """
am is are was were be been being do does did have has had having can could may might must shall
should will would ought not there
"""

FUNCTION_WORDS = frozenset(
    (DETERMINERS_AND_PRONOUNS + PREPOSITIONS_AND_CONJUNCTIONS + AUXILIARIES).split()
)


def function_word_ids(tokenizer: Tokenizer) -> tuple[int, ...]:
    """The tokens of a vocabulary that are written as a function word, with or without a capital.

    A piece of a longer word may be written so as well; who has a text knows which are words.
    """
    vocabulary = cast("Any", with_words(tokenizer)).backend_tokenizer
    written = {*FUNCTION_WORDS, *(word.capitalize() for word in FUNCTION_WORDS)}
    spellings = map("".join, product(BOUNDARIES, sorted(written), ENDINGS))
    known = (vocabulary.token_to_id(piece) for piece in spellings)
    return tuple(sorted({token for token in known if token is not None}))
