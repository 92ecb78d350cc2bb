"""ZooKeeper for asyncio: a session, typed znodes, watches that are read again, distrust on one's own clock."""
