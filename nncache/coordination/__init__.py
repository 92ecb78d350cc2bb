"""ZooKeeper for asyncio: a session, typed znodes, watches that are read again, distrust on one's own clock.

Also what its callers do many calls with at the same time: `task_group.py`.
"""
