"""The client side: listen, read requests, write replies. (proxy/clients/)"""
