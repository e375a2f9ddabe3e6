"""What is asked of contributions, token by token, in plain loops over one text after the other.

A text is a pair: c, ``[layer, query, key]`` in float64, and the category of each token.
"""

import numpy as np

GROUPS = {"1": [1], "2": [2], "3": [3], "4-5": [4, 5], "6-10": list(range(6, 11))}
CLS, SEP = 0, 1


def own(texts):
    """[token, layer]: every token's contribution to itself, text after text."""
    return np.array(
        [[layer[place, place] for layer in c] for c, kinds in texts for place in range(len(kinds))]
    )


def not_largest(texts):
    """By layer, the share of tokens of which another token contributes more than they do."""
    found = []
    for c, kinds in texts:
        for place in range(len(kinds)):
            others = [key for key in range(len(kinds)) if key != place]
            found.append(
                [any(layer[place, key] > layer[place, place] for key in others) for layer in c]
            )
    return np.mean(found, axis=0)


def by_distance(texts):
    """[layer, group]: mean over tokens of the mean over the neighbours that there are."""
    layers = len(texts[0][0])
    names = [*GROUPS, "11+"]
    found = {name: [] for name in names}
    for c, kinds in texts:
        length = len(kinds)
        for place in range(length):
            for name in names:
                near = [
                    key
                    for key in range(length)
                    if (
                        abs(key - place) >= 11
                        if name == "11+"
                        else abs(key - place) in GROUPS[name]
                    )
                ]
                if near:
                    found[name].append([np.mean([layer[place, k] for k in near]) for layer in c])
    return np.array(
        [
            [np.mean([row[layer] for row in found[name]]) for name in names]
            for layer in range(layers)
        ]
    )


def by_offset(texts, reach):
    """Totals ``[layer, offset]`` and pairs ``[offset]`` by place relative to the hidden token."""
    layers = len(texts[0][0])
    total, count = np.zeros((layers, 2 * reach + 1)), np.zeros(2 * reach + 1)
    for c, kinds in texts:
        for query in range(len(kinds)):
            for key in range(len(kinds)):
                if abs(key - query) <= reach:
                    count[key - query + reach] += 1
                    total[:, key - query + reach] += c[:, query, key]
    return total, count


def to_class(texts, reach, centre):
    """The same of what the first class token receives of others, relative to a first one."""
    layers = len(texts[0][0])
    total, count = np.zeros((layers, 2 * reach + 1)), np.zeros(2 * reach + 1)
    for c, kinds in texts:
        if CLS not in kinds or centre not in kinds:
            continue
        query, middle = kinds.index(CLS), kinds.index(centre)
        for key in range(len(kinds)):
            if key != query and abs(key - middle) <= reach:
                count[key - middle + reach] += 1
                total[:, key - middle + reach] += c[:, query, key]
    return total, count
