"""Lease steps at a real NameNode and at ours; `leases.txt` has the steps and a real NameNode's answers.

python -m tests.namenode.leases [--hadoop 3.4.1] [--record]

The real one is Hadoop's mini cluster with three DataNodes (LeaseOracle.java), where the limits can be set to a second.
"""

import argparse
import asyncio
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from nncache.namenode.datanode.datanode import Upload
from nncache.namenode.datanode.replicas import WritingReplica
from nncache.namenode.namespace import attributes, leases, reads
from nncache.namenode.namespace.inode import Block
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from nncache.testbed.java import installed
from tests.namenode.ensemble import EMBEDDED, made
from tests.namenode.fixture import HOST, Fixture, outcome_of

HERE: Final = Path(__file__).parent
SCRIPT: Final = HERE / "leases.txt"
ANY: Final = "*"
"""An answer that varies between runs, even at a real NameNode."""

SOFT_S, HARD_S = 61.0, 1201.0
BEGUN: Final = 300_000
_TICKS: Final = 5


@dataclass(frozen=True)
class Step:
    """A call, and a real NameNode's answer to it."""

    row: str
    call: str
    answer: str


def script() -> list[Step]:
    """Read the steps."""
    steps: list[Step] = []
    row = ""
    for line in SCRIPT.read_text().splitlines():
        if line.startswith("# "):
            row = line[2:]
        else:
            call, _, answer = line.partition(" -> ")
            steps.append(Step(row, call, answer))
    return steps


@dataclass
class Spelling:
    """Replaces block ids, stamps and times by their order in a row, so that two clusters' answers compare equal."""

    row: str = ""
    blocks: dict[str, str] = field(default_factory=dict)
    stamps: dict[str, list[str]] = field(default_factory=dict)

    def of(self, step: Step, answer: str) -> str:
        """Return a step's answer in that spelling."""
        if step.row != self.row:
            self.row, self.blocks, self.stamps = step.row, {}, {}
        answer = re.sub(r"BP-[-.\d]+:", "", answer)
        answer = re.sub(r"blk_(\d+)_(\d+)", self._block, answer)
        answer = re.sub(r"\(inode [1-9]\d*\)", "(inode ID)", answer)
        answer = re.sub(r"HDFS_NameNode-[-\d]+ [:,+\d]+", "HDFS_NameNode-TIME", answer)
        answer = re.sub(r"\bat org\.apache\..*", "", answer)
        return re.sub(r"DFSClient_NONMAPREDUCE_-?\d+_\d+", "DFSClient", answer)

    def _block(self, found: re.Match[str]) -> str:
        name = self.blocks.setdefault(found[1], f"b{len(self.blocks) + 1}")
        stamps = self.stamps.setdefault(name, [])
        if found[2] not in stamps:
            stamps.append(found[2])
        return name + "'" * stamps.index(found[2])


