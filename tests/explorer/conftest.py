"""A browser for the explorer's pages: Debian's chromium, driven by its chromedriver; started once."""

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
    """The browser at its usual size; in the end nothing may have gone wrong in the page or left for the network."""
    chromium.resize(1000, 760)
    chromium.forget()
    chromium.hurries = True
    yield chromium
    assert chromium.complaints() == []
    assert chromium.requests() == []


@pytest.fixture
def widget_source():
    return resources.files("hyplearn.explorer").joinpath("page", "widget.js").read_text(encoding="utf-8")
