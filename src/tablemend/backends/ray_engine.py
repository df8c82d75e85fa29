"""vLLM on a Ray cluster: prompts are rendered here, weights and answers live there."""

from __future__ import annotations

import asyncio
import threading
from importlib.util import find_spec

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.ray_replicas import RayReplicas
from tablemend.backends.requests import Completion, Request, misfit
from tablemend.backends.vllm_engine import VllmEngine
from tablemend.config.backend import BackendOptions
from tablemend.errors import TablemendError, install


class RayEngine(VllmEngine):
    """``vllm.data_parallel`` engines on a cluster; answers are those of :class:`VllmEngine`.

    Args:
        checkpoint: folder or Hub name that every node of the cluster can read; an adapter is
            merged first, which a cluster of this machine alone can read.
        options: as for :class:`VllmEngine`, and ``vllm.ray_address``.

    Raises:
        TablemendError: Ray is not installed, or an adapter on a cluster of several machines.
    """

    def __init__(self, checkpoint: Checkpoint, options: BackendOptions) -> None:
        if find_spec("ray") is None:
            raise TablemendError(f"ray is not installed: {install('ray')}")
        if checkpoint.adapter_base is not None:
            if options.vllm.ray_address is not None:
                raise TablemendError(
                    f"{checkpoint.path} is an adapter, which the nodes of a Ray cluster cannot "
                    "be given: merge it into its base and name that folder"
                )
            merged = options.vllm.model_copy(update={"adapter": "merge"})
            options = options.model_copy(update={"vllm": merged})
        super().__init__(checkpoint, options)
        self._replicas: RayReplicas | None = None
        self._starting = threading.Lock()

    def _assign(self) -> list[dict[str, str]]:
        """The cluster assigns devices."""
        return [{}]

    def _start(self) -> RayReplicas:
        with self._starting:  # several rows may ask at the same time, each in a thread
            if self._replicas is None:
                vllm = self.options.vllm
                self._replicas = RayReplicas(
                    self._launch(),
                    vllm.data_parallel or 1,
                    vllm.tensor_parallel,
                    vllm.ray_address,
                    self.options.timeout,
                )
                self._runner = self._replicas
            return self._replicas

    async def answer(self, request: Request) -> Completion:
        """Answer one as soon as an engine has it; nothing waits for the rest of a batch."""
        prompt = self._render(request)
        if why := misfit(prompt, request.sampling.max_new_tokens, self._window):
            return Completion.failed(prompt.id, why)
        self._keys += 1
        job = self._job(self._keys - 1, prompt, request)
        replicas = await asyncio.to_thread(self._start)
        (future,) = replicas.submit([job])
        return self._completion(prompt, await asyncio.wrap_future(future))

    def close(self) -> None:
        """End the engines, and the cluster where it is ours."""
        super().close()
        self._replicas = None
