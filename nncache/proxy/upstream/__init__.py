"""The NameNode side: connections, calls, failover, and the proxy's own queries. (proxy/upstream/)"""