class Light:
    """Runs the steps at a NameNode and a DataNode in this process."""

    def __init__(self, fixture: Fixture) -> None:
        self._fixture = fixture
        self._files: dict[str, int] = {"0": 0}
        self._blocks: dict[str, Block] = {}
        self._streams: dict[str, tuple[str, Upload]] = {}
        self._flushed: set[int] = set()

    async def answer(self, call: str) -> str:
        """Run one step; return its answer."""
        name, *words = call.split()
        answer = await outcome_of(getattr(self, f"_{name}")(*words))
        return {"None": "ok", "True": "true", "False": "false"}.get(answer, answer).partition("\n")[0]

    def _block(self, spelled: str) -> Block | None:
        name, _, length = spelled.partition(":")
        block = self._blocks.get(name)
        return msgspec.structs.replace(block, length=int(length)) if block and length else block

    async def _create(self, path: str, holder: str, name: str, overwrite: str = "") -> None:
        made = await self._fixture.create(path, holder, overwrite=bool(overwrite))
        self._files[name] = made.id

    async def _append(self, path: str, holder: str) -> None:
        await self._fixture.namenode.append(self._fixture.root, path, holder, HOST)

    async def _addBlock(self, path: str, holder: str, file: str, previous: str, name: str) -> str:  # noqa: N802 - ClientProtocol's
        made = await self._fixture.add_block(path, holder, self._block(previous), self._files[file])
        is_known = any(block.id == made.id for block in self._blocks.values())
        self._blocks[name] = made
        return "the same" if is_known else "another"

    async def _complete(self, path: str, holder: str, file: str, last: str) -> bool:
        return await self._fixture.namenode.complete(path, holder, self._block(last), self._files[file])

    async def _abandon(self, path: str, holder: str, file: str, name: str) -> None:
        block = self._block(name) or Block(1, 1)
        await self._fixture.namenode.abandon_block(path, holder, block, self._files[file])

    async def _fsync(self, path: str, holder: str, file: str, length: str) -> None:
        await self._fixture.namenode.fsync(path, holder, self._files[file], int(length))

    async def _renew(self, holder: str) -> None:
        await self._fixture.namenode.renew_lease(holder)

    async def _recover(self, path: str, holder: str) -> bool:
        return await self._fixture.namenode.recover_lease(self._fixture.root, path, holder)

    async def _isClosed(self, path: str) -> bool:  # noqa: N802 - isFileClosed
        return await self._fixture.namenode.read(path, leases.is_file_closed, self._fixture.root)

    async def _rename(self, source: str, destination: str) -> bool:
        return await self._fixture.namenode.rename(self._fixture.root, source, destination)

    async def _delete(self, path: str) -> bool:
        """Delete and reclaim: until then, messages count files that were open below (docs/light-cluster.md)."""
        deleted = await self._fixture.namenode.delete(self._fixture.root, path, recursive=True)
        await self._fixture.namenode.reclaim()
        return deleted

    async def _truncate(self, path: str, length: str, holder: str) -> bool:
        return await self._fixture.namenode.truncate(self._fixture.root, path, int(length), holder, HOST)

    async def _concat(self, target: str, source: str) -> None:
        await self._fixture.namenode.concat(self._fixture.root, target, [source])

    async def _attributes(self, path: str) -> bool:
        namenode, root = self._fixture.namenode, self._fixture.root
        await namenode.change(path, attributes.set_permission, root, 0o600)
        await namenode.change(path, attributes.set_times, root, 1, 1)
        return await namenode.change(path, attributes.set_replication, root, 2)

    async def _length(self, path: str) -> int:
        return (await self._fixture.namenode.read(path, reads.status, self._fixture.root)).length

    async def _located(self, path: str) -> str:
        file = await self._fixture.namenode.blocks_of(self._fixture.root, path)
        is_complete = file.blocks[-1].state.value == "COMPLETE"
        return f"open {file.is_open}, last complete {is_complete}".lower()

    async def _stream(self, name: str, path: str) -> None:
        self._streams[name] = path, await self._fixture.abandoned(path, 0)

    async def _write(self, name: str, length: str) -> None:
        await self._streams[name][1].write(bytes(int(length)))

    async def _hflush(self, name: str) -> None:
        """Flush as DFSOutputStream does: the first flush of each block calls the NameNode."""
        block = _writing(self._streams[name][1]).block
        if block not in self._flushed:
            self._flushed.add(block)
            await self._hsync(name)

    async def _hsync(self, name: str) -> None:
        path, upload = self._streams[name]
        holder, file = upload._holder, upload._file.id  # noqa: SLF001 - the client is inside the DataNode
        await self._fixture.namenode.fsync(path, holder, file, _writing(upload).length)

    async def _close(self, name: str) -> None:
        await self._streams[name][1].close()

    async def _leave(self, name: str) -> None:
        self._streams[name][1].leave()

    async def _expire(self, limit: str) -> None:
        self._fixture.clock.advance({"soft": SOFT_S, "hard": HARD_S}[limit])
        if limit == "hard":
            await self._fixture.namenode.check_leases()

    async def _fresh(self) -> None:
        """Do nothing: the limits were not changed."""

    async def _safemode(self, on: str) -> None:
        self._fixture.namenode.safe_mode = on == "on"

    async def _pause(self) -> None:
        for _ in range(_TICKS):
            await self._fixture.namenode.check_leases()
            await self._fixture.tick()

    async def _put(self, path: str, length: str) -> None:
        await (await self._fixture.abandoned(path, int(length))).close()

    async def _settle(self, path: str) -> str:
        while "RECOVERY" in (state := await self._fixture.state(path)):
            await self._fixture.tick()
        return state

    async def _state(self, path: str) -> str:
        return await self._fixture.state(path)

    async def _until(self, path: str, begins: str) -> str:
        for _ in range(_TICKS):
            if (await self._fixture.state(path)).startswith(begins):
                break
            await self._fixture.namenode.check_leases()
            await self._fixture.tick()
        return await self._fixture.state(path)

    async def _cut(self, path: str) -> None:
        upload = await self._fixture.abandoned(path, BEGUN)
        await upload.close()  # as DataNodeHandler closes it when the body ends early

    async def _stop(self, path: str) -> None:
        (await self._fixture.abandoned(path, BEGUN)).leave()


def _writing(upload: Upload) -> WritingReplica:
    pipeline = upload._pipeline  # noqa: SLF001 - as above
    assert pipeline is not None
    assert pipeline.own is not None
    return pipeline.own


async def answers_of_light(steps: list[Step], directory: Path, store: str = EMBEDDED) -> list[str]:
    """Run all steps at a light cluster; return its answers."""
    light, spelling = Light(await Fixture.make(directory, await made(store))), Spelling()
    return [spelling.of(step, await light.answer(step.call)) for step in steps]


