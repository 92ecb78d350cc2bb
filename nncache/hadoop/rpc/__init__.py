"""Hadoop RPC, natively on asyncio: frames, one shared connection, and the calls of a NameNode that are needed."""
