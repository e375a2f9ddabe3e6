"""Compare the size of the source with budget.toml, whose entries are a ratchet.

    python scripts/budget.py                    # list the entries that do not hold
    python scripts/budget.py --lower            # lower entries to the counts of today
    python scripts/budget.py --raise "BECAUSE"  # raise entries; the sentence names what was removed

An entry fails if the count is above it, and if it is 3% below, at least 1, until it is lowered.
Names of the root, commands, options and variables are counted where tests compare them with the
code: in the rows of studies, docs/command-line.md and docs/results.md.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from headlight.catalogue import behaviours
from headlight.settings.flow import METHODS, LayerMapName
from headlight.vocabulary import CATEGORIES, NEIGHBOURS, measure_table

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "budget.toml"
CORE = "src/headlight"
SOURCES = (CORE, "packages/papers/src/headlight_papers")
SHORTEST, LONGEST = 60, 450
"""Lines of a module."""
SLACK = 0.03
COMMAND_LINE = ROOT / "docs" / "command-line.md"
RESULTS = ROOT / "docs" / "results.md"
BEGINS = re.compile(r"(How|Of|That|The same|Those|What|When|Where|Which|Who|Whose|Why)\b")
"""How no docstring should begin: it says what is returned or done."""
VAGUE = frozenset(
    {"asked", "done", "found", "given", "heard", "kept", "known", "left"}
    | {"looked", "made", "said", "seen", "shown", "taken", "there", "told"}
)
"""Names that say how a value came about instead of what it is."""

COUNTED = (
    ast.ClassDef, ast.Expr, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension,
    ast.withitem, ast.Dict, ast.Tuple, ast.List, ast.Set,
)  # fmt: skip
"""The parts of a syntax tree that are counted."""


@dataclass(frozen=True)
class Module:
    """The counts of one module.

    Attributes:
        path: relative to the root.
        lines: of the file.
        dialect: docstrings that begin, and variables that are called, as none should.
        listed_rows: literals that name rows, by table.
        settings_fields: that its classes of settings declare.
        root_names: that it gives to the root: names that are looked up, or a study.
    """

    path: str
    lines: int
    dialect: Counter[str]
    listed_rows: Counter[str]
    settings_fields: int
    root_names: int

    @classmethod
    def read(cls, path: str) -> "Module":
        """Return the counts of a file."""
        text = (ROOT / path).read_text("utf-8")
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, COUNTED)]
        return cls(
            path,
            len(text.splitlines()),
            Counter(
                docstrings=sum(map(begins_badly, nodes)),
                vague_names=sum(name in VAGUE for node in nodes for name in assigned(node)),
            ),
            listed_rows(path, nodes),
            sum(map(settings_fields, nodes)),
            sum(map(root_names, nodes)),
        )

    @property
    def package(self) -> str:
        """The package that pays for it: ``views``, or ``headlight_papers.studies``."""
        source = next(each for each in SOURCES if self.path.startswith(f"{each}/"))
        first, _, rest = self.path.removeprefix(f"{source}/").partition("/")
        name = first if rest else "root"
        return name if source == CORE else f"{source.rpartition('/')[2]}.{name}"

    @property
    def is_exception(self) -> bool:
        """Whether it is shorter or longer than a module should be."""
        if self.lines < SHORTEST:
            return not self.path.endswith(("/__init__.py", "/__main__.py"))
        return self.lines > LONGEST


@cache
def modules() -> dict[str, Module]:
    """Return the modules of all sources by path."""
    paths = sorted(path for source in SOURCES for path in (ROOT / source).rglob("*.py"))
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    return {name: Module.read(name) for name in names}


def counts() -> dict[str, dict[str, int]]:
    """Return the counts of today by table and entry, as budget.toml has them."""
    packages: dict[str, Counter[str]] = {}
    for module in modules().values():
        row = packages.setdefault(f"packages.{module.package}", Counter())
        row.update({"modules": 1, "lines": module.lines} | module.dialect)
    literals = {f"literals.{path}": each.listed_rows for path, each in modules().items()}
    return {"whole": whole(), **packages, **{name: row for name, row in literals.items() if row}}


def whole() -> dict[str, int]:
    """Return how many names, commands, options, settings and variables there are."""
    options = COMMAND_LINE.read_text("utf-8")
    rows = "\n".join(re.findall(r"^\| `-.*?` \|", options, re.MULTILINE))
    return {
        "root_names": sum(module.root_names for module in modules().values()),
        "commands": len(re.findall(r"^##+ `headlight ", options, re.MULTILINE)),
        "options": len(set(re.findall(r"--[a-z0-9-]+", rows))),
        "settings_fields": sum(module.settings_fields for module in modules().values()),
        "variables": sum(map(len, variables().values())),
    }


def variables() -> dict[str, list[str]]:
    """Return the variables of the results of each study."""
    tables = re.findall(
        r"<!-- variables: (\w+) -->(.*?)<!-- end -->", RESULTS.read_text(), re.DOTALL
    )
    return {study: re.findall(r"^\| `(\w+)`", rows, re.MULTILINE) for study, rows in tables}


def root_names(node: ast.AST) -> int:
    """Return the number of names of the root that an assignment declares."""
    match node:
        case ast.Assign(targets=[ast.Name("_HOMES")], value=ast.Dict(keys)):
            return len(keys)
        case ast.Assign(targets=[ast.Name("STUDY")]):
            return 1
    return 0


def settings_fields(node: ast.AST) -> int:
    """Return the number of fields that a class of settings declares; 0 for anything else.

    Class variables, such as the title of a paper, are no fields: nobody sets them.
    """
    if not isinstance(node, ast.ClassDef):
        return 0
    bases = [ast.unparse(each).rpartition(".")[2] for each in node.bases]
    if not any(base.endswith("Settings") for base in bases):
        return 0
    return sum(
        isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each.annotation)
        for each in node.body
    )


def begins_badly(node: ast.AST) -> bool:
    """Return whether a docstring, also of a constant, begins as `BEGINS` says."""
    match node:
        case ast.Expr(ast.Constant(str(text))):
            return bool(BEGINS.match(text.lstrip()))
    return False


def assigned(node: Any) -> list[str]:
    """Return the names that a statement, a loop or a ``with`` gives a value to."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension)):
        targets = [node.target]
    elif isinstance(node, ast.withitem) and node.optional_vars:
        targets = [node.optional_vars]
    else:
        return []
    return [
        each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
    ]


