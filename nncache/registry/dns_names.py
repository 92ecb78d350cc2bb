"""What an entry and an API are called in DNS.

Sources: RFC 1035 for names, RFC 2782 for `_service._protocol`; `BaseServiceRecordProcessor` of Hadoop 3.5.0, whose
RegistryDNS calls an instance INSTANCE.USER.DOMAIN, and `ContainerServiceRecordProcessor` for containers.
"""

import re
from typing import Final, TypeAlias

from nncache.registry import paths
from nncache.registry.daemon_record import ADMIN_API, WEBHDFS_API
from nncache.registry.names import MAX_LABEL_BYTES, fault_of_label
from nncache.registry.targets import METRICS_API

Labels: TypeAlias = tuple[bytes, ...]
"""A name below the domain that is served, lower case, the last label next to the domain."""

TCP: Final = "_tcp"

LABELS: Final = {WEBHDFS_API: "_webhdfs", METRICS_API: "_prometheus", ADMIN_API: "_nncache-admin"}
"""By API: the label before _tcp. The others follow from the API itself."""

_CLASSPATH: Final = "classpath:"
_OF_YARN: Final = "classpath:org.apache.hadoop.yarn.service."
_SCHEMES: Final = ("http://", "https://")
_CONTAINER: Final = re.compile(rb"ctr-(?:e[0-9]+-)?[0-9]+-[0-9]+-[0-9]+-[0-9]+")
_NO_LABEL: Final = re.compile(r"[^a-z0-9]+")

_USERS: Final = paths.name_of(paths.USERS)
_SERVICES: Final = paths.name_of(paths.SERVICES)
_TOPS: Final = frozenset(map(paths.name_of, (paths.USERS, paths.SERVICES, paths.NET)))
"""Users of these names have no short name: it would be one of entries that are not theirs."""


def below(name: Labels, *labels: str) -> Labels:
    """Return a name below another one."""
    return (*(label.encode() for label in labels), *name)


def names_of(path: str) -> tuple[Labels, ...]:
    """Return the names of an entry, the one that each entry has first; none if an element of its path is no label.

    That is all elements of its path, from the last to the first. Instances and components of users have another one,
    without what is the same in all of them: INSTANCE.USER and COMPONENT.INSTANCE.USER.
    """
    elements = paths.elements_of(path)
    if not elements or paths.fault_of(elements):
        return ()
    whole = below((), *reversed(elements))
    short = _short_name(elements)
    return (whole,) if short is None else (whole, short)


def container_names_of(path: str, description: str, component: str) -> tuple[Labels, ...]:
    """Return the names that Hadoop's RegistryDNS gives a container of a user's service, the container's own first.

    That are DESCRIPTION.SERVICE.USER, COMPONENT.SERVICE.USER, which all containers of a component have, and the id of
    the container alone, as YARN writes it: no other entry of a user has a name right below the domain.
    """
    short = _short_name(paths.elements_of(path))
    if short is None or len(short) != len(("container", "service", "user")):
        return ()
    labels = (each for each in (description.lower(), component.lower()) if fault_of_label(each) is None)
    id_ = (short[:1],) if _CONTAINER.fullmatch(short[0]) else ()
    return (*(below(short[1:], label) for label in labels), *id_)


def service_of(path: str) -> str:
    """Return the path of what a component is a part of; of any other entry, its own."""
    elements = paths.elements_of(path)
    if elements[-2:-1] == (paths.COMPONENTS,) and elements[:-2]:
        return paths.path_of(*elements[:-2])
    return path


def label_of(api: str) -> str | None:
    """Return the label before _tcp for an API; None if it has nothing of which a label could be made."""
    known = LABELS.get(api)
    if known is not None:
        return known
    for scheme in _SCHEMES:
        if api.startswith(scheme):
            return f"_{scheme.partition(':')[0]}"  # as Hadoop's own, whatever follows
    words = api.removeprefix(_OF_YARN).removeprefix(_CLASSPATH)
    label = _NO_LABEL.sub("-", words.lower()).strip("-")
    return f"_{label}" if 0 < len(label) < MAX_LABEL_BYTES else None


def _short_name(elements: tuple[str, ...]) -> Labels | None:
    match elements:
        case (first, user, *rest) if first == _USERS and user not in _TOPS:
            if rest[:1] == [_SERVICES]:
                rest = rest[1:]  # as Hadoop's `RegistryUtils` has it
            match rest:
                case [_, instance]:
                    return below((), instance, user)
                case [_, instance, paths.COMPONENTS, component]:
                    return below((), component, instance, user)
    return None
