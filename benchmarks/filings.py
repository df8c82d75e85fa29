"""Seconds and memory of a FAITH set of made-up filings of 1 MB; to reach: 100 in 180 s.

python benchmarks/filings.py [--filings 100]
"""

import argparse
import re
import tempfile
import time
from multiprocessing import active_children
from pathlib import Path
from random import Random

from tablemend.tasks.faith.data import FaithSet, make_dataset

NAMES = "Industrial Consumer Aerospace Energy Medical Transport Software Retail".split()
TEXT = "{} revenue was ${:,} million in 2023, compared to ${:,} million in 2022. Prices rose. "
ROW = "<tr><td colspan=3>{}</td>" + 2 * "<td>$</td><td>{:,}</td><td></td><td></td>" + "</tr>"
PART = """<div>{}</div><div>{}</div><hr><div>Revenue (in millions):</div><table><tr><td colspan=3>
</td><td colspan=3>2023</td><td></td><td colspan=3>2022</td><td></td></tr>{}</table>"""
HEADS = {"1A. Risk Factors": 4, "7. Management's Discussion and Analysis": 6, "8. Financials": 10}


def make_filing(rng: Random) -> str:
    """A fifth is Item 7; everywhere pages have a paragraph and a table."""
    filing = "<html>"
    for head, tenths in HEADS.items():
        filing += f"<div>Item {head}</div>"
        while len(filing) < tenths * 100_000:
            rows = [(name, *rng.choices(range(100, 9000), k=2)) for name in rng.sample(NAMES, 6)]
            said, cells = ("".join(form.format(*row) for row in rows) for form in (TEXT, ROW))
            filing += PART.format(said, len(filing) // 2000, cells)
    return filing


def peak_mib() -> float:
    """Peak resident memory of this process and its workers, added up."""
    ids = ["self", *(child.pid for child in active_children())]
    found = "".join(Path(f"/proc/{one}/status").read_text() for one in ids)
    return sum(map(int, re.findall(r"VmHWM:\s+(\d+)", found))) / 1024


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--filings", type=int, default=100, help="how many")
    n, peaks = parser.parse_args().filings, list[float]()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n):
            Path(folder, f"{number}_.htm").write_text(make_filing(Random(number)), "utf-8")
        settings = FaithSet(reports=(folder,), out=f"{folder}/.set", workers=2)
        start = time.monotonic()
        make_dataset(settings, lambda done: peaks.extend(done * [peak_mib()]))
    print(f"{(took := time.monotonic() - start):.1f} s, {n / took:.2f} filings a second")
    print(f"peak memory: {peaks[n // 4]:.0f} MiB after a quarter, {peaks[-1]:.0f} MiB at the end")


if __name__ == "__main__":
    main()
