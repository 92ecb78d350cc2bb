"""The side of the NameNodes: connections, calls, failover, and questions of our own. (proxy/upstream/)"""
