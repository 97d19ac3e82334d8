"""A browser for the explorer's pages: Debian's chromium, driven by its chromedriver; started once per module."""

import shutil

import pytest

from support.explored import Browser


@pytest.fixture(scope="module")
def chromium():
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("no browser: apt-get install chromium chromium-driver")
    browser = Browser()
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium):
    """The browser at its usual size; in the end nothing may have gone wrong in the page or left for the network."""
    chromium.resize(1000, 760)
    chromium.forget()
    yield chromium
    assert chromium.complaints() == []
    assert chromium.requests() == []
