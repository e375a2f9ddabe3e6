"""Flow of the tokens of one text through the layers, by several methods."""

from pathlib import PurePath
from typing import Any, ClassVar

import numpy as np
import xarray

import headlight.views.accessor  # noqa: F401 - readings can write their pages
from headlight.capture import CapturedModel
from headlight.capture.one_text import one_picture
from headlight.catalogue.question_settings import TextFlowSettings
from headlight.chats import Readable
from headlight.corpora.pictures import picture_address
from headlight.errors import UsageError
from headlight.reading.origin import origin
from headlight.reading.question_functions import answers
from headlight.reading.text_result import TextResult
from headlight.reading.token_coordinates import segments_of, sides_of
from headlight.result import describe
from headlight.token_flow.followed_text import subject_of
from headlight.token_flow.input_maps import input_maps
from headlight.views.titles import model_name


class Flow(TextResult):
    """Flow of the tokens of one text.

    `dataset` has ``share[map, layer, query, key]``: the share of the input token ``key`` in the
    token ``query`` after each layer, by each method ``map``; rows sum to 1.
    """

    called: ClassVar[str] = "the maps of a text are"
    question: ClassVar[str] = "flow"

    def __init__(self, dataset: xarray.Dataset) -> None:
        self.dataset = dataset

    def __repr__(self) -> str:
        """Return a short form: the text, the model and the methods."""
        attributes, sizes = self.dataset.attrs, self.dataset.sizes
        return (
            f"<Flow of {attributes['text']!r} by {model_name(attributes)}: "
            f"{', '.join(self.dataset['map'].values)}; {sizes['layer']} layers, {sizes['query']} "
            "tokens>"
        )

    def __str__(self) -> str:
        """Return what stands out."""
        from headlight.views.reading.flow import findings

        return " ".join(findings(self.dataset))

    def as_json(self) -> dict[str, Any]:
        """Return what was read, what stands out, and by each method rows of shares."""
        from headlight.views.reading.flow import by_segment, findings

        shares = self.dataset["share"]
        names = [str(name) for name in self.dataset["map"].values]
        return super().as_json() | {
            "findings": findings(self.dataset),
            "tokens": self.dataset["query_token"].values.tolist(),
            "layers": self.dataset["layer"].values.tolist(),
            "share": {name: shares[place].values.tolist() for place, name in enumerate(names)},
            "by_segment": by_segment(self.dataset).to_dict("records"),
        }


@answers("flow")
def flow(
    model: CapturedModel,
    text: Readable | None = None,
    pair: str | None = None,
    *,
    image: Any = None,
    settings: TextFlowSettings,
    command: str | None = None,
) -> Flow:
    """The share of each input token in each token after each layer, by each method.

    Of an encoder-decoder the encoder is read.

    Args:
        model: the model.
        text: what it reads; a list of messages is a chat.
        pair: a second text: the second segment, or the decoder's text in an encoder-decoder model.
        image: picture, as a file or a picture of Pillow, that the model reads in place of a text.
        settings: settings of the maps; users name each by itself.
        command: command of the request, for the record.

    Returns:
        Flow, whose ``dataset`` holds shares of input tokens.

        - ``share`` (map × layer × query × key): share of the input token (key) in the token (query)
          after each layer, by each method; rows sum to 1

    Raises:
        UnknownNameError: there is no such method.
        UsageError: no tokenizer, an empty or too long text, no such layer, or cross-attention.
        UnsupportedModelError: a method cannot be used with this model.
    """
    if (text is None) == (image is None):
        raise UsageError("tokens are followed through a text, or patches through a picture.")
    about: dict[str, Any] = {}
    read: Any = text
    shown: Any = text
    if image is not None:
        model, read = one_picture(model, image)
        shown = PurePath(read.name).name
        about["picture"] = picture_address(model.viewer.shown(read))
    subject = subject_of(model, read, pair, settings.kind)
    maps = input_maps(
        subject.model,
        subject.example,
        settings.methods,
        kind=subject.kind,
        layers=settings.layers,
        attribution=settings.attribution,
    )
    tokens, _ = sides_of(subject.example, subject.kind, model.tokenizer)
    places = range(len(tokens["token"]))
    dataset = xarray.Dataset(
        {
            "share": (
                ("map", "layer", "query", "key"),
                np.stack([maps[name].numpy() for name in settings.methods]),
            )
        },
        coords={
            "map": list(settings.methods),
            "layer": [site.layer for site in subject.model.sites_of(subject.kind, settings.layers)],
            "query": places,
            "key": places,
            "query_token": ("query", tokens["token"]),
            "key_token": ("key", tokens["token"]),
            "query_category": ("query", tokens["category"]),
            **segments_of(tokens),
        },
        attrs=origin(
            model,
            shown,
            pair,
            title="What tokens come from",
            stage="flow_of_text",
            kind=subject.kind,
            last_layer=subject.model.sites_of(subject.kind)[-1].layer,
            **about,
        ),
    )
    return Flow(describe(dataset, {"share": ("share of the input token in the token", "1")}))