def answers_of_real(steps: list[Step], hadoop: str, directory: Path) -> Iterator[str]:
    """Run all steps at a real NameNode; yield its answers."""
    runtime = installed(hadoop)
    command = (runtime.java, "-Xmx512m", "-cp", runtime.classpath(directory), str(HERE / "LeaseOracle.java"))
    with (
        (directory / "log").open("wb") as log,
        subprocess.Popen(
            (*command, str(directory / "cluster")),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        spelling = Spelling()
        try:
            for step in steps:
                process.stdin.write(step.call + "\n")
                process.stdin.flush()
                line = next(line for line in process.stdout if line.startswith("-> "))
                yield spelling.of(step, line.removeprefix("-> ").rstrip("\n"))
        finally:
            process.kill()


def drawn(number: int, seed: int) -> list[Step]:
    """Draw random steps on a few files; each is followed by a wait for any recovery that it may have begun."""
    rng = random.Random(seed)
    paths, holders, names = ("/r/a", "/r/b", "/r/c"), ("A", "B"), ["-"]
    steps = [Step("0", "create /r/a A f", ""), Step("0", "addBlock /r/a A f - n0", "")]
    names.append("n0")
    while len(steps) < number:
        path, holder, block = rng.choice(paths), rng.choice(holders), rng.choice(names[-4:])
        file = rng.choice(("f", "0", "0", "0"))
        match rng.randrange(14):
            case 0 | 1:
                name = rng.choice(("f", "x"))
                call = f"create {path} {holder} {name}{rng.choice(('', ' overwrite'))}"
            case 2 | 3 | 4:
                names.append(f"n{len(names)}")
                call = f"addBlock {path} {holder} {file} {block} {names[-1]}"
            case 5 | 6:
                call = (
                    f"complete {path} {holder} {file} {block}{rng.choice(('', ':7')) if block != '-' else ''}"
                )
            case 7:
                call = f"abandon {path} {holder} {file} {names[-1]}"
            case 8:
                call = f"fsync {path} {holder} {file} {rng.choice((-1, 5))}"
            case 9:
                call = rng.choice(
                    (f"recover {path} {holder}", f"truncate {path} {rng.choice((0, 3, 500))} {holder}")
                )
            case 10:
                call = rng.choice((f"rename {path} {rng.choice(paths)}", f"delete {path}"))
            case 11:
                call = f"append {path} {holder}"
            case 12:
                call = f"put {path} {rng.choice((1, 500))}"
            case _:
                call = f"length {path}"
        row = steps[-1].row
        steps += [Step(row, call, ""), Step(row, f"settle {path}", "")]
    return steps


def differences(steps: list[Step], answers: list[str], whose: str) -> list[str]:
    """Return the steps whose answers differ from `leases.txt`."""
    return [
        f"{step.row}: {step.call}\n  leases.txt: {step.answer}\n  {whose}: {answer}"
        for step, answer in zip(steps, answers, strict=True)
        if step.answer not in {answer, ANY} and "NullPointerException" not in step.answer
    ]


def record(steps: list[Step], answers: list[str]) -> None:
    """Write a real NameNode's answers to `leases.txt`, except where they vary."""
    lines: list[str] = []
    for before, step, answer in zip([None, *steps], steps, answers, strict=False):
        if before is None or before.row != step.row:
            lines.append(f"# {step.row}")
        lines.append(f"{step.call} -> {step.answer if step.answer == ANY else answer}")
    SCRIPT.write_text("\n".join(lines) + "\n")


def main(arguments: list[str]) -> int:
    """Compare both with `leases.txt`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hadoop", default=DEFAULT_HADOOP_VERSION)
    parser.add_argument("--random", type=int, default=0, help="draw so many steps in place of leases.txt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--record", action="store_true", help="write leases.txt from what the real one answers"
    )
    chosen = parser.parse_args(arguments)
    steps = drawn(chosen.random, chosen.seed) if chosen.random else script()
    with tempfile.TemporaryDirectory() as directory:
        real = list(answers_of_real(steps, chosen.hadoop, Path(directory)))
        if chosen.record:
            record(steps, real)
            steps = script()
        elif chosen.random:
            steps = [replace(step, answer=answer) for step, answer in zip(steps, real, strict=True)]
        light = asyncio.run(answers_of_light(steps, Path(directory) / "light"))
    found = differences(steps, real, chosen.hadoop) + differences(steps, light, "light")
    for each in found:
        sys.stdout.write(f"{each}\n")
    rows = len({step.row for step in steps})
    sys.stdout.write(
        f"{rows} rows, {len(steps)} steps at Hadoop {chosen.hadoop} and at ours: {len(found)} differences\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
