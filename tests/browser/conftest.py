"""Fixtures of the browser tests: Chromium once per worker, JupyterLab once per test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from labkit.course.jupyter import Server, first_page, start
from tests.browser.harness import LabPage, launch_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OpenLab = Callable[[Path, str], LabPage]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser; every test gets a fresh context in it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        yield browser
        browser.close()


@pytest.fixture
def start_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], Server]]:
    """Start JupyterLab on a folder as `make lab` does, apart from this user's Jupyter settings."""
    servers: list[Server] = []

    def start_on(root: Path) -> Server:
        home = tmp_path_factory.mktemp("jupyter")
        apart = {
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "IPYTHONDIR": str(home / "ipython"),
        }
        server = start(root, page=first_page(root), port=0, env={**os.environ, **apart})
        servers.append(server)
        return server

    yield start_on
    for server in servers:
        server.stop()


@pytest.fixture
def open_lab(chromium: Browser, start_lab: Callable[[Path], Server]) -> Iterator[OpenLab]:
    """Open a notebook of a folder: `open_lab(folder, "01_own_the_roofline.ipynb")`."""
    contexts = []

    def open_notebook(root: Path, notebook: str) -> LabPage:
        context = chromium.new_context(viewport={"width": 1400, "height": 1000})
        contexts.append(context)
        return LabPage(context.new_page(), start_lab(root), root / notebook).open()

    yield open_notebook
    for context in contexts:
        context.close()
