"""Sources of an answer: the share of each passage by attention, by contributions, by removal.

The log-probability of an answer falls when a passage that it used is left out.  That is what use
means here, and what shares of attention weight and contributions to the logits are compared with.
Passages are moved to other places, since what a passage gets depends on where it stands.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import factorial
from textwrap import shorten
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import xarray
from jaxtyping import Bool, Float64

from headlight.capture import CapturedModel
from headlight.capture.one_text import require_reader
from headlight.catalogue.question_settings import SourceSettings
from headlight.chats import Chat, Readable, as_read
from headlight.corpora.passages import examples_of
from headlight.corpora.text_checks import require_text
from headlight.encode import Encoded, token_names
from headlight.encode.passage_prompts import Prompt
from headlight.engine.progress import Progress
from headlight.errors import UnsupportedModelError, UsageError
from headlight.findings.sources import passages_rested_on
from headlight.measures.agreement import linear_fit, spearman
from headlight.observations.variables import Variable, described, long_names, with_slots
from headlight.reading.answers import (
    answer_ids,
    answer_scores,
    answer_shares,
    direct_parts,
    own_answer,
)
from headlight.reading.generation import require_generation
from headlight.reading.origin import origin
from headlight.reading.question_functions import answers
from headlight.reading.text_result import TextResult
from headlight.reduce import Slots
from headlight.result import csv_text
from headlight.result.estimate import average
from headlight.vocabulary import place_of_head

REMOVAL, SETS, ALL, PREDICT = "removal", "sets", "all heads by", "predict"
"""Signals: single removals, sets of them, attention of all heads, direct contributions."""

FEWEST_RANKED = 5
"""Fewest passages whose order is compared: of three, every sixth order agrees by chance."""

VARIABLES = long_names(
    {
        "value": Variable("what a signal gives a passage, mean over orders", ""),
        "mean": Variable("the same, mean over answers", "", interval="signed"),
        "rank": Variable("Spearman's ρ of a signal with removal, over the passages of an answer"),
        "agreement": Variable("the same, mean over answers", interval="correlation"),
        "right": Variable("whether a signal is largest of the only passage the answer rests on"),
        "right_share": Variable("the same, mean over answers that rest on one", interval="share"),
        "head_share": Variable("share of a passage in the rows that predict the answer, by head"),
        "lookback": Variable("mean weight on the prompt, of that and the mean on the answer"),
        "retrieval": Variable("share of the tokens of a hidden fact that the head copies"),
        "log_probability": Variable("log-probability of the answer", "nats"),
    }
)

Chosen = Bool[np.ndarray, "layer head"]


@dataclass(frozen=True, eq=False)
class Sources(TextResult):
    """Sources of one answer, or of several.

    `dataset` has ``value[answer, signal, passage]``: how much a passage was used, by each signal in
    its own unit; passages are in the order in which they were handed over.  ``right`` and
    ``right_share`` say whether a signal names the passage that an answer rests on, ``rank`` and
    ``agreement`` how well it orders passages as removal does; ``head_share`` are the shares of each
    head, ``lookback`` its ratio at each token of the answer.
    """

    dataset: xarray.Dataset
    called: ClassVar[str] = "sources are"
    question: ClassVar[str] = "sources"

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each passage of each answer, with a column for each signal."""
        from headlight.views.reading.sources import frame_of

        return frame_of(self.dataset)

    def to_csv(self) -> str:
        """Return the table of passages as CSV."""
        return csv_text(self.to_dataframe())

    def as_json(self) -> dict[str, Any]:
        """Return the questions, answers and passages, with the numbers of each signal."""
        from headlight.views.reading.sources import agreement_frame, chosen_heads

        return super().as_json() | {
            "passages": self.to_dataframe().to_dict("records"),
            "agreement": agreement_frame(self.dataset).to_dict("records"),
            "heads": chosen_heads(self.dataset),
        }

    def __str__(self) -> str:
        from headlight.views.reading.sources import findings

        return " ".join(findings(self.dataset))

    __repr__ = __str__


