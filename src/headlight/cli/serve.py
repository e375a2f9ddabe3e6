"""The command `serve`."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from headlight.cli.help import examples
from headlight.cli.model_options import LOAD, CompareModel, CompareRevision, LoadOptions
from headlight.cli.printing import say
from headlight.cli.setting_options import takes_settings
from headlight.errors import UsageError
from headlight.processes import lasting_imports

if TYPE_CHECKING:
    from headlight.capture import CapturedModel

SERVE_EXAMPLES = examples(
    ("headlight serve --open", "the embedded model"),
    ("headlight serve --model gpt2 --port 8700", "such as behind ssh -L 8700:localhost:8700"),
    "headlight serve --model ./my-model --max-tokens 1024",
    "headlight serve --model ./my-model --compare-model ./checkpoint-9000",
)


@takes_settings()
def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen at. Default: a free one.")
    ] = 0,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser.")
    ] = False,
    max_tokens: Annotated[int, typer.Option(min=1, help="Maximal tokens of a text.")] = 512,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            help="Allow other machines to reach the app, for a host that is not local.",
        ),
    ] = False,
    compare_model: CompareModel = None,
    compare_revision: CompareRevision = None,
    load: LoadOptions = LOAD,
) -> None:
    """Read texts in a browser: an app on this machine, with every head of what is typed."""
    _require_extra()
    compared = None
    if compare_model is not None or compare_revision is not None:
        compared = load.compared(compare_model, compare_revision)
    load.check()
    if compared is not None:
        compared.check()
    with lasting_imports():
        from headlight.serve.server import serve as run

    def models() -> "tuple[CapturedModel, CapturedModel | None]":
        # The page shows predictions as well, of a model that has a head for them.
        return load.load(head=None), None if compared is None else compared.load()

    run(
        models,
        host=host,
        port=port,
        allow_remote=allow_remote,
        longest=max_tokens,
        open_browser=open_browser,
        say=say,
    )


def _require_extra() -> None:
    """Refuse before the work if a library is missing."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"the app needs {' and '.join(missing)}; install what it needs with: "
            "pip install 'headlight-attention[serve]'"
        )
