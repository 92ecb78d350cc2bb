"""`nncache` with a dump of all text that its live objects hold.

Run as `python -m tests.secured.reachable ASKED TOLD ARGUMENT...`. A client that opens the FIFO `ASKED` for writing gets
in the FIFO `TOLD` each `str`, `bytes`, `bytearray` and `memoryview` reachable from a module or from any object that the
collector tracks: tables, caches, connections, pending tasks. Freed memory and the internal memory of C libraries are
not included.
"""

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

_END = b"\n"


def reachable_texts() -> Iterator[bytes]:
    """Yield all text of live objects, in no order. Garbage is collected first."""
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
    """Return the text that the live objects of a daemon hold, which runs as `program(fifos)`."""
    asked, reported = fifos
    asked.write_bytes(b"")
    return reported.read_bytes()


def program(fifos: tuple[Path, Path]) -> tuple[str, ...]:
    """Return the command line of a daemon that dumps its text."""
    return (sys.executable, "-m", __name__, *map(str, fifos))


def _tell(asked: Path, reported: Path) -> None:
    while True:
        asked.read_bytes()
        texts = list(reachable_texts())
        with reported.open("wb") as file:
            file.writelines(text + _END for text in texts)
        del texts  # otherwise the next dump contains it


def _main() -> None:
    from nncache.commands.cli import main  # noqa: PLC0415 - this module is imported by tests as well

    asked, reported, *arguments = sys.argv[1:]
    threading.Thread(target=_tell, args=(Path(asked), Path(reported)), daemon=True).start()
    sys.argv = ["nncache", *arguments]
    main()


if __name__ == "__main__":
    _main()
