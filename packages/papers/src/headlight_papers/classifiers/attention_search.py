"""Search for the most different attention with nearly the same predictions."""

from jaxtyping import Float
from torch import Tensor

from headlight.measures import total_variation
from headlight.measures.adversaries import Adversaries, AdversarySearch, Candidates, most_different
from headlight_papers.classifiers.predictors import Predictions, Predictor


def search_attention(
    predictor: Predictor,
    before: Predictions,
    attention: tuple[Tensor, Tensor, Candidates],
    search: AdversarySearch,
) -> Adversaries:
    """Return the most different attention whose predictions are within ε; see `most_different`.

    Args:
        predictor: Predictor whose attention is replaced.
        before: Its predictions, on the device of the model.
        attention: Its weights, the keys of each row that may have others, and the initial logits
            of the candidates.
        search: Parameters of the search.
    """
    with predictor.replacing() as run_candidates:

        def moved(candidates: Candidates) -> Float[Tensor, "candidate text"]:
            after = run_candidates(candidates)
            distance = total_variation(after, before.expand_as(after))
            return predictor.mean_by_text(distance).to(candidates.dtype)

        return most_different(moved, *attention, search)
