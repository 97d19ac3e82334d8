"""Open pages of the explorer in a real browser, and use them as a person would."""

import base64
import json
import shutil
import time

import numpy as np

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
PATIENCE = 20


class Browser:
    """Headless Chromium. Places are in pixels from the upper left corner of the stage, the square with the disk."""

    def __init__(self, *, traced=False):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        if traced:
            options.add_experimental_option("perfLoggingPrefs", {"traceCategories": "devtools.timeline"})
        # Whether pages draw everything at once after each action; tests that measure the drawing switch this off.
        self.hurries = not traced
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def quit(self):
        self.driver.quit()

    def forget(self):
        """Clear the logs of earlier pages."""
        self.driver.get("about:blank")
        self.complaints(), self.requests()

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Addresses that pages have requested, except files on this machine."""
        sent = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("file:", "data:", "blob:", "about:"))]

    def cpu_times(self, mark):
        """CPU milliseconds of the main thread in each event after ``console.timeStamp(mark)``, by kind of event.

        Leaves the page to end its trace.
        """
        self.driver.get("about:blank")
        sent = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        traced = [one["params"] for one in sent if one["method"] == "Tracing.dataCollected"]
        marks = [one["ts"] for one in traced if one.get("name") == "TimeStamp" and mark in str(one["args"])]
        found = {}
        for one in traced:
            if "tdur" in one and one["ts"] > max(marks):
                found.setdefault(one["name"], []).append(one["tdur"] / 1000)
        return found

    def resize(self, width, height, *, ratio=1, scheme="light", touch=False):
        metrics = {"width": width, "height": height, "deviceScaleFactor": ratio, "mobile": touch}
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch, "maxTouchPoints": 5})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def open(self, page, folder):
        """Save a page and show it."""
        self.driver.get(page.save(folder / "page.html").as_uri())
        self.rest()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def ask(self, expression):
        """Value of an expression on the page's handle ``hyplearnExplorer``."""
        return self.run(f"return hyplearnExplorer.{expression}")

    def map(self, function, points):
        """Call a function of the handle with the coordinates of each point; returns all results."""
        points = np.asarray(points).tolist()
        return self.run(f"return arguments[0].map((x) => hyplearnExplorer.{function}(...x))", points)

    def rest(self):
        """Wait until nothing is left to draw."""
        until = time.monotonic() + PATIENCE
        while not self.run(f"return window.hyplearnExplorer?.{'hurry' if self.hurries else 'isResting'}() ?? false"):
            assert time.monotonic() < until, "the page does not come to rest"
            time.sleep(0.02)

    def next_frames(self):
        """Wait two frames, until the page knows its new size and colour scheme, and until nothing is left to draw."""
        self.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.rest()

    def screen(self, points):
        """Places of data points on the stage."""
        return np.array(self.run("return arguments[0].map(hyplearnExplorer.screen)", np.asarray(points).tolist()))

    def text(self, name):
        return self.run("return document.getElementById(arguments[0]).textContent", name)

    def box(self, selector):
        """Left, top, right and bottom of an element."""
        script = "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
        return self.run(script + "return [b.left, b.top, b.right, b.bottom]", selector)

    def is_shown(self, name):
        return self.run("return !document.getElementById(arguments[0]).closest('[hidden]')", name)

    def pixels(self, places, layer="pixels", first=""):
        """Red, green, blue and alpha at places of the stage; the statement ``first`` runs just before."""
        script = """
            const [places, id] = arguments;
            const canvas = document.getElementById(id);
            const ratio = canvas.width / canvas.clientWidth;
            const often = { willReadFrequently: true };
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", often);
            copy.drawImage(canvas, 0, 0);
            const { data, width } = copy.getImageData(0, 0, canvas.width, canvas.height);
            return places.map(([x, y]) => {
              const at = 4 * (Math.floor(y * ratio) * width + Math.floor(x * ratio));
              return [...data.slice(at, at + 4)];
            });"""
        return np.array(self.run(first + script, np.asarray(places).tolist(), layer))

    def _chain(self, duration=0):
        """New chain of actions, in which each move takes ``duration`` milliseconds."""
        from selenium.webdriver.common.action_chains import ActionChains

        return ActionChains(self.driver, duration=duration)

    def _go(self, chain, place):
        x, y = np.round(place).astype(int).tolist()
        chain.w3c_actions.pointer_action.move_to_location(x, y)

    def hover(self, place):
        chain = self._chain()
        self._go(chain, place)
        chain.perform()
        self.rest()

    def drag(self, start, *ends, duration=0, key=None):
        """Press at a place and move to others, optionally with a key held down."""
        if key is not None:
            self._chain().key_down(key).perform()
        chain = self._chain(duration)
        self._go(chain, start)
        chain.w3c_actions.pointer_action.pointer_down()
        for end in ends:
            self._go(chain, end)
        chain.w3c_actions.pointer_action.pointer_up()
        chain.perform()
        if key is not None:
            self._chain().key_up(key).perform()
        self.rest()

    def _touch(self, kind, places):
        points = [{"x": float(x), "y": float(y), "id": k} for k, (x, y) in enumerate(places)]
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def tap(self, place):
        """Tap a place with a finger."""
        self._touch("touchStart", [place])
        self._touch("touchEnd", [])
        self.rest()

    def swipe(self, start, end, steps=4):
        """Move fingers, one for each place, along straight lines."""
        start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
        self._touch("touchStart", start)
        for k in range(1, steps + 1):
            self._touch("touchMove", start + (end - start) * k / steps)
        self._touch("touchEnd", [])
        self.rest()

    def double_click(self, place):
        chain = self._chain()
        self._go(chain, place)
        chain.double_click().perform()
        self.rest()

    def wheel(self, place, amount):
        from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

        x, y = np.round(place).astype(int).tolist()
        self._chain().scroll_from_origin(ScrollOrigin.from_viewport(x, y), 0, amount).perform()
        self.rest()

    def choose(self, name, value):
        """Choose an option of a list."""
        script = "const one = document.getElementById(arguments[0]); one.value = arguments[1];"
        self.run(script + "one.dispatchEvent(new Event('change'))", name, value)
        self.rest()

    def print(self, **options):
        """Print the page; returns the bytes of a PDF file."""
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", options)["data"])

    def downloads(self, folder):
        """Set the folder for files that pages save."""
        settings = {"behavior": "allow", "downloadPath": str(folder)}
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", settings)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def click(self, selector, times=1):
        chain = self._chain()
        chain = chain.click(self.find(selector)) if times == 1 else chain.double_click(self.find(selector))
        chain.perform()
        self.rest()

    def keys(self, selector, *keys):
        for key in keys:
            self.find(selector).send_keys(key)
        self.rest()


def decoded(array):
    """Decode a typed array of the scene."""
    kinds = {
        "Float64Array": "<f8",
        "Float32Array": "<f4",
        "Uint32Array": "<u4",
        "Uint16Array": "<u2",
        "Uint8Array": "|u1",
    }
    return np.frombuffer(base64.b64decode(array["base64"]), dtype=kinds[array["type"]])


def scene_of(page):
    """Scene of a page."""
    text = page.html
    start = text.index('id="scene">') + len('id="scene">')
    return json.loads(text[start : text.index("</script>", start)])


def model_of(page):
    """Description of the only model in a page."""
    (found,) = scene_of(page)["models"]
    return found


def rgb(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def waited(path):
    """Wait until a file exists; returns its path."""
    until = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < until, f"{path.name} did not come"
        time.sleep(0.05)
    return path
