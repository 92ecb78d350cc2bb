"""`make differential`: the long run against a cluster of its own, on both channels.

All seeds use one cluster, and all seeds of a channel one proxy (with its publisher). Several seeds of a channel can run
at the same time, each in a tree of its own: while one waits for the NameNode or for a change, the others proceed.

With `--edits-source journalnodes` the cluster is an HA pair, and the edits are read from its three JournalNodes.

With `--secured` the cluster has Kerberos, and every call carries a credential of the named kind.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import click

from nncache.invalidation.settings import INOTIFY, JOURNALNODES
from nncache.testbed import Cluster, ClusterSpec, Kerberos, ProxyUserSpec
from nncache.testbed.spec import FULL_SPEED_JVM
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.auth_methods import USER_NAME, AuthMethod
from tests.cluster import JOURNALED, SESSION
from tests.differential.exceptions import OF_EVENTS, Excuse
from tests.differential.figures import JUDGED_SEGMENT_TXIDS, Figures, Target
from tests.differential.run import GLOBS, SETTINGS, SETTINGS_ON_LOG, run_for
from tests.differential.segment import Meter, fill_segment
from tests.real.command import CONSOLE, conclude, hadoop_option, progress, show, started, started_light
from tests.real.namespace_server import NamespaceServer
from tests.real.stand import Channel, OwnChannel, proxied
from tests.secured.auth_methods import WAYS

CHANNELS = [channel.value for channel in Channel]
FEED = OwnChannel.FEED.value

AT_ONCE = {Channel.DIRECT: 1, Channel.ZOOKEEPER: 2, OwnChannel.FEED: 1}
"""Number of concurrent seeds: on ZooKeeper a seed mostly waits. More changes per second than two seeds make would
exceed what polling and publishing may do, so that changes are seen later."""

SECURED = Kerberos(
    proxy_users=(ProxyUserSpec(name="proxy", users="alice,bob"), ProxyUserSpec(name="nncache", users="*"))
)
"""A cluster with Kerberos: one proxy user for two users, and the service's own for the users that it authenticates."""

LIGHT_REFUSES = frozenset(
    {
        *("ALLOWSNAPSHOT", "DISALLOWSNAPSHOT", "CREATESNAPSHOT", "RENAMESNAPSHOT", "DELETESNAPSHOT"),
        *("SETECPOLICY", "UNSETECPOLICY", "ENABLEECPOLICY", "DISABLEECPOLICY"),
    }
)
"""Operations that a light cluster lacks (docs/light-cluster.md)."""

LONG_SEGMENT = Target(p50_ms=math.inf, p99_ms=math.inf, hit_share=0.0, timed_share=0.0)
"""With a long open segment the latencies are shown but not judged: only wrong answers count."""


