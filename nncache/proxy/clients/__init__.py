"""The side of the clients: listening, reading requests, writing replies. (proxy/clients/)"""
