"""Removal of each head in turn, and its effect on the predictions for one text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headlight.capture import CapturedModel, Kind, heads_removed
from headlight.capture.one_text import one_text
from headlight.chats import Readable, as_read
from headlight.measures import kullback_leibler_of_logarithms
from headlight.reading.predictor import Logarithms, Predictor

TOKENS_AT_ONCE = 512
"""Tokens of copies of a text that run together; fewer than in a study: somebody is waiting."""


@dataclass(frozen=True)
class HeadEffect:
    """Effect of one head on the predictions of a text.

    Attributes:
        layer: Layer, from 0.
        head: Head, from 0.
        kl: Divergence of the predictions without the head from those with it, mean over outputs,
            in nats.
        largest: Largest divergence of an output.
        output: Number of the output with the largest divergence.
        changed: Number of outputs whose most probable choice differs without the head.
    """

    layer: int
    head: int
    kl: float
    largest: float
    output: int
    changed: int


def each_head_removed(
    model: CapturedModel,
    text: Readable,
    pair: str | None = None,
    *,
    kind: Kind | None = None,
    layers: Iterable[int] | None = None,
) -> Iterator[HeadEffect]:
    """Yield the effect of removing each head on the predictions, as soon as it is known.

    Args:
        model: Model with its head, in evaluation mode.
        text: Text or chat that the model reads.
        pair: Second text: the second segment, or the decoder's text in an encoder-decoder model.
        kind: Kind of attention; by default the first kind that the model has.
        layers: Layers whose heads are removed; by default all.

    Raises:
        MissingHeadError: The model has no head, and so predicts nothing.
        UsageError: No tokenizer, an empty or too long text, or no such layer or kind.
    """
    text = as_read(text, predicts=True)
    model, example = one_text(
        model, text, pair, kind, purpose="predictions need text", predicts=True
    )
    predictor = Predictor.of(model, example)
    sites = model.sites_of(kind or model.kinds[0], layers)
    places = [(site, head) for site in sites for head in range(site.heads)]
    before = predictor.logarithms(model.run(predictor.batch))
    together = max(1, TOKENS_AT_ONCE // (len(example.ids) + len(example.target)))
    for first in range(0, len(places), together):
        some = places[first : first + together]
        # Copies of one text in a batch, each without another head.
        with heads_removed(model, [[place] for place in some]):
            output = model.run(predictor.batch.repeated(len(some)))
        copies = predictor.of_copies(output, len(some))
        for (site, head), after in zip(some, copies, strict=True):
            yield _effect(site.layer, head, before, after)


def _effect(layer: int, head: int, before: Logarithms, after: Logarithms) -> HeadEffect:
    divergence = kullback_leibler_of_logarithms(before, after)
    return HeadEffect(
        layer=layer,
        head=head,
        kl=float(divergence.mean()),
        largest=float(divergence.max()),
        output=int(divergence.argmax()),
        changed=int((before.argmax(-1) != after.argmax(-1)).sum()),
    )
