"""Every equation as it is printed: plain loops over one sequence, numpy float64, nothing shared.

This module imports nothing from headlight. Axes, everywhere:

    weight  [head, query, key]              α, the attention weights
    value   [key_value_head, key, head_dim] v(x_j) = x_j W^V + b^V
    output  [head, head_dim, width]         W^O, cut into the block of each head
    visible [query, key]                    true where a query may see a key

Head h reads the values of key-value head h // (heads / key_value_heads).
"""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def transformed(value: Array, output: Array) -> Array:
    """f(x_j) = v(x_j) W^O per head, Kobayashi et al. (2020), Eq. 4. Shape [head, key, width]."""
    heads, _, width = output.shape
    sharing = heads // value.shape[0]
    result = np.zeros((heads, value.shape[1], width))
    for head in range(heads):
        for key in range(value.shape[1]):
            result[head, key] = wide(value[head // sharing, key]) @ wide(output[head])
    return result


def reconstruction(weight: Array, value: Array, output: Array, bias: Array | None) -> Array:
    """Σ_h Σ_j α_ij f_h(x_j) + b^O, Kobayashi et al. (2020), Eq. 3. Shape [query, width]."""
    vectors = transformed(value, output)
    result = np.zeros((weight.shape[1], output.shape[2]))
    for query in range(weight.shape[1]):
        for head in range(weight.shape[0]):
            for key in range(weight.shape[2]):
                result[query] += float(weight[head, query, key]) * vectors[head, key]
        if bias is not None:
            result[query] += bias
    return result


def gated(value: Array, gate: Array) -> Array:
    """g_i ⊙ v(x_j) of one query, [head, key, head_dim], from its gate [head, head_dim]."""
    heads = gate.shape[0]
    result = np.zeros((heads, *value.shape[1:]))
    for head, key, place in np.ndindex(*result.shape):
        shared = value[head // (heads // value.shape[0]), key, place]
        result[head, key, place] = float(gate[head, place]) * float(shared)
    return result


def with_gate(function, weight, value, output, gate, visible=None, axis=1):
    """A definition whose f depends on the query: f(x_j; i) is f(x_j) of the `gated` values of i.

    The gate is [head, query, head_dim]; None is no gate. The queries of what is defined are along
    `axis`.
    """
    rest = () if visible is None else (visible,)
    if gate is None:
        return function(weight, value, output, *rest)
    rows = [
        function(
            weight[:, [query]],
            gated(value, gate[:, query]),
            output,
            *(each[[query]] for each in rest),
        )
        for query in range(weight.shape[1])
    ]
    return np.concatenate(rows, axis=axis)


def vector_norm(value: Array, output: Array) -> Array:
    """‖f(x_j)‖. Shape [head, key]."""
    vectors = transformed(value, output)
    return np.array([[length(vector) for vector in head] for head in vectors])


def weighted_norm(weight: Array, value: Array, output: Array) -> Array:
    """‖α_ij f(x_j)‖, Kobayashi et al. (2020), Section 3. Shape [head, query, key]."""
    vectors = transformed(value, output)
    result = np.zeros(weight.shape)
    for head, query, key in np.ndindex(*weight.shape):
        result[head, query, key] = length(float(weight[head, query, key]) * vectors[head, key])
    return result


def merged_norm(weight: Array, value: Array, output: Array) -> Array:
    """‖Σ_h α_ij f_h(x_j)‖: the heads summed first, then the norm. Shape [query, key]."""
    vectors = transformed(value, output)
    result = np.zeros(weight.shape[1:])
    for query, key in np.ndindex(*result.shape):
        total = np.zeros(output.shape[2])
        for head in range(weight.shape[0]):
            total += float(weight[head, query, key]) * vectors[head, key]
        result[query, key] = length(total)
    return result


def frozen(vector: Array, given: Array, norm) -> Array:
    """A part of `given` behind a norm, Kobayashi et al. (2021), Eq. 6: g(v) = (v − m(v)) / s ∘ γ.

    s is of the whole vector `given`; the norm is (centred, γ, β, eps), where eps is None for a
    scale, which divides by nothing.
    """
    centred, gain, _, eps = norm
    mean = lambda v: math.fsum(map(float, v)) / len(v) if centred else 0.0  # noqa: E731
    deviations = [float(component) - mean(given) for component in given]
    s = 1.0
    if eps is not None:
        s = math.sqrt(math.fsum(each**2 for each in deviations) / len(given) + eps)
    return np.array([(float(v) - mean(vector)) / s * g for v, g in zip(vector, gain, strict=True)])


def parts_of_layer(weight, value, output, bias, residual, branch, norm) -> Array:
    """Every part y_ij of what leaves the attention block, [query, key, width].

    Kobayashi et al. (2021): F_ij behind the branch, for j = i with the
    residual x_i, behind the norm that follows the sum; branch and norm may be None.
    """
    vectors = transformed(value, output)
    queries, keys = weight.shape[1:]
    parts = np.zeros((queries, keys, output.shape[2]))
    for query in range(queries):
        whole = np.zeros(output.shape[2]) if bias is None else wide(bias).copy()
        for key in range(keys):
            for head in range(weight.shape[0]):
                parts[query, key] += float(weight[head, query, key]) * vectors[head, key]
            whole += parts[query, key]
        if branch is not None:
            parts[query] = [frozen(part, whole, branch) for part in parts[query]]
            whole = frozen(whole, whole, branch) + branch[2]
        parts[query, query] += residual[query]
        if norm is not None:
            whole = whole + residual[query]
            parts[query] = [frozen(part, whole, norm) for part in parts[query]]
    return parts


def layer_norms(*layer) -> Array:
    """Their lengths, [query, key]."""
    return np.array([[length(part) for part in row] for row in parts_of_layer(*layer)])


def input_norm(hidden: Array) -> Array:
    """‖x_j‖ of the vectors that the attention receives, [key, width]. Shape [key]."""
    return np.array([length(wide(vector)) for vector in hidden])


def entropy(weight: Array) -> Array:
    """-Σ_j p_j ln p_j in nats, with 0 ln 0 = 0 and p = |α| over its sum. Shape [head, query].

    Weights sum to one already, but for models with sinks.
    """
    result = np.zeros(weight.shape[:2])
    for head, query in np.ndindex(*result.shape):
        row = [abs(float(alpha)) for alpha in weight[head, query]]
        for alpha in row:
            if alpha > 0:
                share = alpha / math.fsum(row)
                result[head, query] -= share * math.log(share)
    return result


def effective(weight: Array, value: Array, output: Array, visible: Mask) -> Array:
    """A⊥ of Brunner et al. (2020), Eq. 9. Shape [head, query, key].

    The paper's A∥ is the part of a row of A that lies in the left null space of T. For a query that
    sees only some keys, T has the rows of those keys: weight on an invisible key is no alternative.
    The paper's T has no value bias; pass `value` without it to get that one.
    """
    return wide(weight) - null(weight, value, output, visible)


def null(weight: Array, value: Array, output: Array, visible: Mask) -> Array:
    """A∥, the part of the weights that changes nothing, by a full SVD of T. As `effective`."""
    vectors = transformed(value, output)
    result = np.zeros(weight.shape)
    for head, query in np.ndindex(*weight.shape[:2]):
        keys = np.flatnonzero(visible[query])
        if keys.size == 0:
            continue
        t = vectors[head][keys]
        left, _, _ = np.linalg.svd(t, full_matrices=True)
        basis = left[:, matrix_rank(t) :]
        row = wide(weight[head, query, keys])
        result[head, query, keys] = row @ basis @ basis.T
    return result


def rank(value: Array, output: Array, keys: Mask) -> NDArray[np.int64]:
    """The rank of T of each head over the given keys [key]. Shape [head]."""
    return np.array([matrix_rank(head[keys]) for head in transformed(value, output)])


def matrix_rank(matrix: Array) -> int:
    """The number of singular values above s_max · max(rows, columns) · eps, numpy's rule."""
    singular = np.linalg.svd(matrix, compute_uv=False)
    bound = singular.max(initial=0.0) * max(matrix.shape) * np.finfo(np.float64).eps
    return sum(1 for s in singular if s > bound)


def length(vector: Array) -> float:
    """The Euclidean norm."""
    return math.sqrt(math.fsum(float(component) ** 2 for component in vector))


def wide(values: Array) -> Array:
    """The same numbers in float64, whatever they came in."""
    return np.asarray(values, dtype=np.float64)


def adversarial_loss(logits, attention, taught, base, lengths, weight, goal):
    """D(predictions) − λ D(attention) of a tagger; all but the lengths are arrays."""
    near, far, words = 0.0, 0.0, sum(lengths)
    for row, length in enumerate(lengths):
        for word in range(length):
            scores = [math.exp(x) for x in logits[row, word]]
            p = [x / sum(scores) for x in scores]
            q = list(taught[row, word])
            if goal.prediction == "tvd":
                near += sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
            else:
                near -= math.log(p[q.index(max(q))])
            for head in range(attention.shape[1]):
                a = [float(x) for x in attention[row, head, word, :length]]
                b = [float(x) for x in base[row, head, word, :length]]
                far += attention_distance(a, b, goal.distance) / attention.shape[1]
    return near / words - weight * far / words


def attention_distance(a, b, distance):
    """KL or JSD of two rows, as lists."""
    if distance == "kl":
        return sum(x * math.log(x / y) for x, y in zip(a, b, strict=True) if x > 0)
    m = [(x + y) / 2 for x, y in zip(a, b, strict=True)]
    return (attention_distance(a, m, "kl") + attention_distance(b, m, "kl")) / 2
