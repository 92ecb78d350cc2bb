"""`make inotify-faults`: random faults of a real inotify service; each subscriber is judged by the NameNode's log."""

import logging
import sys
import time
from dataclasses import replace

import click

from nncache.testbed.zookeepers import ZooKeeperEnsemble
from tests.cluster import SESSION
from tests.inotify.broken import BROKEN_PROXIES
from tests.inotify.figures import Figures
from tests.inotify.history import Played, play
from tests.inotify.plan import draw
from tests.inotify.real_cluster import AS_IT_IS, Programs, RealCluster
from tests.inotify.zookeeper_log import transactions, writers
from tests.real.command import conclude, hadoop_option, show, started


@click.command()
@click.option("--histories", default=60, show_default=True, help="How many.")
@click.option(
    "--seconds", default=20.0, show_default=True, help="Of faults in each; it ends when all is whole again."
)
@click.option(
    "--seed", default=1, show_default=True, help="Of the first history; each next one takes the next."
)
@click.option("--timed/--untimed", default=True, help="Whether late leaders count; not on a busy machine.")
@click.option(
    "--broken",
    metavar="NAME",
    help="Run broken publishers, or a proxy (tests/inotify/broken.py): to be found.",
)
@click.option(
    "--until-found", is_flag=True, help="End with the first history that shows a fault; at most --histories."
)
@hadoop_option
def main(
    *,
    histories: int,
    seconds: float,
    seed: int,
    timed: bool,
    broken: str | None,
    until_found: bool,
    hadoop: str,
) -> None:
    """Play histories one after another. Exit with 1 if a subscriber did not receive exactly what happened."""
    logging.getLogger("kazoo").setLevel(logging.ERROR)  # it logs the faults that we cause
    programs = _programs(broken) if broken else AS_IT_IS
    figures, places, began = Figures(), list[str](), time.monotonic()
    spec = replace(SESSION, hadoop_version=hadoop, with_zookeeper=False)
    with started(spec) as cluster, ZooKeeperEnsemble() as zookeeper:
        for number in range(seed, seed + histories):
            with RealCluster(cluster, zookeeper.servers, str(number), programs) as real_cluster:
                played = play(real_cluster, draw(number, seconds), seconds, number)
            figures.played.append(played)
            click.echo(f"{time.monotonic() - began:6.0f} s  history {number}: {_subscriber_log(played)}")
            places.append(real_cluster.namespace)
            if until_found or len(places) == histories:
                log = transactions(cluster, zookeeper.servers)
                figures.writers = [writers(log, place) for place in places]
            if until_found and figures.shortfalls(timed=timed):
                break
    show(figures.lines())
    conclude(figures.shortfalls(timed=timed))


def _programs(broken: str) -> Programs:
    """Return the programs for the daemons, with a broken publisher or proxy in place of nncache's."""
    program = (sys.executable, "-m", "tests.inotify.broken", broken)
    return Programs(proxy=program) if broken in BROKEN_PROXIES else Programs(publisher=program)


def _subscriber_log(played: Played) -> str:
    """Return a line that summarises a history."""
    parts = [
        f"{played.elections} elections",
        f"{played.modified} modifications told",
        f"{played.resumed} streams over HTTP resumed",
    ]
    for name, verdict in played.verdicts.items():
        wrong = [
            f"{len(found)} {what}"
            for what in ("lost", "duplicated", "disordered", "made_up")
            if (found := getattr(verdict, what))
        ]
        parts.append(
            f"{name} {verdict.events} events, {verdict.gaps} gaps"
            + "".join(f", {each.upper()}" for each in wrong)
        )
    return "; ".join(parts)


main()
