"""Read `core-site.xml` and `hdfs-site.xml` as Hadoop's own daemons do.

Later resources override earlier ones, except values that are `final`; `${name}` and `${env.NAME}` refer to other
values; `xi:include` includes other files. Hadoop's `*-default.xml` are in its jars: callers must supply the defaults.
Source: org.apache.hadoop.conf.Configuration, 3.5.0; `tests/contracts/test_configuration.py` compares both.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

from nncache.hadoop.errors import HadoopError
from nncache.net.setting_error import SettingError

RESOURCES: Final = ("core-site.xml", "hdfs-site.xml")
"""The files of a configuration directory, in the order in which an HDFS daemon reads them."""

_MAX_SUBSTITUTIONS: Final = 20  # Configuration.MAX_SUBST
_MAX_INCLUDES: Final = 20  # nested; Hadoop's only limit is its stack
_REFERENCE: Final = re.compile(r"\$\{([^}$ ]+)\}")
_ENVIRONMENT: Final = re.compile(r"env\.([^:-]*)(?:(:?-)(.*))?", re.DOTALL)

# HdfsConfiguration.addDeprecatedKeys and Configuration's own: the keys that locate a NameNode.
_RENAMED: Final[Mapping[str, str]] = {
    "fs.default.name": "fs.defaultFS",
    "dfs.http.address": "dfs.namenode.http-address",
    "dfs.federation.nameservices": "dfs.nameservices",
    "dfs.federation.nameservice.id": "dfs.nameservice.id",
}


class BadConfigurationError(HadoopError):
    """A configuration file cannot be read; the message is one line with its name and the reason."""


@dataclass(frozen=True, slots=True)
class _Property:
    name: str
    value: str | None
    is_final: bool


class Configuration:
    """The values of a list of files."""

    def __init__(self, values: Mapping[str, str], environ: Mapping[str, str] = MappingProxyType({})) -> None:
        """Take the raw values of the files; `${env.NAME}` refers to `environ`."""
        self._values = values
        self._environ = environ

    @classmethod
    def read(cls, files: Iterable[Path], environ: Mapping[str, str]) -> "Configuration":
        """Read files; later ones have precedence. Missing files are skipped, as in Hadoop.

        Raises BadConfigurationError: a file is not a configuration, or includes a missing file.
        """
        values = dict[str, str]()
        final = set[str]()
        for file in files:
            if not is_there(file):
                continue
            for found in _properties(_parse(file), file, 0):
                name = _RENAMED.get(found.name, found.name)
                if found.value is not None and name not in final:
                    values[name] = found.value
                if found.is_final:
                    final.add(name)
        return cls(values, environ)

    def get(self, name: str) -> str | None:
        """Return a value with all references resolved and surrounding spaces removed; None if absent.

        A reference to a missing value stays unchanged, and so does a value that refers to itself.

        Raises SettingError: it needs more than _MAX_SUBSTITUTIONS substitutions.
        """
        value = self._values.get(_RENAMED.get(name, name))
        return None if value is None else self._filled_in(name, value).strip()

    def all_names(self) -> Collection[str]:
        """Return the names of all values."""
        return self._values.keys()

    def names(self, name: str) -> tuple[str, ...]:
        """Return the parts of a comma-separated value, each once; none if it is absent."""
        parts = (part.strip() for part in (self.get(name) or "").split(","))
        return tuple(dict.fromkeys(part for part in parts if part))

    def _filled_in(self, name: str, value: str) -> str:
        text = value
        for _ in range(_MAX_SUBSTITUTIONS):
            reference = _REFERENCE.search(text)
            if reference is None:
                return text
            instead = self._meant_by(reference[1])
            if instead is None:
                return text
            if reference[0] in instead:
                return value
            text = text[: reference.start()] + instead + text[reference.end() :]
        raise SettingError(name, value, f"must refer to other values at most {_MAX_SUBSTITUTIONS} times over")

    def _meant_by(self, reference: str) -> str | None:
        variable = _ENVIRONMENT.fullmatch(reference)
        if variable is not None and variable[1]:
            found = self._environ.get(variable[1])
            if variable[2] is not None and (found is None or (variable[2] == ":-" and not found)):
                return variable[3]
            if found is not None:
                return found
        return self._values.get(_RENAMED.get(reference, reference))


def is_there(file: Path) -> bool:
    """Return whether a file exists. One that may not be looked at counts as there: to read it says why."""
    try:
        return file.exists()
    except OSError:
        return True


def _parse(file: Path) -> ET.Element:
    try:
        root = ET.parse(file).getroot()  # noqa: S314 - the operator's own file; expat bounds what entities grow to
    except OSError as error:
        raise BadConfigurationError(f"{file}: {error.strerror or error}") from error
    except (ET.ParseError, ValueError) as error:
        raise BadConfigurationError(f"{file}: is not XML: {error}") from error
    for each in root.iter():  # Hadoop goes by local names: the namespace of an include may be any
        each.tag = each.tag.rpartition("}")[2]
    if root.tag != "configuration":
        raise BadConfigurationError(f"{file}: begins with <{root.tag}>; it must begin with <configuration>")
    return root


def _properties(element: ET.Element, file: Path, depth: int) -> Iterator[_Property]:
    for child in element:
        match child.tag:
            case "property":
                if (found := _property(child)) is not None:
                    yield found
            case "configuration":
                yield from _properties(child, file, depth)
            case "include":
                yield from _included(child, file, depth)
            case _:
                pass


def _property(element: ET.Element) -> _Property | None:
    """Parse a property, whose parts are elements or attributes; None if it has no name."""
    name, value, is_final = element.get("name"), element.get("value"), element.get("final") == "true"
    for part in element:
        match part.tag:
            case "name":
                name = (part.text or "").strip() or name
            case "value":
                value = part.text or value  # an empty element is ignored
            case "final":
                is_final = part.text == "true"
            case _:
                pass
    return None if name is None else _Property(name, value, is_final)


def _included(element: ET.Element, file: Path, depth: int) -> Iterator[_Property]:
    href = element.get("href")
    if href is None:
        return
    if depth >= _MAX_INCLUDES:
        raise BadConfigurationError(f"{file}: files include each other more than {_MAX_INCLUDES} deep")
    included = file.parent / (unquote(urlsplit(href).path) if href.startswith("file:") else href)
    if is_there(included):
        yield from _properties(_parse(included), included, depth + 1)
        return
    fallback = element.find("fallback")
    if fallback is None:
        raise BadConfigurationError(f"{file}: includes {href}, which is not there, and has no xi:fallback")
    yield from _properties(fallback, file, depth)
