"""Files are written and read through a few doors; who goes another way has a reason here.

A new line in these tables is a decision: whatever lies in a folder may be somebody else's, or be
made to do harm.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import headlight

SOURCE = Path(headlight.__file__).parent
OTHERS = sorted((Path(__file__).resolve().parent.parent / "packages").glob("*/src"))
MODULES = {
    path.relative_to(place).as_posix(): path
    for place in (SOURCE, *OTHERS)
    for path in place.rglob("*.py")
}
"""Of all packages, by name: of this one from within, as most of the tables have it."""

CHANGING = {
    "files.py": "the door",
    "output_folder.py": "removes what its record holds, and appends to it in stores",
    "engine/lock.py": "the lock of a run, which the operating system knows",
    "engine/blocks.py": "removes its own claims, and a checkpoint of no examples",
    "engine/claims.py": "removes claims of machines that are gone",
    "engine/pass_folders.py": "removes what bears the names of blocks, in a run's folder",
    "engine/folder.py": "marks a shared run, and tries a store",
    "engine/work_folders.py": "marks folders, and removes marked ones",
    "headlight_papers/papers/reproduction.py": "removes a folder in one with such a mark",
    "headlight_papers/studies/adversary/students.py": "models, in a folder with such a mark",
    "headlight_papers/studies/token_identity/extraction.py": "memory-mapped, in such a folder",
    "headlight_words/studies/parser_probes/word_map_store.py": "in a folder with a mark",
    "headlight_words/word_alignment/output.py": "a file that grows, and is named by the user",
    "headlight_words/links/aligners.py": "a temporary folder",
    "cli/guarded_terminal.py": "the device that swallows everything",
    "engine/workers.py": "logs in a temporary folder",
    "result/netcdf.py": "makes a file in memory",
}
"""Modules that change the disk by other means than the functions of `headlight.files`."""

WRITING = {
    "engine/kept_results.py": "the result, whose name the run has claimed",
    "engine/folder.py": "the mark of a run, whose name it has claimed",
    "engine/work_folders.py": "marked folders",
    "headlight_papers/classifiers/kept_files.py": "a folder with a mark",
    "headlight_words/cli/align.py": "a page that is named by the user",
    "cli/compare.py": "the result, whose name the run has claimed",
    "output_folder.py": "the door to a folder",
    "headlight_papers/papers/reproduction.py": "a folder with a mark",
    "headlight_papers/papers/exhibit_files.py": "pictures, whose names the exhibit has claimed",
    "reading/text_result.py": "a file that is named by the user",
    "reduce/tally.py": "a file that is named by the caller",
    "result/csv_files.py": "tables in a folder that is named by the user",
    "result/netcdf.py": "files that are named by the user",
    "engine/blocks.py": "a plan, whose name the run has claimed, and folders of blocks",
    "engine/pass_folders.py": "folders of passes, with a mark",
    "engine/checkpoint.py": "a checkpoint, whose name the run has claimed",
    "engine/passes.py": "makes the folder",
    "headlight_papers/training/json_cache.py": "a folder with a mark",
    "headlight_words/training/model_store.py": "a folder with a mark",
    "engine/workers.py": "a temporary folder",
    "engine/tensor_parallel.py": "a temporary folder",
    "headlight_papers/studies/guided/models.py": "a folder with a mark",
    "headlight_papers/studies/token_identity/extraction.py": "a folder with a mark",
    "headlight_words/studies/parser_probes/word_map_store.py": "a folder with a mark",
    "tensor_files.py": "a file that is named by the caller",
    "views/accessor.py": "a page that is named by the user",
    "views/pictures/picture_files.py": "files that are named by the user",
    "headlight_words/word_alignment/output.py": "the state beside a file that is named by the user",
}
"""Modules that write files by name; all else goes through `OutputFolder.write`."""

READING = {
    "files.py": "the door",
    "output_folder.py": "the record in a store",
    "result/netcdf.py": "from memory, once sizes have been added up",
    "capture/changed_weights.py": "weights, in a folder that `check_folder` has looked at",
    "capture/gguf_files.py": "weights, in a folder that `check_folder` has looked at",
    "corpora/archives.py": "members of an archive that is open",
    "corpora/compression.py": "streams that are open",
    "corpora/hub.py": "data sets of a hub",
    "corpora/pictures.py": "a stream that is open, once its size has been looked at",
    "encode/wav_files.py": "a stream that is open",
    "processes.py": "how large the process is, and a pipe of its own",
    "headlight_papers/studies/token_identity/extraction.py": "memory-mapped, once checked",
    "headlight_words/studies/parser_probes/word_map_store.py": "memory-mapped, in such a folder",
    "views/page_scripts.py": "scripts of the package",
    "views/template.py": "templates of the package",
}
"""Modules that read files by other means than the functions of `headlight.files`."""

_CHANGES = {"write_text", "write_bytes", "unlink", "rmdir", "mkdir", "makedirs", "touch", "rmtree",
            "symlink_to", "hardlink_to", "open_memmap", "save_pretrained", "pipe_file", "copytree",
            "copyfile", "to_netcdf", "rename_to"}  # fmt: skip
_WRITES = {"write_new", "make_folder", "save_tensors", "save_csv", "save_picture", "save_state"}
_READS = {"read_text", "read_bytes", "load_file", "safe_open", "read_gguf_metadata", "memmap",
          "load_dataset", "open_dataset", "ZipFile"}  # fmt: skip
_READS_OF = {"json.load", "np.load", "h5py.File", "pickle.load", "torch.load", "pd.read_csv"}
_OTHER_OPEN = {"brackets", "chosen", "webbrowser", "os", "pairs", "row", "translations",
               "two_texts"}  # fmt: skip
"""What has a function `open` that opens no file, or only with numbers for a mode, or a corpus."""


def calls(path: Path) -> Iterator[tuple[str, str, ast.Call]]:
    """Each call of a module: what is called, its last name, and the call."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            yield name, name.rpartition(".")[2], node


