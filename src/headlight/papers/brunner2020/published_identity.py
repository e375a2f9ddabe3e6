"""What Section 4 and Appendices B and D.1 of Brunner et al. (2020) report, on BERT-base.

On MRPC where no set is named; layers from 1; shares in percent.
"""

LAYERS = 12

LINEAR_COSINE_LAST = 93.0
"""Identifiability rate of the last layer with a linear map and cosine distance (Section 4.1)."""

TRAINED_LAST = 94.0
"""The same map, trained on the last layer and tested on it (Section 4.1, Figure 2b)."""

TRAINED_FIRST_BELOW = 70.0
"""The linear map of layer 1 and cosine distance find less than this in layers 11 and 12."""

NAIVE_CLOSE_UP_TO = 4
"""Hidden tokens stay close to their input tokens up to this layer (Section 4.1)."""

FRACTIONS = {0.5: 74.0, 0.8: 80.0, 0.9: 81.0, 1.0: 82.0}
"""An MLP with the L2 loss on layer 11, by share of the training data (Appendix B.2)."""

FRACTIONS_LAYER = 11

CHANCE = {"mrpc": 1.7, "cola": 9.0, "mnli": 2.6}
"""Random guessing: one over the average length (Appendix D.1)."""