@answers("sources")
def sources(
    model: CapturedModel,
    question: Readable | Sequence[Mapping[str, Any]],
    context: Sequence[str] | None = None,
    *,
    answer: str | None = None,
    settings: SourceSettings,
    command: str | None = None,
    progress: Progress | None = None,
) -> Sources:
    """Compare what passages contribute to an answer, by several signals.

    *Removal* is the fall of the answer's log-probability without the passage; *sets* are the
    coefficients of a linear model of the log-probability, fitted to random sets of passages.  Of
    attention, the shares are those of the rows that predict the answer's tokens: means over the
    chosen heads, and over all.  *Predict* is what heads write directly from the passage into the
    logits of the answer's tokens, summed.

    Args:
        model: decoder with its head.
        question: text, or messages of a chat, which may hold the passages or have them written
            before the question; or several examples; see `headlight.corpora.passages.EXAMPLE`.
        context: passages.
        answer: answer; by default the last message of a chat if it is the assistant's, else what
            the model writes, up to the end of a line.
        settings: settings of the signals; users name each by itself.
        command: command of the request, for the record.
        progress: told of each text that was read.

    Returns:
        Sources, whose ``dataset`` holds numbers of passages and heads.

        - ``value`` (answer × signal × passage): how much a passage was used, by each signal
        - ``mean`` (signal × passage): mean over answers
        - ``right`` (answer × signal), ``right_share`` (signal): whether a signal is largest on the
          passage that an answer rests on, and the share of such answers
        - ``rank`` (answer × signal), ``agreement`` (signal): Spearman's correlation of a signal
          with removal over the passages, and its mean over answers
        - ``head_share`` (answer × measure × layer × head × passage): shares of each head
        - ``lookback`` (answer × layer × head × token): ratio of weights on the prompt, by token
        - ``retrieval`` (layer × head): share of the tokens of a hidden fact that a head copies
        - ``log_probability`` (answer): of the answer with all passages, in nats

    Raises:
        MissingHeadError: the model does not predict next tokens.
        UsageError: no passage or an empty one, no question or an empty answer, a prompt that with
            the answer is longer than the model reads, no such head, or no tokenizer.
        UnsupportedModelError: attention cannot be captured exactly, or texts are read otherwise in
            a batch than alone.

    Source: removal and sets: Cohen-Wang et al. (2024), "ContextCite"; heads that copy: Wu et al.
        (2024), "Retrieval head"; the ratio: Chuang et al. (2024), "Lookback Lens", Eq. 1.
    """
    examples = examples_of(question, context, answer)
    require_reader(model)
    require_generation(model, decoder=True)
    model.require_tokenizer("a question is read")
    prompts = [_Prompted.of(model, example, settings) for example in examples]
    model.verify_batching()
    read = _ignore if progress is None else partial(_advance, progress)
    scores, chosen = _heads(model, settings, read)
    measured = [
        _measured(model, prompt, chosen, settings, number, read)
        for number, prompt in enumerate(prompts)
    ]
    dataset = _dataset(model, prompts, measured, scores, chosen)
    text = str(dataset["question"].values[0])
    about = origin(
        model,
        text,
        None,
        title=(
            f"“{shorten(text, 60, placeholder=' …')}”: what the answer used"
            if len(measured) == 1
            else f"What {len(measured)} answers used"
        ),
        stage="sources",
        orders=max(row.orders for row in measured),
        masks=settings.masks,
        named=int(bool(settings.chosen)),
        written=sum(prompt.is_written for prompt in prompts),
        notes=" ".join(dict.fromkeys(row.note for row in measured if row.note)),
        command=command or "",
    )
    return Sources(dataset.assign_attrs(about))


def texts_to_read(examples: Sequence[Mapping[str, Any]], settings: SourceSettings) -> int:
    """Return the number of texts of which a progress is told.

    Args:
        examples: Examples as `headlight.corpora.passages.examples_of` returns them.
        settings: Settings of the signals.
    """
    needles = 0 if settings.chosen else settings.needles
    more = settings.masks + SINGLE + (OF_PREDICT if settings.predict else 0)
    counts = [len(example["context"]) for example in examples]
    return needles + sum(
        min(settings.orders, factorial(count)) * (count + more) for count in counts
    )


