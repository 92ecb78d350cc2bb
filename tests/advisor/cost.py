"""Measure the cost of advice by stage: `python -m tests.advisor.cost --lines 10000000`.

A log is generated, advice is computed, and the result is compared with the planted globs. The output has the
CPU-seconds of the JVM and all Python workers for each million lines, their peak memory, and how unequal the tasks
of the replay are. Run each size in a process of its own, so that a small log pays for the start of the JVM.
"""

import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final, Self

import click
import psutil
from pyspark.sql import SparkSession

from nncache.advisor.command import against_truth
from nncache.advisor.generating import generated_lines, generated_truth
from nncache.advisor.generator import Spec
from nncache.advisor.run import AdviseJob, advise
from nncache.advisor.spark import session

MILLION: Final = 1_000_000


class Stages:
    """Records the cost of each stage; while its context is open, also the peak memory.

    A process counts with its CPU time when last seen: one that ends loses half a second at most.
    """

    def __init__(self) -> None:
        self.costs: list[tuple[str, float, float]] = []  # name, CPU-seconds, seconds
        self.most_bytes = 0
        self._used: dict[tuple[int, float], float] = {}  # CPU-seconds by process
        self._name: str | None = None
        self._cpu_s = self._at = 0.0
        self._ended = threading.Event()
        self._looking = threading.Lock()
        self._watcher = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            self.cpu_s()

    def cpu_s(self) -> float:
        """Return the CPU-seconds of this process and all its descendants."""
        with self._looking:
            held = 0
            me = psutil.Process()
            for each in (me, *me.children(recursive=True)):
                try:
                    times, memory = each.cpu_times(), each.memory_info()
                except psutil.NoSuchProcess:
                    continue
                self._used[each.pid, each.create_time()] = times.user + times.system
                held += memory.rss
            self.most_bytes = max(self.most_bytes, held)
            return sum(self._used.values())

    def begin(self, name: str | None) -> None:
        """End the current stage, and begin the named one; None begins no stage."""
        used, now = self.cpu_s(), time.monotonic()
        if self._name is not None:
            self.costs.append((self._name, used - self._cpu_s, now - self._at))
            click.echo(f"{self.costs[-1][1]:9.1f} CPU-s {self.costs[-1][2]:8.1f} s  {self._name}", err=True)
        self._name, self._cpu_s, self._at = name, used, now


def shares_of_tasks(spark: SparkSession) -> tuple[int, int, int]:
    """Return, for the replay's stage, the number of tasks and the rows of its median and its largest task."""
    store: Any = spark.sparkContext._jsc.sc().statusStore()  # noqa: SLF001 - the source of Spark's own pages
    rows: list[int] = []
    stages = store.stageList(None, False, False, _no_doubles(spark), None)
    for number in range(stages.size()):
        stage = stages.apply(number)
        if "replay" not in str(stage.description()) or not stage.shuffleReadRecords():
            continue
        tasks = store.taskList(stage.stageId(), stage.attemptId(), 10_000)
        found = [tasks.apply(place).taskMetrics() for place in range(tasks.size())]
        read = [int(each.get().shuffleReadMetrics().recordsRead()) for each in found if each.isDefined()]
        if sum(read) > sum(rows):
            rows = read
    return len(rows), int(statistics.median(rows)), max(rows)


def _no_doubles(spark: SparkSession) -> object:
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - as above
    return gateway.new_array(gateway.jvm.double, 0)


@click.command()
@click.option("--lines", default=MILLION, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--hot", is_flag=True, help="One user has all that is planted.")
@click.option("--log", "written", help="A log that is there, instead of one that is generated.")
@click.option("--master", default="local[2]", show_default=True)
def main(*, lines: int, seed: int, hot: bool, written: str | None, master: str) -> None:
    """Generate, ask for advice, and print what it costs."""
    spec = Spec(lines, parts=max(8, lines // MILLION), seed=seed, hot=hot)
    folder = Path(tempfile.mkdtemp(prefix="nncache-cost-"))
    log, events = str(folder / "log"), str(folder / "events.parquet")
    try:
        if written is None:
            with session(master, "UTC") as spark:
                generated_lines(spark, spec).write.text(log, compression="gzip")
        with Stages() as stages:
            stages.begin("start Spark")
            with session(master, "UTC") as spark:
                question = AdviseJob(inputs=(written or log,), events=events, warm_up_s=0.0)
                advice = advise(spark, question, stages.begin)
                stages.begin(None)
                tasks = shares_of_tasks(spark)
                truths = [] if written else generated_truth(spark, spec)
        compared = against_truth(advice, truths)
    finally:
        shutil.rmtree(folder)
    millions = advice.lines / MILLION
    used = {name: cpu for name, cpu, _ in stages.costs}
    click.echo(f"{advice.lines} lines; CPU-seconds for each million:")
    for name, cpu in used.items():
        click.echo(f"  {cpu / millions:7.2f}  {name}")
    click.echo(f"  {sum(used.values()) / millions:7.2f}  in all")
    click.echo(f"memory of all processes at most: {stages.most_bytes / 2**30:.2f} GiB")
    click.echo(f"tasks of the replay: {tasks[0]}, of {tasks[1]} rows at the median, {tasks[2]} at most")
    for line in compared.lines() if truths else ():
        click.echo(line)
    click.echo(f"repeat: python -m tests.advisor.cost {' '.join(sys.argv[1:])}")


if __name__ == "__main__":
    main()
