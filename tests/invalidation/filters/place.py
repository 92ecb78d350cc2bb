"""A directory of filters, and what tests put there by hand."""

from dataclasses import dataclass

from nncache.invalidation.filters.definition import DEFINITION, SUBSCRIBERS, Filter
from nncache.invalidation.filters.hdfs_calls import Hdfs
from nncache.invalidation.filters.hdfs_store import FilterStore


@dataclass(frozen=True, slots=True)
class Place:
    """HDFS, and a path in it."""

    hdfs: Hdfs
    path: str

    @property
    def store(self) -> FilterStore:
        """A store that remembers nothing."""
        return FilterStore(self.hdfs, self.path)

    async def add(self, *names: str) -> None:
        """Add filters of joe's."""
        for name in names:
            await self.store.add(Filter(name, f"/user/joe/{name}", "joe"))

    async def put(
        self, name: str, definition: bytes | None, *, owner: str | None = "joe", users: tuple[str, ...] = ()
    ) -> None:
        """Put together by hand what may be a filter; None leaves a part out."""
        await self.hdfs.mkdirs(f"{self.path}/{name}")
        if definition is not None:
            await self.hdfs.create(f"{self.path}/{name}/{DEFINITION}", definition, create_parent=False)
        if owner is not None:
            await self.hdfs.mkdirs(f"{self.path}/{name}/{SUBSCRIBERS}")
            for user in users:
                await self.hdfs.create(f"{self.path}/{name}/{SUBSCRIBERS}/{user}", create_parent=False)
            await self.hdfs.set_owner(f"{self.path}/{name}/{SUBSCRIBERS}", owner=owner)

    async def names(self) -> list[str]:
        """Return all that is in the directory, drafts too."""
        return sorted(status.path_suffix for status in await self.hdfs.list(self.path))
