"""The second scorer: an exact comparison that shares no code with the detector, nor anything else.

Rewards and mitigations are made with the detector; whoever is trained or mended by it may learn its
faults. This package imports nothing of tablemend, so that a fault of the one is none of the other.
"""

from tablemend.exact_match.exact import SCORER, Difference, Opinion, compare_exactly
from tablemend.exact_match.reading import Grid, Unreadable, read_answer
