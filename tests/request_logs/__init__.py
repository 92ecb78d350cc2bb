"""Tests of the access log and the audit log."""
