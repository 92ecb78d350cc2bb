"""docs/openapi.yaml, and the validation of replies against it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml
from openapi_schema_validator import OAS31Validator

from tests.house.tree import ROOT

FILE: Final = ROOT / "docs" / "openapi.yaml"
DOCUMENT: Final[Mapping[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))


def operations(tag: str) -> set[tuple[str, str]]:
    """Return the method and path of each operation with this tag."""
    return {
        (method.upper(), path)
        for path, item in DOCUMENT["paths"].items()
        for method in ("get", "post")
        if tag in item.get(method, {}).get("tags", ())
    }


def parameters(path: str, place: str) -> set[str]:
    """Return the names of GET's parameters in this place: query, header or path."""
    item = DOCUMENT["paths"][path]
    return {
        each["name"]
        for each in (*item.get("parameters", ()), *item["get"].get("parameters", ()))
        if each["in"] == place
    }


def wrongs(method: str, path: str, status: int, media_type: str, answer: object) -> list[str]:
    """Return the violations of the document by a reply; a key that no schema names is a violation, too."""
    responses = DOCUMENT["paths"][path][method.lower()]["responses"]
    if str(status) not in responses:
        return [f"{method} {path}: status {status}"]
    content = _resolved(responses[str(status)]).get("content", {})
    if media_type not in content:
        return [f"{method} {path}: {media_type} with status {status}"]
    return wrongs_of(content[media_type]["schema"], answer)


def wrongs_of(schema: Mapping[str, Any], value: object) -> list[str]:
    """Return the violations of a schema of the document by a value."""
    whole = {"components": _closed(DOCUMENT["components"]), **_closed(schema)}
    errors: Iterable[Any] = OAS31Validator(whole).iter_errors(value)
    return [f"{each.json_path}: {each.message[:300]}" for each in errors]


def _resolved(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in value:
        return value
    found: Any = DOCUMENT
    for key in re.split("/", value["$ref"].removeprefix("#/")):
        found = found[key]
    return dict(found)


def _closed(value: Any) -> Any:
    """Return the schema with all other keys forbidden."""
    if isinstance(value, list):
        return [_closed(each) for each in value]
    if not isinstance(value, dict):
        return value
    closed = {key: _closed(each) for key, each in value.items()}
    if value.get("type") == "object" and isinstance(value.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed
