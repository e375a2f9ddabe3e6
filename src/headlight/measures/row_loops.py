"""Sums over one row of attention while it is in the cache: functions that compiled loops call.

A row is read a few times, each time in a loop that the compiler makes steps of several cells of.
Numbers are float32, whose sums over a row keep seven digits since they have as many parts as a step
has cells; sums over the rows of a text are float64.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, no_type_check

import numpy as np

from headlight.measures.compiled_loops import compile_loop
from headlight.measures.float32_logarithm import HALF, MANTISSA, ONE, times_logarithm
from headlight.reduce.accumulator import Array


class Listed(NamedTuple):
    """Keys that are listed for the queries of a batch.

    Attributes:
        bounds: ``list row``; where the keys of each query of each text begin in `keys`.
        keys: Keys of all lists, one list after the other.
        copies: Number of lists, the last ones, of which it is asked whether a listed key gets as
            much as any key.
    """

    bounds: Array
    keys: Array
    copies: int


class RowArrays(NamedTuple):
    """Arrays that the sums of rows are written to, ``batch head query`` where nothing else is said.

    Attributes:
        entropy: Entropy of the absolute values.
        size: Sum of the absolute values.
        square: Sum of the squares.
        pairs: What goes to the keys of each list, along one more axis; of copies whether one gets
            as much as any key.
        received: ``batch head key``; what goes to each key from rows as shares, float64.
        diagonal: ``batch head place``; what goes to the keys at each offset, from ``1 - keys``,
            float64.
    """

    entropy: Array
    size: Array
    square: Array
    pairs: Array
    received: Array
    diagonal: Array


@no_type_check
def _entropy_of_sizes(sizes, size, peak):
    """−Σ p ln p of absolute values; the logarithm of the largest p, near 1, is that of the rest."""
    if size == 0:
        return np.float32(0)
    inverse, entropy = np.float32(1) / size, np.float32(0)
    rest, peaks = np.float32(0), np.float32(0)
    for key in range(len(sizes)):
        entry = sizes[key]
        # Choices, not branches: only loops without branches become steps of several cells.
        below = entry if entry < peak else np.float32(0)
        rest += below
        peaks += np.float32(1) if entry >= peak else np.float32(0)
        entropy -= times_logarithm(below * inverse)
    top = peaks * peak
    return entropy + top * inverse * np.float32(np.log(peaks) + np.log1p(rest / top))


@no_type_check
def _largest(row):
    """Return the largest entry; compilers make steps of this form alone, not of `max`."""
    top = row[0]
    for key in range(len(row)):
        top = row[key] if row[key] > top else top
    return top


@no_type_check
def _sum_sizes(row, sizes):
    """Fill the absolute values; return their sum, that of squares, and the largest of them.

    The largest is found in a loop of its own, since compilers make no steps of one that adds too.
    """
    size, square = np.float32(0), np.float32(0)
    for key in range(len(row)):
        entry = abs(row[key])
        sizes[key] = entry
        size += entry
        square += entry * entry
    return size, square, _largest(sizes)


class Call(NamedTuple):
    """A softmax of scaled products.

    Attributes:
        query: ``batch head query size``.
        key: ``batch kv_head key size``.
        value: ``batch kv_head key head_dim``.
        low: ``batch query``; first key that each query sees.
        high: ``batch query``; key behind the last one that it sees; `low` where it sees none, and
            attends to all keys alike.
        bias: ``text head row key``; what is added to products, with axes of size 1 where it is the
            same; of size 0 for nothing.
        scale: Factor of products.
    """

    query: Array
    key: Array
    value: Array
    low: Array
    high: Array
    bias: Array
    scale: float


class Keys(NamedTuple):
    """What is asked about keys.

    Attributes:
        columns: ``batch key column``; sets of keys.
        offsets: Offsets of neighbours.
        present: ``batch query``; 1 for queries that are no padding.
        barred: ``linked key``; a number far below all others at keys that are not linked.
        linked: ``batch``; place of each text among those whose largest links are asked for; −1 for
            none.
    """

    columns: Array
    offsets: Array
    present: Array
    barred: Array
    linked: Array


class Lengths(NamedTuple):
    """Lengths of transformed vectors; all arrays are empty where no norms are asked for.

    Attributes:
        length: ``batch head key``.
        logarithm: ``batch head key``.
        unit: ``batch key``; length of the longest of the vectors of all heads.
        in_units: ``batch head key``; lengths in that unit.
        packed: ``batch pair key``; products of the vectors of two heads in squares of that unit,
            twice those of two different heads.
        threshold: Share of the square of what all parts could add up to, below which a sum has lost
            its digits.
    """

    length: Array
    logarithm: Array
    unit: Array
    in_units: Array
    packed: Array
    threshold: float


class Projection(NamedTuple):
    """Projection of rows on the column space of T; all arrays are empty where none is asked for.

    Attributes:
        basis: ``batch space key column``; orthonormal columns, where all queries see the same keys.
        null: ``batch space vector key``; unit vectors of the left null space, where attention is
            causal.
        begins: ``batch space vector``; first query that has each of them, in ascending order.
    """

    basis: Array
    null: Array
    begins: Array


class KernelArrays(NamedTuple):
    """Arrays that attention and sums of its rows are written to.

    Attributes:
        context: ``batch query head head_dim``.
        rows: Sums of rows, whose heads are those of weights, then of norms, then of effective
            attention; `received` and `diagonal` have an axis ``part`` before the others.
        columns: ``batch head query column``; what goes to the keys of each column.
        neighbours: ``batch head query offset``; 0 without such a key.
        linked: ``linked head query``; largest entry among the linked keys.
        merged: ``batch query column``; norms of the sums over heads, by column of keys.
        lost: ``task place 2``; query and key of cells whose digits are lost.
        norms: ``task place``; their norms, as far as they are known.
        losses: ``task``; number of these cells, which may be more than there is room for.
    """

    context: Array
    rows: RowArrays
    columns: Array
    neighbours: Array
    linked: Array
    merged: Array
    lost: Array
    norms: Array
    losses: Array


class Room(NamedTuple):
    """Room for a block of queries, which is used again for every block of a thread.

    Attributes:
        weights: ``head query·key``; of all heads where norms are merged, else of one.
        image: ``query·key``; effective attention, or norms of sums over heads.
        lost: ``query·key``.
        inside: ``query·column``; coordinates of rows, or their products.
        null: ``vector·key``; null vectors of the keys of the block.
        queries: ``query·size``; queries times the scale.
        multiplied: ``key·column``; values, sets of keys, and these times lengths.
        rows: ``3 key``.
        bounds: ``3 query``.
        sums: ``2 query``; entropies and sums of squares of norms.
        diagonals: ``2 place``; zeros between two blocks.
        factors: ``measure·query``.
        received: ``key``.
        ones: ``key``; ones.
    """

    weights: Array
    image: Array
    lost: Array
    inside: Array
    null: Array
    queries: Array
    multiplied: Array
    rows: Array
    bounds: Array
    sums: Array
    diagonals: Array
    factors: Array
    received: Array
    ones: Array


LOG_2_E = np.float32(1.4426950408889634)
# ln 2 in two parts: a number of octaves times the first is exact in float32.
LN_2_HIGH, LN_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
E0, E1, E2, E3, E4, E5 = (
    np.float32(number)
    for number in (
        5.0000001201e-1,
        1.6666665459e-1,
        4.1665795894e-2,
        8.3334519073e-3,
        1.3981999507e-3,
        1.9875691500e-4,
    )
)
"""e^x = 1 + x + x² (E0 + E1 x + ...) from −½ ln 2 to ½ ln 2 (Cephes, ``expf``)."""
BARRED = np.float32(-1e30)
"""Number far below all scores."""
UNDERFLOW = np.float32(-87)
"""Below this e^x is no normal number of float32, and 0 here."""
BIAS = np.int32(127)
"""Exponent of 1 among the bits of a float32."""

MERGED_QUERIES = 64
"""Queries of a block of written weights that are merged."""
CHUNK = 32
"""Keys that are looked at together for the end of what a query attends to."""


@no_type_check
def _exponentiate(row, top, exponentials):
    """Fill e^(s − top), and put s − top in the place of scores.

    The largest are counted, and the others summed by themselves: where one key gets nearly all, the
    entropy is theirs.

    Returns:
        The sum of the others, the number of the largest, and Σ e^s s.
    """
    rest, tops, inner = np.float32(0), np.float32(0), np.float32(0)
    for key in range(len(row)):
        below = max(row[key] - top, UNDERFLOW)
        row[key] = below
        octave = np.floor(below * LOG_2_E + HALF)
        x = below - octave * LN_2_HIGH
        x = x - octave * LN_2_LOW
        power = ((((E5 * x + E4) * x + E3) * x + E2) * x + E1) * x + E0
        bits = np.int32((np.int32(octave) + BIAS) << MANTISSA)
        exponential = (power * x * x + x + ONE) * bits.view(np.float32)
        exponential = exponential if below > UNDERFLOW else np.float32(0)
        exponentials[key] = exponential
        rest += exponential if below < 0 else np.float32(0)
        tops += np.float32(1) if below >= 0 else np.float32(0)
        inner += exponential * below
    return rest, tops, inner


@no_type_check
def _inner_product(row, others):
    """Return the sum of products of two rows."""
    total = np.float32(0)
    for key in range(len(row)):
        total += row[key] * others[key]
    return total


@no_type_check
def _to_weights(row, exponentials, inverse):
    """Put weights in the place of scores; return the sum of their squares."""
    square = np.float32(0)
    for key in range(len(row)):
        weight = exponentials[key] * inverse
        row[key] = weight
        square += weight * weight
    return square


@no_type_check
def _to_weights_beside_norms(row, exponentials, inverse, lengths, logarithms, whole):
    """Put weights in the place of scores, and sum norms.

    The logarithm of a norm, as a share, is s + ln ‖f‖ less that of the sum of all.

    Returns:
        The sums of the squares of weights and of norms, and that of shares times their logarithms,
        but for a factor.
    """
    square, norm_square, inner = np.float32(0), np.float32(0), np.float32(0)
    for key in range(len(row)):
        logarithm = row[key] + (logarithms[key] - whole)
        weight = exponentials[key] * inverse
        entry = weight * lengths[key]
        row[key] = weight
        square += weight * weight
        norm_square += entry * entry
        inner += entry * logarithm
    return square, norm_square, inner


@no_type_check
def _add_product(sums, row, others):
    for key in range(len(sums)):
        sums[key] += row[key] * others[key]


@no_type_check
def _merge_row(weights, start, bounds, first, in_units, packed, rows):
    """Fill the squares of the sums over heads of one row, and what their parts could add up to.

    Args:
        weights: ``head query·key``; of a block of queries.
        start: Where the row begins.
        bounds: Where the keys that its query sees begin and end in the block.
        first: First key of the block.
        in_units: See `Lengths`; of the text.
        packed: See `Lengths`; of the text.
        rows: Room for three rows: squares, what parts could add up to, and products.
    """
    low, high = bounds
    heads, size, pair = len(weights), high - low, 0
    square, parts, inner = rows[0, :size], rows[1, :size], rows[2, :size]
    square[:] = 0
    parts[:] = 0
    here, keys = slice(start + low, start + high), slice(first + low, first + high)
    for head in range(heads):
        alpha, pairs, length = weights[head, here], packed[pair, keys], in_units[head, keys]
        for key in range(size):
            inner[key] = alpha[key] * pairs[key]
            parts[key] += alpha[key] * length[key]
        for other in range(head + 1, heads):
            beta, pairs = weights[other, here], packed[pair + other - head, keys]
            for key in range(size):
                inner[key] += beta[key] * pairs[key]
        for key in range(size):
            square[key] += inner[key] * alpha[key]
        pair += heads - head


# What follows looks at a block of queries.  What is called for a row would take hold of its arrays
# each time, which costs more than the cells of a short row.


@no_type_check
def _take_bounds(low, high, first_key, width, bounds):
    """Fill where the keys that each query sees begin and end in a block; all where it sees none."""
    for line in range(len(low)):
        sees = low[line] < high[line]
        bounds[0, line] = low[line] - first_key if sees else 0
        bounds[1, line] = high[line] - first_key if sees else width
        bounds[2, line] = sees


@no_type_check
def _add_biases(scores, bounds, bias, low):
    """Add to the scores of a block, and put zeros where a query does not see a key.

    Of a query that sees nothing all scores are 0: it attends to all keys alike.
    """
    for line in range(len(scores)):
        begin, end = bounds[0, line], bounds[1, line]
        row = scores[line, begin:end]
        if not bounds[2, line]:
            row[:] = 0
        elif len(bias):
            of_row = bias[line, low + begin : low + end]
            for key in range(len(row)):
                # Masks have -inf, and these loops are compiled for finite numbers.
                row[key] += max(of_row[key], BARRED)
        if begin:
            scores[line, :begin] = 0
        if end < scores.shape[1]:
            scores[line, end:] = 0


@no_type_check
def _weigh(  # noqa: PLR0913 - see above
    weights, bounds, lengths, logarithms, room, entropies, squares, norms, of_norms
):
    """Put weights in the place of scaled products, and fill the sums of each row.

    Args:
        weights: ``query key``.
        bounds: See `_take_bounds`.
        lengths: Lengths of the vectors of each key; empty for no norms.
        logarithms: Their logarithms.
        room: ``3 key``.
        entropies: ``query``.
        squares: ``query``.
        norms: ``query``; sums of norms.
        of_norms: ``2 query``; entropies and sums of squares of norms.
    """
    exponentials = room[1]
    for line in range(len(weights)):
        begin, end = bounds[0, line], bounds[1, line]
        row = weights[line, begin:end]
        top = _largest(row)
        rest, tops, inner = _exponentiate(row, top, exponentials)
        inverse = np.float32(1) / (tops + rest)
        entropies[line] = np.log(tops) + np.log1p(rest / tops) - inner * inverse
        if len(lengths):
            length, logarithm = lengths[begin:end], logarithms[begin:end]
            whole = _inner_product(length, exponentials)
            log_whole = np.log(whole) if whole > 0 else np.float32(0)
            square, norm_square, inner = _to_weights_beside_norms(
                row, exponentials, inverse, length, logarithm, log_whole
            )
            norm = whole * inverse
            squares[line], norms[line], of_norms[1, line] = square, norm, norm_square
            of_norms[0, line] = max(-inner / norm, np.float32(0)) if norm > 0 else np.float32(0)
        else:
            squares[line] = _to_weights(row, exponentials, inverse)


@no_type_check
def _scale_queries(queries, scale, scaled):
    for line in range(len(queries)):
        for number in range(queries.shape[1]):
            scaled[line, number] = queries[line, number] * scale


@no_type_check
def _fill_multiplied(value, sets, lengths, multiplied):
    """Fill what rows of weights are multiplied with: values, sets of keys, and these by norm.

    What goes to a set of keys by norm is what goes by weight to the lengths of its keys.
    """
    size, columns = value.shape[1], sets.shape[1]
    for key in range(len(value)):
        row = multiplied[key]
        for number in range(size):
            row[number] = value[key, number]
        for column in range(columns):
            row[size + column] = sets[key, column]
        if len(lengths):
            for column in range(columns):
                row[size + columns + column] = sets[key, column] * lengths[key]


@no_type_check
def _put_products(products, context, columns, columns_by_norm):
    """Put the products of a block where contexts and sums over sets of keys are."""
    size, sets = context.shape[1], columns.shape[1]
    for line in range(len(products)):
        row = products[line]
        for number in range(size):
            context[line, number] = row[number]
        for column in range(sets):
            columns[line, column] = row[size + column]
        if len(columns_by_norm):
            for column in range(sets):
                columns_by_norm[line, column] = row[size + sets + column]


@no_type_check
def _take_factors(present, norms, factors):
    """Fill the factors by which rows of weights and of norms are added to what keys receive."""
    for line in range(len(present)):
        factors[0, line] = present[line]
        if len(norms):
            factors[1, line] = present[line] / norms[line] if norms[line] > 0 else np.float32(0)


@no_type_check
def _flush_diagonal(buffer, sums):
    # The sums of a block are float32, those of a text float64.
    for place in range(len(buffer)):
        sums[place] += np.float64(buffer[place])
        buffer[place] = 0


@no_type_check
def _copy_null(vectors, low, copied):
    for vector in range(len(copied)):
        for key in range(copied.shape[1]):
            copied[vector, key] = vectors[vector, low + key]


@no_type_check
def _subtract(matrix, image):
    for line in range(len(matrix)):
        for key in range(matrix.shape[1]):
            image[line, key] = matrix[line, key] - image[line, key]


@no_type_check
def _cut_null(inside, first, begins):
    """Leave of the null vectors those that each query has."""
    for line in range(len(inside)):
        for vector in range(inside.shape[1]):
            if begins[vector] > first + line:
                inside[line, vector] = 0


@no_type_check
def _add_diagonals(matrix, bounds, present, factors, diagonals):
    """Add rows to the diagonals that they cross; then also times the factors of their keys."""
    for line in range(len(matrix)):
        if present[line]:
            begin, end = bounds[0, line], bounds[1, line]
            along = len(matrix) - 1 - line + begin
            row, diagonal = matrix[line, begin:end], diagonals[0, along:]
            for key in range(len(row)):
                diagonal[key] += row[key]
            if len(factors):
                _add_product(diagonals[1, along : along + len(row)], row, factors[begin:end])


@no_type_check
def _add_received(  # noqa: PLR0913 - see above
    matrix, factors, lengths, room, received, head, heads, low
):
    """Add what keys receive, rows times factors; of the second measure times lengths as well.

    Args:
        matrix: ``query key``.
        factors: ``measure query``.
        lengths: Lengths of the vectors of each key.
        room: ``key``.
        received: ``head key``; of all measures.
        head: First of the heads to add to.
        heads: Number of heads of a measure.
        low: First key of the block.
    """
    measures, width = len(factors), matrix.shape[1]
    row = room[:width]
    for measure in range(measures):
        np.dot(factors[measure], matrix, row)
        total = received[head + measure * heads, low:]
        for key in range(width):
            factor = lengths[key] if measure else np.float32(1)
            total[key] += np.float64(row[key] * factor)


@no_type_check
def _take_neighbours(matrix, factors, corner, offsets, neighbours):
    """Fill what goes to the keys beside each query: entries times factors of their keys.

    Args:
        matrix: ``query key``.
        factors: Factors of its keys.
        corner: First query and first key.
        offsets: Offsets of neighbours.
        neighbours: ``query offset``.
    """
    first, low = corner
    for line in range(len(matrix)):
        for number in range(len(offsets)):
            key = first + line + offsets[number] - low
            if 0 <= key < matrix.shape[1]:
                neighbours[line, number] = matrix[line, key] * factors[key]


@no_type_check
def _take_pairs(matrix, factors, low, first_row, listed, pairs):
    """Fill what goes to listed keys, and which copies get most: entries times factors of keys.

    Args:
        matrix: ``query key``.
        factors: Factors of its keys.
        low: First key.
        first_row: Row of the first query among those of all texts.
        listed: `Listed`.
        pairs: ``query list``.
    """
    starts, keys, lists = listed.bounds, listed.keys, len(listed.bounds)
    copies = lists - listed.copies
    for line in range(len(matrix)):
        row, top, is_known = matrix[line], np.float32(0), False
        for number in range(lists):
            begin, end = starts[number, first_row + line], starts[number, first_row + line + 1]
            if begin == end:
                continue
            if number >= copies and not is_known:
                top, is_known = _largest_product(row, factors), True
            given = np.float32(0)
            for place in range(begin, end):
                key = keys[place] - low
                entry = row[key] * factors[key] if 0 <= key < len(row) else np.float32(0)
                if number < copies:
                    given += entry
                elif entry >= top:
                    given = np.float32(1)
            pairs[line, number] = given


@no_type_check
def _largest_product(row, factors):
    """Return the largest product of two entries at one place."""
    top = row[0] * factors[0]
    for key in range(len(row)):
        entry = row[key] * factors[key]
        top = entry if entry > top else top
    return top


@no_type_check
def _take_links(matrix, factors, bounds, barred, linked):
    """Fill the largest entry of each row, times the factors of keys, that is not barred.

    Args:
        matrix: ``query key``.
        factors: Factors of its keys.
        bounds: See `_take_bounds`.
        barred: Number far below all entries at keys that are not linked.
        linked: ``query``.
    """
    for line in range(len(matrix)):
        begin, end = bounds[0, line], bounds[1, line]
        row, lengths, below = matrix[line, begin:end], factors[begin:end], barred[begin:end]
        top = row[0] * lengths[0] + below[0]
        for key in range(len(row)):
            entry = row[key] * lengths[key] + below[key]
            top = entry if entry > top else top
        linked[line] = top


@no_type_check
def _project(matrix, image, basis, null, begins, first, room):
    """Fill effective attention of a block of queries and a head.

    Args:
        matrix: ``query key``; weights.
        image: ``query key``; effective attention.
        basis: ``key column``; see `Projection`; empty where attention is causal.
        null: ``vector key``.
        begins: ``vector``; first query that has each.
        first: Number of the first query.
        room: ``query·column``.
    """
    count = len(matrix)
    # np.dot writes to arrays without gaps alone, so that room is flat and takes the shape it needs.
    if len(basis):
        inside = room[: count * basis.shape[1]].reshape(count, basis.shape[1])
        np.dot(matrix, basis, inside)
        np.dot(inside, basis.T, image)
        return
    if not len(null):
        image[:] = matrix
        return
    inside = room[: count * len(null)].reshape(count, len(null))
    np.dot(matrix, null.T, inside)
    _cut_null(inside, first, begins)
    np.dot(inside, null, image)
    _subtract(matrix, image)


@no_type_check
def _clear_outside(image, bounds):
    for line in range(len(image)):
        image[line, : bounds[0, line]] = 0
        image[line, bounds[1, line] :] = 0


@no_type_check
def _sum_matrix(matrix, bounds, room, all_sizes, entropies, squares):
    """Fill the sums of sizes and squares of each row, and its entropy.

    Args:
        matrix: ``query key``.
        bounds: See `_take_bounds`.
        room: ``key``.
        all_sizes: ``query``.
        entropies: ``query``.
        squares: ``query``.
    """
    for line in range(len(matrix)):
        row = matrix[line, bounds[0, line] : bounds[1, line]]
        sizes = room[: len(row)]
        size, square, peak = _sum_sizes(row, sizes)
        all_sizes[line], squares[line] = size, square
        entropies[line] = _entropy_of_sizes(sizes, size, peak)


@no_type_check
def _merge(  # noqa: PLR0913 - see above
    weights, begin_of_block, norms, bounds, first, in_units, packed, unit, room, threshold, lost
):
    """Fill the norms of the sums over heads of a block; return in how many cells digits are lost.

    Args:
        weights: ``head query·key``.
        begin_of_block: Where the first row of the block begins in them.
        norms: ``query key``.
        bounds: See `_take_bounds`.
        first: First key of the block.
        in_units: See `Lengths`; of the text.
        packed: See `Lengths`; of the text.
        unit: See `Lengths`; of the text.
        room: ``3 key``.
        threshold: See `Lengths`.
        lost: ``query key``; 1 for these cells.
    """
    total = 0
    for line in range(len(norms)):
        begin, end = bounds[0, line], bounds[1, line]
        norms[line, :begin] = 0
        norms[line, end:] = 0
        lost[line] = 0
        start = begin_of_block + line * norms.shape[1]
        _merge_row(weights, start, (begin, end), first, in_units, packed, room)
        row, square, most = norms[line, begin:end], room[0], room[1]
        of_row, longest = lost[line, begin:end], unit[first + begin : first + end]
        some = 0
        for key in range(len(row)):
            row[key] = np.sqrt(max(square[key], np.float32(0))) * longest[key]
            is_lost = square[key] < threshold * most[key] * most[key]
            of_row[key] = is_lost
            some += is_lost
        total += some
    return total


@no_type_check
def _note_lost(lost, present, image, corner, known, places, norms):
    """Note cells whose digits are lost, and their norms; return how many there are by now.

    Args:
        lost: ``query key``; 1 for these cells.
        present: ``query``; 0 for padding.
        image: ``query key``; norms.
        corner: First query and first key.
        known: Number of cells that are noted.
        places: ``place 2``; room for query and key.
        norms: ``place``; room for norms.
    """
    first, low = corner
    for line in range(len(lost)):
        for key in range(lost.shape[1]):
            if lost[line, key] and present[line]:
                if known < len(places):
                    places[known, 0], places[known, 1] = first + line, low + key
                    norms[known] = image[line, key]
                known += 1
    return known


@no_type_check
def _find_width(low, high, keys):
    """Return the first key that one of several queries sees, and the key behind the last."""
    first, stop = keys, 0
    for query in range(len(low)):
        sees = low[query] < high[query]  # else it attends to all keys alike
        first = min(first, low[query] if sees else 0)
        stop = max(stop, high[query] if sees else keys)
    return first, stop


@no_type_check
def _score(  # noqa: PLR0913 - see above
    call, text, head, queries, bounds, low, room, scores
):
    """Fill the scaled products of a block of queries and of the keys that they see, with biases.

    Args:
        call: `Call`.
        text: Number of the text.
        head: Number of the head.
        queries: First query, and the one behind the last.
        bounds: See `_take_bounds`.
        low: First key.
        room: ``query·size``.
        scores: ``query key``.
    """
    first, end = queries
    group = head * call.key.shape[1] // call.query.shape[1]
    scaled = room[: (end - first) * call.query.shape[3]].reshape(end - first, -1)
    _scale_queries(call.query[text, head, first:end], np.float32(call.scale), scaled)
    np.dot(scaled, call.key[text, group, low : low + scores.shape[1]].T, scores)
    bias = scores[:0]
    if len(call.bias):
        text_of_bias = min(text, len(call.bias) - 1)
        bias = call.bias[text_of_bias, min(head, call.bias.shape[1] - 1), first:end]
    _add_biases(scores, bounds, bias, low)


@no_type_check
def _take_keys(matrix, factors, bounds, place, corner, asked, listed, arrays):  # noqa: PLR0913
    """Fill what is asked of single keys by a measure: entries of a matrix times factors of keys.

    Args:
        matrix: ``query key``.
        factors: Factors of its keys.
        bounds: See `_take_bounds`.
        place: Text, head among those of all measures, place of the first query in the arrays, and
            its row in the lists of pairs.
        corner: First query, and first key.
        asked: `Keys`.
        listed: `Listed`.
        arrays: `KernelArrays`.
    """
    text, shown, line, row = place
    low, end, link = corner[1], line + len(matrix), asked.linked[text]
    _take_pairs(matrix, factors, low, row, listed, arrays.rows.pairs[text, shown, line:end])
    neighbours = arrays.neighbours[text, shown, line:end]
    _take_neighbours(matrix, factors, corner, asked.offsets, neighbours)
    if link >= 0:
        barred = asked.barred[link, low : low + matrix.shape[1]]
        _take_links(matrix, factors, bounds, barred, arrays.linked[link, shown, line:end])


@no_type_check
def _multiply(call, weights, length, place, asked, arrays, room):
    """Fill the context of a block, and what goes to sets of keys by weight and by norm.

    Args:
        call: `Call`.
        weights: ``query key``.
        length: Lengths of the vectors of keys; empty for no norms.
        place: Text, part of the text, head, first query, and first key.
        asked: `Keys`.
        arrays: `KernelArrays`.
        room: `Room`.
    """
    text, _, head, first, low = place
    count, width = weights.shape
    heads, end, high = call.query.shape[1], first + count, low + width
    value = call.value[text, head * call.value.shape[1] // heads, low:high]
    sets, columns = asked.columns[text, low:high], arrays.columns[text, head, first:end]
    columns_by_norm = arrays.columns[text, heads + head, first:end] if len(length) else columns[:0]
    right = value.shape[1] + (2 if len(length) else 1) * sets.shape[1]
    multiplied = room.multiplied[: width * right].reshape(width, right)
    products = room.inside[: count * right].reshape(count, right)
    _fill_multiplied(value, sets, length, multiplied)
    np.dot(weights, multiplied, products)
    _put_products(products, arrays.context[text, first:end, head], columns, columns_by_norm)


@no_type_check
def _attend_to_block(  # noqa: PLR0913 - see above
    call, lengths, weights, bounds, place, present, asked, listed, arrays, room
):
    """Fill the context of a block of queries and a head, and the sums of weights and norms.

    Args:
        call: `Call`.
        lengths: `Lengths`.
        weights: ``query key``; what is written is gone with the next block.
        bounds: See `_take_bounds`.
        place: Text, part of the text, head, first query, and first key.
        present: ``query``; 1 for queries that are no padding.
        asked: `Keys`.
        listed: `Listed`.
        arrays: `KernelArrays`.
        room: `Room`.
    """
    text, part, head, first, low = place
    count, width = weights.shape
    heads, queries = call.query.shape[1:3]
    end, high, by_norm = first + count, low + width, heads + head
    rows, nothing, has_norms = arrays.rows, room.ones[:0], len(lengths.length) > 0
    _score(call, text, head, (first, end), bounds, low, room.queries, weights)
    length = lengths.length[text, head, low:high] if has_norms else nothing
    logarithm = lengths.logarithm[text, head, low:high] if has_norms else nothing
    norms = rows.size[text, by_norm, first:end] if has_norms else nothing
    entropies, squares = rows.entropy[text, head, first:end], rows.square[text, head, first:end]
    of_norms = room.sums
    _weigh(weights, bounds, length, logarithm, room.rows, entropies, squares, norms, of_norms)
    measures = 2 if has_norms else 1
    factors = room.factors[: measures * count].reshape(measures, count)
    _take_factors(present, norms, factors)
    _add_diagonals(weights, bounds, present, length, room.diagonals)
    received = rows.received[part, text]
    _add_received(weights, factors, length, room.received, received, head, heads, low)
    _multiply(call, weights, length, place, asked, arrays, room)
    # The first diagonal of the block is that of its last query and its first key.
    shift, crossed = queries - end + low, width + count - 1
    _flush_diagonal(room.diagonals[0, :crossed], rows.diagonal[part, text, head, shift:])
    row, corner, ones = text * queries + first, (first, low), room.ones
    shown = text, head, first, row
    _take_keys(weights, ones, bounds, shown, corner, asked, listed, arrays)
    if has_norms:
        rows.entropy[text, by_norm, first:end] = of_norms[0, :count]
        rows.square[text, by_norm, first:end] = of_norms[1, :count]
        _flush_diagonal(room.diagonals[1, :crossed], rows.diagonal[part, text, by_norm, shift:])
        shown = text, by_norm, first, row
        _take_keys(weights, length, bounds, shown, corner, asked, listed, arrays)


@no_type_check
def _project_block(  # noqa: PLR0913 - see above
    projection, weights, image, bounds, place, present, asked, listed, arrays, room
):
    """Fill the sums of the effective attention of a block of queries and a head.

    Args:
        projection: `Projection`.
        weights: ``query key``.
        image: ``query key``; effective attention.
        bounds: See `_take_bounds`.
        place: Text, part of the text, head, first query, and first key.
        present: ``query``; 1 for queries that are no padding.
        asked: `Keys`.
        listed: `Listed`.
        arrays: `KernelArrays`.
        room: `Room`.
    """
    text, part, head, first, low = place
    count, width = weights.shape
    heads, queries = arrays.context.shape[2], arrays.context.shape[1]
    end, high, rows = first + count, low + width, arrays.rows
    shown = rows.entropy.shape[1] - heads + head
    basis = null = room.weights[:0]
    begins = bounds[0]
    if len(projection.basis):
        basis = projection.basis[text, head * projection.basis.shape[1] // heads, low:high]
    else:
        space = head * projection.null.shape[1] // heads
        begins, vectors = projection.begins[text, space], 0
        while vectors < len(begins) and begins[vectors] < end:
            vectors += 1
        if vectors:
            null = room.null[: vectors * width].reshape(vectors, width)
            _copy_null(projection.null[text, space], low, null)
    _project(weights, image, basis, null, begins, first, room.inside)
    _clear_outside(image, bounds)
    sizes, entropies = rows.size[text, shown, first:end], rows.entropy[text, shown, first:end]
    _sum_matrix(image, bounds, room.rows[0], sizes, entropies, rows.square[text, shown, first:end])
    nothing, factors = room.ones[:0], room.factors[:count].reshape(1, count)
    _take_factors(present, nothing, factors)
    _add_diagonals(image, bounds, present, nothing, room.diagonals)
    received = rows.received[part, text]
    _add_received(image, factors, nothing, room.received, received, shown, heads, low)
    shift = queries - end + low
    diagonal = rows.diagonal[part, text, shown, shift:]
    _flush_diagonal(room.diagonals[0, : width + count - 1], diagonal)
    np.dot(image, asked.columns[text, low:high], arrays.columns[text, shown, first:end])
    shown = text, shown, first, text * queries + first
    _take_keys(image, room.ones, bounds, shown, (first, low), asked, listed, arrays)


@no_type_check
def _merge_block(  # noqa: PLR0913 - see above
    lengths, image, bounds, place, present, asked, task, arrays, room
):
    """Fill what goes to sets of keys by the norms of sums over heads, for a block of queries.

    Args:
        lengths: `Lengths`.
        image: ``query key``; these norms.
        bounds: See `_take_bounds`.
        place: Text, first query, and first key.
        present: ``query``; 1 for queries that are no padding.
        asked: `Keys`.
        task: Number of the task, which has its own list of cells that have lost their digits.
        arrays: `KernelArrays`.
        room: `Room`.
    """
    text, first, low = place
    count, width = image.shape
    lost = room.lost[: count * width].reshape(count, width)
    losses = _merge(
        room.weights,
        0,
        image,
        bounds,
        low,
        lengths.in_units[text],
        lengths.packed[text],
        lengths.unit[text],
        room.rows,
        np.float32(lengths.threshold),
        lost,
    )
    if losses:
        places, norms = arrays.lost[task], arrays.norms[task]
        known = arrays.losses[task]
        arrays.losses[task] = _note_lost(lost, present, image, (first, low), known, places, norms)
    sets = asked.columns[text, low : low + width]
    np.dot(image, sets, arrays.merged[text, first : first + count])


@no_type_check
def _attend(  # noqa: PLR0913 - see above
    call, asked, listed, lengths, projection, arrays, height, room, step, start
):
    """Compute attention and all sums of its rows, for every ``step``-th task from ``start`` on.

    A task is a part of the queries of a text.  Weights of a block of queries are written to room
    that stays in the cache, and are gone with the block.

    Args:
        call: `Call`.
        asked: `Keys`.
        listed: `Listed`.
        lengths: `Lengths`.
        projection: `Projection`.
        arrays: `KernelArrays`.
        height: Queries of a block.
        room: `Room`.
        step: Number of threads.
        start: Number of this one.
    """
    heads, queries = call.query.shape[1:3]
    keys, parts = call.key.shape[2], len(arrays.rows.received)
    projects = len(projection.basis) > 0 or len(projection.null) > 0
    of_part, bounds = -(-queries // parts), room.bounds
    for task in range(start, len(call.query) * parts, step):
        text, part = task // parts, task % parts
        last = min((part + 1) * of_part, queries)
        for first in range(part * of_part, last, height):
            end = min(first + height, last)
            count = end - first
            lows, highs = call.low[text, first:end], call.high[text, first:end]
            low, high = _find_width(lows, highs, keys)
            width = high - low
            _take_bounds(lows, highs, low, width, bounds)
            present = asked.present[text, first:end]
            image = room.image[: count * width].reshape(count, width)
            for head in range(heads):
                # Where heads are not merged, there is room for one, which the next overwrites.
                of_head = room.weights[head % len(room.weights), : count * width]
                weights, place = of_head.reshape(count, width), (text, part, head, first, low)
                _attend_to_block(
                    call, lengths, weights, bounds, place, present, asked, listed, arrays, room
                )
                if projects:
                    _project_block(
                        projection,
                        weights,
                        image,
                        bounds,
                        place,
                        present,
                        asked,
                        listed,
                        arrays,
                        room,
                    )
            if len(lengths.packed):
                place = text, first, low
                _merge_block(lengths, image, bounds, place, present, asked, task, arrays, room)


@no_type_check
def _find_ends(matrix, bounds):
    """Fill where the entries of each row begin and end; most rows under a causal mask end early."""
    for line in range(len(matrix)):
        end = matrix.shape[1]
        while end > 1 and matrix[line, end - 1] == 0:
            end -= 1
        bounds[0, line], bounds[1, line] = 0, end


@no_type_check
def _take_shares(present, totals, is_share, counted, shares):
    """Fill which rows count, and the factors that make them shares: see `RowSums`."""
    for line in range(len(present)):
        total = totals[line]
        counted[line] = present[line] if is_share or total > 0 else np.float32(0)
        shares[line] = counted[line] if is_share or counted[line] == 0 else np.float32(1) / total


@no_type_check
def _sum_rows(  # noqa: PLR0913 - see above
    score, place, is_share, whole, asked, listed, arrays, step, start
):
    """Fill the sums of rows that were written, of every ``step``-th head from ``start`` on.

    Args:
        score: ``batch head query key``; a measure.
        place: First query, and first of its heads among those of all measures.
        is_share: Whether its rows are shares as they are.
        whole: Number of the set of all keys.
        asked: `Keys`.
        listed: `Listed`.
        arrays: `KernelArrays`, of these queries.
        step: Number of threads.
        start: Number of this one.
    """
    first, first_head = place
    heads, queries, columns = score.shape[1:]
    ones, room = np.ones(columns, np.float32), np.empty(columns, np.float32)
    nothing, bounds = ones[:0], np.empty((2, queries), np.int64)
    counted, shares = np.empty(queries, np.float32), np.empty((1, queries), np.float32)
    diagonals, rows = np.zeros((1, columns + queries), np.float32), arrays.rows
    # The first diagonal of the block is that of its last query and the key 0.
    shift = len(asked.columns[0]) - first - queries
    for number in range(start, len(score) * heads, step):
        text, head = number // heads, number % heads
        matrix, shown = score[text, head], first_head + head
        _find_ends(matrix, bounds)
        sizes, entropies = rows.size[text, shown], rows.entropy[text, shown]
        _sum_matrix(matrix, bounds, room, sizes, entropies, rows.square[text, shown])
        sums = arrays.columns[text, shown]
        np.dot(matrix, asked.columns[text, :columns], sums)
        present = asked.present[text, first : first + queries]
        _take_shares(present, sums[:, whole], is_share, counted, shares[0])
        if shift >= 0:  # else these are two texts, which have no diagonals
            _add_diagonals(matrix, bounds, counted, nothing, diagonals)
            buffer = diagonals[0, : columns + queries - 1]
            _flush_diagonal(buffer, rows.diagonal[0, text, shown, shift:])
        _add_received(matrix, shares, nothing, room, rows.received[0, text], shown, heads, 0)
        bounds[1] = columns  # a link of zero is one, too
        taken = text, shown, 0, text * queries
        _take_keys(matrix, ones, bounds, taken, (first, 0), asked, listed, arrays)


@no_type_check
def _find_common_ends(weights, first, bounds):
    """Fill where the weights of all heads end in each row of a block.

    Args:
        weights: ``head query key``.
        first: First query of the block.
        bounds: ``2 query``.
    """
    keys = weights.shape[2]
    for line in range(bounds.shape[1]):
        end = keys
        while end > 1:
            begin, some = max(0, end - CHUNK), np.float32(0)
            for head in range(len(weights)):
                row = weights[head, first + line, begin:end]
                for key in range(len(row)):
                    some += abs(row[key])
            if some != 0:
                break
            end = max(begin, 1)
        bounds[0, line], bounds[1, line] = 0, end


@no_type_check
def _merge_written(weight, together, results, threshold, step, start):
    """Fill the norms of sums over heads of written weights, of every ``step``-th block.

    Args:
        weight: ``batch head query key``.
        together: `packed`, `in_units` and `unit` of `Lengths`.
        results: ``batch query key``; norms, and 1 where digits are lost.
        threshold: See `Lengths`.
        step: Number of threads.
        start: Number of this one.
    """
    packed, in_units, unit = together
    norms, lost = results
    heads, queries, keys = weight.shape[1:]
    room, blocks = np.empty((3, keys), np.float32), -(-queries // MERGED_QUERIES)
    for number in range(start, len(weight) * blocks, step):
        text, first = number // blocks, number % blocks * MERGED_QUERIES
        end = min(first + MERGED_QUERIES, queries)
        bounds = np.empty((2, end - first), np.int64)
        _find_common_ends(weight[text], first, bounds)
        flat = weight[text].reshape(heads, queries * keys)
        image, of_block = norms[text, first:end], lost[text, first:end]
        _merge(
            flat,
            first * keys,
            image,
            bounds,
            0,
            in_units[text],
            packed[text],
            unit[text],
            room,
            threshold,
            of_block,
        )


@no_type_check
def _write_rows(call, texts, heads, queries, rows):
    """Fill single rows of weights, ``row key``; those of keys that are not seen are 0."""
    bounds, sums = np.empty((3, 1), np.int64), np.empty((2, 1), np.float32)
    nothing, scale = np.empty(0, np.float32), np.float32(call.scale)
    room = np.empty((3, rows.shape[1]), np.float32)
    no_bias = np.empty((0, 0), np.float32)
    for number in range(len(rows)):
        text, head, query = texts[number], heads[number], queries[number]
        products = call.key[text, head * call.key.shape[1] // call.query.shape[1]]
        vector, row = call.query[text, head, query], rows[number]
        for key in range(len(row)):
            other, total = products[key], np.float32(0)
            for place in range(len(vector)):
                total += vector[place] * other[place]
            row[key] = total * scale
        here = slice(query, query + 1)
        _take_bounds(call.low[text, here], call.high[text, here], 0, len(row), bounds)
        bias = no_bias
        if len(call.bias):
            text_of_bias = min(text, len(call.bias) - 1)
            bias = call.bias[text_of_bias, min(head, call.bias.shape[1] - 1), here]
        block = rows[number : number + 1]
        _add_biases(block, bounds, bias, 0)
        _weigh(block, bounds, nothing, nothing, room, sums[0], sums[1], nothing, sums)


SUMS = (
    times_logarithm,
    _entropy_of_sizes,
    _largest,
    _sum_sizes,
    _sum_matrix,
    _add_product,
    _add_diagonals,
    _flush_diagonal,
    _add_received,
    _largest_product,
    _take_pairs,
    _take_neighbours,
    _take_links,
    _take_keys,
)
"""Sums of matrices, each after those that it calls."""
MERGING = _merge_row, _merge
WEIGHING = (
    _exponentiate,
    _inner_product,
    _to_weights,
    _to_weights_beside_norms,
    _take_bounds,
    _add_biases,
    _weigh,
)
KERNEL = (
    _scale_queries,
    _fill_multiplied,
    _put_products,
    _take_factors,
    _copy_null,
    _subtract,
    _cut_null,
    _project,
    _clear_outside,
    _note_lost,
    _find_width,
    _score,
    _multiply,
    _attend_to_block,
    _project_block,
    _merge_block,
)


@cache
def compiled_sums() -> Callable[..., Any]:
    """Return the loop over the rows of written cells."""
    return compile_loop(_sum_rows, (*SUMS, _find_ends, _take_shares), finite=True)


@cache
def compiled_merging() -> Callable[..., Any]:
    """Return the loop that merges written weights."""
    return compile_loop(_merge_written, (*MERGING, _find_common_ends), finite=True)


@cache
def compiled_rows() -> Callable[..., Any]:
    """Return the loop that writes single rows of weights."""
    return compile_loop(_write_rows, (_largest, *WEIGHING), finite=True)


@cache
def compiled_attention() -> Callable[..., Any]:
    """Return the loop that computes attention with the sums of its rows."""
    return compile_loop(_attend, (*SUMS, *MERGING, *WEIGHING, *KERNEL), finite=True)
