"""Maps of the tokens of a batch, by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, attribute
from headlight.capture.gradient_times_input import input_times_gradient
from headlight.capture.linear_network.logit_decomposition import decompose
from headlight.encode.batch import Batch
from headlight.observations.positions import Texts
from headlight.observations.word_importance import (
    AttentionImportance,
    Importance,
    PerToken,
    by_word,
    share_of_rows,
)
from headlight.settings.flow import FollowedMap
from headlight.studies.faithfulness import FaithfulnessSettings, LayerMeasure
from headlight.studies.faithfulness.targets import (
    Target,
    of_targets,
    predicted_kind,
    prediction_rows,
)
from headlight.token_flow.input_maps import input_maps

FOLLOWED = get_args(FollowedMap)
OF_LAYERS = get_args(LayerMeasure)


@dataclass(eq=False, repr=False)
class TokenMaps:
    """Maps of a batch of texts, except ``leave_one_out``, which needs predictions without tokens.

    Attributes:
        model: Classifier of texts, or language model.
        examples: Texts of the batch.
        sites: Attention modules observed.
        settings: Settings of the study.
    """

    model: CapturedModel
    examples: Sequence[Target]
    sites: Sequence[AttentionSite]
    settings: FaithfulnessSettings

    def __post_init__(self) -> None:
        self._batch = self.model.collate(self.examples)

    def compute(self) -> dict[str, list[Importance]]:
        """Return the importance of each removable token, by map and text."""
        maps: dict[str, PerToken] = {}
        names = self.settings.maps
        if of_layers := [name for name in names if name in OF_LAYERS]:
            maps |= self._weigh_layers(of_layers)
        if followed := [name for name in names if name in FOLLOWED]:
            maps |= self._follow(followed)
        if "attribution" in names:
            attribution = attribute(self.model, self._batch, kind=self.sites[0].kind)
            maps["attribution"] = share_of_rows(attribution.contribution[-1], self._rows)
        if "prediction" in names:
            maps["prediction"] = self._decompose_prediction()
        if "gradient_input" in names:
            with prediction_rows(self.model, self.examples) as rows:
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

    def _weigh_layers(self, names: Sequence[str]) -> dict[str, PerToken]:
        """Return means over heads of the last layer, or of the layers that the settings name."""
        last = max(self.sites, key=lambda site: site.layer)
        importance = AttentionImportance(self._rows, names)
        with self.model.capture([last] if self.settings.layers is None else self.sites) as recorder:
            recorder.visit = importance.visit
            self.model.run(self._batch)
        return importance.means()

    def _follow(self, names: Sequence[str]) -> dict[str, PerToken]:
        """Return the shares of the input tokens in the hidden tokens after the last layer."""
        shares = {name: torch.zeros(self._batch.input_ids.shape) for name in names}
        kind, last = self.sites[0].kind, max(site.layer for site in self.sites)
        rows = self._rows.cpu()
        for row, example in enumerate(self.examples):
            size = len(example.ids)
            by_method = input_maps(self.model, example, names, kind=kind, layers=[last])
            for name, maps in by_method.items():
                of_rows = share_of_rows(maps[-1:].float(), rows[row : row + 1, :size])
                shares[name][row, :size] = of_rows[0]
        return shares

    def _decompose_prediction(self) -> PerToken:
        """Return the contribution of each token's embedding to the target's logit, by text."""
        contributions = torch.zeros(self._batch.input_ids.shape)
        for row, example in enumerate(self.examples):
            text = self.model.collate([example])
            contributions[row, : len(example.ids)] = self._parts(text, example)
        return contributions

    def _parts(self, text: Batch, example: Target) -> Float[Tensor, " token"]:
        with self.model.running(text.names), prediction_rows(self.model, [example]) as rows:
            parts = decompose(
                self.model,
                self.model.inputs(text),
                lambda output: of_targets(rows(output), [example])[0],
                {"text": len(example.ids)},
            )
        return parts.token["text"].float()

    @property
    def _rows(self) -> Bool[Tensor, "batch query"]:
        """Return the mask of the rows of a map that explain the prediction."""
        texts = Texts.of(self._batch, self.examples, self.sites[0].kind)
        if self.settings.rows is not None:
            return texts.rows(self.settings.rows)
        if predicted_kind(self.model) == "class":
            return texts.rows("first" if self.sites[0].kind == "encoder" else "last")
        places = torch.tensor(
            [example.place for example in self.examples], device=texts.queries.device
        )
        return torch.arange(texts.queries.shape[1], device=places.device) == places[:, None]
