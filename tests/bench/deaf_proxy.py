"""nncache with a planted fault: its cache forgets nothing that it is told of. (tests/bench/deaf_proxy.py)

python -m tests.bench.deaf_proxy proxy --listen HOST:PORT ...
"""

from typing import Any, cast

from nncache.cache.metadata_cache import MetadataCache
from nncache.cli import main


def _stay_deaf(self: MetadataCache, *_: object, **__: object) -> None:
    """Take a change for none."""


if __name__ == "__main__":
    cast("Any", MetadataCache).apply = _stay_deaf
    main()
