"""nncache with a planted fault: its cache ignores all changes.

Its auditor may ask more often: audits come with forwarded calls, and a cache that forgets nothing forwards little.

python -m tests.bench.deaf_proxy proxy --listen HOST:PORT ...
"""

from typing import Any, cast

from nncache.auditing import auditor
from nncache.cache.metadata_cache import MetadataCache
from nncache.commands.cli import main


def _stay_deaf(self: MetadataCache, *_: object, **__: object) -> None:
    """Take a change for none."""


if __name__ == "__main__":
    cast("Any", MetadataCache).apply = _stay_deaf
    cast("Any", auditor).PER_CALL = 1.0
    main()
