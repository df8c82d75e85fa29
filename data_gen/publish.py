"""Write a data set as Parquet with its card; push it to the Hub if asked.

python data_gen/publish.py data=data/tablehallu repo_id=OWNER/NAME
python data_gen/publish.py data=data/torr repo_id=OWNER/NAME license=cc-by-sa-4.0 push=true

Every folder that a script of data_gen/ wrote, preference pairs too (docs/publishing.md).
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.publishing.hub import PublishDataCommand
from tablemend.script import run_script


def main() -> None:
    """A dry run that writes the folder; a push only where it is asked for."""
    command = load(PublishDataCommand)
    from tablemend.publishing import dataset, hub  # pyarrow, only once the command is valid

    token = hub.hub_token() if command.push else ""
    published = dataset.write_folder(command)
    counts = ", ".join(f"{count} {split}" for split, count in published.splits.items())
    print(f"{published.folder / 'README.md'}\n{counts}; licence {published.license}")
    if command.push:
        print(f"pushed: {hub.push(published, command, token)}")
    else:
        print("look at the folder, then push=true")


if __name__ == "__main__":
    run_script(main)
