"""What other public tools answer for the rows that labkit is checked on.

Each tool has a module that says what it supports and how a row is put to it (`TRANSLATION`).
Tools that are installed run in an environment of their own, so the modules here use the standard
library alone and import their tool inside `answer`. `run` asks them all and writes the CSV.
"""
