"""How similar hidden states become links, by the definitions: loops over one pair, in float64.

Rows are units of the target, columns those of its source.
"""

import itertools
import math

import numpy as np

from headlight_words.word_alignment import SimilaritySettings

Matrix = np.ndarray
Pairs = set[tuple[int, int]]


def naive_forward(similarity: Matrix) -> Pairs:
    """Every row with its largest column, the first of equal ones."""
    return {
        (row, max(range(similarity.shape[1]), key=lambda column: similarity[row, column]))
        for row in range(similarity.shape[0])
    }


def naive_reverse(similarity: Matrix) -> Pairs:
    return {(row, column) for column, row in naive_forward(similarity.T)}


def naive_argmax(similarity: Matrix) -> Pairs:
    return naive_forward(similarity) & naive_reverse(similarity)


def naive_itermax(similarity: Matrix, iterations: int) -> Pairs:
    """Jalili Sabet et al. (2020); as their code does, not for two units or fewer."""
    links = naive_argmax(similarity)
    if min(similarity.shape) <= 2:
        return links
    rows, columns = map(range, similarity.shape)
    for _ in range(iterations - 1):
        used_rows, used_columns = {row for row, _ in links}, {column for _, column in links}
        if len(used_rows) == len(rows) or len(used_columns) == len(columns):
            break
        damped = similarity.copy()
        for row, column in itertools.product(rows, columns):
            used = (row in used_rows) + (column in used_columns)
            damped[row, column] *= (1.0, 0.9, 0.0)[used]
        links = links | {
            (row, column)
            for row, column in naive_argmax(damped)
            if row not in used_rows or column not in used_columns
        }
    return links


def naive_match(similarity: Matrix) -> float:
    """The largest sum of similarities in which no unit has two links."""
    if similarity.shape[0] > similarity.shape[1]:
        return naive_match(similarity.T)
    rows = range(similarity.shape[0])
    return max(
        sum(similarity[row, column] for row, column in zip(rows, chosen, strict=True))
        for chosen in itertools.permutations(range(similarity.shape[1]), len(rows))
    )


def naive_softmax(product: Matrix, threshold: float) -> Pairs:
    rows, columns = map(range, product.shape)
    of_row = [[math.exp(x) / sum(map(math.exp, line)) for x in line] for line in product]
    of_column = [[math.exp(x) / sum(map(math.exp, line)) for x in line] for line in product.T]
    return {
        (row, column)
        for row in rows
        for column in columns
        if of_row[row][column] > threshold and of_column[column][row] > threshold
    }


def naive_cosines(target: Matrix, source: Matrix, distortion: float) -> Matrix:
    made = np.zeros((len(target), len(source)))
    for row, column in itertools.product(range(len(target)), range(len(source))):
        lengths = np.linalg.norm(target[row]) * np.linalg.norm(source[column])
        made[row, column] = (1 + target[row] @ source[column] / lengths) / 2
        if min(made.shape) > 1:
            apart = row / (len(target) - 1) - column / (len(source) - 1)
            made[row, column] *= 1 - distortion * apart**2
    return made


def naive_extracted(
    extraction: str, target: Matrix, source: Matrix, settings: SimilaritySettings
) -> Pairs:
    if extraction == "softmax":
        return naive_softmax(target @ source.T, settings.threshold)
    similarity = naive_cosines(target, source, settings.distortion)
    if extraction == "itermax":
        return naive_itermax(similarity, settings.iterations)
    named = {"argmax": naive_argmax, "forward": naive_forward, "reverse": naive_reverse}
    return named[extraction](similarity)
