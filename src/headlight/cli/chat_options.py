"""Options of what is read: one text, two, or a chat in its place."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headlight.cli.output_files import out_help
from headlight.cli.setting_options import Options
from headlight.cli.text_arguments import chat_argument, text_argument
from headlight.errors import UsageError

if TYPE_CHECKING:
    from headlight.corpora import Chat

CHAT = "Chats"


@dataclass(frozen=True, kw_only=True)
class ChatOptions(Options):
    """Options of a chat that is read in the place of a text; each field is an option."""

    chat: Annotated[
        Path | None,
        typer.Option(
            help="Read messages in the place of a text: a JSON file with a list of them, or an "
            "object with messages; - for standard input.",
            rich_help_panel=CHAT,
        ),
    ] = None
    system: Annotated[
        str | None,
        typer.Option(
            help="The system message, in the place of the chat's own.", rich_help_panel=CHAT
        ),
    ] = None
    no_template: Annotated[
        bool,
        typer.Option(
            "--no-template",
            help="Read the messages one after the other, without the template of the model.",
            rich_help_panel=CHAT,
        ),
    ] = False

    def subject(self, text: str | None, command: str) -> "str | Chat | None":
        """Return the chat, or the text that is an argument.

        Args:
            text: Text as it was typed, if any.
            command: Name of the command, for a refusal.

        Raises:
            UsageError: both are named; there is no text in it; or the file is no chat.
        """
        if self.chat is None:
            if self.system is not None or self.no_template:
                raise UsageError("--system and --no-template are about a chat; name its --chat.")
            return None if text is None else text_argument(text, command)
        if text is not None:
            raise UsageError("a text and --chat are both to be read; leave one out.")
        return chat_argument(self.chat, system=self.system, template=not self.no_template)


NO_CHAT = ChatOptions()

Read = Annotated[str | None, typer.Argument(help="Text for the model; - for standard input.")]
SecondText = Annotated[
    str | None, typer.Argument(help="A second text: next segment, or the decoder's text.")
]
NumbersJson = Annotated[Path | None, typer.Option(help="Write every number as JSON.")]
NumbersOut = Annotated[Path | None, typer.Option(help=out_help("read"))]
"""Arguments and options of commands that read one text."""
