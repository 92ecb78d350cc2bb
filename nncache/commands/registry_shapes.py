"""What the commands about the registry print with --json, as examples."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from nncache.commands import registry_view
from nncache.commands.proxies_view import READY, Found
from nncache.commands.proxies_view import lines as proxy_lines
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.reaping import Reaped, Reaping, Stays
from nncache.registry.record import Endpoint, Entry, EntryStatus, ServiceRecord
from nncache.registry.tree_watch import Current, Gap, Present, Removed

_URL: Final = "http://proxy7:9871/webhdfs/v1"
_PATH: Final = "/services/nncache/proxy7-9871"
_STATUS: Final = EntryStatus(path=_PATH, time_ms=1_795_298_171_446, size_bytes=203, children=0, version=1)
_WEBHDFS: Final = Endpoint(api="webhdfs", protocol="REST", address_type="uri", addresses=({"uri": _URL},))
_RECORD: Final = ServiceRecord(description="nncache proxy", external=(_WEBHDFS,))


def registry_shapes() -> Iterator[tuple[str, str, str]]:
    """Yield for each command its name, an example, and what is to be known of it."""
    yield "registry ls", _text(registry_view.statuses([_STATUS], as_json=True)), "Entries, sorted by path."
    query = EndpointQuery.parse("api=webhdfs")
    found = registry_view.found([Entry(_STATUS, _RECORD)], query, as_json=True)
    yield "registry find", _text(found), "Records with an endpoint that matches, sorted by path."
    changes = (Present(_STATUS, _RECORD), Current(), Removed(_PATH), Gap("the session has ended"))
    yield (
        "registry watch",
        "\n".join(registry_view.change(each, as_json=True) for each in changes),
        "One object a line. After a gap everything is printed again, up to `current`.",
    )
    yield (
        "registry check",
        json.dumps({_PATH: ["its ACL lets anyone write"]}, indent=2),
        "What is wrong, by path; nothing wrong is an empty object.",
    )
    reaping = Reaping(
        gone=(Reaped("/users/joe/web/a", "application_1408631738011_0028 is FINISHED"),),
        kept=(Stays("/users/joe/web/b", "application_1408631738011_0029 is RUNNING", runs=True),),
    )
    yield (
        "registry reaper",
        _text([registry_view.reaping_as_json(reaping, is_done=False)]),
        "One object a line; with `--every` one for each look. What is `kept` and not known to run is in doubt.",
    )
    proxy = Found(
        name="proxy7-9871", kind="proxy", state=READY, webhdfs=(_URL,), admin=("http://proxy7:9872/",)
    )
    yield (
        "proxies",
        _text(proxy_lines([proxy], as_json=True)),
        "Daemons that are registered, and their states.",
    )


def _text(lines: Iterable[str]) -> str:
    (line,) = lines
    return json.dumps(json.loads(line), indent=2)
