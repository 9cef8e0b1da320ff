"""Lines of Java's login configuration."""

import pytest

from kohort.security.jaas import JaasError, parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_options_come_without_their_quotes() -> None:
    line = parse_jaas(f'{PLAIN} required user_admin="admin-secret" user_bob=\'b;o"b\' x="a\\"b" debug=true;')
    assert line.module == PLAIN
    assert line.options == {"user_admin": "admin-secret", "user_bob": 'b;o"b', "x": 'a"b', "debug": "true"}


def test_line_may_span_lines() -> None:
    assert parse_jaas(f"{PLAIN} required;").options == {}
    assert parse_jaas(f'  {PLAIN}\n  required\n  a="b"\n;\n').options == {"a": "b"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        PLAIN,
        f"{PLAIN} required",
        f'{PLAIN} required a="b"',
        f'{PLAIN} required a="b;',
        f"{PLAIN} required a=;",
        f"{PLAIN} needed;",
    ],
)
def test_malformed_line_shows_no_secret(text: str) -> None:
    with pytest.raises(JaasError) as problem:
        parse_jaas(text.replace('"b', '"very-secret'))
    assert "secret" not in str(problem.value)


def test_line_shows_no_secret() -> None:
    assert "secret" not in repr(parse_jaas(f'{PLAIN} required user_a="secret";'))
