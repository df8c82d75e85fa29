"""Make labelled claims over tables, to fine-tune and measure verifiers (task: claim_verification).

python data_gen/claims.py
python data_gen/claims.py data=../shared/data sets=[tabfact,logicnlg,infotabs]
python data_gen/claims.py target=program out=data/claim-programs
python data_gen/claims.py tabfaith=data/tabfaith-small most_characters=350 out=data/claims-tiny

Claims are the sentences of a TabFaith set, whose errors are known by construction, and those of the
public sets, of their dev split alone (docs/verification.md). target=program: with the programs that
decide them (task: claim_programs).
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.script import run_script
from tablemend.tasks.claim_verification import Claims, make_claims


def main() -> None:
    """Read the settings, make the set, print what came of it."""
    settings = load(Claims)
    for name, count in make_claims(settings).items():
        print(f"{name} {count}")
    print(f"written to {settings.out}")


if __name__ == "__main__":
    run_script(main)