# ---------------------------------------------------------------- literals


@cache
def tables() -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
    """Return the rows of each table, and where literals may list them."""
    names = {
        "behaviours": (behaviours(), "catalogue/statistics.py"),
        "categories": (CATEGORIES, "vocabulary.py"),
        "measures": ((row.name for row in measure_table()), "vocabulary.py"),
        "methods": ((*METHODS, *get_args(LayerMapName)), "settings/flow.py"),
        "neighbours": (NEIGHBOURS, "vocabulary.py"),
        "statistics": (variables()["survey"], "studies/survey/", "catalogue/statistics.py"),
    }
    return {
        table: (frozenset(rows), tuple(f"{CORE}/{home}" for home in homes))
        for table, (rows, *homes) in names.items()
    }


def listed_rows(path: str, nodes: Sequence[ast.AST]) -> Counter[str]:
    """Return how many literals of a module name four rows of a table, or all of a smaller one."""
    literals = [names for node in nodes if len(names := named(node)) > 2]
    return Counter(
        table
        for table, (rows, homes) in tables().items()
        if not path.startswith(homes)
        for names in literals
        if len(names & rows) >= min(4, len(rows))
    )


def named(node: ast.AST) -> set[str]:
    """Return the strings of a tuple, list, set, ``Literal`` or dict, or of its items the first."""
    if isinstance(node, ast.Dict):
        return {first_string(key) for key in node.keys if key} - {""}
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return {first_string(item) for item in node.elts} - {""}
    return set()


def first_string(node: ast.AST) -> str:
    """Return a string, the first of a row, or what a call is given first or as its name."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, (ast.Tuple, ast.List)) and node.elts:
        return first_string(node.elts[0])
    if isinstance(node, ast.Call):
        names = [each.value for each in node.keywords if each.arg == "name"]
        return first_string((*node.args[:1], *names)[0]) if (*node.args[:1], *names) else ""
    return ""


# ---------------------------------------------------------------- the budget


def entries(budget: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the entries of a budget by table, as `counts` returns those of today."""
    nested = {
        f"{kind}.{name}": row
        for kind in ("packages", "literals")
        for name, row in budget[kind].items()
    }
    return {"whole": budget["whole"], **nested}


