"""Quotes as models copy them, honestly or not, against the page that they are from."""

from __future__ import annotations

import pytest

from pipeline.text.quotes import find_quote, holds_quote

PAGE = """# Pump station handbook

The pump runs at night. The valve stays closed. On a crash the index is rebuilt from the log.

Do not restart the server while a backup runs; it can't be resumed afterwards. It is not recommended to share the key.

## Limits {#limits}

The cache holds 1,600 pages of 8 kB, that is 2^32 bytes at most – about 12.5 MB – and 10% are reserved (see "Reserves").

- Temperatures from -5 °C to 40 °C are allowed
- Speeds of 5–10 km/h, or 3 m/s
- The motor draws 5 mW at rest and < 3 A under load
- …and it has an entry for each motor, like speed, name…

| Setting | Default | Range |
| work_mem | 4 MB | 64 kB to 2 GB |
| max_connections | 100 | 1 to 262143 |
| wal_level | replica | minimal, replica, logical |

```
research run --all
research build && research serve
```

Set `max_wal_size` to *at least* 1 GB in postgresql.conf. In 2019.[3] The limit “was raised”, e.g. for R&D teams of Müller’s ﬁrm.

1. Open the lid of the tank
2. Fill in 20 litres of water

日本語の文書は空白なしで書かれる。水は百度で沸騰する。

Storage is unreliable on 15 of 50 nodes. The append-only log isn't lost. C++ and C# are used; a != b holds. It weighs 0.5 kg.

## Harbour 2

The harbour is 12 metres deep at pier № 0, № 1 and № 2 at low tide. In version 3 All tests pass.

```
# without pauses
station --wait 5
no_wait=1
```

Edit .env first: then ./up.sh --all is run in ../station..
"""

HONEST = (
    "The pump runs at night.",
    "The pump runs at night",
    "the pump runs at night.",
    "The pump runs at night. The valve stays closed.",
    "The pump runs at night. The valve stays closed",
    "“The pump runs at night.”",
    "**The pump runs at night.**",
    "*The pump runs at night*",
    "- The pump runs at night.",
    "> The pump runs at night.",
    "The   pump\nruns at night.",
    "The pump runs at night…",
    "……The pump runs at night….",
    "...The valve stays closed.",
    "On a crash, the index is rebuilt from the log.",
    "…and it has an entry for each motor, like speed, name…",
    "it has an entry for each motor, like speed, name",
    "On a crash the index is rebuilt from the log…",
    "On a crash the `index` is rebuilt",
    "Do not restart the server while a backup runs; it can't be resumed afterwards.",
    "Do not restart the server while a backup runs, it can’t be resumed afterwards",
    "do not restart the server while a backup runs",
    "it can’t be resumed afterwards",
    "It is not recommended to share the key.",
    "## Limits",
    "Limits: The cache holds 1,600 pages",
    "The cache holds 1,600 pages of 8 kB",
    "The cache holds 1,600 pages of 8kB, that is 2^32 bytes at most - about 12.5 MB - and 10% are reserved (see “Reserves”).",
    "that is 2³² bytes at most — about 12.5 MB — and 10% are reserved",
    "about 12.5 MB and 10% are reserved",
    "10% are reserved (see Reserves)",
    "10 % are reserved (see 'Reserves').",
    "Temperatures from −5 °C to 40 °C are allowed",
    "Temperatures from -5 °C to 40 °C are allowed.",
    "• Temperatures from -5 °C to 40 °C are allowed",
    "* Temperatures from -5°C to 40°C are allowed",
    "Speeds of 5-10 km/h, or 3 m/s",
    "Speeds of 5 – 10 km/h or 3 m/s",
    "- Temperatures from -5 °C to 40 °C are allowed\n- Speeds of 5–10 km/h, or 3 m/s",
    "Temperatures from -5 °C to 40 °C are allowed. Speeds of 5–10 km/h, or 3 m/s.",
    "The motor draws 5 mW at rest and < 3 A under load.",
    "The motor draws 5 mW at rest and &lt; 3 A under load",
    "| work_mem | 4 MB | 64 kB to 2 GB |",
    "|work_mem|4 MB|64 kB to 2 GB|",
    "work_mem | 4 MB | 64 kB to 2 GB",
    "work_mem 4 MB 64 kB to 2 GB",
    "`work_mem` – 4 MB – 64 kB to 2 GB",
    "work_mem: 4 MB, 64 kB to 2 GB",
    "| work_mem | 4 MB | 64 kB to 2 GB |\n| max_connections | 100 | 1 to 262143 |",
    "| Setting | Default | Range |\n|---|---|---|\n| work_mem | 4 MB | 64 kB to 2 GB |",
    "| Setting | Default | Range | | work_mem | 4 MB | 64 kB to 2 GB |",
    "wal_level, replica, minimal, replica, logical",
    "research run --all",
    "`research build && research serve`",
    "```\nresearch run --all\nresearch build && research serve\n```",
    "```sh\nresearch run --all\nresearch build &amp;&amp; research serve\n```",
    "$ research run --all".removeprefix("$ "),
    "Set max_wal_size to at least 1 GB in postgresql.conf.",
    "Set `max_wal_size` to at least 1 GB in `postgresql.conf`",
    "Set _max_wal_size_ to **at least** 1 GB",
    'The limit "was raised", e.g. for R&D teams',
    "The limit was raised, e.g. for R&amp;D teams of Müller's firm.",
    "In 2019. The limit “was raised”",
    "R&D teams of Mu\u0308ller's firm",
    "Open the lid of the tank",
    "1. Open the lid of the tank\n2. Fill in 20 litres of water",
    "Fill in 20 litres of water.",
    "日本語の文書は空白なしで書かれる。",
    "水は百度で沸騰する",
    "Storage is unreliable on 15 of 50 nodes",
    "The append‑only log isn’t lost.",
    "The append only log isn't lost",
    "C++ and C# are used, a != b holds.",
    "It weighs 0.5 kg",
    "It weighs 0.5\u00a0kg.",
    "The harbour is 12 metres deep at pier № 0, № 1 and № 2 at low tide.",
    "1 and № 2 at low tide",
    "All tests pass.",
    ".env first",
    "station --wait 5",
    "./up.sh --all is run",
    "… ../station..",
)

