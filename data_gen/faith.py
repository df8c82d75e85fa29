"""Make masked numbers of financial reports, to be recovered from their tables (FAITH, section 4).

python data_gen/faith.py
python data_gen/faith.py reports=[FOLDER_OF_10K_FILINGS] out=data/faith-filings
python data_gen/faith.py reports=[FOLDER] annotators=[openai:A@URL,openai:B@URL,openai:C@URL]

Filings are HTML, inline XBRL or text; without reports= they are invented. The program keeps numbers
that it can derive from the tables; models vote instead where annotators= names them
(docs/faith.md).
"""

from __future__ import annotations

from tqdm import tqdm

from tablemend.config import load
from tablemend.script import run_script
from tablemend.tasks.faith.data import FaithSet, describe, make_dataset


def main() -> None:
    """Read the settings, make the set, print what came of it."""
    settings = load(FaithSet)
    with tqdm(unit="report", disable=None) as bar:
        counts = make_dataset(settings, bar.update)
    for line in describe(counts, settings):
        print(line)


if __name__ == "__main__":
    run_script(main)
