"""Statistics of a head: one table, read by all code that ranks, draws, compares or names them.

A reading has the same rows for its single text, computed by the survey.  Rows of other packages are
found by entry points of the group ``headlight.statistics``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

from headlight.catalogue.registry import rows_of_packages
from headlight.errors import UnknownNameError
from headlight.vocabulary import (
    BORDER,
    CATEGORIES,
    IMAGE,
    KINDS,
    NEIGHBOURS,
    PATCH,
    REGISTER,
    ROLES,
    TEMPLATE,
    Kind,
)

GROUP = "headlight.statistics"
"""Group of entry points whose value is a `Statistic`."""

Unit = Literal["share", "nats", "tokens", "1"]
"""Unit of a share of rows or texts, of an entropy, of a distance; all else is a plain number."""

SELF_ATTENTION: tuple[Kind, ...] = ("encoder", "decoder")
"""Kinds of attention of a text to itself."""

MIN_ROWS = 5
"""Minimum number of rows of attention for heads to be ranked, and for findings."""

Where = Mapping[str, str | int]


class Text(NamedTuple):
    """Text that attends to itself: tokens, their words (-1 for special tokens), and categories."""

    tokens: Sequence[str]
    words: Sequence[int]
    categories: Sequence[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistic:
    """Statistic of a head.

    Attributes:
        name: Name by which heads are ranked (`headlight.heads`) and results are compared.
        short: Label where there is little room.
        target: Target of a share of a row; ``{unit}`` is a token or a frame of sound,
            ``{category}`` the name that the tokenizer has for the category.
        title: Label of a statistic that is no share of a row; else the label is *to* the target.
        help: Meaning of a number, as a sentence.
        unit: Unit of the numbers.
        variable: Variable in the result of a survey.
        labels: Labels of the row in the variable; by default its own place along ``behaviour``.
        rest: Variable of the same statistic without the first token; empty where there is none.
        per_measure: Number for each measure, instead of a single one.
        min_rows: Minimum number of rows of attention for a ranking of heads, or a finding.
        kinds: Kinds of attention that can have it.
        follows: Row that explains this row: where a head has that, this is no finding.
        about: Measure that the number is about, where it belongs to no measure.
        compares: Comparison of tokens, meaningless where tokens look alike.
        prominent: Place in the grid, in tables and among findings; other rows are only ranked,
            compared, and shown on the page of a head.
        also: Other names of the same statistic.
        source: Source of the definition.
        keys: Function that selects keys of a text, as booleans over query and key; the number is
            the mean over the queries that have such keys.
        words: Words of a class of words, in small letters.
        segment: Name of a segment of texts; a result without such texts has no row.
    """

    name: str
    short: str
    target: str = ""
    title: str = ""
    help: str = ""
    unit: Unit = "share"
    variable: str = "behaviour_share"
    labels: Where = field(default_factory=dict)
    rest: str = ""
    per_measure: bool = True
    min_rows: int = MIN_ROWS
    kinds: tuple[Kind, ...] = KINDS
    follows: str = ""
    about: str = ""
    compares: bool = False
    prominent: bool = False
    also: tuple[str, ...] = ()
    source: str = ""
    keys: Callable[[Text], Any] | None = None
    words: frozenset[str] = frozenset()
    segment: str = ""

    def __post_init__(self) -> None:
        # Behaviours are labelled by their names; a frozen dataclass is completed in this way only.
        if self.counted and not self.labels:
            object.__setattr__(self, "labels", {"behaviour": self.name})

    @property
    def label(self) -> str:
        """Return the label, in which unit and category are still to be filled in."""
        return self.title or f"to {self.target}"

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest possible number."""
        lowest = {"no_op": -1.0, "effective_correlation": -1.0, "sink_loss": float("-inf")}
        low = lowest.get(self.name, 0.0)
        high = 1.0 if self.unit == "share" or self.name == "effective_correlation" else float("inf")
        return low, high

    @property
    def rest_labels(self) -> Where:
        """Return the labels of the statistic in the variable without the first token."""
        return {"relative": self.labels["offset"]} if "offset" in self.labels else self.labels

    @property
    def category(self) -> str:
        """Return the category of the attended tokens; empty where there is none."""
        return str(self.labels.get("key_category", ""))

    @property
    def counted(self) -> bool:
        """Return whether a survey counts it along its axis ``behaviour``."""
        return self.variable == "behaviour_share"


_WORDS = """
    a an the this that these those each every either neither some any no all both half such
    another i you he she it we they me him her us them my your his its our their mine yours
    hers ours theirs myself yourself himself herself itself ourselves themselves who whom
    whose which what one none somebody someone something anybody anyone anything nobody
    nothing everybody everyone everything about above across after against along among
    around as at before behind below beneath beside between beyond by down during for from
    in inside into near of off on onto out outside over past since through throughout till
    to toward towards under until up upon with within without and but or nor so yet if
    unless although though because while whereas whether than when where why how am is are
    was were be been being do does did have has had having can could may might must shall
    should will would ought not there
"""
FUNCTION_WORDS = frozenset(_WORDS.split())
"""Function words of English: the closed classes."""

