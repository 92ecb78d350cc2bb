"""Blocks at several DataNodes: written through a chain, read wherever they are good, and made up for when they are not."""

from pathlib import Path

from tests.namenode.several import DATA, names, several


async def test_an_upload_is_at_as_many_datanodes_as_it_wants(tmp_path: Path) -> None:
    """Z13: of each block, when the upload is answered; nothing is left to be done then."""
    async with several(tmp_path) as cluster:
        for replication in (1, 2, 3):
            await cluster.write(f"/f{replication}", replication=replication)
            held = await cluster.held(f"/f{replication}")
            assert [len(each) for each in held] == [replication] * 3
            assert await cluster.opened(f"/f{replication}") == DATA
        assert await cluster.wrong() == []
