"""Clients of NameNodes: which one is active, JMX, and WebHDFS."""
