"""The two prompts: one whose answer repeats it, and one that a story goes on from."""

from __future__ import annotations

# Both written for this course. Each stops in the middle of a sentence, so that any model goes on.
PROMPTS = {
    "copy": (
        "Fix the typing mistake in the text and leave every other word as it is.\n\n"
        "Text: The night train to the coast leaves from platform nine at a quarter past eleven. "
        "Passengers with bicycles board the last carriage, and the dining car stays open until "
        "midnight. Tickets bought on bord cost three coins more than tickets bought at the desk. "
        "Dogs travel free of charge when they sleep under a seat.\n\n"
        "Corrected text: The night train to the coast leaves from platform nine at a quarter past "
        "eleven. Passengers with"
    ),
    "open": (
        "The lighthouse keeper had not spoken to anyone for three weeks when, one grey morning, a "
        "small boat"
    ),
}
