"""How much of what heads give to other words goes to words of the same part of speech."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.corpora import Sentence
from headlight.studies.dependency.predictions import Pairs, WordScore


def same_part_of_speech(sentences: Sequence[Sentence], possible: Pairs) -> Pairs:
    """The pairs of words that have the same tag, the universal one where there are two.

    Args:
        sentences: of a batch; those without tags have no such pairs.
        possible: pairs of two different words that are there.
    """
    codes: dict[str, int] = {}
    tags = torch.full(possible.shape[:2], -1, device=possible.device)
    for row, sentence in zip(tags, sentences, strict=True):
        names = (sentence.upos or sentence.xpos)[: len(row)]
        numbers = [codes.setdefault(name, len(codes)) for name in names]
        row[: len(numbers)] = torch.tensor(numbers, dtype=row.dtype, device=row.device)
    return possible & (tags[:, :, None] == tags[:, None]) & (tags[:, :, None] >= 0)


def mean_share(
    score: WordScore, same: Pairs, allowed: Pairs
) -> tuple[Float[Tensor, "batch head"], Float[Tensor, " batch"]]:
    """What a word gives to words of its part of speech, of all that it gives to other words.

    The mean over the words that may attend to another of theirs; sizes are taken without their
    signs.

    Args:
        score: what goes from word to word.
        same: pairs of the same part of speech.
        allowed: pairs of which one may attend to the other.

    Returns:
        Of each head, from 0 to 1; and what it were if each word gave the same to all others.  NaN
        where there is no such word.
    """
    same = same & allowed
    asked = same.any(-1)
    number = asked.sum(-1).to(score.dtype)
    given = score.abs() * allowed[:, None]
    tiny = torch.finfo(score.dtype).tiny
    shares = (given * same[:, None]).sum(-1) / given.sum(-1).clamp_min(tiny)
    even = same.sum(-1).to(score.dtype) / allowed.sum(-1).clamp_min(1)
    of_heads = (shares * asked[:, None]).sum(-1) / number[:, None]
    return of_heads, (even * asked).sum(-1) / number
