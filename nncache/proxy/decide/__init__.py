"""Decide how each request is answered, and handle the NameNode's reply. (proxy/decide/)"""
