"""How submissions are judged: sandbox, judge, batch and what they write. Linux only.

What comes from a learner is data here: it is never imported, evaluated or unpickled.
"""
