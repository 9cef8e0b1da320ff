"""Users as one names them on a command line."""

import pytest

from kohort.security.new_user import NewUserError, parse_new_user
from kohort.security.sasl.scram import ScramMechanism, credential_of, salted_password

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def test_password_is_salted() -> None:
    user = parse_new_user("SCRAM-SHA-512=[name=alice,password=alice-secret,iterations=8192]", b"salt")
    salted = salted_password(SHA_512, "alice-secret", b"salt", 8192)
    assert user == ("alice", SHA_512, credential_of(SHA_512, salted, b"salt", 8192))


def test_accepts_salted_password() -> None:
    user = parse_new_user('SCRAM-SHA-256=[name="a,b",salt="c2FsdA==",saltedpassword=AAAA]', b"other")
    assert user == ("a,b", SHA_256, credential_of(SHA_256, bytes(3), b"salt", 4096))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("alice", "names no user; write SCRAM-SHA-256="),
        ("SCRAM-SHA-1=[name=a,password=very-secret]", "names no user"),
        ("SCRAM-SHA-256=[password=very-secret]", "has no name"),
        ("SCRAM-SHA-256=[name=a]", "has no password, or two"),
        ("SCRAM-SHA-256=[name=a,password=]", "has an empty password"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=AAAA]", "has a saltedpassword without its salt"),
        ("SCRAM-SHA-256=[name=a,salt=?,password=very-secret]", "has a salt that is not base64"),
        ("SCRAM-SHA-256=[name=a,password=very-secret,iterations=1]", "has iterations=1; it must be from 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=very-secret,color=red]", "holds something else than name"),
        ("SCRAM-SHA-256=[name=a,name=b,password=very-secret]", "has name twice"),
    ],
)
def test_rejects_malformed_user(text: str, sentence: str) -> None:
    with pytest.raises(NewUserError) as problem:
        parse_new_user(text, b"salt")
    assert sentence in str(problem.value)
    assert "secret" not in str(problem.value)
