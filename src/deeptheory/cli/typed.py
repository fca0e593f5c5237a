"""Reading what was typed.

Typer has every value of a command read by pydantic, given or not, and to load that takes a quarter of a lookup's time.
Words need no reading, nor does what was not given: only the rest is left to typer.
"""

from typing import Any

from typer import Context

__all__ = ["lightly"]


class AsTyped:
    """Takes words as they are; stands where typer keeps its own reader until that is needed."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if not several and not isinstance(value, str):
            return value  # nothing that was typed: a default
        wanted = param.type_descriptor
        if wanted.parameter_info.parser is None and wanted.annotation == (list[str] if several else str):
            return list(value) if several else value
        param._runtime_param = None  # typer makes its own then
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def lightly(group: Any) -> Any:
    """A group of commands, reading no more than they must; as they are where typer reads otherwise."""
    for command in (group, *group.commands.values()):
        for param in command.get_params(Context(command, **group.context_settings)):  # --help too
            if getattr(param, "_runtime_param", AsTyped) is None:
                param._runtime_param = AsTyped()
    return group