FIRST_TOKENS = ("first", "second", "third", "fourth")
"""Behaviours towards single tokens, by the place of the token."""

SEGMENT_TARGETS = {
    TEMPLATE: "the chat template",
    **{role: f"{role} messages" for role in ROLES},
    PATCH: "patches inside",
    BORDER: "patches at the border",
    REGISTER: "registers",
    IMAGE: "the picture beside a prompt",
}
"""Targets of a share of a row, by named segment."""

KEY_CLASSES = ("first", *CATEGORIES)
"""Classes of the keys of a decoder: the first token, and the other tokens by category."""

CLARK, GU, OLSSON = "Clark et al. (2019)", "Gu et al. (2024)", "Olsson et al. (2022)"
KOBAYASHI, BRUNNER = "Kobayashi et al. (2020)", "Brunner et al. (2020)"


def _to_category(name: str, short: str, target: str) -> Statistic:
    help = f"The share of a row that goes to {target.format(category='tokens of a kind')}."
    return _behaviour(
        name,
        short,
        target,
        help,
        variable="share",
        rest="",
        kinds=KINDS,
        labels={"key_category": name, "query_category": "all"},
        prominent=True,
        source=f"{CLARK}, Section 3.2",
    )


def _to_neighbour(
    name: str, short: str, target: str, kinds: tuple[Kind, ...] = SELF_ATTENTION
) -> Statistic:
    help = f"The share of a row that goes to {target.format(unit='token')}."
    return _behaviour(
        name,
        short,
        target,
        help,
        variable="neighbour",
        rest="relative_rest",
        labels={"offset": NEIGHBOURS[name]},
        kinds=kinds,
        prominent=True,
        source=f"{CLARK}, Section 3.1",
    )


def _behaviour(name: str, short: str, target: str, help: str, **more: Any) -> Statistic:
    about = {"rest": "behaviour_rest", "kinds": SELF_ATTENTION, **more}
    return Statistic(name=name, short=short, target=target, help=help, **about)


def _of_head(name: str, short: str, title: str, help: str, **more: Any) -> Statistic:
    about = {"variable": name, "unit": "1", "per_measure": False, "prominent": True, **more}
    return Statistic(name=name, short=short, title=title, help=help, **about)


