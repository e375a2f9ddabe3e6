"""Page of the app, and the contents that it may load."""

from collections.abc import Iterable

from markupsafe import Markup

from headlight.views.page_scripts import joined_script
from headlight.views.template import render, script_hashes
from headlight.vocabulary import ROLES

APP_MODULES = ("frame", "app")


def app_page(  # noqa: PLR0913 - each shows or hides a field
    model: str,
    *,
    other: str | None = None,
    can: Iterable[str],
    decoder: bool,
    generates: bool,
    chats: bool = False,
    sees: bool = False,
    pictures: bool = False,
) -> str:
    """Return the page on which a text is typed; it holds nothing secret.

    Args:
        model: Name of the model.
        other: Name of the model that it can be compared with, if there is one.
        can: Functions that the view may ask for.
        decoder: Whether the second text is that of a decoder.
        generates: Whether the model can continue a text.
        chats: Whether the tokenizer has a template by which chats are read.
        sees: Whether the model reads pictures alone.
        pictures: Whether the model reads pictures at all.
    """
    script = Markup(joined_script(APP_MODULES))
    title = "Read a text"
    return render(
        "app.html",
        title=title,
        model=model,
        other=other,
        can=can,
        decoder=decoder,
        generates=generates,
        chats=chats,
        roles=ROLES,
        sees=sees,
        pictures=pictures,
        script=script,
    )


def app_policy(page: str) -> str:
    """Return the permissions of the page, as the value of a Content-Security-Policy.

    Its scripts and those of the view may run, which stands in a frame that the same rules hold for.
    """
    view = script_hashes(f"<script>\n{joined_script()}\n</script>")
    return (
        f"default-src 'none'; script-src {script_hashes(page)} {view}; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
