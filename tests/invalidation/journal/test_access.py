"""Calls to the JournalNodes."""

import pytest

from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenode_web import PLAIN
from nncache.hadoop.rpc.proto import journal_pb2 as pb
from nncache.invalidation.journal.access import journal_access
from nncache.invalidation.settings import EditsSettings
from tests.hadoop.rpc.fake_server import Call, Result, fake_server


@pytest.mark.parametrize(
    ("namenodes", "sent"), [(NameNodeSettings(), ""), (NameNodeSettings(nameservice="ns1"), "ns1")]
)
async def test_a_nameservice_that_is_unknown_is_not_sent(namenodes: NameNodeSettings, sent: str) -> None:
    """A JournalNode that restarts takes its keys by the first caller's: a wrong one ends its synchronization."""
    requests = list[pb.GetJournalStateRequest]()

    def answer(call: Call) -> Result:
        requests.append(pb.GetJournalStateRequest.FromString(call.request))
        return Result(pb.GetJournalStateResponse(last_promised_epoch=1, http_port=8480))

    async with fake_server(answer) as journalnode:
        settings = EditsSettings(
            edits_source="journalnodes", shared_edits_dir=f"qjournal://{journalnode.address}/ns1"
        )
        access = journal_access(settings, namenodes, None, PLAIN)
        assert access is not None
        rpc = access.rpc(journalnode.address)
        await rpc.state()
        await rpc.close()
    assert [(each.name_service_id, each.HasField("name_service_id")) for each in requests] == [
        (sent, bool(sent))
    ]
