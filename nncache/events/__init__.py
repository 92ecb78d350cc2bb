"""A filter's events over HTTP, as Server-Sent Events. (events/)"""
