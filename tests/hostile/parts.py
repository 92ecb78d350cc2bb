"""The parts of `make hostile`, each with its progress and its shortfalls."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Final

import click
from rich.progress import Progress, TaskID

from nncache.testbed import Cluster, ClusterSpec
from tests.cluster import HADOOP, make_directory
from tests.hostile.attacker.figures import AttackFigures, tell_chunk
from tests.hostile.attacker.variants import VARIANTS
from tests.hostile.fuzzing import running
from tests.hostile.fuzzing.table import TARGETS
from tests.hostile.real import attacker, paths
from tests.hostile.real.rows import compare_rows
from tests.hostile.wire.serving import send
from tests.hostile.wire.smuggling import ROWS
from tests.model.history import begin
from tests.real.proxied_cluster import ProxiedCluster
from tests.real.stand import Channel, proxied

JOBS: Final = os.cpu_count() or 1
_CHUNK: Final = 50


def fuzz(bar: Progress, names: Sequence[str], *, executions: int, seconds: float, jobs: int) -> list[str]:
    """Fuzz these targets, guided by coverage."""
    shortfalls: list[str] = []
    tasks = {name: bar.add_task(name, total=executions, visible=False) for name in names}

    def show(figures: running.FuzzFigures) -> None:
        bar.update(tasks[figures.target], completed=figures.executions, visible=True)

    targets = [TARGETS[name] for name in names]
    for figures in running.run(targets, executions=executions, seconds=seconds, jobs=jobs, progress=show):
        bar.update(tasks[figures.target], visible=False)
        _say(bar, [figures.line()])
        shortfalls += figures.shortfalls(executions=executions, seconds=seconds)
    return shortfalls


def smuggle(bar: Progress) -> list[str]:
    """Send each smuggling row through the proxy, whole and in pieces."""
    task = bar.add_task("smuggling", total=len(ROWS))

    async def send_all() -> list[str]:
        wrong = []
        for row in ROWS:
            for piece in (0, 1, 17):
                wrong += [f"{row.name}: {what}" for what in (await send(row, piece)).wrongs(row)]
            bar.advance(task)
        return wrong

    wrong = asyncio.run(send_all())
    _say(
        bar, [f"smuggling: {len(ROWS)} forms, each whole and in pieces of 1 and 17 bytes, {len(wrong)} wrong"]
    )
    return wrong


def attack_model(bar: Progress, *, histories: int, seed: int, jobs: int) -> list[str]:
    """Run histories of the attacker in the model."""
    figures = AttackFigures()
    task = bar.add_task("attacker in the model", total=histories)
    chunks = [range(at, min(at + _CHUNK, seed + histories)) for at in range(seed, seed + histories, _CHUNK)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=begin) as processes:
        for done in as_completed([processes.submit(tell_chunk, chunk) for chunk in chunks]):
            figures.add(done.result())
            bar.update(task, completed=figures.histories)
    _say(bar, figures.lines())
    return figures.shortfalls(histories=histories)


def break_rules(bar: Progress) -> list[str]:
    """Check that the attacker's success is detected where a rule is broken."""
    task = bar.add_task("broken variants", total=len(VARIANTS))
    missed = []
    for name in VARIANTS:
        command = (sys.executable, "-m", "tests.hostile.attacker.variants", name)
        done = subprocess.run(command, cwd=running.ROOT, capture_output=True, text=True, check=False)
        _say(bar, [done.stdout[:300].strip()])
        if done.returncode:
            missed.append(f"broken variant {name}: not caught {done.stderr[-300:]}")
        bar.advance(task)
    return missed


def attack_for_real(bar: Progress, *, forms: int, calls: int, seed: int) -> list[str]:
    """Request spellings of paths, send the smuggling rows, and run the attacker, at a real NameNode."""
    shortfalls: list[str] = []
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True)) as cluster:
        make_directory(cluster, "/t")
        for channel, part in (
            (Channel.DIRECT, _wire),
            (Channel.DIRECT, _attack),
            (Channel.ZOOKEEPER, _attack),
        ):
            directory = f"/t/{part.__name__}-{channel.value}"
            make_directory(cluster, directory)
            globs = [directory + "/*" * depth for depth in range(1, 6)]
            windows = attacker.MAX_WINDOWS
            with proxied(cluster, *globs, channel=channel, max_two_step_windows=windows) as proxied_cluster:
                shortfalls += part(
                    bar, proxied_cluster, directory, forms if part is _wire else calls // 2, seed
                )
    return shortfalls


def _wire(bar: Progress, proxied_cluster: ProxiedCluster, directory: str, forms: int, seed: int) -> list[str]:
    paths.lay_out(proxied_cluster, directory)
    task = bar.add_task("spellings of paths", total=forms)
    figures = asyncio.run(
        paths.compare(proxied_cluster, directory, forms=forms, seed=seed, progress=partial(_show, bar, task))
    )
    rows = bar.add_task("smuggling, side by side", total=len(ROWS))
    differ = asyncio.run(compare_rows(proxied_cluster, partial(_show, bar, rows)))
    _say(
        bar, [*figures.lines(), f"smuggling, beside a real NameNode: {len(ROWS)} forms, {len(differ)} differ"]
    )
    return [*figures.shortfalls(forms=forms), *differ]


def _attack(
    bar: Progress, proxied_cluster: ProxiedCluster, directory: str, calls: int, seed: int
) -> list[str]:
    attacker.lay_out(proxied_cluster, directory)
    task = bar.add_task("attacker on the real stack", total=calls)
    attack = attacker.RealAttack(proxied_cluster, directory, seed=seed)
    figures = asyncio.run(attack.run(calls, partial(_show, bar, task)))
    _say(bar, figures.lines())
    return figures.shortfalls(calls=calls)


Part = Callable[[Progress], list[str]]
"""Runs a part, and returns each requirement that it does not meet."""


def _show(bar: Progress, task: TaskID, done: int) -> None:
    bar.update(task, completed=done)


def _say(bar: Progress, lines: Sequence[str]) -> None:
    bar.stop()
    for line in lines:
        click.echo(line)
    bar.start()
