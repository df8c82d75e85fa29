"""Write the folder that publishes a run's checkpoint: weights, card, results; push it if asked.

python train/publish.py run=NAME repo_id=OWNER/NAME [merged=true] [push=true]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.publishing.hub import PublishCommand
from tablemend.script import run_script


def main() -> None:
    """A dry run that writes the folder; a push only where it is asked for and all is there."""
    command = load(PublishCommand)
    from tablemend.publishing import checkpoint, hub  # torch, only once the command is valid

    token = hub.hub_token() if command.push else ""
    published = checkpoint.write_folder(command)
    print(f"{published.folder / 'README.md'}")
    if command.push:
        print(f"pushed: {hub.push(published, command, token)}")
    elif published.missing:
        print(f"a push would be refused; missing: {'; '.join(published.missing)}")
    else:
        print("complete: look at the folder, then push=true")


if __name__ == "__main__":
    run_script(main)