_TABLE = (
    _behaviour("first", "first", "the first {unit}",
               "The share of a row that goes to the first token, a sink of heads that find nothing "
               "to attend to.",
               rest="", kinds=KINDS, follows="cls", prominent=True, also=("sink",), source=GU),
    _to_category("cls", "{category}", "{category}"),
    _to_category("sep", "{category}", "{category}"),
    _to_category("punctuation", "punct.", "punctuation"),
    _to_category("other", "other", "{category}"),
    _to_neighbour("previous", "prev.", "the previous {unit}"),
    _to_neighbour("current", "itself", "the {unit} itself"),
    _to_neighbour("next", "next", "the next {unit}", ("encoder",)),
    *(_behaviour(name, name, f"the {name} {{unit}}",
                 f"The share that goes to the {name} token, from the queries behind it.",
                 kinds=KINDS)
      for name in FIRST_TOKENS[1:]),
    _behaviour("duplicate", "duplicate", "earlier equal tokens",
               "The share that tokens which stood before give to their earlier places.",
               compares=True, prominent=True, source=OLSSON),
    _behaviour("induction", "induction", "what followed earlier equal tokens",
               "The share that tokens which stood before give to the tokens behind their earlier "
               "places: to what came next the last time.",
               compares=True, prominent=True, source=OLSSON),
    _behaviour("subword", "pieces", "earlier pieces of the word",
               "The share that later pieces of a word give to its earlier ones; a word is what "
               "stands between blanks.",
               follows="previous", compares=True, prominent=True, source=f"{CLARK}, Section 3"),
    _behaviour("function_words", "function words", "function words of English",
               "The share that goes to words of the closed classes, such as *the* and *of*.",
               compares=True, words=FUNCTION_WORDS),
    *(_behaviour(name, name, target,
                 f"The share of a row that goes to {target}, special tokens of it included.",
                 segment=name, follows="first" if name == TEMPLATE else "", prominent=True)
      for name, target in SEGMENT_TARGETS.items()),
    _behaviour("copy", "copy", "the next token, where it stood before",
               "The share of the queries whose next token stood before that give most to such a "
               "place.",
               compares=True, rest=""),
    _behaviour("copy_far", "copy from afar", "the next token, where it stood 1,000 tokens before",
               "The share of such queries that give most to a place at least 1,000 tokens before.",
               compares=True, rest=""),
    _behaviour("missing", "missing", "no token", "1 less the sum of a row of shares.",
               rest="", kinds=KINDS),
    _of_head("entropy", "entropy", "entropy",
             "The entropy of a row: n nats are an even spread over eⁿ tokens, 0 a single token.",
             unit="nats", labels={"query_category": "all"}, per_measure=True, also=("broad",),
             source=f"{CLARK}, Section 3.3"),
    _of_head("particular_tokens", "particular", "to particular tokens",
             "The divergence, in nats, of the attention that token types receive from their "
             "frequency in the corpus: 0 for a head that does not tell tokens apart.",
             unit="nats", variable="token_divergence", labels={"side": "key"}, per_measure=True,
             compares=True),
    _of_head("distance_mean", "distance", "mean distance",
             "The distance of the attended token, averaged by attention.",
             unit="tokens", rest="distance_mean_rest", per_measure=True, kinds=SELF_ATTENTION,
             prominent=False),
    _of_head("distance_std", "σ of distance", "standard deviation of the distance",
             "The standard deviation of the distance of attended tokens.",
             unit="tokens", rest="distance_std_rest", per_measure=True, kinds=SELF_ATTENTION,
             prominent=False),
    _of_head("sink_rate", "sink rate", "{texts} with a sink",
             "The share of the texts in which the first token gets more than 0.3.",
             unit="share", per_measure=True, prominent=False, source=GU),
    _of_head("no_op", "no-op", "weight less norm of the first token",
             "The share of the first token by weight less that by norm: attention that moves "
             "nothing.",
             unit="share", prominent=False),
    _of_head("value_drain", "value drain", "length of the first token's vector",
             "‖f(x)‖ of the first token, divided by that of the median token.",
             prominent=False, source=GU),
    _of_head("output_rank", "output rank", "effective rank of the output",
             "The number of directions in which the head's outputs lie, about: 1 where it writes "
             "one vector, times a number, to all tokens.",
             prominent=False),
    _of_head("sink_loss", "loss by sink", "loss without the value of the first token",
             "The change of the loss, in nats, where the head takes nothing from the first token "
             "and keeps its weights.",
             prominent=False),
    _of_head("unreached", "out of reach", "weight out of reach",
             "The share of the weight that cannot change the head's output: what effective "
             "attention lacks to 100%.",
             unit="share", variable="", about="effective", source=f"{BRUNNER}, Section 3"),
    _of_head("effective_correlation", "A⊥~α", "effective ~ weight",
             "Pearson's correlation of effective attention and weight: 1 where they are the same.",
             variable="effective_correlation_by_head", about="effective",
             source=f"{BRUNNER}, Figure 1"),
    _of_head("rank", "rank of T", "rank of T",
             "The number of dimensions of attention that the head's output can tell apart; in a "
             "longer text weight is out of reach.",
             about="effective", source=f"{BRUNNER}, Section 3.2"),
    _of_head("vector_norm_mean", "‖f(x)‖", "mean of ‖f(x)‖",
             "The length of the vector that the head would move from a token at weight 1, averaged "
             "over tokens.",
             source=f"{KOBAYASHI}, Section 3"),
    _of_head("vector_norm_cv", "CV‖f‖", "CV of ‖f(x)‖",
             "The standard deviation of the lengths ‖f(x)‖ over their mean: 0 where all tokens "
             "have vectors of one length.",
             source=f"{KOBAYASHI}, Table 1"),
    _of_head("vector_norm_std", "σ of ‖f(x)‖", "standard deviation of ‖f(x)‖",
             "The standard deviation of the lengths ‖f(x)‖.",
             prominent=False, source=f"{KOBAYASHI}, Table 1"),
    _of_head("gate", "gate", "gate",
             "The share of what a head computes that its gate lets through.", unit="share"),
    _of_head("gate_closed", "gate below 0.1", "gate below 0.1",
             "The share of the cases in which the gate lets nearly nothing through.",
             unit="share"),
)  # fmt: skip


@cache
def _rows() -> dict[str, Statistic]:
    ours = {row.name: row for row in _TABLE}
    return ours | rows_of_packages(GROUP, Statistic, ours)


def statistic_table() -> tuple[Statistic, ...]:
    """Return all rows, those of other packages last."""
    return tuple(_rows().values())


def statistic(name: str) -> Statistic:
    """Return the row of a name, or of another name of the same statistic.

    Raises:
        UnknownNameError: there is no row of that name.
    """
    also = {other: row.name for row in statistic_table() for other in row.also}
    rows = _rows()
    if also.get(name, name) not in rows:
        raise UnknownNameError("statistic of heads", name, (*rows, *also))
    return rows[also.get(name, name)]


def rows_of_others() -> list[str]:
    """Return the names of the rows that other packages have added."""
    ours = {row.name for row in _TABLE}
    return [name for name in _rows() if name not in ours]


def segment_rows() -> dict[str, str]:
    """Return the named segment of each row that has a segment."""
    return {row.name: row.segment for row in statistic_table() if row.segment}


def behaviours() -> tuple[str, ...]:
    """Return the names of the rows that a survey counts along its axis ``behaviour``, in order."""
    return tuple(row.name for row in statistic_table() if row.counted)
