"""`make journal-faults`: random faults of real JournalNodes and NameNodes; readers are judged by the finalized log."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from nncache.invalidation.settings import JOURNALNODES
from nncache.testbed import ServerStartError
from nncache.testbed.daemon import ProxyDaemon
from tests.invalidation.journal.broken_quorums import BROKEN
from tests.journal_faults.broken import install
from tests.journal_faults.figures import WRONG, Figures
from tests.journal_faults.finalized import DamagedJournalError
from tests.journal_faults.history import Played, play
from tests.journal_faults.pair import SPEC, BeyondRepairError, FaultyPair
from tests.journal_faults.plan import draw
from tests.real.command import CONSOLE, conclude, show


@click.command()
@click.option("--histories", default=60, show_default=True, help="How many.")
@click.option(
    "--seconds", default=20.0, show_default=True, help="Of faults in each; it ends when all is whole again."
)
@click.option(
    "--seed", default=1, show_default=True, help="Of the first history; each next one takes the next."
)
@click.option(
    "--edits-source",
    default=JOURNALNODES,
    show_default=True,
    help="The setting, of reader and proxy.",
)
@click.option("--broken", type=click.Choice(list(BROKEN)), help="Readers that break a rule: to be found.")
@click.option("--until-found", is_flag=True, help="End with the first history that shows a fault.")
def main(
    *, histories: int, seconds: float, seed: int, edits_source: str, broken: str | None, until_found: bool
) -> None:
    """Play histories one after another. Exit with 1 if a reader read anything but the log."""
    logging.getLogger("nncache").setLevel(logging.ERROR)  # it logs the faults that we cause
    if broken:
        install(broken)
    figures, began = Figures(), time.monotonic()
    left = iter(range(seed, seed + histories))
    number = next(left, None)
    while number is not None:
        with stand(edits_source, broken) as (pair, proxy):
            is_whole = True
            while number is not None and is_whole:
                try:
                    played = play(pair, proxy, draw(number, seconds), seconds, str(number), edits_source)
                except (BeyondRepairError, DamagedJournalError, ServerStartError) as exc:
                    is_whole = False
                    figures.abandoned.append(f"history {number}: {exc}")
                    outcome = f"not judged: {exc}"
                else:
                    figures.played.append(played)
                    outcome = _line_of(played)
                click.echo(f"{time.monotonic() - began:6.0f} s  history {number}: {outcome}")
                number = None if until_found and figures.shortfalls() else next(left, None)
    show(figures.lines())
    conclude(figures.shortfalls())


@contextmanager
def stand(edits_source: str, broken: str | None = None) -> Iterator[tuple[FaultyPair, ProxyDaemon]]:
    """Start the pair, and a proxy that reads its journal."""
    program = (sys.executable, "-m", "tests.journal_faults.broken", broken) if broken else ()
    with FaultyPair.start(SPEC, progress=CONSOLE.print) as pair:
        flags = ("--edits-source", edits_source, "--shared-edits-dir", pair.journal_of_readers)
        with ProxyDaemon(
            *pair.flags, "--channel", "direct", *flags, "--glob", "/journal/*/*/*", program=program
        ) as proxy:
            yield pair, proxy


def _line_of(played: Played) -> str:
    """Return a line that summarises a history."""
    verdict = played.verdict
    wrong = "".join(f", {len(found)} {what.upper()}" for what in WRONG if (found := getattr(verdict, what)))
    stale = f", {len(played.stale)} STALE" if played.stale else ""
    return (
        f"{played.made} changes, {verdict.events} transactions read in {played.runs} runs, {verdict.gaps} gaps of "
        f"{verdict.missed}, {played.hits} hits{wrong}{stale}"
    )


if __name__ == "__main__":
    main()
