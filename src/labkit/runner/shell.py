"""IPython's shell without a terminal, a history, a traceback or a picture.

Magics, `display`, `!commands` and top-level await behave as in JupyterLab; what they would show
goes nowhere.
"""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config


class _SilentHook(DisplayHook):
    """Keeps `_` and `Out`, but does not render the value: rendering is the learner's code."""

    def __call__(self, result: Any = None) -> None:
        hook: Any = self  # IPython's own code is not annotated
        if result is not None and not hook.quiet():
            hook.update_user_ns(result)


class _SilentPublisher(DisplayPublisher):
    """Takes what `display` publishes and drops it."""

    def publish(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is shown in grading."""


class GradingShell(InteractiveShell):
    """The shell that runs a submission's cells."""

    displayhook_class = Type(_SilentHook)
    display_pub_class = Type(_SilentPublisher)

    def enable_gui(self, gui: Any = None) -> None:
        """No event loop: there is no window."""

    def enable_matplotlib(self, gui: Any = None) -> tuple[Any, Any]:
        """`%matplotlib inline` and its kin all mean: draw without a screen."""
        import matplotlib as mpl

        mpl.use("agg")
        return None, "agg"

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Errors are reported by `cells`; formatting them would run the learner's code."""

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        """Syntax errors are reported by `cells`."""

    def ask_exit(self) -> None:
        """`exit` and `quit` end nothing: the next cell is graded as well."""


def make_shell() -> GradingShell:
    """The one shell of this process; `get_ipython()` returns it."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.ast_node_interactivity = "last_expr"
    config.DisplayFormatter.active_types = ["text/plain"]
    shell: GradingShell = GradingShell.instance(config=config)
    return shell


def close_figures() -> None:
    """End the cell's pyplot figures, as JupyterLab's inline back end does.

    Otherwise the next cell's `plt.plot` would draw into this cell's Axes.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