SINGLE, OF_PREDICT = 2, 2
"""Passes of each order besides those without passages: of all of them, once with attention kept;
and what direct contributions cost, in such passes."""

Read = Callable[[int], None]
"""Function that is told of the number of texts that were read."""


def _ignore(texts: int) -> None:
    """Tell nobody."""


def _advance(progress: Progress, texts: int) -> None:
    progress.advance(texts, 0)


@dataclass(frozen=True, eq=False)
class _Prompted:
    """Prompt, with its question and answer as texts, and the answer as tokens.

    The answer is written by the model, or was given.
    """

    prompt: Prompt
    question: str
    answer: str
    ids: tuple[int, ...]
    is_written: bool

    @classmethod
    def of(
        cls, model: CapturedModel, example: Mapping[str, Any], settings: SourceSettings
    ) -> "_Prompted":
        """Return an example as tokens; an answer that it lacks is written by the model.

        Raises:
            UsageError: See `sources`.
        """
        tokenizer: Any = model.tokenizer
        subject, answer = as_read(example["question"], predicts=True), example.get("answer")
        if isinstance(subject, Chat):
            *before, last = subject.messages
            if last["role"] == "assistant":
                if answer is not None or not before:
                    raise UsageError(
                        "the chat ends with an answer; give no other, and write the question, too."
                    )
                answer = last["content"]
                subject = replace(subject, messages=tuple(before), answer=subject.template)
        prompt = Prompt.from_question(subject, example["context"])
        passages = range(len(prompt.passages))
        text, _ = prompt.written(tokenizer, passages, passages)
        whole, _ = prompt.encode(tokenizer, passages, passages)
        _require_room(model, len(whole.ids), 0)
        is_written = answer is None
        if answer is None:
            ids = own_answer(model, whole, settings.max_new_tokens)
            answer = tokenizer.decode(ids).strip()
        else:
            require_text(answer, "answer")
            ids = answer_ids(tokenizer, text, answer)
        _require_room(model, len(whole.ids), len(ids))
        question = subject.contents[-1] if isinstance(subject, Chat) else subject
        return cls(prompt, question, answer, ids, is_written)

    def read(
        self, tokenizer: Any, order: Sequence[int], kept: Bool[np.ndarray, " passage"]
    ) -> tuple[Encoded, list[int]]:
        """Return the prompt with its answer, and the passage of each token of the prompt."""
        example, owners = self.prompt.encode(tokenizer, order, {*np.flatnonzero(kept).tolist()})
        return example.continued(self.ids), owners


def _require_room(model: CapturedModel, prompt: int, answer: int) -> None:
    """Refuse a prompt, or an answer behind it, that the model cannot read."""
    if model.longest is not None and prompt + answer > model.longest:
        behind = f" and the answer {answer}" if answer else ""
        shorter = "them or it" if answer else "them"
        raise UsageError(
            f"the question and its passages have {prompt} tokens{behind}, and {model} reads "
            f"{model.longest} in all; leave passages out, or shorten {shorter}."
        )


class _Measured(NamedTuple):
    """Numbers of one answer, with the passages in one order or on average over several."""

    log_probability: float
    value: dict[str, Float64[np.ndarray, " passage"]]
    head_share: Float64[np.ndarray, "measure layer head passage"]
    lookback: Float64[np.ndarray, "layer head token"]
    note: str
    orders: int = 1


