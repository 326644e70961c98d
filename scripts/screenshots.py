"""Makes the pictures of docs/images: the sample queue is researched in a temporary workspace and its site shown in Chromium.

The front page after thirty nights comes from a scripted log.

Run as ``python -m scripts.screenshots``; needs ``pip install -e '.[browser]'`` and Chromium.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

from pipeline.config.scaffold import lay_out
from scripts import thirty_nights

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES = Path(__file__).parent.parent / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
DESKTOP, PHONE = (1280, 900), (390, 844)
SHARPNESS = 1.5
COLOURS = 256
MOST_BYTES = 300_000


@dataclass(frozen=True)
class Picture:
    """One picture: file name without suffix, page of the site (a pattern), size of the window, part to begin at.

    ``nights``: it is of the site after thirty nights.
    """

    name: str
    page: str
    window: tuple[int, int] = DESKTOP
    part: str = ""
    nights: bool = False


PICTURES = (
    Picture("home", "index.html"),
    Picture("report", "reports/*/*append-only-log*.html"),
    Picture("session", "sessions/*/*append-only-log*.html", part="#h-timeline"),
    Picture("thirty-nights", "index.html", nights=True),
    Picture("phone", "reports/*/*append-only-log*.html", PHONE),
)


def main() -> None:
    """Write all pictures."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        sys.exit("no Chromium on this machine: apt-get install chromium")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site, later = _site(Path(folder) / "sample"), _site_of_nights(Path(folder) / "nights")
        launched = playwright.chromium.launch(executable_path=browser, args=list(QUIET))
        for picture in PICTURES:
            for scheme in ("light", "dark"):
                _write(picture, scheme, _taken(launched, later if picture.nights else site, picture, scheme))
        launched.close()


def _site(workspace: Path) -> Path:
    lay_out(workspace)
    subprocess.run([sys.executable, "-m", "pipeline", "-q", "-C", str(workspace), "run"], check=True)  # noqa: S603 - our own
    return workspace / "site"


def _site_of_nights(workspace: Path) -> Path:
    lay_out(workspace)
    thirty_nights.write(workspace / "events")
    subprocess.run([sys.executable, "-m", "pipeline", "-q", "-C", str(workspace), "build"], check=True)  # noqa: S603 - our own
    return workspace / "site"


def _taken(browser: Browser, site: Path, picture: Picture, scheme: str) -> bytes:
    width, height = picture.window
    dark = scheme == "dark"
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", device_scale_factor=SHARPNESS
    )
    page.goto(next(site.glob(picture.page)).as_uri() + picture.part)
    page.wait_for_load_state("networkidle")
    taken = page.screenshot()
    page.close()
    return taken


def _write(picture: Picture, scheme: str, taken: bytes) -> None:
    """Save a picture with few colours, which text on plain paper does not miss."""
    path = IMAGES / f"{picture.name}-{scheme}.png"
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    size = path.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{path} has {size} bytes, more than {MOST_BYTES}")
    print(f"{path.relative_to(IMAGES.parent.parent)}: {size} bytes")


if __name__ == "__main__":
    main()
