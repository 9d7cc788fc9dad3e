"""What if: move one setting of a deployment and see what binds, as a panel or as plain text."""

from labkit.sizing.whatif.bars import Bar, Segment
from labkit.sizing.whatif.look import Asked, Look, look
from labkit.sizing.whatif.panel import WhatIf, what_if

__all__ = ["Asked", "Bar", "Look", "Segment", "WhatIf", "look", "what_if"]
