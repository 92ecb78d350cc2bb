"""Writes parts of Hadoop's configuration files."""

from typing import Final

XI: Final = 'xmlns:xi="http://www.w3.org/2001/XInclude"'


def prop(name: str, value: str | None, *, is_final: bool = False) -> str:
    """Return a property; without a value element if the value is None."""
    value_element = "" if value is None else f"<value>{value}</value>"
    return f"<property><name>{name}</name>{value_element}{'<final>true</final>' * is_final}</property>"


def site(*parts: str) -> str:
    """Return a whole file."""
    return f"<configuration>{''.join(parts)}</configuration>"