@click.command()
@click.option("--operations", default=1_000, show_default=True, help="Operations per seed and channel.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option("--seeds", default=1, show_default=True, help="How many seeds.")
@click.option(
    "--at-once",
    type=click.IntRange(min=1),
    help="How many seeds at the same time; direct 1, zookeeper 2 if not given.",
)
@click.option(
    "--channel",
    "channels",
    multiple=True,
    type=click.Choice([*CHANNELS, FEED]),
    default=CHANNELS,
    help="Repeatable; feed is alone, in front of three NameNodes of our own on a ZooKeeper.",
)
@click.option(
    "--edits-source",
    type=click.Choice([INOTIFY, JOURNALNODES]),
    default=INOTIFY,
    show_default=True,
    help="As the setting edits_source.",
)
@click.option(
    "--segment-txids",
    default=0,
    show_default=True,
    help="Begin with so many transactions in the open edit segment, and never roll it: only wrong answers count.",
)
@click.option(
    "--poll-share",
    default=0.05,
    show_default=True,
    help="Share of a NameNode core that polling may use, as the setting poll_budget_share.",
)
@click.option(
    "--secured",
    "ways",
    multiple=True,
    type=click.Choice(list(WAYS)),
    help="On a cluster with Kerberos, with this credential in every call. Repeatable; the next one takes the next "
    "seeds.",
)
@click.option("--light", is_flag=True, help="On a light cluster, which has no Java.")
@hadoop_option
def main(  # noqa: PLR0917 - click gives them by name
    operations: int,
    seed: int,
    seeds: int,
    at_once: int | None,
    poll_share: float,
    channels: tuple[str, ...],
    edits_source: str,
    segment_txids: int,
    ways: tuple[str, ...],
    light: bool,
    hadoop: str,
) -> None:
    """Make random operations, and compare every answer of the proxy with the NameNode's own."""
    shortfalls = []
    if ways and segment_txids:
        raise click.UsageError(
            "--segment-txids: is filled as a user.name, which no cluster of --secured believes"
        )
    if light and ways:
        raise click.UsageError("--light has no Kerberos")
    is_own = FEED in channels
    if is_own and (len(channels) > 1 or ways or light or segment_txids):
        raise click.UsageError(
            "--channel feed goes with no other channel, and with none of the other clusters"
        )
    reads_log = edits_source == JOURNALNODES
    if reads_log and (is_own or ways or light):
        raise click.UsageError("--edits-source journalnodes goes with none of the other clusters")
    kerberos = SECURED if ways else None
    spec = replace(
        JOURNALED if reads_log else SESSION,
        hadoop_version=hadoop,
        namenode_jvm=FULL_SPEED_JVM,
        kerberos=kerberos,
    )
    with _started(spec, channels, light=light) as cluster:
        if segment_txids:
            with progress("filling the edit segment", segment_txids) as step:
                fill_segment(cluster, segment_txids, step)
        rounds = [
            (asked, name, range(seed + number * seeds, seed + (number + 1) * seeds))
            for number, asked in enumerate(ways or ("user.name",))
            for name in channels
        ]
        for asked, name, own_seeds in rounds:
            figures, used = _run_channel(
                cluster,
                OwnChannel.FEED if name == FEED else Channel(name),
                own_seeds,
                operations,
                at_once=at_once or AT_ONCE[OwnChannel.FEED if name == FEED else Channel(name)],
                polling={"poll_budget_share": poll_share}
                | ({"roll_interval_s": 0} if segment_txids else {})
                | (
                    {"edits_source": JOURNALNODES, "shared_edits_dir": cluster.shared_edits_dir}
                    if reads_log
                    else {}
                ),
                reads_log=reads_log,
                way=WAYS[asked](cluster) if ways else USER_NAME,
            )
            number = f"{seeds} seeds from {own_seeds[0]}"
            upstream = (
                "light cluster" if light else "a namespace in ZooKeeper" if is_own else f"Hadoop {hadoop}"
            )
            upstream += ", edits of three JournalNodes" if reads_log else ""
            click.echo(f"{name}, {asked}, {number}, of {operations} operations, {upstream}: total")
            show((*figures.lines(), used))
            refused = LIGHT_REFUSES if light or is_own else frozenset()
            short = _shortfalls(
                figures, is_long=segment_txids > 0, is_every_kind_needed=not ways, refused=refused
            )
            shortfalls += [f"{name}, {asked}: {what}" for what in short]
    _show_exceptions(reads_log=reads_log)
    conclude(shortfalls)


@contextmanager
def _started(spec: ClusterSpec, channels: Sequence[str], *, light: bool) -> Iterator[Cluster]:
    if FEED in channels:
        with ZooKeeperServer() as server, NamespaceServer(server.address, namenodes=3) as served:
            yield served
    elif light:
        with started_light(with_zookeeper=Channel.ZOOKEEPER.value in channels) as cluster:
            yield cluster
    else:
        with started(spec) as cluster:
            yield cluster


def _run_channel(
    cluster: Cluster,
    channel: Channel | OwnChannel,
    seeds: range,
    operations: int,
    *,
    at_once: int,
    polling: Mapping[str, object],
    reads_log: bool,
    way: AuthMethod,
) -> tuple[Figures, str]:
    total = Figures()
    with (
        proxied(
            cluster,
            *GLOBS,
            channel=channel,
            polling=polling,
            way=way,
            **(SETTINGS_ON_LOG if reads_log else SETTINGS),
        ) as proxied_cluster,
        progress(channel.value, operations * len(seeds)) as step,
    ):
        meter = Meter.start(cluster, proxied_cluster.publisher or proxied_cluster.proxy)

        def run_seed(seed: int) -> Figures:
            own = replace(proxied_cluster)  # with connections of its own
            try:
                figures = run_for(own, seed=seed, operations=operations, reads_log=reads_log, progress=step)
            finally:
                own.close()
            CONSOLE.print(f"{channel.value}, seed {seed}: {figures.line()}", highlight=False)
            for wrong in figures.wrong:
                CONSOLE.print(f"  WRONG: {wrong}", highlight=False, markup=False)
            return figures

        with ThreadPoolExecutor(at_once) as pool:
            for figures in pool.map(run_seed, seeds):
                total.add(figures)
        return total, meter.line()


def _shortfalls(
    figures: Figures, *, is_long: bool, is_every_kind_needed: bool, refused: frozenset[str]
) -> list[str]:
    if is_long:
        return figures.shortfalls(LONG_SEGMENT)
    short = figures.shortfalls(Target())
    if figures.segment_txids > JUDGED_SEGMENT_TXIDS:
        short.append(
            f"the open segment held {figures.segment_txids} transactions: the figures are not about that"
        )
    if is_every_kind_needed:  # credentials hardly affect the kinds, which need many seeds
        never = set(figures.never_accepted()) - refused
        short += [f"{kind} was never accepted: it proves nothing" for kind in sorted(never)]
    return short


def _show_exceptions(*, reads_log: bool) -> None:
    click.echo("named exceptions:")
    for excuse in (each for each in Excuse if not (reads_log and each in OF_EVENTS)):
        row = excuse.value
        click.echo(f"  {excuse.name}, of {row.of}: {row.reason}; judged: {row.judged}")


if __name__ == "__main__":
    main()
