"""Whatever a registry answers to a command becomes one line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from nncache.commands import registry_client
from nncache.coordination.errors import ConnectionLostError
from nncache.errors import RegistryCommandError
from nncache.registry.errors import NoPathPermissionsError, PathNotFoundError
from nncache.registry.operations import Registry
from nncache.settings.commands import REGISTRY, load_settings


class Closed:
    """A registry of which this client may not see the root."""

    root = "/registry"

    async def exists(self, path: str) -> bool:
        """Refuse it."""
        raise NoPathPermissionsError(path, "refused")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PathNotFoundError("/x", "is not there"), "refused"),  # asked whether there is a registry at all
        (ConnectionLostError("gone"), "ZooKeeper here:2181 does not answer: gone"),
    ],
)
def test_what_fails_while_a_command_works_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    """No traceback, also where the look for the reason fails."""

    @asynccontextmanager
    async def opened(_: object) -> AsyncIterator[Registry]:
        yield cast("Any", Closed())

    async def work(_: Registry) -> None:
        raise error

    monkeypatch.setattr(registry_client, "OpenRegistry", opened)
    settings = load_settings(REGISTRY, None, {"zookeeper": ("here:2181",)})
    with pytest.raises(RegistryCommandError, match=line):
        registry_client.with_registry(settings, work)
