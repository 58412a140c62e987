"""kill -9 at any moment: everything that was acknowledged is in the store after the next import, once."""

import http.client
import os
import random
import signal
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

import pytest

from tests.capture.receiver.chats import in_json, in_protobuf, key
from tests.capture.receiver.serving import HOST, JSON, PROTOBUF, kept

SENDERS = 6
ROUNDS = 5


class Sending:
    """Senders that send until the receiver is gone, and remember what it has acknowledged."""

    def __init__(self) -> None:
        self.acknowledged: set[str] = set()
        self.unanswered: set[int] = set()
        self._again: list[int] = []
        self._fresh = count()

    def again(self) -> None:
        """A sender that was not answered sends again: what was kept all the same is there twice."""
        self._again = list(self.unanswered)

    def number(self) -> int:
        try:
            return self._again.pop()
        except IndexError:
            return next(self._fresh)

    def run(self, port: int) -> None:
        connection = http.client.HTTPConnection(HOST, port, timeout=10)
        try:
            while True:
                self._send(connection, self.number())
        except (OSError, http.client.HTTPException):
            connection.close()

    def _send(self, connection: http.client.HTTPConnection, number: int) -> None:
        self.unanswered.add(number)
        body, content_type = (in_protobuf(number), PROTOBUF) if number % 3 else (in_json(number), JSON)
        connection.request("POST", "/v1/traces", body, {"Content-Type": content_type})
        response = connection.getresponse()
        response.read()
        if response.status == 200:
            self.acknowledged.add(key(number))
            self.unanswered.discard(number)


def _started(folder: Path) -> tuple["subprocess.Popen[str]", int]:
    script = Path(__file__).with_name("standalone.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen([sys.executable, str(script), str(folder)], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def _killed_under_load(folder: Path, sending: Sending, seconds: float) -> None:
    process, port = _started(folder)
    try:
        senders = [threading.Thread(target=sending.run, args=(port,), daemon=True) for _ in range(SENDERS)]
        before = len(sending.acknowledged)
        for sender in senders:
            sender.start()
        while len(sending.acknowledged) == before:
            time.sleep(0.001)
        time.sleep(seconds)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(20)
    for sender in senders:
        sender.join(20)
        assert not sender.is_alive()


@pytest.mark.parametrize("seed", [1, 2])
def test_everything_acknowledged_is_in_the_store_once(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  (moments, no secret)
    folder, store = tmp_path / "spool", tmp_path / "store"
    sending = Sending()
    for number in range(ROUNDS):
        _killed_under_load(folder, sending, chance.uniform(0, 0.4))
        sending.again()
        if number % 2:
            # As a server imports while it runs.
            kept(folder, store)
    found = kept(folder, store)
    chats = [row["key"] for row in found.boundaries if row["boundary"] == "model_request"]
    assert sending.acknowledged
    assert len(chats) == len(set(chats))
    assert sending.acknowledged - set(chats) == set()
    assert set(found.problems) <= {"unfinished last line"}
