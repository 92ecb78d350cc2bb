"""nncache with an injected fault: its cache ignores all changes.

Its auditor's limit is raised: audits are limited by forwarded calls, and this cache forwards few.

python -m tests.bench.deaf_proxy proxy --listen HOST:PORT ...
"""

from typing import Any, cast

from nncache.auditing import auditor
from nncache.cache.metadata_cache import MetadataCache
from nncache.commands.cli import main


def _stay_deaf(self: MetadataCache, *_: object, **__: object) -> None:
    """Ignore the change."""


if __name__ == "__main__":
    cast("Any", MetadataCache).apply = _stay_deaf
    cast("Any", auditor).PER_CALL = 1.0
    main()
