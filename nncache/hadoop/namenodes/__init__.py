"""Reach NameNodes: which is active, what they say over JMX, and their files over WebHDFS."""
