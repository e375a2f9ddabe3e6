"""Predictions taken apart into tokens, heads, layers and biases."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
import xarray
from jaxtyping import Float, Float64
from torch import Tensor, nn

from headlight.capture import CapturedModel
from headlight.capture.hooks import hooked
from headlight.capture.linear_network.logit_decomposition import Decomposition, Side, decompose
from headlight.capture.one_text import one_text
from headlight.catalogue.question_settings import PredictionSettings
from headlight.chats import Readable, as_read
from headlight.encode import Encoded
from headlight.errors import UnsupportedModelError, UsageError
from headlight.reading.origin import origin
from headlight.reading.prediction_targets import Place, Targets, output_name, place_of, targets_of
from headlight.reading.question_functions import answers
from headlight.reading.text_result import TextResult
from headlight.reading.word_removal import without_each_word
from headlight.settings import require_choice
from headlight.settings.attribution import Slope

__all__ = ["Prediction", "predict"]


@dataclass(frozen=True, eq=False)
class Prediction(TextResult):
    """Decomposition of a logit, or of the difference of two.

    Attributes:
        dataset: Addends, in units of the logit:

            * ``token_total`` and ``position_total``, over ``token``: what the embedding of each
              token, and that of its position, add through all layers;
            * ``direct`` and ``total``, over ``component``: what the embeddings, each attention
              module, each feed-forward layer and each bias add, if nothing but norms came after
              it, and through later layers;
            * ``head_direct`` and ``head_total``, over ``site``, ``head`` and ``token``: the same of
              each head, by the token that it attends to.

            ``logit`` is the sum of ``direct``, and also that of ``token_total``, ``position_total``
            and the ``total`` of biases; ``remainder_direct`` and ``remainder_total`` are what is
            missing.  The attributes record the request.

            Of one text there are also ``candidate_probability`` over ``candidate``, the most
            probable outputs; and over ``word`` the probability of the target without the word,
            ``left_out_probability``, and what is most probable then, ``left_out_first``; and with
            another target its probability, ``left_out_against``.
    """

    dataset: xarray.Dataset
    called: ClassVar[str] = "a prediction is"
    question: ClassVar[str] = "predict"

    def __getitem__(self, name: str) -> xarray.DataArray:
        return self.dataset[name]

    @property
    def logit(self) -> float:
        """Return the explained number: a logit, or the difference of two."""
        return float(self.dataset["logit"])

    def to_dataframe(self, name: str = "component") -> pd.DataFrame:
        """Return a table of parts, the largest first.

        Args:
            name: Name of the parts: ``component``, ``token`` or ``head``; ``word`` for the
                predictions without each word; or ``segment`` for the sums of tokens by named
                segment, where a text has them.

        Raises:
            UsageError: The name is none of these.
        """
        require_choice("table", name, ("component", "token", "head", "word", "segment"))
        from headlight.views.reading.prediction import frame_of

        return frame_of(self.dataset, name)

    def as_json(self) -> dict[str, Any]:
        """Return all numbers and the findings, as JSON can hold them."""
        from headlight.views.reading.prediction import findings

        tables: dict[str, Any] = {
            name: self.to_dataframe(name).to_dict("records")
            for name in ("word", "token", "component", "head")
        }
        tables["findings"] = findings(self.dataset)
        if "token_segment" in self.dataset.coords:
            tables["segment"] = self.to_dataframe("segment").to_dict("records")
        numbers = ("logit", "remainder_direct", "remainder_total")
        return super().as_json() | {name: float(self.dataset[name]) for name in numbers} | tables

    def __str__(self) -> str:
        from headlight.views.reading.prediction import sentence

        return sentence(self.dataset)

    __repr__ = __str__


@answers("predict")
def predict(
    model: CapturedModel,
    text: Readable,
    pair: str | None = None,
    *,
    settings: PredictionSettings,
    command: str | None = None,
) -> Prediction:
    """What a prediction rests on, by leaving out words, and the addends of its logit.

    Each word of the text is left out in turn, and the model predicts again; see
    `headlight.reading.word_removal`.

    Statistics of norms, attention weights and slopes of activations are taken as constants of the
    text; the logit is then a sum of what the embeddings and biases add, and of what heads and
    layers write (ALTI-Logit, Ferrando et al. 2023; DecompX, Modarressi et al. 2023).  The model has
    its head, in float32 or float64.  Behind a chat whose last message is not the assistant's, the
    template begins an answer.

    With another text of as many tokens every number is that of the text less that of the other.
    What a parameter adds, such as a bias, differs as well: the constants are those of each text.

    Returns:
        Prediction, whose ``dataset`` holds addends of ``logit``, in its unit.

        - ``logit`` (): the explained logit, or difference of two
        - ``token_total``, ``position_total`` (token): what the embedding of a token, and of its
          position, adds through all layers
        - ``direct``, ``total`` (component): what embeddings, attention modules, feed-forward layers
          and biases add, directly and through later layers
        - ``head_direct``, ``head_total`` (site × head × token): the same of each head, by the token
          that it takes from; a site is an attention module
        - ``remainder_direct``, ``remainder_total`` (): what is missing from either sum
        - ``left_out_probability``, ``left_out_first`` (word): probability of the target without a
          word, and what is most probable then
        - ``left_out_against`` (word): probability of the other target without the word
        - ``candidate_probability`` (candidate): what else is probable

    Raises:
        MissingHeadError: the model predicts nothing.
        UsageError: no tokenizer, an empty or too long text, an unknown word or class, no such
            position, the model is in half precision, or the other text has other numbers of tokens.
        UnsupportedModelError: the parts do not add up, attention cannot be captured exactly, or the
            model reads its text twice.
    """
    if model.reads_twice:
        raise UnsupportedModelError(
            f"{model} reads its text in the encoder and again, moved by one place, in the "
            "decoder, so what it predicts is no sum over the tokens of one text; take a classifier "
            "that reads once."
        )
    first, targets = _predicted(model, text, pair, settings, command)
    if settings.compare_text is None:
        return Prediction(first)
    other, _ = _predicted(model, settings.compare_text, pair, settings, command, targets)
    return Prediction(_less(first, other))


def _predicted(
    model: CapturedModel,
    text: Readable,
    pair: str | None,
    settings: PredictionSettings,
    command: str | None,
    targets: Targets | None = None,
) -> tuple[xarray.Dataset, Targets]:
    """Return the parts of the prediction for one text, and its targets, found if not given."""
    text = as_read(text, predicts=True)
    model, example = one_text(
        model, text, pair, None, purpose="a prediction needs text", predicts=True
    )
    place = place_of(model, example, settings.position)
    batch = model.collate([example])
    all_logits = model.run(batch).logits[0].detach()
    logits = (all_logits if place.index is None else all_logits[place.index]).cpu().double()
    first, second = targets or targets_of(model, text, pair, place, logits, settings)

    def score(output: Any) -> Float[Tensor, ""]:
        logits = output.logits[0]
        if place.index is not None:
            # Within `_one_position` the head computes a single row, where it can be hooked.
            logits = logits[place.index if len(logits) == len(all_logits) else 0]
        chosen: Tensor = logits[first.number]
        return chosen if second is None else chosen - logits[second.number]

    parts = _decomposed(model, example, place, score, settings.slope)
    wanted = float(logits[first.number] - (0 if second is None else logits[second.number]))
    _require_same(model, parts, wanted, logits)
    dataset = _dataset(
        parts,
        _tokens(model, example),
        origin(
            model,
            text,
            pair,
            title="What a prediction is made of",
            stage="prediction",
            target=first.name,
            against="" if second is None else second.name,
            predicted=output_name(model, place, int(logits.argmax())),
            probability=float(logits.softmax(-1)[first.number]),
            against_probability=0.0 if second is None else float(logits.softmax(-1)[second.number]),
            position=-1 if place.index is None else place.index,
            position_side=place.side,
            classes=int(place.classes),
            slope=settings.slope,
            notes=" ".join(target.note for target in (first, second) if target and target.note),
            command=command or "",
            tokens=len(example.ids) + len(example.target),
        ),
    )
    if example.segment_names and not example.target:
        dataset = dataset.assign_coords(token_segment=("token", list(example.segment_names)))
    if settings.compare_text is None and len(logits) > 1:  # one output alone is always predicted
        sums = {side: parts.token[side] + parts.position[side] for side in parts.token}
        removal = without_each_word(
            model,
            example,
            place,
            (first, second),
            lambda word: float(sums[word.side][list(word.places)].sum()),
        )
        dataset = dataset.merge(_candidates(model, place, logits)).merge(removal)
    return dataset, (first, second)


def _candidates(
    model: CapturedModel, place: Place, logits: Float64[Tensor, " output"]
) -> xarray.Dataset:
    """Return the most probable outputs, with their probabilities."""
    probabilities, numbers = logits.softmax(-1).topk(min(CANDIDATES, len(logits)))
    names = [output_name(model, place, number) for number in numbers.tolist()]
    about = {"long_name": "probability of the most probable", "units": "1"}
    return xarray.Dataset(
        {"candidate_probability": ("candidate", probabilities.numpy(), about)},
        coords={"candidate_text": ("candidate", names)},
    )


def _less(first: xarray.Dataset, other: xarray.Dataset) -> xarray.Dataset:
    """Return the parts of one text less those of another, place by place."""
    same = first["token_side"].values.tolist() == other["token_side"].values.tolist()
    if not same or first.attrs["position"] != other.attrs["position"]:
        raise UsageError(
            f"the texts have {first.sizes['token']} and {other.sizes['token']} tokens, or predict "
            "at other places; compare texts of as many tokens, such as those that differ in a word."
        )
    names = [*map(str, first.data_vars)]
    less = first.assign(
        {name: (first[name].dims, first[name].values - other[name].values) for name in names}
    )
    for name in names:
        less[name].attrs = first[name].attrs
    about = {f"compare_{name}": other.attrs[name] for name in IN_BOTH}
    both = less.assign_coords(token_other=("token", other["token_text"].values))
    return both.assign_attrs(about)


def what_tokens_add(
    model: CapturedModel, example: Encoded, index: int, number: int
) -> dict[Side, Float64[np.ndarray, " token"]]:
    """Return what each token, its position included, adds to one logit, by side of the model.

    Args:
        model: Model with its head of a language model.
        example: Example that the model reads.
        index: Position of the predicting token.
        number: Number of the logit, which is the id of a token of the vocabulary.

    Raises:
        UsageError: The model is in half precision.
        UnsupportedModelError: The parts do not add up.
    """
    logits = model.run(model.collate([example])).logits[0, index].detach().cpu().double()
    place = Place(index, "", masked=False, classes=False, at_end=False)
    length = len(example.target or example.ids)

    def score(output: Any) -> Float[Tensor, ""]:
        rows = output.logits[0]
        chosen: Tensor = rows[index if len(rows) == length else 0][number]
        return chosen

    parts = _decomposed(model, example, place, score, "zero_origin")
    _require_same(model, parts, float(logits[number]), logits)
    return {side: (parts.token[side] + parts.position[side]).numpy() for side in parts.token}


def _decomposed(
    model: CapturedModel,
    example: Encoded,
    place: Place,
    score: Callable[[Any], Float[Tensor, ""]],
    slope: Slope,
) -> Decomposition:
    lengths: dict[Side, int] = {"text": len(example.ids)}
    if example.target:
        lengths["target"] = len(example.target)
    batch = model.collate([example])
    with model.running(batch.names), _one_position(model.transformer, place, lengths):
        return decompose(model, model.inputs(batch), score, lengths, slope)


def _require_same(
    model: CapturedModel, parts: Decomposition, wanted: float, logits: Float64[Tensor, " output"]
) -> None:
    """Refuse a linear network that does not compute what the model does."""
    # Relative to the largest logit, since a difference of two may be near 0; NaN is refused, too.
    if not abs(parts.value - wanted) <= SAME * float(logits.abs().max()):
        raise UnsupportedModelError(
            f"{model} computes {wanted:.4g} and its linear network {parts.value:.4g}, so its "
            "prediction cannot be taken apart."
        )


def _one_position(network: Any, place: Place, lengths: dict[Side, int]) -> Any:
    """Let the model, within the block, compute logits of a vocabulary at one position alone."""
    head = network.get_output_embeddings()
    index, tokens = place.index, lengths["target" if "target" in lengths else "text"]

    def choose(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        states = arguments[0]
        if index is None or states.ndim != 3 or states.shape[1] != tokens:
            return None
        return (states[:, index : index + 1], *arguments[1:])

    return hooked([] if head is None else [(head.register_forward_pre_hook, choose)])


def _tokens(model: CapturedModel, example: Encoded) -> dict[Side, list[str]]:
    tokenizer: Any = model.tokenizer
    tokens: dict[Side, list[str]] = {"text": tokenizer.convert_ids_to_tokens(list(example.ids))}
    if example.target:
        tokens["target"] = tokenizer.convert_ids_to_tokens(list(example.target))
    return tokens


def _dataset(
    decomposition: Decomposition, tokens: dict[Side, list[str]], attributes: dict[str, Any]
) -> xarray.Dataset:
    sides = list(tokens)
    starts = {
        side: sum(len(tokens[before]) for before in sides[:at]) for at, side in enumerate(sides)
    }
    count = sum(map(len, tokens.values()))
    heads = max(len(of_site.direct) for of_site in decomposition.heads)
    shape = (len(decomposition.heads), heads, count)
    direct, total = np.full(shape, np.nan), np.full(shape, np.nan)
    for row, of_site in enumerate(decomposition.heads):
        source = "target" if "target" in tokens and of_site.site.kind == "decoder" else "text"
        start = starts[source]  # type: ignore[index]
        keys = slice(start, start + of_site.direct.shape[1])
        # NaN stays where a layer has fewer heads; keys of the other side get 0 from every head.
        for values, part in ((direct, of_site.direct), (total, of_site.total)):
            values[row, : len(part)] = 0.0
            values[row, : len(part), keys] = part.numpy()
    parts = decomposition.components
    by_token = torch.cat([decomposition.token[side] for side in sides]).numpy()
    by_position = torch.cat([decomposition.position[side] for side in sides]).numpy()
    biases = sum(part.total for part in parts if part.kind == "bias")
    unit = {"units": "logit"}

    def said(name: str) -> dict[str, str]:
        return {"long_name": name, **unit}

    return xarray.Dataset(
        {
            "logit": ((), decomposition.value, said("what is explained")),
            "token_total": ("token", by_token, said("through all layers, by token")),
            "position_total": ("token", by_position, said("the same, by position")),
            "direct": (
                "component",
                [part.direct for part in parts],
                said("directly, by component"),
            ),
            "total": ("component", [part.total for part in parts], said("through later layers")),
            "head_direct": (("site", "head", "token"), direct, said("directly, by head")),
            "head_total": (("site", "head", "token"), total, said("through later layers, by head")),
            "remainder_direct": (
                (),
                decomposition.value - sum(part.direct for part in parts),
                said("the logit without its direct parts"),
            ),
            "remainder_total": (
                (),
                decomposition.value - float(by_token.sum() + by_position.sum()) - biases,
                said("the logit without tokens, positions and biases"),
            ),
        },
        coords={
            "token_text": ("token", [name for side in sides for name in tokens[side]]),
            "token_side": ("token", [side for side in sides for _ in tokens[side]]),
            "component_kind": ("component", [part.kind for part in parts]),
            "component_name": ("component", [part.name for part in parts]),
            "component_layer": (
                "component",
                [-1 if part.site is None else part.site.layer for part in parts],
            ),
            "component_attention": (
                "component",
                ["" if part.site is None else part.site.kind for part in parts],
            ),
            "layer": ("site", [of_site.site.layer for of_site in decomposition.heads]),
            "kind": ("site", [of_site.site.kind for of_site in decomposition.heads]),
            "head": range(heads),
        },
        attrs=attributes,
    )


IN_BOTH = ("text", "predicted", "probability", "against_probability")
"""Attributes that a comparison has of both texts."""

CANDIDATES = 5
"""Most probable outputs that are kept."""

SAME = 1e-3
"""Tolerance of logits of the linear network to the model's own, relative to the largest."""
