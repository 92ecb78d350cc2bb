"""`make overload`: run every attack of the table on a real cluster, and show its effect on other clients."""

import time
from dataclasses import replace
from pathlib import Path

import click

from nncache.testbed.errors import TestbedError
from tests.cluster import SESSION
from tests.overload.attack import Attack
from tests.overload.attacks.table import ATTACKS, BY_NAME
from tests.overload.figures import Results
from tests.overload.real_cluster import Site
from tests.overload.report import all_shortfalls, markdown, write
from tests.overload.request_cost import request_costs
from tests.overload.run import run_attack
from tests.overload.verdicts import cost_shortfalls, shortfalls
from tests.real.command import CONSOLE, conclude, started

REQUESTS = "requests"
"""The part that sends each 64 KB request alone, by its name for --only."""


NO_GROUPS = {"hadoop.security.group.mapping": "org.apache.hadoop.security.NullGroupsMapping"}
"""Without this the NameNode starts a program for each new user name, and attackers wait for that."""


@click.command()
@click.option(
    "--only", multiple=True, type=click.Choice([REQUESTS, *BY_NAME]), help="Run this part alone; repeatable."
)
@click.option("--quick", is_flag=True, help="Attack for 5 s each.")
@click.option("--recovery", default=15.0, show_default=True, help="Seconds for which hits may come back.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/overload"), show_default=True)
def main(only: tuple[str, ...], recovery: float, out: Path, *, quick: bool) -> None:
    """Attack a proxy and show the effect on other clients; exit non-zero if a requirement is not met."""
    chosen = [attack for attack in ATTACKS if not only or attack.name in only]
    results = Results()
    began = time.monotonic()
    with started(replace(SESSION, overrides=NO_GROUPS)) as cluster:
        site = Site(cluster)
        site.prepare()
        if not only or REQUESTS in only:
            _measure_requests(site, results)
        for attack in chosen:
            _attack(site, attack, results, quick=quick, recovery_s=recovery)
            write(results, BY_NAME, out)
    write(results, BY_NAME, out)
    click.echo(markdown(results, BY_NAME))
    click.echo(f"{time.monotonic() - began:.0f} s in all; the tables and figures are in {out}")
    conclude(all_shortfalls(results, BY_NAME))


def _measure_requests(site: Site, results: Results) -> None:
    for cost in request_costs(site):
        results.costs.append(cost)
        verdict = "; ".join(cost_shortfalls(cost)) or "ok"
        CONSOLE.print(f"request {cost.shape}: {1000 * cost.cpu_s:.1f} ms of CPU: {verdict}")


def _attack(site: Site, attack: Attack, results: Results, *, quick: bool, recovery_s: float) -> None:
    seconds = attack.quick_seconds if quick else attack.seconds
    try:
        figures = run_attack(site, attack, seconds=seconds, recovery_s=recovery_s)
    except (TestbedError, AssertionError) as error:
        results.not_run.append((attack.name, str(error)))
        CONSOLE.print(f"{attack.name} could not be run: {error}")
        return
    results.figures.append(figures)
    verdict = "; ".join(shortfalls(figures, attack.expected)) or "ok"
    CONSOLE.print(f"{attack.name} ({figures.done}): {verdict}")


if __name__ == "__main__":
    main()
