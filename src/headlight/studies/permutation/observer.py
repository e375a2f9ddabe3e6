"""What changes in the answers for a batch when attention is replaced."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.analysis.classifier_plan import Classified, Outputs, Readout
from headlight.analysis.other_attention import on_one, permuted, uniform
from headlight.analysis.places import ByPlace, Place, mean_largest, places_of, taking_part
from headlight.capture import AttentionSite, CapturedModel, LayerRecord, attention_replaced
from headlight.encode.batch import Batch
from headlight.measures import total_variation
from headlight.reduce import ResampledMean, Sample, Tally
from headlight.studies.permutation.settings import Change, PermutationSettings
from headlight.vocabulary import Kind

STATISTICS = ("tvd", "agreement", "accuracy")
"""Of each text and replacement: the mean over its answers."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What a layer looks like before anything is replaced.

    Attributes:
        keys: which keys take part in each row; none in rows that stay as they are.
        largest: the mean over these rows of the largest weight, by text and head.
    """

    keys: Bool[Tensor, "batch 1 query key"]
    largest: Float64[np.ndarray, "batch head"]


class PermutationObserver:
    """Runs the model on a batch as it is, and then with other attention, again and again.

    Args:
        model: A classifier.
        batch: What it reads.
        examples: The same, with their classes.
        sites: The layers whose attention is replaced.
        settings: What is asked.
    """

    def __init__(
        self,
        model: CapturedModel,
        batch: Batch,
        examples: Sequence[Classified],
        sites: Sequence[AttentionSite],
        settings: PermutationSettings,
    ) -> None:
        self._model = model
        self._batch = batch
        self._sites = sites
        self._settings = settings
        self._kind: Kind = sites[0].kind
        self._texts = Texts.of(batch, examples, self._kind)
        self._readout = Readout(examples, model.transformer.device)
        self._seen: dict[int, Seen] = {}

    def tally(self) -> Tally:
        """Statistics of each text, and a sample of texts."""
        settings = self._settings
        with self._model.capture(self._sites) as recorder:
            recorder.visit = self._look
            before = self._readout.probabilities(self._model, self._batch)
        places = places_of(settings.by, self._sites)
        sharpness = ByPlace({layer: seen.largest for layer, seen in self._seen.items()})
        after = np.stack([self._changed(before, place) for place in places], -1)
        largest = np.stack([sharpness.of(place) for place in places], -1)
        right = before.argmax(-1).numpy() == self._readout.labels
        streams = np.array(self._texts.streams, dtype=np.int64)
        resampled = partial(
            ResampledMean.of, streams, replicates=settings.bootstrap, seed=settings.seed
        )
        points = Sample(settings.sample, 2 * len(places), seed=settings.seed)
        # Permutations, or what stands in their place.
        points.update(streams, np.concatenate([largest, after[:, 0, 0]], -1))
        return Tally(
            {
                "changed": resampled(after),
                "accuracy": resampled(self._readout.by_text(right.astype(np.float64))),
                "largest": resampled(largest),
                "points": points,
            }
        )

    def _look(self, record: LayerRecord) -> None:
        """Which keys take part in the rows of a layer, and how large weights are."""
        keys = taking_part(self._texts, self._texts.rows(self._settings.rows), record)
        if self._settings.keep_special:
            keys = keys & (self._batch.word >= 0)[:, None, None]
        self._seen[record.site.layer] = Seen(keys, mean_largest(record.weight, keys))

    def _changed(
        self, before: Outputs, place: Place
    ) -> Float64[np.ndarray, "batch statistic change"]:
        """How the answers differ, by what attention is replaced by."""
        found = []
        for change in self._settings.changes:
            after = [self._run(place, change, draw) for draw in self._draws(change)]
            found.append(self._statistics(before, torch.stack(after)))
        return self._readout.by_text(np.stack(found, -1))

    def _draws(self, change: Change) -> Iterator[int]:
        """The numbers of the random draws; permutations and others have draws of their own."""
        shuffles = self._settings.shuffles
        return iter(range(shuffles) if change == "permuted" else (shuffles,))

    def _statistics(
        self, before: Outputs, after: Float64[Tensor, "draw output class"]
    ) -> Float64[np.ndarray, "output statistic"]:
        """The median distance over the draws; for answers the mean."""
        distance = total_variation(after, before.expand(after.shape))
        median = np.median(distance.numpy(), axis=0)
        answers = after.argmax(-1).numpy()
        same = (answers == before.argmax(-1).numpy()).mean(0)
        right = (answers == self._readout.labels).mean(0)
        return np.stack([median, same, right], -1)

    def _run(self, place: Place, change: Change, draw: int) -> Outputs:
        """The answers with other attention."""
        layer, head = place
        replace = partial(self._replaced, change=change, draw=draw, head=head)
        keys: list[int | tuple[int, int]]
        if layer is None:
            keys = [site.layer for site in self._sites]
        else:
            keys = [layer if head is None else (layer, head)]
        replacements: Mapping[int | tuple[int, int], Callable[..., Tensor]] = dict.fromkeys(
            keys, replace
        )
        with attention_replaced(self._model, replacements, kind=self._kind):
            return self._readout.probabilities(self._model, self._batch)

    def _replaced(
        self, weight: Tensor, site: AttentionSite, *, change: Change, draw: int, head: int | None
    ) -> Tensor:
        """The new weights of a layer, or of one head."""
        own = weight if head is None else weight[:, None]
        keys = self._seen[site.layer].keys
        if change == "uniform":
            new = uniform(own, keys)
        elif change == "largest":
            new = on_one(own, keys, own)
        else:
            noise = self._noise(site, draw).to(own.device)
            noise = noise if head is None else noise[:, head, None]
            new = (permuted if change == "permuted" else on_one)(own, keys, noise)
        return new if head is None else new[:, 0]

    def _noise(self, site: AttentionSite, draw: int) -> Float[Tensor, "batch head query key"]:
        """Random numbers for each row of each head; those of a text depend on nothing but it."""
        queries, keys = self._texts.queries.sum(-1), (self._texts.keys >= 0).sum(-1)
        size = (len(queries), site.heads, self._texts.queries.shape[1], self._texts.keys.shape[1])
        found = np.zeros(size, dtype=np.float32)
        for row, stream in enumerate(self._texts.streams):
            key = np.array([self._settings.seed, stream], dtype=np.uint64)
            random = np.random.Generator(
                np.random.Philox(key=key, counter=[0, 0, site.layer, draw])
            )
            shape = (site.heads, int(queries[row]), int(keys[row]))
            found[row, :, : shape[1], : shape[2]] = random.random(shape, dtype=np.float32)
        return torch.from_numpy(found)
