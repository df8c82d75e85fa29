"""A model server in this process: it answers our prompts by program, and fails on demand."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from hashlib import blake2b

from tablemend.values.text import count_tokens
from tests.support.chat_server import ChatServer, Reply, Seen, answer, refuse
from tests.support.model_server.faults import REFUSALS, Faults, spoil_json
from tests.support.model_server.scripted import Chat, answer_prompt


class ModelServer(ChatServer):
    """Serves until it is stopped.

    Args:
        faults: what goes wrong, such as ``429:0.1+cut:0.05`` (README.md).
        seed: of faults and answers.
        latency: seconds from a request to its answer.
    """

    def __init__(self, faults: str = "", seed: int = 0, latency: float = 0.0) -> None:
        self._faults = Faults.parse(faults, seed)
        self._latency = latency
        self._asked: Counter[bytes] = Counter()
        super().__init__(self._respond)

    @property
    def model(self) -> str:
        """Its model string; the server needs no key."""
        return f"openai:scripted@{self.url}"

    def restart(self) -> None:
        """Start it again at the same address: it has forgotten what it was asked."""
        self.stop()
        self._asked.clear()
        super().__init__(self._respond, self.port)

    def _respond(self, seen: Seen) -> Reply:
        body = json.dumps(seen.body, ensure_ascii=False, separators=(",", ":"))
        content = blake2b(body.encode(), digest_size=16).digest()
        attempt = self._asked[content]
        self._asked[content] += 1
        fault = self._faults.draw(content, attempt)
        name = "" if fault is None else fault.name
        if name in ("429", "500"):
            return refuse(int(name), "this request is refused", seconds=self._latency)
        chat = Chat.of(seen.body)
        text, finish, refusal = answer_prompt(chat, name, self._faults.seed), "stop", None
        if fault is not None and name in ("bad-json", "prose"):
            text = spoil_json(text, name, fault.rng) or text
        elif fault is not None and name == "refusal":
            refusal = fault.rng.choice(REFUSALS)
        elif name == "length":
            text, finish = text[: len(text) // 2], "length"
        most = seen.body.get("max_completion_tokens") or seen.body.get("max_tokens")
        if most is not None and count_tokens(text) + 1 > most:  # the end of turn is one too
            text, finish = _within(text, most), "length"
        prompt = sum(count_tokens(turn) + 4 for _, turn in chat.turns)  # and the frame of each
        completion = count_tokens(refusal or text) + (finish == "stop")
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        usage["total_tokens"] = prompt + completion
        said = answer(
            None if refusal else text, finish, refusal=refusal, usage=usage, seconds=self._latency
        )
        return said.cut_in_half() if name == "cut" else said


def _within(text: str, most: int) -> str:
    """The longest beginning of so many tokens."""
    end = bisect_right(range(len(text) + 1), most, key=lambda end: count_tokens(text[:end])) - 1
    return text[:end]
