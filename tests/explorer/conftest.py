"""Fixture for the explorer's pages: Debian's chromium, driven by its chromedriver and started once."""

import shutil
from importlib import resources

import pytest

from support.explored import Browser


@pytest.fixture(scope="session")
def chromium():
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("no browser: apt-get install chromium chromium-driver")
    browser = Browser()
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium):
    """Browser at its usual size; after each test, the page must have no errors and no network requests."""
    chromium.resize(1000, 760)
    chromium.forget()
    chromium.hurries = True
    yield chromium
    assert chromium.complaints() == []
    assert chromium.requests() == []


@pytest.fixture
def widget_source():
    return resources.files("hyplearn.explorer").joinpath("page", "widget.js").read_text(encoding="utf-8")
