"""Access log (requests) and audit log (refused requests, operators' actions). (nncache/request_logs/)"""
