"""Commands that are made when they are called, so that the program begins at once."""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from headlight.catalogue import Command


class Commands(Mapping[str, Any]):
    """The commands by name, each made when it is first asked for.

    Args:
        entries: all of them, in the order of the help.
        find: the entry of a name, if there is one, without a look at the others.
    """

    def __init__(
        self, entries: Callable[[], Mapping[str, Command]], find: Callable[[str], Command | None]
    ) -> None:
        self.entries = entries
        self._find = find
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            entry = self._find(name)
            if entry is None:
                raise KeyError(name)
            alone = typer.Typer(rich_markup_mode="rich")
            alone.callback()(lambda: None)  # or the program would be the command itself
            entry.add(alone)
            group: Any = typer.main.get_group(alone)
            self._made[name] = group.commands[name]
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries())

    def __len__(self) -> int:
        return len(self.entries())


def group_of(commands: Commands) -> type[TyperGroup]:
    """The class of a program that has these commands."""

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands: Any = commands

        def list_commands(self, ctx: Any) -> list[str]:
            return list(commands)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            """As of a program whose commands have no options, which this help does not show."""
            outline = copy(self)
            outline.commands = {
                each.name: TyperCommand(each.name, help=each.summary, rich_help_panel=each.panel)
                for each in commands.entries().values()
            }
            super(Group, outline).format_help(ctx, formatter)

    return Group
