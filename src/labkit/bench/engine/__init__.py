"""Engines behind one door: ways of serving the same requests, in this process or behind HTTP.

`registry` names them. `sequential`, `static` and `continuous` run in the worker, `served` drives a
server. `launch` starts one on loopback, `warden` ends it with its starter, `environment` installs
what does not fit beside labkit, `sse` and `crowd` are the client.
"""
