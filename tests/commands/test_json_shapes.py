"""The documented JSON is what the commands print."""

import json

import pytest

from nncache.commands.group import nncache
from nncache.commands.json_shapes import shapes
from nncache.commands.reference import leaves

EXAMPLES = {name: example for name, example, _ in shapes()}


def test_each_command_with_json_has_its_shape() -> None:
    """And no other."""
    with_json = {
        " ".join(words)
        for words, command in leaves(nncache, ())
        if any("--json" in each.opts for each in command.params)
    }
    assert set(EXAMPLES) == with_json


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_json(name: str) -> None:
    """One object or list, or one object a line."""
    example = EXAMPLES[name]
    for text in example.splitlines() if name.endswith("watch") else [example]:
        assert isinstance(json.loads(text), dict | list)
