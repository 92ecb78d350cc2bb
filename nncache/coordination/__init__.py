"""ZooKeeper for asyncio: sessions, typed znodes, watches with repeated reads, session expiry by the local clock.

`task_group.py` runs many calls concurrently.
"""
