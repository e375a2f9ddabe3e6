"""Maps of the input: the share of each input token in each hidden token, by method."""

from collections.abc import Iterable, Sequence

from headlight.capture import AttributionSettings
from headlight.capture.captured_model import CapturedModel
from headlight.chats import Readable
from headlight.encode import Encoded
from headlight.settings import require_choice
from headlight.settings.flow import METHODS
from headlight.token_flow.followed_text import subject_of
from headlight.token_flow.hidden_token_attribution import THROUGH_ALL
from headlight.token_flow.layer_maps import Maps, maps_of
from headlight.token_flow.rollout import rollout, shares
from headlight.vocabulary import Kind


def input_maps(
    model: CapturedModel,
    text: Readable | Encoded,
    methods: Sequence[str],
    *,
    pair: str | None = None,
    kind: Kind | None = None,
    layers: Iterable[int] | None = None,
    attribution: AttributionSettings | None = None,
) -> dict[str, Maps]:
    """Return the share of each input token (key) in each token (query) by layer, for each method.

    Args:
        model: Encoder or decoder; of an encoder-decoder, the encoder is run.
        text: Text to be read, or an example.
        methods: Names of methods, from `METHODS`.
        pair: Second text.
        kind: Attention kind; by default the first that the model has.
        layers: Layers after which tokens are examined; by default all.
        attribution: Settings of ``attribution``, by default an estimate; its memory also bounds
            ``gradient_hidden`` and ``decompx``.

    Returns:
        Maps by method, float64 on the CPU, ≥ 0; each row sums to 1.

    Raises:
        UnknownNameError: there is no such method.
        UsageError: there is no tokenizer, the text is empty or too long, the model has no such
            layer, or cross-attention is requested.
        UnsupportedModelError: a method cannot be used with this model.
    """
    for name in methods:
        require_choice("method", name, METHODS)
    subject = subject_of(model, text, pair, kind)
    chosen = [site.layer for site in subject.model.sites_of(subject.kind, layers)]
    places = [place for place, site in enumerate(subject.sites) if site.layer in chosen]
    # Several methods multiply the same maps of layers, which are then made once.
    map_names = dict.fromkeys(map_name for name in methods if (map_name := METHODS[name].layer_map))
    of_layers = maps_of(subject, list(map_names))
    maps_by_method = {}
    for name in methods:
        method = METHODS[name]
        if method.layer_map is None:
            maps = THROUGH_ALL[name](subject, attribution or AttributionSettings())
        else:
            residual = method.residual
            maps = rollout(of_layers[method.layer_map], residual=residual, normalised=residual > 0)
        maps_by_method[name] = shares(maps)[places]
    return maps_by_method
