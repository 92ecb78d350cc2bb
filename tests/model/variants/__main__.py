"""Show that each broken variant is caught by the check of its own guarantee: `python -m tests.model.variants`."""

import argparse
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.model.variants.catching import Verdict, catch_all
from tests.model.variants.variant import VARIANTS


def main() -> int:
    """Run the variants, print the results, and return the number of variants that were not caught."""
    chosen = _arguments()
    variants = tuple(VARIANTS[name] for name in chosen.names or VARIANTS)
    console = Console(width=None if sys.stdout.isatty() else 160)
    began_at = time.monotonic()
    verdicts: list[Verdict] = []
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        whole = bar.add_task("caught", total=len(variants))
        for verdict in catch_all(
            variants, jobs=chosen.jobs, seed=chosen.seed, histories=chosen.histories, steps=chosen.steps
        ):
            verdicts.append(verdict)
            bar.console.print(_line(verdict), highlight=False)
            bar.advance(whole)
    order = list(VARIANTS)
    verdicts.sort(key=lambda verdict: order.index(verdict.variant.name))
    console.print(_table(verdicts, details=chosen.details))
    missed = [verdict.variant.name for verdict in verdicts if not verdict.is_caught]
    console.print(
        f"{len(verdicts) - len(missed)} of {len(verdicts)} variants caught by the check of their own guarantee, "
        f"in {sum(verdict.reported for verdict in verdicts)} histories and {time.monotonic() - began_at:.0f} s"
    )
    if missed:
        console.print(f"not caught: {', '.join(missed)}")
    return len(missed)


def _line(verdict: Verdict) -> str:
    became = f"caught after {verdict.reported} histories" if verdict.is_caught else "NOT CAUGHT"
    return f"{verdict.variant.name}: {became} {verdict.error}".rstrip()


def _table(verdicts: list[Verdict], *, details: bool) -> Table:
    table = Table(
        "variant", "guarantee", "caught after", "also broken meanwhile", *(["how"] if details else [])
    )
    for verdict in verdicts:
        others = ", ".join(f"{name} ({count})" for name, count in verdict.others.items())
        table.add_row(
            verdict.variant.name,
            verdict.variant.guarantee,
            f"{verdict.reported} histories" if verdict.is_caught else "[bold red]NOT CAUGHT[/]",
            verdict.error or others,
            *([verdict.what or ""] if details else []),
        )
    return table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.model.variants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="variants; all if none is given")
    parser.add_argument("--histories", type=int, default=3000, help="told of each at most")
    parser.add_argument("--steps", type=int, default=50, help="of each history")
    parser.add_argument("--seed", type=int, default=1, help="of the first history")
    parser.add_argument("--jobs", type=int, default=2, help="told at the same time")
    parser.add_argument("--details", action="store_true", help="say what was found")
    chosen = parser.parse_args()
    unknown = set(chosen.names) - set(VARIANTS)
    if unknown:
        parser.error(f"no such variants: {', '.join(sorted(unknown))}")
    return chosen


if __name__ == "__main__":
    sys.exit(min(main(), 1))
