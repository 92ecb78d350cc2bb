"""Try one call with `doas`, to check that this service may impersonate users at a NameNode.

The call changes nothing: it asks for the home directory of a user, who need not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from nncache.hadoop import conf_page
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.namenode_web import NameNodeWeb
from nncache.hadoop.proxy_users import is_about_hosts, whom_to_try
from nncache.hadoop.remote_exception import parse_remote_exception
from nncache.hadoop.unreadable_json import UNREADABLE_JSON

_HOME: Final = f"{PREFIX}/?op=GETHOMEDIRECTORY"


class _Home(msgspec.Struct, frozen=True, rename="pascal"):
    path: str


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of the trial."""

    name: str  # the NameNode's short name for this service
    user: str  # the user whom it tried to impersonate
    refusal: str  # the NameNode's message; "" if impersonation is allowed
    # True: a refusal applies to every user, or to all that the rules name. False: other users may be allowed.
    is_proof: bool

    @property
    def to_do(self) -> str:
        """The advice: the settings that allow impersonation."""
        key = f"hadoop.proxyuser.{self.name}"
        return (
            f"set {key}.hosts to this host, and {key}.groups or .users to whom the clients are, in core-site.xml of "
            "the NameNodes, and run hdfs dfsadmin -refreshSuperUserGroupsConfiguration"
        )


async def try_doas(session: aiohttp.ClientSession, address: str, web: NameNodeWeb) -> Trial | None:
    """Run the trial over a session that logs in; None: the NameNode's answers do not decide it.

    Raises aiohttp.ClientError, OSError: the NameNode does not answer; KerberosError: the login fails.
    """
    base = web.url(address)
    own = _home_of(await _got(session, base + _HOME, web))
    if own is None:
        return None
    status, body = await _got(session, base + conf_page.TARGET, web)
    values: Mapping[str, str] | None = conf_page.parse_conf(body) if status == HTTPStatus.OK else None
    user, is_proof = whom_to_try(own, values)
    status, body = await _got(session, f"{base}{_HOME}&doas={quote(user, safe='')}", web)
    if status == HTTPStatus.OK:
        return Trial(own, user, "", is_proof)
    remote = parse_remote_exception(body)
    if status != HTTPStatus.FORBIDDEN or remote is None:
        return None
    return Trial(own, user, remote.message, is_proof or is_about_hosts(remote.message))


async def _got(session: aiohttp.ClientSession, url: str, web: NameNodeWeb) -> tuple[int, bytes]:
    async with session.get(
        URL(url, encoded=True), allow_redirects=False, ssl=web.ssl, headers={"Accept": "application/json"}
    ) as reply:
        return reply.status, await reply.read()


def _home_of(got: tuple[int, bytes]) -> str | None:
    """Return the last name of a home directory, which is its user's name; None if the reply has none."""
    status, body = got
    if status != HTTPStatus.OK:
        return None
    try:
        return msgspec.json.decode(body, type=_Home).path.rpartition("/")[2] or None
    except UNREADABLE_JSON:
        return None
