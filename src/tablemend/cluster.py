"""The work of :mod:`tablemend.workers` on the nodes of a Ray cluster, as a Ray Data pipeline."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")

MOST_TASKS = 10_000
"""Beyond so many pieces of work a task does several."""
_STARTED: dict[bytes, Callable[[Any], Any]] = {}  # the latest, in each process of a node


def map_on_ray(
    start: Callable[..., Callable[[S], T]], arguments: tuple[Any, ...], given: Sequence[S]
) -> Iterator[T]:
    """What :func:`~tablemend.workers.map_in_workers` yields, in the same order.

    It runs on the cluster of ``RAY_ADDRESS`` or of this machine, else starts one here. What a lost
    node was working on is done again by another. All nodes need this package and, where paths are
    given, the same files or URLs.
    """
    import ray
    import ray.data

    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="warning")
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    work = ray.put(pickle.dumps((start, arguments)))
    rows = [{"given": pickle.dumps(one)} for one in given]
    data = ray.data.from_items(rows, override_num_blocks=min(len(rows), MOST_TASKS) or 1)
    for row in data.map(_run, fn_kwargs={"work": work}).iter_rows():
        yield pickle.loads(row["made"])


def _run(row: dict[str, bytes], work: Any) -> dict[str, bytes]:
    import ray

    if (key := work.binary()) not in _STARTED:
        start, arguments = pickle.loads(ray.get(work))
        _STARTED.clear()
        _STARTED[key] = start(*arguments)
    return {"made": pickle.dumps(_STARTED[key](pickle.loads(row["given"])))}