ALTERED = (
    "This stands in no page at all.",
    "The pump runs at day.",
    "The pump never runs at night.",
    "The pump runs night.",
    "runs at night the valve stays closed",
    "The pump runs at night the valve stays closed.",
    "The pump runs at night … the index is rebuilt",
    "The pump runs at night [...] On a crash the index is rebuilt",
    "The pump stays closed.",
    "The valve stays closed. The pump runs at night.",
    "restart the server while a backup runs",
    "Restart the server while a backup runs; it can't be resumed afterwards.",
    "Do restart the server while a backup runs",
    "it can be resumed afterwards",
    "It is recommended to share the key.",
    "recommended to share the key",
    "The cache holds 1,601 pages of 8 kB",
    "The cache holds 16,00 pages of 8 kB",
    "The cache holds 1.600 pages of 8 kB",
    "The cache holds 1,600 pages of 8 MB",
    "The cache holds 600 pages of 8 kB",
    "that is 232 bytes at most",
    "that is 2 32 bytes at most",
    "2^33 bytes at most",
    "about 125 MB – and 10% are reserved",
    "about 12.5 GB – and 10% are reserved",
    "2.5 MB – and 10% are reserved",
    "about 12.5 MB – and 10 are reserved",
    "Temperatures from 5 °C to 40 °C are allowed",
    "Temperatures from -5 °C to 40 °F are allowed",
    "Temperatures from -5 °C to 40 are allowed",
    "Speeds of 510 km/h, or 3 m/s",
    "Speeds of 5–10 km, or 3 m/s",
    "Speeds of 5–10 km/h, or 3 m",
    "The motor draws 5 MW at rest and < 3 A under load",
    "The motor draws 5 mW at rest and > 3 A under load",
    "The motor draws 5 mW at rest and 3 A under load",
    "km/h, or 3 m/s the motor draws 5 mW",
    "work_mem | 4 GB | 64 kB to 2 GB",
    "work_mem | 100 | 1 to 262143",
    "max_connections | 4 MB | 64 kB to 2 GB",
    "64 kB to 2 GB max_connections 100",
    "wal_level | replica | minimal, logical",
    "workmem | 4 MB | 64 kB to 2 GB",
    "research build || research serve",
    "Set max_wal_size to at most 1 GB",
    "Set max_wal_size to 1 GB in postgresql.conf",
    "Open the lid of the tank Fill in",
    "水は百度で沸騰しない",
    "reliable on 15 of 50 nodes",
    "Storage is reliable on 15 of 50 nodes",
    "Storage is unreliable on 5 of 50 nodes",
    "The append-only log is lost",
    "C and C# are used",
    "a == b holds. It weighs",
    "It weighs 5 kg",
    "It weighs 0.5 g",
)


@pytest.mark.parametrize("quote", HONEST)
def test_an_honest_copy_is_found(quote: str) -> None:
    assert holds_quote(PAGE, quote)


@pytest.mark.parametrize("quote", ALTERED)
def test_an_altered_copy_is_not_found(quote: str) -> None:
    assert not holds_quote(PAGE, quote)
    assert find_quote(PAGE, quote) is None


@pytest.mark.parametrize(
    ("quote", "own"),
    [
        ("the pump runs at night", "The pump runs at night."),
        ("work_mem 4 MB 64 kB", "| work_mem | 4 MB | 64 kB to 2 GB |"),
        ("speeds of 5-10 km/h", "- Speeds of 5–10 km/h"),
        ("The limit was raised", "The limit “was raised”"),
        ("set max_wal_size to at least 1 GB", "Set `max_wal_size` to *at least* 1 GB"),
    ],
)
def test_the_pages_own_words_are_found_with_their_marks(quote: str, own: str) -> None:
    found = find_quote(PAGE, quote)
    assert found is not None
    assert PAGE[found.start : found.end] == own
