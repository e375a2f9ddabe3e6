"""What is seen in one batch of probes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from headlight.analysis.batch_texts import text_id
from headlight.analysis.positions import moments
from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.encode import Encoded
from headlight.measures import Scores
from headlight.measures.vectors import Vectors
from headlight.reduce import ResampledMean, Tally
from headlight.studies.circuits import CircuitsSettings
from headlight.studies.circuits.probes import Hidden, Repeated
from headlight.studies.circuits.repeated import BEHAVIOURS, RepeatedCounter
from headlight.studies.circuits.retrieval import VERSIONS, RetrievalCounter, answer


@dataclass(eq=False, repr=False)
class CircuitsObserver:
    """Runs the model on probes: random sequences as they are, hidden facts until it has answered.

    Attributes:
        model: with its head, where facts are asked for.
        examples: of one batch.
        sites: the layers that are looked at.
        settings: what is asked.
    """

    model: CapturedModel
    examples: Sequence[Encoded]
    sites: Sequence[AttentionSite]
    settings: CircuitsSettings

    def __post_init__(self) -> None:
        self._repeated = [each for each in self.examples if isinstance(each, Repeated)]
        self._hidden = [each for each in self.examples if isinstance(each, Hidden)]

    def tally(self) -> Tally:
        """Scores of each text, by measure and head."""
        measures, hidden = self.settings.measures, self._hidden
        heads = len(measures), len(self.sites), max(site.heads for site in self.sites)
        repeated = np.empty((len(self._repeated), len(BEHAVIOURS), *heads))
        if self._repeated:
            counter = RepeatedCounter(self._repeated[0], measures)
            self._run(self._repeated, counter.look)
            repeated[:] = counter.scores()
        retrieved = np.empty((len(hidden), len(VERSIONS), *heads))
        recalls = np.full((len(hidden), self.settings.needles), np.nan)
        for at, text in enumerate(hidden):
            said = answer(self.model, text)
            found = RetrievalCounter(text, said, measures)
            self._run([said.text], found.look)
            retrieved[at], recalls[at, text.number] = found.scores(), found.recall()
        return Tally(
            {
                "repeated": self._resampled(self._repeated, repeated),
                "retrieval": self._resampled(hidden, retrieved),
                "recall": moments(recalls),
            }
        )

    def _run(self, texts: Sequence[Encoded], look: Callable[[Scores], None]) -> None:
        """Show scores of all layers; what all queries of a layer share is computed once."""
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

    def _resampled(
        self, texts: Sequence[Encoded], rows: Float64[np.ndarray, "text *rest"]
    ) -> ResampledMean:
        keys = [text_id(text) for text in texts]
        given = self.settings
        return ResampledMean.of(
            np.array(keys, dtype=np.int64), rows, replicates=given.bootstrap, seed=given.seed
        )
