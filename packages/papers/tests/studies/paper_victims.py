"""The studies of papers among `studies.victims`."""

from studies.classifiers import labelled
from studies.test_coreference_heads import documents
from studies.test_parser_probes import bank
from studies.victims import Victim

TRAINING = {"epochs": 2, "learning_rate": 0.02}
VICTIMS = {
    "attribution": Victim(),
    "token_identity": Victim({"maps": ["naive", "linear"], "losses": ["l2"], "solver": "ridge"}),
    "coreference": Victim({"measures": ["weight"], "max_length": 40}, documents),
    "permutation": Victim({}, lambda: labelled(14), classifies=True),
    "adversary": Victim({"repeats": 2, "keep_models": True}, lambda: labelled(14), classifies=True),
    "instance_adversary": Victim(
        {"steps": 3, "by": ["all"]},
        lambda: labelled(14),
        classifies=True,
    ),
    "guided": Victim({"measures": ["weight"]}, lambda: labelled(14), classifies=True),
    "parser_probes": Victim(
        {"probes": ["attention", "random_attention_and_words"], "training": TRAINING},
        lambda: bank(30, 0),
    ),
}
