"""`python -m tests.discovery`: a proxy starts, is found in every way, and drains, on a cluster of its own."""

import click

from tests.discovery.finders import FINDERS
from tests.discovery.run import come_and_go
from tests.real.command import conclude, show, started
from tests.registry.samples import place_of_its_own


@click.command()
def main() -> None:
    """Print when each way found and lost the proxy; exit code 1 if that took too long or a request failed."""
    with started() as cluster, place_of_its_own(cluster) as place:
        reported = come_and_go(cluster, place, FINDERS)
    show(reported.lines())
    conclude(reported.shortfalls())


if __name__ == "__main__":
    main()