def _measured(
    model: CapturedModel,
    prompt: _Prompted,
    chosen: Chosen,
    settings: SourceSettings,
    number: int,
    read: Read,
) -> _Measured:
    """Return means over orders; the probability and Lookback's ratios are of the first alone."""
    count = len(prompt.prompt.passages)
    # By the number of the answer, so that its numbers do not depend on the answers before it.
    generator = np.random.default_rng([settings.seed, number])
    rows = [
        _in_order(
            model,
            prompt,
            list(order),
            generator.random((settings.masks, count)) < 0.5,
            chosen,
            settings,
            read,
        )
        for order in _orders(count, settings.orders, generator)
    ]
    value = {name: np.mean([row.value[name] for row in rows], 0) for name in rows[0].value}
    shares = np.mean([row.head_share for row in rows], 0)
    return rows[0]._replace(value=value, head_share=shares, orders=len(rows))


def _orders(count: int, wanted: int, generator: np.random.Generator) -> list[tuple[int, ...]]:
    """Return different orders of passages, the given one first; all orders if they are so few."""
    orders = {tuple(range(count)): None}
    while len(orders) < min(wanted, factorial(count)):
        orders[tuple(generator.permutation(count).tolist())] = None
    return list(orders)


def _in_order(
    model: CapturedModel,
    prompt: _Prompted,
    order: list[int],
    masks: Bool[np.ndarray, "mask passage"],
    chosen: Chosen,
    settings: SourceSettings,
    read: Read,
) -> _Measured:
    count, note = len(order), ""
    # All passages, all but one, and random sets: the slices of scores below rely on this order.
    kept = np.concatenate([np.ones((1, count), bool), ~np.eye(count, dtype=bool), masks])
    texts = [prompt.read(model.tokenizer, order, passages) for passages in kept]
    whole, owners = texts[0]
    log, logits = answer_scores(model, [example for example, _ in texts], prompt.ids, read)
    shares, ratios = answer_shares(model, whole, owners, settings.measures)
    read(1)
    values = {REMOVAL: log[0] - log[1 : count + 1]}
    if settings.masks:  # without which the fit is removal itself
        values[SETS] = linear_fit(kept, log)
    for measure, by_head in zip(settings.measures, shares, strict=True):
        values[f"chosen heads by {measure}"] = average(by_head[chosen], 0)
        values[f"{ALL} {measure}"] = average(by_head, (0, 1))
    if settings.predict:
        values[PREDICT] = np.full(count, np.nan)
        try:
            parts = direct_parts(model, whole, prompt.ids, float(logits[0]))[: len(owners)]
            values[PREDICT] = (np.array(owners) == np.arange(count)[:, None]) @ parts
        except (UnsupportedModelError, UsageError) as problem:
            note = str(problem)
        read(OF_PREDICT)
    return _Measured(float(log[0]), values, shares, ratios, note)


def _heads(
    model: CapturedModel, settings: SourceSettings, read: Read
) -> tuple[Float64[np.ndarray, "layer head"], Chosen]:
    """Return how much heads copy of hidden facts (NaN where unknown), and the chosen heads."""
    sites = model.sites_of("decoder")
    shape = len(sites), max(site.heads for site in sites)
    scores, chosen = np.full(shape, np.nan), np.zeros(shape, bool)
    if settings.chosen:
        for name in settings.chosen:
            place = place_of_head(name)
            at = next((n for n, site in enumerate(sites) if place and site.layer == place[0]), None)
            if place is None or at is None:
                raise UsageError(
                    f"there is no head {name!r} in {model}; write L2H5 for head 5 of layer 2, "
                    "counted from 0."
                )
            sites[at].require_head(place[1])
            chosen[at, place[1]] = True
        return scores, chosen
    from headlight.studies.circuits import CircuitsSettings
    from headlight.studies.circuits.study import retrieval_scores

    asked = CircuitsSettings(
        kind="decoder",
        parts=("needle",),
        measures=("weight",),
        needles=settings.needles,
        haystack=settings.haystack,
        seed=settings.seed,
    )
    scores = retrieval_scores(model, sites, asked)
    read(settings.needles)
    if np.nansum(scores) > 0:
        order = np.argsort(-np.nan_to_num(scores).ravel(), kind="stable")[: settings.number]
        chosen.ravel()[order] = True
    return scores, chosen & (np.nan_to_num(scores) > 0)


