"""Paths of the registry, below its root.

In a new entry's path every element is a host name label, as the registry's design demands. Entries of other clients can
be read and deleted whatever their names are: Hadoop's own client checks only what ZooKeeper checks
(`RegistryOperationsService.validatePath`, `PathUtils.validatePath` of ZooKeeper 3.8).
"""

import re
from typing import Final

from nncache.registry.errors import InvalidPathnameError
from nncache.registry.names import element_of_user, fault_of_label, fault_of_user

ROOT: Final = "/"
USERS: Final = "/users"
SERVICES: Final = "/services"
NET: Final = "/net"
COMPONENTS: Final = "components"

MAX_PATH_CHARACTERS: Final = 1024
"""Limit of a new entry's path: RFC 1035 limits a host name to 255, and a path has further elements."""

MAX_ELEMENTS: Final = 64
"""Limit of elements in a new entry's path, and of levels that are followed or searched: each takes further calls."""

TOO_DEEP: Final = f"has entries below it, which are not read: they are below {MAX_ELEMENTS} levels"

_UNREADABLE: Final = re.compile("[\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")  # ZooKeeper refuses these


def elements_of(path: str) -> tuple[str, ...]:
    """Return the elements of a path; an empty tuple for the root."""
    return tuple(element for element in path.split("/") if element)


def path_of(*elements: str) -> str:
    """Return the canonical path of these elements."""
    return f"/{'/'.join(elements)}"


def readable(path: str) -> str:
    """Return the canonical form of a path that ZooKeeper can hold.

    Raises InvalidPathnameError if ZooKeeper can hold no such path.
    """
    elements = elements_of(path)
    for element in elements:
        if element in {".", ".."}:
            raise InvalidPathnameError(
                path, f"the element {element!r} is relative; a path begins at the root"
            )
        if found := _UNREADABLE.search(element):
            raise InvalidPathnameError(path, f"the element {element!r} has the character {found[0]!r}")
    return path_of(*elements)


def fault_of(elements: tuple[str, ...]) -> str | None:
    """Return what is wrong with the elements of a path; None if each is a host name label, or a user's name."""
    for place, element in enumerate(elements):
        is_user = place == 1 and elements[0] == USERS[1:]
        fault = fault_of_user(element) if is_user else fault_of_label(element)
        if fault is not None:
            return fault
    return None


def writable(path: str) -> str:
    """Return the canonical form of a path at which an entry may be created.

    Raises InvalidPathnameError if an element is not a host name label, or the path is too long.
    """
    elements = elements_of(path)
    if fault := fault_of(elements):
        raise InvalidPathnameError(path, fault)
    whole = path_of(*elements)
    if len(whole) > MAX_PATH_CHARACTERS:
        raise InvalidPathnameError(
            path, f"has {len(whole)} characters; at most {MAX_PATH_CHARACTERS} are allowed"
        )
    if len(elements) > MAX_ELEMENTS:
        raise InvalidPathnameError(path, f"has {len(elements)} elements; at most {MAX_ELEMENTS} are allowed")
    return whole


def parent_of(path: str) -> str:
    """Return the parent's path; the root is its own parent."""
    return path_of(*elements_of(path)[:-1])


def below(path: str, *elements: str) -> str:
    """Return the path of these elements below a canonical path."""
    return "/".join(("" if path == ROOT else path, *elements))


def depth_of(path: str) -> int:
    """Return the number of elements of a canonical path."""
    return 0 if path == ROOT else path.count("/")


def in_order(path: str) -> str:
    """Return the sort key of a canonical path: an entry sorts before its descendants, and these before its siblings.

    The key replaces the slash by a null: it sorts before all characters of a name, and no ZooKeeper path contains one.
    """
    return "" if path == ROOT else path.replace("/", "\0")


def name_of(path: str) -> str:
    """Return the last element; empty for the root."""
    return "".join(elements_of(path)[-1:])


def is_below(path: str, top: str) -> bool:
    """Return whether a path equals another one or is below it; both are canonical."""
    return top in {ROOT, path} or path.startswith(f"{top}/")


def home_of(user: str) -> str:
    """Return the path of a user's home entry. Raises InvalidPathnameError if the user's name has no entry name."""
    return path_of(USERS[1:], element_of_user(user))


def service_path(name: str) -> str:
    """Return the path of a core service. Raises InvalidPathnameError."""
    return writable(f"{SERVICES}/{name}")
