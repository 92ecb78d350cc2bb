"""Hadoop RPC of a light cluster: only the calls that nncache itself makes to a NameNode."""
