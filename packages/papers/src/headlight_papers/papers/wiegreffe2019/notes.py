"""Notes on data and training under an exhibit."""

from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_classifiers import PATIENCE
from headlight_papers.papers.wiegreffe2019.results import load_all

ENCODER_NAMES = {"lstm": "LSTM", "transformer": "Transformer", "average": "words alone"}
OF_WHAT = (
    "F1 is that of the second class on the test part. TVD is ½ Σ |Δp| over both classes, which is "
    "the difference of the probability of one; the paper's code has half of it. JSD is in nats, "
    "and at most ln 2 = 0.693."
)


def notes_of(reproduction: Reproduction) -> list[str]:
    """Return notes on how data and training differ from the paper's."""
    settings = reproduction.settings
    sizes = [
        f"{title} {' / '.join(str(int(count)) for count in result['texts'].values)} (mean length "
        f"{float(result['length'].sel(split='train')):.0f} words)"
        for title, result in load_all(reproduction).items()
    ]
    chosen = (
        "the paper's code chooses bases by the area on the test set and adversaries by their loss "
        "in training, and here both are chosen on the development part"
        if settings.selection == "dev"
        else "the best epoch was chosen on the test part itself"
    )
    return [
        f"Texts to train / for development / to test: {', '.join(sizes)}. Of each part at most "
        f"{settings.max_texts} were drawn, and texts of more than {settings.max_words} words left "
        "out; the paper has all, of larger sets.",
        f"Every model is trained for at most {settings.epochs} epochs, and stops when {PATIENCE} "
        f"have brought nothing; in the released code bases have 8 and adversaries up to 80. "
        f"{chosen[0].upper()}{chosen[1:]}.",
        "LSTM of 128 units in each direction, additive attention, Adam (amsgrad) at 0.001; word "
        "vectors of 100 numbers are trained, and begin with those of the file given, if any. There "
        "are no marks before and behind a text, so that every word can be attended to. The "
        "Transformer layer is ours.",
        "λ multiplies the mean KL(adversary ‖ base) of a text beside our TVD, so that ours is "
        "twice the paper's for the same balance. λ = 0 is the control: a second model taught by "
        "the base, free to attend as it likes.",
        f"Bases and models with attention given: {settings.repeats} seeds, ± half of a 95% "
        "interval (Student's t). Adversaries are single runs, taught by the base of the first "
        "seed, as in the paper.",
    ]
