"""Opens an HTML report in headless Chromium, as a phone and as a desk would, and prints what is seen as JSON.

open_page.py REPORT [dark]: served on loopback, with every other host unreachable. "requests" is what the page
asked for besides itself, "console" what was logged.
"""
import functools
import http.server
import json
import html
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

FRAMES = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,">
<iframe id="phone" src="report.html" width="390" height="800"></iframe>
<iframe id="desk" src="report.html" width="1200" height="800"></iframe>
<pre id="seen"></pre>
<script>
function seen(frame) {
  const page = frame.contentDocument, root = page.documentElement;
  const images = [...page.images];
  return {
    title: page.title, language: root.lang,
    overflow: root.scrollWidth - root.clientWidth,
    headings: [...page.querySelectorAll("h1, h2")].map(h => h.textContent),
    tables: [...page.querySelectorAll("table")].map(t => t.rows.length),
    charts: [...page.querySelectorAll("svg")].map(s => s.getAttribute("role") + ":" +
      (s.getAttribute("aria-label") || s.querySelector("title")?.textContent || "")),
    pictures: images.length,
    broken: images.filter(i => !i.naturalWidth || !i.alt).length,
    anchors: [...page.links].filter(a => !page.getElementById(a.hash.slice(1))).length,
    background: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
    root_background: frame.contentWindow.getComputedStyle(root).backgroundColor,
    text: page.body.innerText,
  };
}
addEventListener("load", () => {
  const out = {phone: seen(document.getElementById("phone")), desk: seen(document.getElementById("desk"))};
  document.getElementById("seen").textContent = JSON.stringify(out);
});
</script>"""


def serve(folder, requests):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            requests.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    report, dark = pathlib.Path(sys.argv[1]), "dark" in sys.argv[2:]
    requests = []
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "report.html").write_bytes(report.read_bytes())
        pathlib.Path(folder, "frames.html").write_text(FRAMES)
        server = serve(folder, requests)
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update",
                   "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                   f"--user-data-dir={folder}/profile", "--enable-logging=stderr", "--dump-dom",
                   "--window-size=1300,900",
                   f"http://127.0.0.1:{server.server_address[1]}/frames.html"]
        if dark:
            command.insert(1, "--blink-settings=preferredColorScheme=0")
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        server.shutdown()
    found = re.search(r'<pre id="seen">(.*?)</pre>', result.stdout, re.S)
    if not found or not found.group(1):
        sys.exit("Chromium gave nothing:\n" + result.stderr[-3000:])
    seen = json.loads(html.unescape(found.group(1)))
    seen["requests"] = [path for path in requests if path not in ("/frames.html", "/report.html")]
    seen["console"] = [line for line in result.stderr.splitlines() if ":CONSOLE" in line]
    json.dump(seen, sys.stdout)


main()
