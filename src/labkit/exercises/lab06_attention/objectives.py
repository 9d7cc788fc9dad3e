"""The two objectives of Lab 06, and the modules that none of its answers may use."""

ATTENTION = "attention: what it holds, what it costs, and where a step's time goes"
SPECULATION = "speculative decoding: what a draft is worth, what it costs, when it pays"
ENGINE = ("labkit.sizing", "labkit.bench")
