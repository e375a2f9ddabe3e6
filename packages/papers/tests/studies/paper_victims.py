"""The studies of papers among `studies.victims`."""

from studies.classifiers import labelled
from studies.victims import Victim

VICTIMS = {
    "attribution": Victim(),
    "token_identity": Victim({"maps": ["naive", "linear"], "losses": ["l2"], "solver": "ridge"}),
    "permutation": Victim({}, lambda: labelled(14), classifies=True),
    "adversary": Victim({"repeats": 2, "keep_models": True}, lambda: labelled(14), classifies=True),
    "instance_adversary": Victim(
        {"steps": 3, "by": ["all"]},
        lambda: labelled(14),
        classifies=True,
    ),
    "guided": Victim({"measures": ["weight"]}, lambda: labelled(14), classifies=True),
}