def problems(budget: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each entry and each module that does not hold."""
    return [*_problems_of_counts(budget), *_problems_of_modules(budget)]


def _problems_of_counts(budget: Mapping[str, Any]) -> Iterator[str]:
    today, allowed = counts(), entries(budget)
    for table in sorted(today.keys() | allowed.keys()):
        now, most = today.get(table, {}), allowed.get(table, {})
        for name in sorted(now.keys() | most.keys()):
            count, entry = now.get(name, 0), most.get(name, 0)
            if count > entry:
                yield (
                    f"{table}: {count} {name}, and the budget is {entry}; remove something, or "
                    'raise the entry with scripts/budget.py --raise "BECAUSE".'
                )
            elif count <= entry - max(1, int(SLACK * entry)):
                yield (
                    f"{table}: {count} {name}, and the budget is {entry}; run "
                    "scripts/budget.py --lower."
                )


def _problems_of_modules(budget: Mapping[str, Any]) -> Iterator[str]:
    listed = {path for group in budget["exceptions"].values() for path in group["modules"]}
    exceptions = {path: module for path, module in modules().items() if module.is_exception}
    for path in sorted(exceptions.keys() - listed):
        yield (
            f"{path} has {exceptions[path].lines} lines; a module has {SHORTEST} to {LONGEST}: "
            "merge it with what uses it, or split it by subject."
        )
    for path in sorted(listed - exceptions.keys()):
        yield f"{path} is no exception any more; run scripts/budget.py --lower."


def raised(budget: Mapping[str, Any]) -> list[str]:
    """Return the tables with an entry above its lowest in an earlier commit, or that none has."""
    earlier = [entries(each) for each in committed()]
    if not earlier:
        return []
    return [
        table
        for table, row in entries(budget).items()
        for name, entry in row.items()
        if entry > min(each.get(table, {}).get(name, 0) for each in earlier)
    ]


def committed() -> list[dict[str, Any]]:
    """Return the budgets of the last 50 commits that changed it; none where there is no git."""
    git = ["git", "-C", str(ROOT)]
    try:
        log = subprocess.run(
            [*git, "log", "-50", "--format=%H", "--", BUDGET.name], capture_output=True, text=True
        ).stdout.split()
        texts = [
            subprocess.run(
                [*git, "show", f"{each}:{BUDGET.name}"], capture_output=True, text=True
            ).stdout
            for each in log
        ]
    except OSError:
        return []
    return [load(text) for text in texts if text]


def unexplained(budget: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each entry that was raised without saying why, and each idle reason."""
    because: Mapping[str, str] = budget["because"]
    return [
        f"{table} was raised: say in [because] what was removed for it."
        for table in dict.fromkeys(raised(budget))
        if len(because.get(table, "")) < 20
    ] + [
        f"[because] explains {table}, which has no entry."
        for table in because
        if table not in entries(budget)
    ]


def load(text: str | None = None) -> dict[str, Any]:
    """Return the budget of the file, or of a text."""
    empty = {table: {} for table in ("whole", "packages", "literals", "exceptions", "because")}
    return empty | tomllib.loads(BUDGET.read_text("utf-8") if text is None else text)


def changed(budget: Mapping[str, Any], because: str | None = None) -> dict[str, Any]:
    """Return the budget lowered to today's counts; with a reason, raised to them as well."""
    today, allowed = counts(), entries(budget)
    reasons = {table: why for table, why in budget["because"].items() if table in today}
    result: dict[str, Any] = {"whole": {}, "packages": {}, "literals": {}}
    for table, row in today.items():
        most = allowed.get(table, {})
        if because and any(count > most.get(name, 0) for name, count in row.items()):
            reasons[table] = because
        else:
            row = {name: min(count, most[name]) for name, count in row.items() if name in most}
        kind, _, name = table.partition(".")
        result[kind].update({name: row} if name else row)
    result["exceptions"] = {
        name: {**group, "modules": [each for each in group["modules"] if _is_exception(each)]}
        for name, group in budget["exceptions"].items()
    }
    return {**result, "because": reasons}


def _is_exception(path: str) -> bool:
    return path in modules() and modules()[path].is_exception


def written(budget: Mapping[str, Any]) -> str:
    """Return a budget as the text of its file."""
    text = [
        "# How large Headlight may be; scripts/budget.py counts, and explains what an entry is.\n"
        "# Raising an entry takes a sentence in [because] that names what was removed for it.\n",
        "[whole]",
        *(f"{name} = {count}" for name, count in budget["whole"].items()),
        "\n# docstrings: that begin with What, Of, Those, ...; vague_names: found, there, ...",
        "[packages]",
        *(f"{_key(name)} = {_row(row)}" for name, row in sorted(budget["packages"].items())),
        "\n# Literals that name four rows of a table, or all of a smaller one, outside its module.",
        "[literals]",
        *(f"{_key(name)} = {_row(row)}" for name, row in sorted(budget["literals"].items()) if row),
        f"\n# Modules of less than {SHORTEST} or more than {LONGEST} lines.",
    ]
    for name, group in budget["exceptions"].items():
        if group["modules"]:
            listed = [f"  {json.dumps(each)}," for each in group["modules"]]
            why = f"why = {json.dumps(group['why'], ensure_ascii=False)}"
            text += [f"[exceptions.{name}]", why, "modules = [", *listed, "]\n"]
    reasons = budget["because"].items()
    text += [
        "[because]",
        *(f"{json.dumps(name)} = {json.dumps(why, ensure_ascii=False)}" for name, why in reasons),
    ]
    return "\n".join(text) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _row(row: Mapping[str, int]) -> str:
    return "{ " + ", ".join(f"{name} = {count}" for name, count in row.items()) + " }"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lower", action="store_true", help="lower entries to today's counts")
    parser.add_argument("--raise", dest="because", help="raise entries, for this reason")
    arguments = parser.parse_args()
    if arguments.lower or arguments.because:
        BUDGET.write_text(written(changed(load(), arguments.because)), encoding="utf-8")
    budget = load()
    for sentence in (sentences := [*problems(budget), *unexplained(budget)]):
        print(sentence)
    return int(bool(sentences))


if __name__ == "__main__":
    sys.exit(main())
