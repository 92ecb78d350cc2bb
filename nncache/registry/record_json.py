"""Encode and parse service records in Hadoop's JSON.

Source: `JsonSerDeser`, `ServiceRecord`, `Endpoint` and `RegistryTypeUtils.validateServiceRecord` of Hadoop 3.5.0, and
the behaviour of its Jackson; tests/registry/test_hadoop_client.py compares both. The differences concern only records
that Hadoop itself never writes:

- A number in an attribute keeps its text (1.50); Hadoop turns it into 1.5.
- `"external": null` is read as an empty list, and written as one.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NoReturn, TypeVar

from nncache.registry.errors import InvalidRecordError, NoRecordError
from nncache.registry.record import RECORD_TYPE, Address, Endpoint, ServiceRecord

_T = TypeVar("_T")

MAX_READ_BYTES: Final = 256 * 1024
"""Limit of a record's data; a larger record is not parsed, to keep the event loop free. Our own have a quarter."""

_MARKER: Final = RECORD_TYPE.encode()
_FIELDS: Final = frozenset({"type", "description", "external", "internal"})

_ESCAPED: Final = re.compile('["\\\\\0-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT: Final[Mapping[str, str]] = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}
_WHITESPACE: Final = " \t\n\r"


def encode_record(record: ServiceRecord) -> bytes:
    """Return a record's bytes: those of Hadoop, except that the attributes are sorted by name.

    Equal records have equal bytes.
    """
    members = [f'"type":"{RECORD_TYPE}"']
    if record.description is not None:
        members.append(f'"description":{_quoted(record.description)}')
    members.append(f'"external":{_list(map(_endpoint, record.external))}')
    members.append(f'"internal":{_list(map(_endpoint, record.internal))}')
    attributes = record.attributes
    members += (f"{_quoted(name)}:{_quoted(attributes[name])}" for name in sorted(attributes))
    return f"{{{','.join(members)}}}".encode()


def parse_record(path: str, data: bytes) -> ServiceRecord:
    """Return the record in an entry's data; `path` is for the error message.

    Raises:
        NoRecordError: the data hold no record; this is detected without parsing.
        InvalidRecordError: the record is broken, refused by Hadoop's own client as well, or too large.
    """
    if not data:
        raise NoRecordError(path, "the entry has no data")
    if _MARKER not in data:
        raise NoRecordError(path, f"the entry's data are no service record: {RECORD_TYPE} is not in them")
    if len(data) > MAX_READ_BYTES:
        raise InvalidRecordError(
            path, f"the record has {len(data)} bytes; it is not read, since more than {MAX_READ_BYTES} are"
        )
    try:
        document, _ = _DECODER.raw_decode(data.decode("utf-8", "replace").lstrip(_WHITESPACE))
        if isinstance(document, dict):
            return _Reading(path).record(document)
    except (ValueError, RecursionError) as exc:
        raise InvalidRecordError(path, f"the record is no JSON that can be read: {exc}") from exc
    raise InvalidRecordError(path, f"the record is {_kind(document)}, not a JSON object")


class _Number(str):
    """The text of a number."""

    __slots__ = ()


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


_DECODER: Final = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_no_number)


class _Reading:
    """Converts the parsed JSON document of one path."""

    def __init__(self, path: str) -> None:
        self._path = path

    def record(self, document: Mapping[str, Any]) -> ServiceRecord:
        kind = self._text_or_none(document.get("type", RECORD_TYPE), "type")
        if kind != RECORD_TYPE:
            raise self._fault(f"type is {kind!r}; it must be {RECORD_TYPE}")
        return ServiceRecord(
            description=self._text_or_none(document.get("description"), "description"),
            external=self._list(document.get("external"), "external", self._endpoint),
            internal=self._list(document.get("internal"), "internal", self._endpoint),
            attributes={
                name: self._attribute(value, name) for name, value in document.items() if name not in _FIELDS
            },
        )

    def _endpoint(self, value: object, where: str) -> Endpoint:
        if not isinstance(value, dict):
            raise self._fault(f"{where} is {_kind(value)}; an endpoint is a JSON object")
        if value.get("addresses") is None:
            raise self._fault(f"{where} has no addresses; it must be a list, which may be empty")
        return Endpoint(
            api=self._text(value.get("api"), f"{where}.api"),
            protocol=self._text(value.get("protocolType"), f"{where}.protocolType"),
            address_type=self._text(value.get("addressType"), f"{where}.addressType"),
            addresses=self._list(value["addresses"], f"{where}.addresses", self._address),
        )

    def _address(self, value: object, where: str) -> Address:
        if not isinstance(value, dict):
            raise self._fault(f"{where} is {_kind(value)}; an address is a JSON object of strings")
        return {
            name: part if type(part) is str else self._text_or_none(part, f"{where}.{name}")
            for name, part in value.items()
        }

    def _list(self, value: object, where: str, read: Callable[[object, str], _T]) -> tuple[_T, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._fault(f"{where} is {_kind(value)}, not a list")
        return tuple(read(item, f"{where}[{place}]") for place, item in enumerate(value))

    def _text(self, value: object, where: str) -> str:
        text = self._text_or_none(value, where)
        if text is None:
            raise self._fault(f"{where} is missing; it must be a string")
        return text

    def _text_or_none(self, value: object, where: str) -> str | None:
        if value is None:
            return None
        if isinstance(value, dict | list):
            raise self._fault(f"{where} is {_kind(value)}, not a string")
        return _as_java(value)

    def _attribute(self, value: object, where: str) -> str:
        if value is None:
            raise self._fault(f"the attribute {where!r} is null; it must be a string")
        return _as_java(value)

    def _fault(self, what: str) -> InvalidRecordError:
        return InvalidRecordError(self._path, what)


def _as_java(value: object) -> str:
    """Return Java's text of a JSON value (Object.toString of the object that Jackson reads)."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"{{{', '.join(f'{name}={_as_java(part)}' for name, part in value.items())}}}"
        case list():
            return f"[{', '.join(map(_as_java, value))}]"
        case _:
            return str(value)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case dict():
            return "a JSON object"
        case list():
            return "a list"
        case bool():
            return "a boolean"
        case _Number():
            return "a number"
        case _:
            return "a string"


def _endpoint(endpoint: Endpoint) -> str:
    return (
        f'{{"api":{_quoted(endpoint.api)},"addressType":{_quoted(endpoint.address_type)},'
        f'"protocolType":{_quoted(endpoint.protocol)},"addresses":{_list(map(_address, endpoint.addresses))}}}'
    )


def _address(address: Address) -> str:
    members = (
        f"{_quoted(name)}:{'null' if value is None else _quoted(value)}" for name, value in address.items()
    )
    return f"{{{','.join(members)}}}"


def _list(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{encoded[at]:02X}{encoded[at + 1]:02X}" for at in range(0, len(encoded), 2))
