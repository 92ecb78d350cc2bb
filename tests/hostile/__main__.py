"""`make hostile`: all hostile input, in its long form."""

from collections.abc import Sequence
from functools import partial

import click
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from tests.hostile import parts
from tests.hostile.fuzzing.table import TARGETS
from tests.real.command import CONSOLE, conclude

_EXECUTIONS = 1_000_000
_SECONDS = 180.0
_HISTORIES = 20_000
_FORMS = 5_000
_CALLS = 2_000


@click.group(context_settings={"show_default": True})
def main() -> None:
    """Send hostile input, and fail if an invariant breaks or if too little was tried."""


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(list(TARGETS)), metavar="[TARGET]...")
@click.option("--executions", default=_EXECUTIONS, help="Inputs tried of each target, at least.")
@click.option("--seconds", default=_SECONDS, help="How long each target is fuzzed, at least.")
@click.option("--jobs", default=parts.JOBS, help="Targets at the same time.")
def fuzz(names: Sequence[str], executions: int, seconds: float, jobs: int) -> None:
    """Fuzz every parser, guided by coverage."""
    _run(
        partial(parts.fuzz, names=names or tuple(TARGETS), executions=executions, seconds=seconds, jobs=jobs)
    )


@main.command()
def smuggle() -> None:
    """Send every form of request smuggling, whole and in pieces."""
    _run(parts.smuggle)


@main.command()
@click.option("--histories", default=_HISTORIES, help="How many.")
@click.option("--seed", default=1, help="Of the first; each has the next one.")
@click.option("--jobs", default=parts.JOBS, help="Processes side by side.")
def model(histories: int, seed: int, jobs: int) -> None:
    """Run the attacker in the model."""
    _run(partial(parts.attack_model, histories=histories, seed=seed, jobs=jobs))


@main.command()
def variants() -> None:
    """Break one rule of the product at a time, and check that the attacker's success is detected."""
    _run(parts.break_rules)


@main.command()
@click.option("--forms", default=_FORMS, help="Spellings of paths.")
@click.option("--calls", default=_CALLS, help="Calls of the attacker, half on each channel.")
@click.option("--seed", default=1, help="Of both.")
def real(forms: int, calls: int, seed: int) -> None:
    """Respell paths, smuggle, and run the attacker at a real NameNode."""
    _run(partial(parts.attack_for_real, forms=forms, calls=calls, seed=seed))


@main.command(name="all")
@click.option("--seed", default=1, help="Of all that is drawn.")
def everything(seed: int) -> None:
    """Run every part, in its long form."""
    _run(
        parts.smuggle,
        parts.break_rules,
        partial(parts.attack_for_real, forms=_FORMS, calls=_CALLS, seed=seed),
        partial(parts.attack_model, histories=_HISTORIES, seed=seed, jobs=parts.JOBS),
        partial(parts.fuzz, names=tuple(TARGETS), executions=_EXECUTIONS, seconds=_SECONDS, jobs=parts.JOBS),
    )


def _run(*chosen: parts.Part) -> None:
    shortfalls: list[str] = []
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=CONSOLE) as bar:
        for part in chosen:
            shortfalls += part(bar)
    conclude(shortfalls)


if __name__ == "__main__":
    main()
