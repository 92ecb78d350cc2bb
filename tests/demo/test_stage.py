"""What the story is played on."""

from nncache.cache.settings import CacheSettings
from nncache.demo.chapters import cutting, killing, stopping, subscribing, waiting
from nncache.demo.sightings import MISSING, Question, Sighting
from nncache.demo.stage import GLOB, MAX_STALENESS_S, WORKFLOW, Stage, filter_command
from nncache.hadoop.globs import compile_glob
from nncache.testbed import Cluster, Relay
from nncache.testbed.daemon import Proxy
from tests.demo.typed import parameters_of


def test_the_bound_is_the_one_that_operators_get() -> None:
    """The story promises what an ordinary proxy promises."""
    assert CacheSettings().max_staleness_s == MAX_STALENESS_S


def test_the_story_happens_where_the_proxy_remembers() -> None:
    """Elsewhere everything would be forwarded, and true."""
    glob = compile_glob(GLOB)
    outages = (chapter.OUTAGE for chapter in (cutting, stopping, killing))
    paths = [path for outage in outages for path in (outage.calm, outage.storm)]
    assert len(set(paths)) == 6, "each outage has files of its own"
    for path in (waiting.PATH, subscribing.MARK, f"{WORKFLOW}/draft/_SUCCESS", *paths):
        assert glob.matches(path)


def test_the_filter_is_added_as_an_administrator_adds_it(cluster: Cluster) -> None:
    """The command takes what it is given."""
    assert parameters_of(filter_command(cluster))["glob"] == GLOB


def test_clients_go_where_they_are_said_to_go(cluster: Cluster) -> None:
    """Behind the proxy's back, or through it."""
    namenode = cluster.namenodes[0]
    proxy = Proxy()  # laid out, never started
    try:
        stage = Stage(cluster, Relay(namenode.rpc), proxy, None)
        direct = stage.at_namenode("alice").url("GETFILESTATUS", "/f")
        through = stage.through_proxy("alice").url("GETFILESTATUS", "/f")
    finally:
        proxy.close()
    assert direct.startswith(f"http://{namenode.http}/webhdfs/v1/f?")
    assert through.startswith(f"http://{proxy.address}/webhdfs/v1/f?")


def test_all_reads_are_kept_for_the_books(cluster: Cluster) -> None:
    """Those of pollers and those of single readers."""
    proxy = Proxy()
    try:
        stage = Stage(cluster, Relay(cluster.namenodes[0].rpc), proxy, None)
        question = Question("bob", "/f")
        pollers = stage.pollers((question, question))
        seen = stage.note(question, Sighting(view=MISSING, is_hit=True, started_at=0.0, ended_at=0.0))
    finally:
        proxy.close()
    assert stage.records[:2] == list(pollers.records)
    assert stage.records[2].sightings == (seen,)
