"""Run the tests that take hours, in named parts: `make nightly` (ONLY=model,races SEED=7).

Each randomized part uses the night's seed. A failed part does not stop the others. At the end the program prints each
failed part with the command that repeats it.
"""

import os
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

ROOT: Final = Path(__file__).resolve().parents[1]
OUT: Final = ROOT / "build" / "nightly"

PARTS: Final = {
    "long": "pytest -n 2 --layer nightly -m long",
    "model": "tests.model --seed {seed}",
    "model/variants": "tests.model.variants",
    "races": "tests.races --seed {seed}",
    "alike": "tests.alike --seed {seed}",
    "hostile": "tests.hostile all --seed {seed}",
    "overload": "tests.overload",
    "differential": "tests.differential --operations 1000 --seeds 20 --seed {seed}",
    "differential/journalnodes": "tests.differential --operations 1000 --seeds 20 --edits-source journalnodes "
    "--seed {seed}",
    "differential/feed": "tests.differential --operations 500 --seeds 4 --channel feed --seed {seed}",
    "differential/long-segment": "tests.differential --operations 75 --seeds 2 --segment-txids 100000 --seed {seed}",
    "differential-secured": "tests.differential --operations 1000 --seeds 2 --seed {seed}"
    " --secured cookie --secured token --secured doas --secured negotiate",
    "inotify-faults": "tests.inotify --histories 60 --seed {seed}",
    **{
        f"inotify-faults/{broken}": "tests.inotify --histories 10 --until-found --untimed --seed {seed} --broken "
        + broken
        for broken in (
            *("no-fencing", "epoch-not-in-the-multi", "silent-drop", "no-chain"),
            *("untold-modification", "skip-on-resume", "untold-gap"),
        )
    },
    "journal-faults": "tests.journal_faults --histories 60 --seed {seed}",
    **{
        f"journal-faults/{broken}": "tests.journal_faults --histories 10 --until-found --seed {seed} --broken "
        + broken
        for broken in ("one-node-believed", "open-on-a-minority")
    },
    "job-commit": "tests.job_commit",
    "bulk-filters": "tests.bulk_filters",
    "registry-flood": "tests.registry.flood",
    "discovery": "tests.discovery",
}
"""For each part, the module that Python runs and its arguments. `model` also selects `model/variants`."""


def command_of(part: str, seed: int) -> list[str]:
    """Return the command that runs a part with a seed."""
    return [sys.executable, "-m", *shlex.split(PARTS[part].format(seed=seed))]


def shown(command: list[str]) -> str:
    """Return the command as a developer would type it in the checkout."""
    return shlex.join([os.path.relpath(command[0], ROOT), *command[1:]])


def chosen(names: str) -> list[str]:
    """Return the parts with these comma-separated names, and the parts below them; all parts if empty.

    Raises:
        click.BadParameter: there is no part with one of the names.
    """
    if not names:
        return list(PARTS)
    parts: list[str] = []
    for name in names.split(","):
        found = [part for part in PARTS if part == name or part.startswith(f"{name}/")]
        if not found:
            raise click.BadParameter(f"{name!r} is no part of the night; the parts are {', '.join(PARTS)}")
        parts += found
    return parts


def _run(command: list[str], log: Path | None) -> int:
    if log is None:
        return subprocess.call(command, cwd=ROOT)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        return subprocess.call(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)


@click.command()
@click.option("--only", default="", help="Parts to run, joined by commas, on the terminal; without it all.")
@click.option("--seed", type=int, help="Of all parts that draw.  [default: made of the date]")
def main(only: str, seed: int | None) -> None:
    """Run the parts in sequence; without --only the output of each goes to build/nightly."""
    seed = seed if seed is not None else int(datetime.now(UTC).strftime("%y%m%d")) * 1000
    parts = chosen(only)
    failed: list[str] = []
    for number, part in enumerate(parts, 1):
        command = command_of(part, seed)
        log = None if only else OUT / f"{part.replace('/', '-')}.log"
        print(f"[{number}/{len(parts)}] {part}: {shown(command)}", flush=True)
        begun = time.monotonic()
        status = _run(command, log)
        minutes = (time.monotonic() - begun) / 60
        where = f", see {log.relative_to(ROOT)}" if log else ""
        print(f"    {'failed' if status else 'passed'} after {minutes:.0f} min{where}", flush=True)
        failed += [part] if status else []
    for part in failed:
        print(f"{part} failed; repeat it: {shown(command_of(part, seed))}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
