"""Settings of the observed attention of a model: kind, layers, batches and blocks of queries."""

from dataclasses import dataclass
from typing import Annotated

from headlight.settings import CHOSEN, AtLeast0, AtLeast1, Common, Layers, StudySettings
from headlight.vocabulary import Kinds


@dataclass(frozen=True, kw_only=True)
class ModelSettings(StudySettings):
    """Settings of the observed attention of a model.

    Attributes:
        kind: kind of attention; by default the first of encoder, decoder and cross-attention that
            the model has with these inputs; ``all`` analyses all in one pass.
        layers: layers, from 0; by default all. The other layers keep their fast attention.
        batch_tokens: tokens in a batch, padding included; changes the last bits of results. By
            default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
    """

    kind: Common[Kinds | None] = None
    layers: Common[Layers | None] = None
    batch_tokens: Annotated[AtLeast1 | None, CHOSEN] = None


@dataclass(frozen=True, kw_only=True)
class QueryBlockSettings(StudySettings):
    """Settings of the blocks in which the attention of long texts is computed.

    Attributes:
        query_block: queries whose attention is computed at a time, so that memory never holds all
            weights of a layer: a number, ``auto`` for blocks in long texts only, or 0 for all
            queries at once, as with gradients and contributions.
    """

    query_block: Annotated[AtLeast0 | None, CHOSEN] = None
