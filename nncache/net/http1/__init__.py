"""HTTP/1.1 as bytes: heads and bodies of requests, pure. (RFC 9112)"""
