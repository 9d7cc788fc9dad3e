"""JupyterLab driven as a learner drives it: by clicks and keys in a real Chromium.

A test asks for the fixture `open_lab`, gives it a folder with notebooks, and works on the page::

    def test_first_exercise(open_lab, tmp_path):
        shutil.copy(NOTEBOOK, tmp_path / "01_own_the_roofline.ipynb")
        page = open_lab(tmp_path, "01_own_the_roofline.ipynb")
        page.run(0)                                    # by position …
        page.type_into("ex-1-7-answer", "answer = 1")  # … or by cell id
        page.run("ex-1-7-answer")
        page.run("ex-1-7-check")
        assert "forgot the KV heads" in page.output("ex-1-7-check")

Nothing here reaches into JupyterLab's own objects: the server is started exactly as `make lab`
starts it, and what the test reads is the text that stands on the page.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Playwright

    from labkit.course.jupyter import Server

RUN_TIMEOUT_MS = 120_000
_KERNEL_IDLE = re.compile(r"^Python 3.*\| Idle$")
_DONE = re.compile(r"\[(\d+)\]:")
# The last two keep Chromium from calling out, which this test must not depend on.
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-background-networking",
)


def launch_chromium(playwright: Playwright) -> Browser:
    """The system's Chromium, headless, with an empty profile that is thrown away."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise RuntimeError("The browser tests need Chromium: `apt-get install chromium`.")
    return playwright.chromium.launch(
        executable_path=program,
        headless=True,
        # Chromium refuses its sandbox to root, as in a container.
        chromium_sandbox=os.geteuid() != 0,
        args=list(_FLAGS),
    )


class LabPage:
    """One notebook open in JupyterLab; a cell is named by its position or its id."""

    def __init__(self, page: Page, server: Server, notebook: Path) -> None:
        self.page = page
        self.server = server
        self._notebook = notebook

    def open(self) -> LabPage:
        """Load the notebook and wait until its kernel is idle."""
        address = f"{self.server.base_url}lab/tree/{self._notebook.name}?token={self.server.token}"
        self.page.goto(address)
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=RUN_TIMEOUT_MS)
        # The notebook's own indicator says "idle" while there is no kernel yet, and a cell run
        # then asks to select one; the status bar names the kernel first.
        bar = self.page.locator("#jp-main-statusbar")
        bar.get_by_text(_KERNEL_IDLE).wait_for(timeout=RUN_TIMEOUT_MS)
        return self

    def cell(self, key: int | str) -> Locator:
        """The cell's element, scrolled into view."""
        position = key if isinstance(key, int) else self._ids().index(key)
        cell = self.page.locator(f'.jp-Notebook [data-windowed-list-index="{position}"]')
        cell.scroll_into_view_if_needed()
        return cell

    def run(self, key: int | str, timeout_ms: int = RUN_TIMEOUT_MS) -> str:
        """Select the cell, press Ctrl+Enter, wait until it has run; returns its output's text."""
        cell = self.cell(key)
        prompt = cell.locator(".jp-InputArea-prompt")
        # A new kernel counts from 1 again, so the number may be the one that already stands there:
        # what tells a run is that the prompt changed at all ("[*]:") and then shows a number.
        prompt.evaluate(
            "e => { e.ran = false; new MutationObserver(() => { e.ran = true; })"
            ".observe(e, {childList: true, characterData: true, subtree: true}); }"
        )
        prompt.click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            r"prompt => prompt.ran && /\[\d+\]:/.test(prompt.innerText)",
            arg=prompt.element_handle(),
            timeout=timeout_ms,
        )
        return self.output(key)

    def type_into(self, key: int | str, text: str) -> None:
        """Replace the cell's source by `text`, typed at once so that no bracket closes itself."""
        self.cell(key).locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def answer(self, number: str, source: str | None = None) -> str:
        """Type an answer (None: what stands there), run its cells; returns the check's output."""
        stem = f"ex-{number.replace('.', '-')}"
        if f"{stem}-given" in self._ids():
            self.run(f"{stem}-given")
        if source is not None:
            self.type_into(f"{stem}-answer", source)
        self.run(f"{stem}-answer")
        return self.run(f"{stem}-check")

    def pictures(self, key: int | str) -> int:
        """How many figures the cell shows."""
        return self.cell(key).locator("img").count()

    def source(self, key: int | str) -> str:
        """The cell's source as it stands on the page."""
        return "\n".join(self.cell(key).locator(".cm-line").all_inner_texts())

    def output(self, key: int | str) -> str:
        """The text of the cell's output area, "" where it has none."""
        areas = self.cell(key).locator(".jp-Cell-outputArea")
        return "\n".join(areas.all_inner_texts()).strip()

    def executions(self, key: int | str) -> int | None:
        """The number in the cell's prompt, None before it was ever run."""
        found = _DONE.search(self.cell(key).locator(".jp-InputArea-prompt").inner_text())
        return int(found[1]) if found else None

    def save(self) -> None:
        """Save the notebook with Ctrl+S and wait until the tab is clean."""
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+S")
        self.page.locator(".lm-TabBar-tab.jp-mod-current.jp-mod-dirty").wait_for(state="detached")

    def toasts(self) -> list[str]:
        """The texts of all notifications that pop up over the page."""
        return self.page.locator(".Toastify__toast").all_inner_texts()

    def screenshot(self, path: Path) -> Path:
        """A PNG of the whole window, to be looked at."""
        self.page.screenshot(path=path)
        return path

    def _ids(self) -> list[str]:
        notebook = json.loads(self._notebook.read_text(encoding="utf-8"))
        return [str(cell["id"]) for cell in notebook["cells"]]
