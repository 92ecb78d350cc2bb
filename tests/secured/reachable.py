"""`nncache` as ever, and all text that its live objects hold, on demand.

Run as `python -m tests.secured.reachable ASKED TOLD ARGUMENT...`: whoever opens the FIFO `ASKED` for writing finds in
the FIFO `TOLD` each `str`, `bytes`, `bytearray` and `memoryview` that can be reached from a module or from any object
that the collector knows: tables, caches, connections, what is waited for. Not: memory that was given back, and what
libraries in C keep to themselves.
"""

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

_END = b"\n"


def reachable_texts() -> Iterator[bytes]:
    """Return all text that live objects hold, in no order; what only waits for the collector is dropped before."""
    gc.unfreeze()
    gc.collect()
    waiting: list[object] = [*gc.get_objects(), *sys.modules.values()]
    seen = {id(waiting)}
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        match each:
            case str():
                yield each.encode(errors="replace")
            case bytes() | bytearray() | memoryview():
                yield bytes(each)
            case _:
                waiting += gc.get_referents(each)


def texts_of(fifos: tuple[Path, Path]) -> bytes:
    """Return what the live objects of the daemon hold that runs as `program(fifos)`."""
    asked, reported = fifos
    asked.write_bytes(b"")
    return reported.read_bytes()


def program(fifos: tuple[Path, Path]) -> tuple[str, ...]:
    """Return how a daemon is started that tells what it holds."""
    return (sys.executable, "-m", __name__, *map(str, fifos))


def _tell(asked: Path, reported: Path) -> None:
    while True:
        asked.read_bytes()
        texts = list(reachable_texts())
        with reported.open("wb") as file:
            file.writelines(text + _END for text in texts)
        del texts  # or it is found the next time


def _main() -> None:
    from nncache.commands.cli import main  # noqa: PLC0415 - this module is imported by tests as well

    asked, reported, *arguments = sys.argv[1:]
    threading.Thread(target=_tell, args=(Path(asked), Path(reported)), daemon=True).start()
    sys.argv = ["nncache", *arguments]
    main()


if __name__ == "__main__":
    _main()
