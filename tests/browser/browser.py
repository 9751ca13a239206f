# SPDX-License-Identifier: MIT
"""Chromium without a window, driven over a pipe by its DevTools protocol: what a page shows, logs and asks the network for.

    with Browser() as browser:
        page = browser.open(path, width=390)
        page.errors, page.requests, page.value("document.title"), page.screenshot(file)
"""
import base64
import itertools
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time


def chromium():
    return next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory()
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # The protocol's pipe is descriptors 3 and 4 of the browser; high numbers first, so that none is overwritten
        os.dup2(to_browser, 53), os.dup2(from_browser, 54)  # pylint: disable=expression-not-assigned
        command = [chromium(), "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                   f"--user-data-dir={self.profile.name}", "about:blank"]
        shell = 'exec "$@" 3<&53 4>&54 53<&- 54>&-'
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *command], pass_fds=(53, 54), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for descriptor in (to_browser, from_browser, 53, 54):
            os.close(descriptor)
        self.numbers, self.buffer, self.listeners = itertools.count(1), b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.profile.name, ignore_errors=True)

    def message(self, seconds):
        """The next message of the browser, or None when the time is over."""
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                return None
            chunk = os.read(self.read_end, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser ended")
            self.buffer += chunk
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            for listener in self.listeners:
                listener(message)
        return message

    def call(self, method, session=None, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message(60)
            if answer is None:
                raise TimeoutError(method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path, width=1280, height=900, dark=False, scale=1):
        return Page(self, pathlib.Path(path).resolve().as_uri(), width, height, dark, scale)


class Page:
    def __init__(self, browser, url, width, height, dark, scale):
        self.browser, self.url = browser, url
        self.errors, self.requests = [], []
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.listeners.append(self.listen)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.loaded = False
        self.call("Page.navigate", url=url)
        end = time.monotonic() + 60
        while not self.loaded and time.monotonic() < end:
            browser.message(0.2)
        # Pictures are drawn after the page is loaded; a page without any is ready
        while self.value("!!document.getElementById('pictures') && !document.documentElement.dataset.drawn") and time.monotonic() < end:
            browser.message(0.1)

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def listen(self, message):
        if message.get("sessionId") != self.session:
            return
        method, params = message["method"], message["params"]
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent" and params["request"]["url"] != self.url:
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.errors.append("a dialog: " + params["message"])

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, file, selector=None):
        """Of the whole page, or of one element."""
        box = self.value("(() => { const e = document.querySelector(" + json.dumps(selector or "html") + ");"
                         "const r = e.getBoundingClientRect();"
                         "return {x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height}; })()")
        self.call("Page.bringToFront")  # others are not painted
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=box | {"scale": 1})["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(data))
