"""Routes of a text that no model has read: random parts with the sums that real ones have."""

import numpy as np
import xarray

TOKENS = ("The", "cat", "sat", "on", "the", "mat", "<b>", "it", "was", "the", "dog", ".")


def sample_routes(layers=4, heads=3, least=0.005, seed=0):
    """Parts of every token after every layer, which add up to 1; nothing is ahead of a token."""
    rng = np.random.default_rng(seed)
    size = len(TOKENS)
    residual, rest = np.zeros((layers, size)), np.zeros((layers, size, size))
    bias = np.full((layers, size), 0.01)
    parts = []
    for layer in range(layers):
        for query in range(size):
            shares = rng.dirichlet(np.full((query + 1) * heads, 0.1)) * rng.uniform(0.2, 0.6)
            residual[layer, query] = 0.99 - shares.sum()
            for place, share in enumerate(shares):
                if share >= least:
                    parts.append((layer, place % heads, query, place // heads, share))
                else:
                    rest[layer, query, place // heads] += share
    columns = np.array(parts)
    names = ("part_layer", "part_head", "part_query", "part_key")
    over = ("layer", "query")
    variables = {name: ("part", columns[:, at].astype(int)) for at, name in enumerate(names)}
    variables |= {"share": ("part", columns[:, 4])}
    variables |= {"residual": (over, residual), "rest": ((*over, "key"), rest)}
    variables |= {"bias": (over, bias)}
    variables |= {"forward": (over, rng.uniform(0, 0.6, (layers, size)))}
    return xarray.Dataset(
        variables,
        coords={
            "layer": np.arange(2, 2 + layers),  # some layers may be left out
            "query": np.arange(size),
            "key": np.arange(size),
            "query_token": ("query", list(TOKENS)),
            "query_category": ("query", ["other"] * (size - 1) + ["punctuation"]),
        },
        attrs={
            "stage": "routes",
            "kind": "decoder",
            "least": least,
            "least_shown": 0.01,
            "token": size - 2,
            "layer": layers + 1,
            "text": "The cat <b>",
            "model": "m",
            "versions": "{}",
        },
    )
