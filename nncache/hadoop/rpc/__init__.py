"""Hadoop RPC on asyncio, without Java: frames, one shared connection, and the NameNode calls that nncache needs."""
