"""Decomposition of a prediction: what each token, head, layer and bias adds to a logit."""

from headlight.reading.prediction.prediction import Prediction, predict

__all__ = ["Prediction", "predict"]
