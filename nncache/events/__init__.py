"""A filter's events for clients of HTTP, as Server-Sent Events. (events/)"""
