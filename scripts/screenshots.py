"""Makes the pictures of the documents: the sample queue is researched, and Chromium shows a report, light and dark, and Home.

Run as ``python -m scripts.screenshots``; needs ``pip install -e '.[browser]'`` and Chromium.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from pipeline.config.workspace_starter import lay_out

IMAGES = Path(__file__).parent.parent / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
PAGE = "reports/*/*append-only-log*.html"
WIDTH, HEIGHT = 1280, 900
PHONE = (390, 844)
SHARPNESS = 1.5
COLOURS = 256  # of a picture, which text on plain paper does not miss


def main() -> None:
    """Write the pictures."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        sys.exit("no Chromium on this machine: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lay_out(Path(folder) / "sample")
        command = [sys.executable, "-m", "pipeline", "-q", "-C", f"{folder}/sample", "run"]
        subprocess.run(command, check=True)  # noqa: S603 - our own
        report = next(Path(folder).glob(f"sample/site/{PAGE}"))
        launched = playwright.chromium.launch(executable_path=browser, args=list(QUIET))
        home = Path(folder) / "sample" / "site" / "index.html"
        for name, shown, (width, height) in (
            ("report-light", report, (WIDTH, HEIGHT)),
            ("report-dark", report, (WIDTH, HEIGHT)),
            ("home-phone", home, PHONE),
        ):
            page = launched.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if name.endswith("dark") else "light",
                device_scale_factor=SHARPNESS,
            )
            page.goto(shown.as_uri())
            page.wait_for_load_state("networkidle")
            image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            few = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            few.save(IMAGES / f"{name}.png", optimize=True)
        launched.close()


if __name__ == "__main__":
    main()
