"""Rows whose requests failed for good, held back until it is clear that the models still answer."""

from __future__ import annotations

from tablemend.datasets.tablehallu_llm.rows import Row, has_failed
from tablemend.datasets.tablehallu_llm.run import Done, MakeRow
from tablemend.errors import MOST_FAILURES, Stopped


class HeldBack:
    """Lets rows through, but failed ones only once a row that was begun later has not failed.

    A row begun before may have had its answers already, so it says nothing of a server that went
    away since. What a run that stops has not let through is made anew by the same command.

    Args:
        write: takes the rows that are let through, and the seconds that they took.
    """

    def __init__(self, write: Done) -> None:
        self._write = write
        self._failed = self._streak = 0
        self._held: list[tuple[int, Row, float]] = []
        self._begun: dict[int, int] = {}  # failed rows before a row began, by its number
        self._answered = self._gone = False

    def watched(self, make: MakeRow) -> MakeRow:
        """The same, with a note of when each row begins."""

        async def make_noted(number: int) -> Row:
            self._begun[number] = self._failed
            return await make(number)

        return make_noted

    def take(self, row: Row, seconds: float) -> None:
        """Let a row through that has just ended, or hold it back.

        Raises:
            Stopped: the :data:`MOST_FAILURES` latest rows have all failed.
        """
        begun = self._begun.pop(row.number)
        if has_failed(row):
            self._held.append((self._failed, row, seconds))
            self._failed += 1
            self._streak += 1
            if self._streak == MOST_FAILURES:
                raise self._all_failed()
            return
        self._streak = 0
        self._answered = True
        self._write(row, seconds)
        self._release(begun)

    def end(self, answered_before: bool) -> None:
        """Let the rest through: every row was asked for, and the run was not stopped.

        Rows that fail once more, in a run of nothing else, are let through: else a data set with
        requests that no server ever takes would have no end.

        Args:
            answered_before: whether an earlier run had a row that did not fail.

        Raises:
            Stopped: the last rows of this run have all failed after others had not, or no row was
                ever answered.
        """
        gone = self._streak > 1 if self._answered else not answered_before
        if self._held and gone:
            raise self._all_failed()
        self._release(self._failed)

    def _release(self, until: int) -> None:
        """Let failed rows through, as many as had ended before ``until`` was noted."""
        while self._held and not self._gone and self._held[0][0] < until:
            _, row, seconds = self._held.pop(0)
            self._write(row, seconds)

    def _all_failed(self) -> Stopped:
        self._gone = True
        last = self._held[-1][1].rejections[-1].text
        return Stopped(
            f"requests of {self._streak} rows in a row failed for good, the last because {last}: "
            "mend that; the same command makes these rows anew and goes on"
        )
