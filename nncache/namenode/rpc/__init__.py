"""Hadoop RPC of a light cluster: the calls that nncache itself asks a NameNode, and no others."""