def mode(call: ast.Call) -> str | None:
    """The mode of a call of `open`; None if it opens no file."""
    words = [each.value for each in call.args if isinstance(each, ast.Constant)]
    return next((each for each in words if isinstance(each, str)), "r")


def opens(name: str, last: str) -> bool:
    return last == "open" and name.split(".")[0] not in _OTHER_OPEN


def changes(name: str, last: str, call: ast.Call) -> bool:
    """Whether a call changes the disk."""
    if opens(name, last):
        return bool({*"wxa+"} & {*(mode(call) or "")}) and "archive" not in name
    moves = last == "replace" and len(call.args) == 1 and not call.keywords and "." in name
    return last in _CHANGES or moves


def writes(name: str, last: str, call: ast.Call) -> bool:
    """Whether a call writes a file, or makes a folder, by its path."""
    plain = name in ("files.write", "write", "save") and len(call.args) + len(call.keywords) > 1
    return plain or last in _WRITES


def reads(name: str, last: str, call: ast.Call) -> bool:
    """Whether a call reads a file."""
    if opens(name, last):
        return name not in ("open", "_open", "self._open") and "r" in (mode(call) or "")
    return (
        (last in _READS and "." in name)
        or name in _READS_OF
        or last in ("load_file", "read_gguf_metadata")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "kind"), [(CHANGING, changes), (WRITING, writes), (READING, reads)]
)
def test_files_go_through_the_doors(table, kind) -> None:
    modules = {name for name, path in MODULES.items() if any(kind(*each) for each in calls(path))}
    others = "write through OutputFolder, read through headlight.files, or give a reason here"
    assert modules - table.keys() == set(), others
    assert table.keys() - modules == set(), "these have no reason left"


@pytest.mark.slow
def test_folders_of_users_are_opened_as_runs() -> None:
    """Who writes through the record of a folder has its lock, and was allowed to."""
    users = {
        name
        for name, path in MODULES.items()
        if any(last == "OutputFolder" for _, last, _ in calls(path))
    }
    assert users == {
        "engine/folder.py",
        # Within `reproduction_folder(...).opened()`:
        "headlight_papers/papers/exhibit_files.py",
        "headlight_papers/papers/paper_page.py",
        "reports/gallery.py",  # within `RunFolder(...).opened()`
    }
