"""Spans of calls to NameNodes, for OpenTelemetry. (nncache/tracing/)"""
