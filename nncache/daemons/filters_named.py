"""Find filters in force by what an operator calls them."""

from collections.abc import Mapping
from typing import Final

from nncache.net.some_names import some_names

_NAMED: Final = 10
"""In the line that says which there are."""


class UnknownFilterError(Exception):
    """No such filter is in force; `str()` says which are."""


def globs_named(name: str, globs: Mapping[str, str], names: Mapping[str, str]) -> frozenset[str]:
    """Return the globs of the filters of this name, or of this glob; not empty.

    Args:
        name: as an operator gives it.
        globs: of the filters in force, by id.
        names: of these, by id; those that have one.

    Raises:
        UnknownFilterError: there is none.
    """
    chosen = frozenset(glob for id_, glob in globs.items() if name in {glob, names.get(id_)})
    if not chosen:
        known = sorted({names.get(id_, glob) for id_, glob in globs.items()})
        some = some_names(known, shown=_NAMED)
        raise UnknownFilterError(f"no filter {name!r} is in force; in force: {some or 'none'}")
    return chosen
