"""Study of heads on probes and of their weights, in one result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float64

from headlight.capture import AttentionSite, CapturedModel, LayerRecord, Objective
from headlight.capture.head_weights import HeadWeights, head_weights, norm_gains
from headlight.corpora import Corpus, Source
from headlight.corpora.samples import SAMPLE_TEXT
from headlight.encode import Encoded, Examples
from headlight.encode.batch import Batch
from headlight.encode.examples import Recipe
from headlight.engine.model_parts import choose_sites, encoder_for_one_text
from headlight.engine.observer import Observer
from headlight.engine.plan import Pass, StudyPlan
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.errors import UsageError, with_head
from headlight.measures import Scores
from headlight.measures.circuits import compositions, copying, gram, matching
from headlight.measures.layer_vectors import Vectors
from headlight.observations.layer_arrays import array, moments, stacked
from headlight.observations.text_ids import units_of
from headlight.observations.variables import Variable, described, long_names, with_slots
from headlight.reduce import Slots, Tally
from headlight.studies.circuits import OF_TEXTS, OF_WEIGHTS, CircuitsSettings
from headlight.studies.circuits.facts import FACTS
from headlight.studies.circuits.greedy_answers import answer
from headlight.studies.circuits.induction import BEHAVIOURS, RepeatedCounter
from headlight.studies.circuits.probe_texts import Hidden, Repeated, probes
from headlight.studies.circuits.retrieval import VERSIONS, RetrievalCounter

VARIABLES = long_names(
    {
        "copying": Variable("Σλ / Σ|λ| of the eigenvalues of W_E W_V W_O W_U"),
        "copying_last_norm": Variable("the same with the gain of the norm before W_U"),
        "matching": Variable("Σλ / Σ|λ| of the eigenvalues of W_E W_Q W_Kᵀ W_Eᵀ"),
        "composition": Variable(
            "‖A B‖ / (‖A‖ ‖B‖), A what a head writes, B what a later one reads"
        ),
        "repeated": Variable("score on random tokens that are repeated", interval="row_share"),
        "retrieval": Variable(
            "retrieval score, of the needles that were found", interval="positive"
        ),
        "recall": Variable("share of a needle's tokens that the model has said"),
        "fact": Variable("what was hidden", ""),
    }
)
PATHS = ("query", "key", "value")

NOTHING_READ: Examples[Encoded] = Examples(Recipe((), tuple, lambda group, _: group))
"""Examples of a run on weights alone."""


class CircuitsStudy(CorpusStudy[CircuitsSettings]):
    """Circuits of heads: from their weights, and from random repeats and hidden facts.

    ``copying`` and ``matching[layer, head]`` and ``composition[path, layer, head, later_layer,
    later_head]`` are of weights alone; see `headlight.measures.circuits`.  They know nothing of
    biases, rotary embeddings and of what norms divide by.  ``repeated[behaviour, measure, layer,
    head]`` is of random tokens that are repeated, ``retrieval[version, measure, layer, head]`` of
    facts in a haystack, where the model has given them again.  ``recall[needle]`` says how much of
    each fact it has given again.

    Args:
        source: Texts that haystacks are cut from (a path, a glob, ``hf:NAME``, texts, an open
            corpus); by default the sample corpus.
        model: Model, with its head if `copying` or `needle` are requested; of an encoder-decoder
            the encoder is observed.
        settings: Settings of the study.

    Source: Elhage et al. (2021), "A mathematical framework for transformer circuits"; Olsson et al.
        (2022), "In-context learning and induction heads"; Wu et al. (2024), "Retrieval head
        mechanistically explains long-context factuality", Section 2.
    """

    name = "circuits"
    title = "Circuits of heads"
    settings_class = CircuitsSettings

    def make_plan(
        self, source: Source | Corpus | None, objective: Objective | None
    ) -> StudyPlan[Encoded]:
        """Plan the probes to run; scores of weights alone need none."""
        settings = self.settings
        self.model = model = encoder_for_one_text(self.model, settings.kind)
        self.kind, self.sites = choose_sites(model, settings)
        self.parts = self._choose_parts()
        if source is not None and "needle" not in self.parts:
            raise UsageError(
                "texts are read to hide needles in them, and none are hidden here; leave the "
                f"corpus out (asked of {model}: {', '.join(self.parts)})."
            )
        runs = any(part in self.parts for part in OF_TEXTS)
        return StudyPlan(
            name=self.name,
            title=self.title,
            source=_name(source) if "needle" in self.parts else "",
            model=model,
            kind=self.kind,
            sites=self.sites,
            examples=probes(model, settings, self.parts, source) if runs else NOTHING_READ,
            settings=settings,
            passes=(Pass(),) if runs else (),
            options={"parts": list(self.parts)},
        )

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> "CircuitsObserver":
        """Return the observer that runs the model on probes."""
        return CircuitsObserver(self.model, examples, self.sites, self.settings)

    def dataset(self, plan: StudyPlan[Encoded], state: State) -> xarray.Dataset:
        """Return the dataset of observations and of weights."""
        if not plan.passes:
            return self._dataset({})
        tally = state.tally.compute()
        variables: dict[str, Any] = {}
        axes = ("measure", "layer", "head")
        for part, name, axis in (
            ("repeated", "repeated", "behaviour"),
            ("needle", "retrieval", "version"),
        ):
            if part in self.parts:
                variables |= with_slots(name, (axis, *axes), tally[name]["mean"], tally[name])
        if "needle" in self.parts:
            facts = [FACTS[number % len(FACTS)] for number in range(self.settings.needles)]
            variables["recall"] = ("needle", tally["recall"]["mean"])
            variables["fact"] = (
                "needle",
                [f"{needle.beginning} {needle.needle}" for needle in facts],
            )
        sequences = self.settings.sequences if "repeated" in self.parts else 0
        needles = self.settings.needles if "needle" in self.parts else 0
        return self._dataset(variables).assign_attrs(random_sequences=sequences, needles=needles)

    def _choose_parts(self) -> tuple[str, ...]:
        """Return the requested parts, or all that are possible; refuse one that the model lacks."""
        chosen_parts, causal = self.settings.parts, self.kind == "decoder"
        unembeds = self.model.transformer.get_output_embeddings() is not None
        if chosen_parts is None:
            parts = [option for option in OF_WEIGHTS if unembeds or option != "copying"]
            return (*parts, *(OF_TEXTS if causal else ()))
        for part in chosen_parts:
            if part in OF_TEXTS and not causal:
                raise UsageError(
                    f"{part} needs a decoder, which sees what came before alone, and the attention "
                    f"of {self.model} is that of an encoder; ask for "
                    f"{', '.join(OF_WEIGHTS[0 if unembeds else 1 :])}."
                )
            predicts = unembeds or self.model.head.language is not None
            if part == "copying" and predicts and not unembeds:
                raise UsageError(
                    f"{part} needs the matrix that {self.model} predicts tokens by, which it does "
                    "not tell (get_output_embeddings); leave it out, or let its class return it."
                )
            if part in ("copying", "needle") and not predicts:
                raise UsageError(
                    f"{part} needs a language-model head, and {self.model} has none; leave it "
                    f"out, or {with_head('a language model')}."
                )
        return chosen_parts

    def _dataset(self, variables: dict[str, Any]) -> xarray.Dataset:
        """Return the dataset of these variables and the scores of weights, with coordinates."""
        layers = [site.layer for site in self.sites]
        heads = list(range(max(site.heads for site in self.sites)))
        variables = {**self._score_weights(), **variables}
        coordinates: dict[str, Any] = {
            "layer": layers,
            "head": heads,
            "later_layer": layers,
            "later_head": heads,
            "path": list(PATHS),
            "behaviour": list(BEHAVIOURS),
            "version": list(VERSIONS),
            "measure": list(self.settings.measures),
            "needle": list(range(self.settings.needles)),
        }
        used = {*xarray.Dataset(variables).dims, "layer", "head"}
        return described(
            variables, {axis: coordinates[axis] for axis in coordinates if axis in used}, VARIABLES
        )

    def _score_weights(self) -> dict[str, Any]:
        chosen_parts = [part for part in OF_WEIGHTS if part in self.parts]
        if not chosen_parts:
            return {}
        weights = head_weights(self.model)
        mine = [weights[site] for site in self.sites]
        variables: dict[str, Any] = {}
        network: Any = self.model.transformer
        embedded = network.get_input_embeddings().weight
        reader = network.get_output_embeddings()
        width = mine[0].output.shape[2]
        nothing = [torch.full((len(head_weight.output),), torch.nan) for head_weight in mine]
        if "copying" in chosen_parts:
            norm = norm_gains(self.model, [reader]).get(reader)
            fits = embedded.shape[1] == reader.weight.shape[1] == width
            product = gram(reader.weight, embedded) if fits else None
            for name, gain in (("copying", None), ("copying_last_norm", norm)):
                if name != "copying" and (gain is None or product is None):
                    continue
                weighted = product if gain is None or product is None else gain[:, None] * product
                scores = [
                    None if weighted is None else copying(head_weight, weighted)
                    for head_weight in mine
                ]
                variables[name] = _arrange_by_head(scores, nothing)
        if "matching" in chosen_parts:
            product = gram(embedded, embedded) if embedded.shape[1] == width else None
            scores = [
                None if product is None else matching(head_weight, product) for head_weight in mine
            ]
            variables["matching"] = _arrange_by_head(scores, nothing)
        if "composition" in chosen_parts:
            axes = ("path", "layer", "head", "later_layer", "later_head")
            variables["composition"] = (axes, self._compositions(mine, embedded.dtype))
        return variables

    def _compositions(self, weights: Sequence[HeadWeights], stored: torch.dtype) -> np.ndarray:
        heads = max(site.heads for site in self.sites)
        scores = np.full((len(PATHS), len(weights), heads, len(weights), heads), np.nan)
        precision = torch.float64 if stored == torch.float64 else torch.float32
        for earlier, later, by_path in compositions(weights, precision):
            for path, values in enumerate(by_path):
                rows, columns = values.shape
                scores[path, earlier, :rows, later, :columns] = array(values)
        return scores


def _arrange_by_head(
    scores: Sequence[Any], nothing: Sequence[torch.Tensor]
) -> tuple[Any, np.ndarray]:
    rows = [none if score is None else score for score, none in zip(scores, nothing, strict=True)]
    return ("layer", "head"), stacked([row[None].cpu() for row in rows])[0]


def _name(source: Any) -> str:
    if source is None or str(source) == str(SAMPLE_TEXT):
        return "the sample corpus"
    return source.source if isinstance(source, Corpus) else str(source)


run = CircuitsStudy.run


@dataclass(eq=False, repr=False)
class CircuitsObserver(Observer):
    """Observer that runs the model on probes: random sequences, and hidden facts with answers.

    Attributes:
        model: Model, with its head where facts are asked for.
        examples: Examples of one batch.
        sites: Attention modules observed.
        settings: Settings of the study.
    """

    model: CapturedModel
    examples: Sequence[Encoded]
    sites: Sequence[AttentionSite]
    settings: CircuitsSettings
    wants_attention = False

    def tally(self) -> Tally:
        """Return the scores of each text, by measure and head; NaN for texts of the other kind."""
        measures, texts = self.settings.measures, self.examples
        heads = len(measures), len(self.sites), max(site.heads for site in self.sites)
        repeated = np.full((len(texts), len(BEHAVIOURS), *heads), np.nan)
        retrieved = np.full((len(texts), len(VERSIONS), *heads), np.nan)
        recalls = np.full((len(texts), self.settings.needles), np.nan)
        sequences = [at for at, text in enumerate(texts) if isinstance(text, Repeated)]
        if sequences:
            drawn = [text for text in texts if isinstance(text, Repeated)]
            counter = RepeatedCounter(drawn[0], measures)
            self._run(drawn, counter.look)
            repeated[sequences] = counter.scores()
        for at, text in enumerate(texts):
            if isinstance(text, Hidden):
                reply = answer(self.model, text, 2 * (text.stop - text.start))
                retrieval = RetrievalCounter(text, reply, measures)
                self._run([reply.text], retrieval.look)
                retrieved[at], recalls[at, text.number] = retrieval.scores(), retrieval.recall()
        units = units_of(texts)
        return Tally(
            {
                "repeated": Slots.of(units, repeated),
                "retrieval": Slots.of(units, retrieved),
                "recall": moments(recalls),
            }
        )

    def _run(self, texts: Sequence[Encoded], look: Callable[[Scores], None]) -> None:
        """Run the model, and show the scores of all layers.

        The vectors, which all queries of a layer share, are computed once.
        """
        vectors: list[Vectors] = []

        def visit(record: LayerRecord) -> None:
            if not record.first:
                vectors.clear()
            scores = Scores(record, vectors=vectors[0] if vectors else None)
            vectors[:] = [scores.vectors]
            look(scores)

        with self.model.capture(self.sites) as recorder:
            recorder.visit = visit
            recorder.query_block = None
            self.model.run(self.model.collate(texts))


def retrieval_scores(
    model: CapturedModel, sites: Sequence[AttentionSite], settings: CircuitsSettings
) -> Float64[np.ndarray, "layer head"]:
    """Return how much each head copies of facts hidden in the sample corpus, without a study.

    Args:
        model: Decoder with its head.
        sites: Attention modules of the decoder.
        settings: Settings of the probes, of one measure.

    Returns:
        The ``paper`` version of ``retrieval``; NaN where no fact was found.
    """
    texts = list(probes(model, settings, ("needle",), None))
    tally = CircuitsObserver(model, texts, sites, settings).tally().compute()
    scores: Float64[np.ndarray, "layer head"]
    (scores,) = tally["retrieval"]["mean"][VERSIONS.index("paper")]
    return scores
