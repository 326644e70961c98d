"""Nights against the stand-in, killed with SIGKILL at random instants until 200 kills. Prints kills, requests, the bill beside
what the server charged, and what broke.

Run: python -m bench.deaths [--kills 200]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.integration.test_deaths import broken, night_of, undisturbed

A_NIGHT = 10


def main() -> None:
    """Print a line a night, then the sums; exit 1 if anything broke."""
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=200)
    given = options.parse_args()
    kills = requests = lost = nights = wrong = 0
    charged = told = at_most = likely = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        usual = undisturbed(Path(scratch) / "usual")
        print(f"{usual} requests without kills")
        while kills < given.kills:
            with night_of(Path(scratch) / str(nights), str(nights)) as night:
                found = broken(night, usual, A_NIGHT)
                for cost in night.costs():
                    told, at_most, likely = told + cost.charged_usd, at_most + cost.assumed_usd, likely + cost.expected_usd
                charged += night.charged_usd()
            nights, wrong = nights + 1, wrong + len(found)
            kills, lost, requests = kills + night.kills, lost + night.lost, requests + len(night.standin.log.hits)
            print(
                f"night {nights}: {night.kills} kills, {len(night.standin.log.hits)} requests, {night.lost} lost",
                *found,
                flush=True,
            )
    print(f"{kills} kills in {nights} nights: {requests} requests, {nights * usual} without kills, {lost} under way at a kill")
    real = charged - told
    print(f"the server charged {charged:.4f} USD; the bill: {told:.4f} charged, up to {at_most:.4f} not accounted for")
    print(
        f"not accounted for: really {real:.4f} USD, estimated at {likely:.4f}, {likely / real if real else 0:.2f} times as much"
    )
    print(f"{wrong} violations")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
