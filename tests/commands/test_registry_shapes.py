"""Examples of the registry's JSON: what its commands print."""

import json

from nncache.commands.registry_shapes import registry_shapes


def test_a_watch_ends_a_gap_with_current() -> None:
    """Each line says which change it is."""
    examples = {name: example for name, example, _ in registry_shapes()}
    changes = [json.loads(line)["change"] for line in examples["registry watch"].splitlines()]
    assert changes == ["present", "current", "removed", "gap"]
