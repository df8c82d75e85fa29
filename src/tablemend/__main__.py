"""``python -m tablemend``, and ``accelerate launch -m tablemend train sft recipe=...``."""

import sys

from tablemend.cli.app import main

if __name__ == "__main__":  # workers of a training import it again
    sys.exit(main())
