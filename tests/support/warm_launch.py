"""``accelerate launch`` by processes that are forks of one that has imported the trainings.

The launcher is accelerate's own, with its files, environment and rendezvous; but where it would
start interpreters that import everything anew, half a minute a launch, this one and its workers are
forks, with sessions and output of their own as before.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, Any

import accelerate.commands.launch
import pytest
import torch.distributed.run  # noqa: F401  (for the forks)
from torch.distributed.elastic.multiprocessing.subprocess_handler import SubprocessHandler

import tests.support.trainings_in_process  # noqa: F401  (for the forks)
from tablemend.recipe.experiment import TrainingRecipe
from tablemend.runs import Run
from tests.support.short_trainings import ENVIRONMENT, ROOT, launch_command

FORKS = sys.platform == "linux"  # elsewhere libraries below Python do not survive it
SERVER = multiprocessing.get_context("forkserver" if FORKS else "spawn")
SERVER.set_forkserver_preload([__name__])
"""Its processes have imported what this module does."""


class Forked:
    """A Python script in a fork; what torch's launcher asks of a ``Popen``."""

    def __init__(
        self, args: Sequence[str], env: Mapping[str, str], stdout: IO[str] | None, stderr: Any
    ) -> None:
        self.args = args
        fork = multiprocessing.get_context("fork")
        self.process = fork.Process(target=_run_script, args=(args, env, stdout, stderr))
        self.process.start()
        self.pid = self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.process.exitcode


def _redirect(*outputs: IO[str] | None) -> None:
    """As stdout and stderr of a new session."""
    os.setsid()
    for place, file in enumerate(outputs, start=1):
        if file is not None:
            os.dup2(file.fileno(), place)


def _replace_environment(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def _run_script(
    args: Sequence[str], env: Mapping[str, str], stdout: IO[str] | None, stderr: IO[str] | None
) -> None:
    """As ``python -u SCRIPT ARGUMENT...`` would."""
    _redirect(stdout, stderr)
    _replace_environment(env)
    first = next(place for place, word in enumerate(args) if word.endswith(".py"))
    sys.argv = list(args[first:])
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


def _accelerate(command: Sequence[str], outputs: Sequence[Path]) -> None:
    out, err = (path.open("w") for path in outputs)
    _redirect(out, err)
    _replace_environment(ENVIRONMENT)
    os.chdir(ROOT)

    def popen(self: Any, args: Sequence[str], env: Mapping[str, str]) -> Forked:
        return Forked(args, env, self._stdout, self._stderr)

    if FORKS:
        SubprocessHandler._popen = popen
    sys.argv = list(command)
    accelerate.commands.launch.main()


@dataclass(frozen=True)
class Launch:
    """A launcher that runs, and the files that it and its workers print into."""

    process: BaseProcess
    outputs: tuple[Path, Path]

    @classmethod
    def of(cls, config: TrainingRecipe, *options: str, script: Sequence[str]) -> Launch:
        command = launch_command(config, *options, script=script)
        run = Run.of(config).path
        outputs = (run.with_suffix(".out"), run.with_suffix(".err"))
        process = SERVER.Process(target=_accelerate, args=(command, outputs))
        with pytest.MonkeyPatch.context() as patch, chdir(ROOT):  # for the server, if it is new
            patch.setenv("OMP_NUM_THREADS", ENVIRONMENT["OMP_NUM_THREADS"])
            process.start()
        return cls(process, outputs)

    def finish(self) -> subprocess.CompletedProcess[str]:
        self.process.join(900)
        assert self.process.exitcode is not None, "still running"
        return subprocess.CompletedProcess("accelerate launch", self.process.exitcode, *self.said())

    def said(self) -> list[str]:
        """What is in stdout and in stderr so far."""
        return [path.read_text("utf-8") for path in self.outputs]


def launch(config: TrainingRecipe, *options: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end, as :func:`short_trainings.launch` does."""
    return Launch.of(config, *options, script=[script]).finish()
