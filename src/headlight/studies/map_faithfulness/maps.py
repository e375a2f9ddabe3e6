"""What each token of a text is given by each map, for one prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.analysis.classifiers.importance import PerToken, by_word, share_of_rows
from headlight.analysis.classifiers.predictor import Importance
from headlight.analysis.flow import input_maps
from headlight.capture import AttentionSite, CapturedModel, LayerRecord, attribute
from headlight.capture.input_gradient import input_times_gradient
from headlight.capture.linear_network import decompose
from headlight.encode.batch import Batch
from headlight.measures import Scores
from headlight.settings.flow import FollowedMap
from headlight.studies.map_faithfulness import MapFaithfulnessSettings
from headlight.studies.map_faithfulness.asked import Asked, of_targets, predicts_what, read_off

FOLLOWED = get_args(FollowedMap)
OF_LAST_LAYER = {"weight": "weight", "norm": "merged_norm"}
"""Maps of one layer, and what measure of it they are the mean over heads of."""


@dataclass(eq=False, repr=False)
class TokenMaps:
    """The maps of a batch of texts, but for what becomes of predictions without a token.

    Attributes:
        model: A classifier of texts, or a language model.
        examples: The texts.
        sites: The layers that are looked at.
        settings: Of the study.
    """

    model: CapturedModel
    examples: Sequence[Asked]
    sites: Sequence[AttentionSite]
    settings: MapFaithfulnessSettings

    def __post_init__(self) -> None:
        self._batch = self.model.collate(self.examples)

    def found(self) -> dict[str, list[Importance]]:
        """Of each map that is asked for, of each text, of each token that can be removed."""
        asked = self.settings.maps
        maps: dict[str, PerToken] = {}
        if set(asked) & OF_LAST_LAYER.keys():
            maps |= self._of_last_layer([name for name in asked if name in OF_LAST_LAYER])
        if set(asked) & {*FOLLOWED}:
            maps |= self._followed([name for name in asked if name in FOLLOWED])
        if "attribution" in asked:
            kind = self.sites[0].kind
            given = attribute(self.model, self._batch, self.settings.attribution, kind=kind)
            maps["attribution"] = share_of_rows(given.contribution[-1], self._rows)
        if "prediction" in asked:
            maps["prediction"] = self._of_prediction()
        if "gradient_input" in asked:
            with read_off(self.model, self.examples) as rows:
                maps["gradient_input"] = input_times_gradient(
                    self.model,
                    self._batch,
                    lambda output: of_targets(rows(output).softmax(-1), self.examples),
                )
        return {
            name: [
                row[: example.tokens]
                for row, example in zip(by_word(values, self.examples), self.examples, strict=True)
            ]
            for name, values in maps.items()
        }

    def _of_last_layer(self, names: Sequence[str]) -> dict[str, PerToken]:
        found: dict[str, PerToken] = {}

        def visit(record: LayerRecord) -> None:
            scores = Scores(record, precision=torch.float32)
            for name in names:
                size = scores.of(OF_LAST_LAYER[name]).abs().mean(1)
                found[name] = share_of_rows(size, self._rows)

        last = max(self.sites, key=lambda site: site.layer)
        with self.model.capture([last]) as recorder:
            recorder.visit = visit
            self.model.run(self._batch)
        return found

    def _followed(self, names: Sequence[str]) -> dict[str, PerToken]:
        """The shares of the input tokens in the hidden tokens behind the last layer, by text."""
        found = {name: torch.zeros(self._batch.input_ids.shape) for name in names}
        kind, last = self.sites[0].kind, max(site.layer for site in self.sites)
        rows = self._rows.cpu()
        for row, example in enumerate(self.examples):
            size = len(example.ids)
            given = input_maps(self.model, example, names, kind=kind, layers=[last])
            for name, maps in given.items():
                of_rows = share_of_rows(maps[-1:].float(), rows[row : row + 1, :size])
                found[name][row, :size] = of_rows[0]
        return found

    def _of_prediction(self) -> PerToken:
        """What the embedding of each token adds to the logit of the target, text by text."""
        found = torch.zeros(self._batch.input_ids.shape)
        for row, example in enumerate(self.examples):
            text = self.model.collate([example])
            found[row, : len(example.ids)] = self._parts(text, example)
        return found

    def _parts(self, text: Batch, example: Asked) -> Float[Tensor, " token"]:
        with self.model.running(text.names), read_off(self.model, [example]) as rows:
            parts = decompose(
                self.model,
                self.model.inputs(text),
                lambda output: of_targets(rows(output), [example])[0],
                {"text": len(example.ids)},
                self.settings.slope,
            )
        return parts.token["text"].float()

    @property
    def _rows(self) -> Bool[Tensor, "batch query"]:
        """Those of a map that speak for the prediction."""
        texts = Texts.of(self._batch, self.examples, self.sites[0].kind)
        if self.settings.rows is not None:
            return texts.rows(self.settings.rows)
        if predicts_what(self.model) == "class":
            return texts.rows("first" if self.sites[0].kind == "encoder" else "last")
        places = torch.tensor([each.place for each in self.examples], device=texts.queries.device)
        return torch.arange(texts.queries.shape[1], device=places.device) == places[:, None]
