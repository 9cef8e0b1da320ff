"""Random walks of a client that says anything in any order before and after its login: what may never happen.

A walk is drawn from a seed. It fails with its steps, so that it can be told as a conversation.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from random import Random
from typing import Any

import pytest

from kohort.base.logs import log
from kohort.protocol.api_keys import APIS
from kohort.security.sasl.login import State
from kohort.security.sasl.scram import ScramMechanism, credential_of, salted_password
from tests.support.broker import Broker, Client
from tests.support.effort import EFFORT
from tests.support.frames import frame

WALKS, STEPS = 150, 14
USERS = 'PlainLoginModule required user_alice="alice-secret" user_bob="bob-secret";'
SALTED = salted_password(ScramMechanism.SCRAM_SHA_256, "carol-secret", b"salt", 4096)
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "plain", "")
KNOWN = {"User:alice", "User:bob", "User:carol", "User:ANONYMOUS"}


class Walker:
    """A client that does not know the rules, but knows a few passwords."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = Broker(
            listeners="SASL_PLAINTEXT://10.0.0.1:9092",
            sasl_enabled_mechanisms="PLAIN,SCRAM-SHA-256,OAUTHBEARER",
            sasl_jaas_config=USERS,
            connections_max_reauth_ms=self.random.choice((0, 1_500)),
        )
        sha_256 = ScramMechanism.SCRAM_SHA_256
        self.world.cluster.scram_credentials.put("carol", sha_256, credential_of(sha_256, SALTED, b"salt", 4096))
        self.client: Client = self.world.stranger()
        self.showed_password = False
        """Whether it has ever said something that only somebody with a password can."""
        self.steps: list[str] = []
        self.nonce = ""

    def walk(self) -> None:
        for _ in range(STEPS):
            if self.client.closed:
                return
            self.step()
            self.check()

    def step(self) -> None:
        kinds = (
            "handshake",
            "handshake",
            "authenticate",
            "authenticate",
            "authenticate",
            "other",
            "bare",
            "garbage",
            "wait",
        )
        kind = self.random.choice(kinds)
        if self.random.random() < 0.6:  # what a client would say here
            state = self.client.connection.login.state if self.client.connection.login else None
            kind = {State.NEW: "handshake", State.HANDSHAKEN: "authenticate", State.HANDSHAKEN_BARE: "bare"}.get(
                state or State.FAILED, kind
            )
        self.steps.append(kind)
        getattr(self, kind)()
        self.heed()

    def handshake(self) -> None:
        mechanism = self.random.choice(MECHANISMS[:2] if self.random.random() < 0.8 else MECHANISMS)
        self.say("sasl_handshake", self.random.choice((0, 1, 1, 1)), mechanism=mechanism)

    def authenticate(self) -> None:
        self.say("sasl_authenticate", self.random.randrange(3), auth_bytes=self.message())

    def bare(self) -> None:
        message = self.message()
        self.client.says(len(message).to_bytes(4, "big") + message)

    def other(self) -> None:
        requests: list[tuple[str, int, dict[str, Any]]] = [
            ("api_versions", 0, {}),
            ("metadata", 9, {"topics": ()}),
            ("heartbeat", 0, {"group_id": "g", "generation_id": 1, "member_id": "m"}),
        ]
        name, version, fields = self.random.choice(requests)
        self.say(name, version, **fields)

    def garbage(self) -> None:
        if self.random.random() < 0.3:
            key = self.random.choice(APIS).key.to_bytes(2, "big") + self.random.randbytes(self.random.randrange(30))
            self.client.says(len(key).to_bytes(4, "big") + key)

    def wait(self) -> None:
        self.world.loop.wait(self.random.choice((1, 100, 1_200, 2_000)))

    def say(self, name: str, version: int, **fields: Any) -> None:
        self.client.says(frame(name, version, 1, **fields))

    def message(self) -> bytes:
        good = [b"\0alice\0alice-secret", b"\0bob\0bob-secret"]
        bad = [
            b"\0alice\0wrong",
            b"",
            b"x",
            b"\0\0",
            b"\x01",
            b"n,,n=carol,r=abc",
            self.proof(SALTED),
            self.proof(b"guessed"),
        ]
        likely = [self.proof(SALTED)] if self.nonce else [*good, b"n,,n=carol,r=abc"]
        message = self.random.choice(likely if self.random.random() < 0.6 else good + bad)
        self.showed_password |= message in good or message == self.proof(SALTED)
        self.steps.append(repr(message))
        return message

    def proof(self, salted: bytes) -> bytes:
        """The final message of SCRAM, for the nonce heard last."""
        key = hmac.digest(salted, b"Client Key", "sha256")
        last = f"c=biws,r={self.nonce}"
        signed = f"n=carol,r=abc,r={self.nonce},s=c2FsdA==,i=4096,{last}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        return f"{last},p={b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()}".encode()

    def heed(self) -> None:
        """Takes the nonce out of a challenge; it counts for the answer to that alone."""
        for heard in self.client.heard():
            at = heard.find(b"r=abc")
            self.nonce = heard[at + 2 :].split(b",")[0].decode() if at >= 0 else ""

    def check(self) -> None:
        login, connection = self.client.connection.login, self.client.connection
        assert login is not None
        assert str(connection.principal) in KNOWN
        if not self.showed_password:
            assert str(login.principal) == "User:ANONYMOUS", self.steps
            assert login.state is not State.COMPLETE, self.steps
        if str(connection.principal) == "User:ANONYMOUS" and not connection.closed:
            assert connection.handle == self.world.server.gate.handle, self.steps


@pytest.mark.parametrize("block", range(EFFORT.walks // 4))
def test_random_walks_require_password(block: int, lines: Any) -> None:
    log.configure(level="warning", stream=lines)
    came_in = 0
    for seed in range(block * WALKS, (block + 1) * WALKS):
        walker = Walker(seed)
        walker.walk()
        came_in += walker.client.connection.principal.name != "ANONYMOUS"
        walker.world.loop.wait(1_000)
        assert "fault" not in lines.getvalue(), (seed, walker.steps, lines.getvalue())
    assert came_in > 5, "the walks are worth something"
