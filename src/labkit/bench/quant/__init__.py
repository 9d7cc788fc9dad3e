"""Number formats measured: how weights are rounded and packed, scored, timed and written as GGUF.

What loads torch, gguf, bitsandbytes or llama.cpp does so inside its functions, in the worker.
"""