def _rank(value: Mapping[str, Float64[np.ndarray, " passage"]], signal: str) -> float:
    """Return Spearman's ρ of a signal with removal; NaN of fewer than `FEWEST_RANKED` passages."""
    signals = value[signal], value[REMOVAL]
    if len(signals[0]) < FEWEST_RANKED or not np.isfinite(signals).all():
        return np.nan
    return spearman(*signals).value


def _is_right(value: Mapping[str, Float64[np.ndarray, " passage"]], signal: str) -> float:
    """Return whether a signal is largest of the only passage that the answer rests on.

    NaN of an answer that rests on none or on several, and of a single passage, which is always
    named.
    """
    used = passages_rested_on(value[REMOVAL])
    if len(used) != 1 or len(value[REMOVAL]) == 1 or not np.isfinite(value[signal]).all():
        return np.nan
    return float(value[signal].argmax() == used[0])


def _dataset(
    model: CapturedModel,
    prompts: Sequence[_Prompted],
    measured: Sequence[_Measured],
    scores: Float64[np.ndarray, "layer head"],
    chosen: Chosen,
) -> xarray.Dataset:
    signals = list(measured[0].value)
    values = _padded([np.stack([*answer.value.values()]) for answer in measured])
    ranks, rights = (
        np.array([[number(answer.value, signal) for signal in signals] for answer in measured])
        for number in (_rank, _is_right)
    )
    variables: dict[str, Any] = {
        "value": (("answer", "signal", "passage"), values),
        **_mean("mean", ("signal", "passage"), values),
        "rank": (("answer", "signal"), ranks),
        **_mean("agreement", ("signal",), ranks),
        "right": (("answer", "signal"), rights),
        **_mean("right_share", ("signal",), rights),
        "head_share": (
            ("answer", "measure", "layer", "head", "passage"),
            _padded([answer.head_share for answer in measured]),
        ),
        "lookback": (
            ("answer", "layer", "head", "token"),
            _padded([answer.lookback for answer in measured]),
        ),
        "retrieval": (("layer", "head"), scores),
        "log_probability": ("answer", [answer.log_probability for answer in measured]),
    }
    tokenizer = model.tokenizer
    assert tokenizer is not None  # noqa: S101 - `sources` has required it
    tokens = [token_names(tokenizer, prompt.ids) for prompt in prompts]
    measures = [signal.removeprefix(f"{ALL} ") for signal in signals if signal.startswith(ALL)]
    coordinates: dict[str, Any] = {
        "signal": signals,
        "measure": measures,
        "layer": [site.layer for site in model.sites_of("decoder")],
        "head": range(scores.shape[1]),
        "passage": range(1, values.shape[-1] + 1),
        "question": ("answer", [prompt.question for prompt in prompts]),
        "answer_text": ("answer", [prompt.answer for prompt in prompts]),
        "passage_text": (
            ("answer", "passage"),
            _filled([prompt.prompt.passages for prompt in prompts]),
        ),
        "token_text": (("answer", "token"), _filled(tokens)),
        "chosen": (("layer", "head"), chosen),
    }
    return described(variables, coordinates, VARIABLES)


def _mean(name: str, dims: Sequence[str], numbers: np.ndarray) -> dict[str, Any]:
    """Return the mean over answers, and of several what its interval is computed from."""
    slots = Slots.of(np.arange(len(numbers)), numbers).compute()
    if len(numbers) == 1:  # so that no page warns of intervals that one answer cannot have
        return {name: (dims, slots["mean"])}
    return {**with_slots(name, dims, slots["mean"], slots)}


def _padded(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return one array of arrays whose last axes differ, with NaN behind the shorter ones."""
    longest = max(array.shape[-1] for array in arrays)
    whole = np.full((len(arrays), *arrays[0].shape[:-1], longest), np.nan)
    for row, array in zip(whole, arrays, strict=True):
        row[..., : array.shape[-1]] = array
    return whole


def _filled(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    longest = max(map(len, rows))
    return [[*row, *[""] * (longest - len(row))] for row in rows]
