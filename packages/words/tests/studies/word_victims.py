"""The studies of annotated and parallel text among `studies.victims`."""

from studies.test_coreference_heads import documents
from studies.test_dependency import trees
from studies.test_parser_probes import bank
from studies.victims import Victim, translations

TRAINING = {"epochs": 2, "learning_rate": 0.02}
VICTIMS = {
    "dependency": Victim({}, lambda: trees(14)),
    "alignment": Victim({}, lambda: [pair for pair, _ in translations(14)], translates=True),
    "coreference": Victim({"measures": ["weight"], "max_length": 40}, documents),
    "parser_probes": Victim(
        {"probes": ["attention", "random_attention_and_words"], "training": TRAINING},
        lambda: bank(30, 0),
    ),
}
