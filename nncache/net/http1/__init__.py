"""HTTP/1.1: heads, bodies and replies, from bytes to values. (RFC 9112)"""
