"""`--config` and `--command-config` reject files of other formats with one sentence, and never take them for empty."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.broker.settings.broker_settings import SettingError, Settings
from kohort.cli.analyze import analyze
from kohort.cli.serving import entrances_of, read_file
from kohort.client.security import SecurityError, from_file, from_settings
from tests.broker.other_settings_files import (
    ACCEPTED_FOR_BROKERS,
    ACCEPTED_FOR_CLIENTS,
    BROKER,
    CLIENT,
    OTHER_FORMATS,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.txt"


def serve(file: Path) -> None:
    """Apply a file as `kohort serve --config` does before it listens."""
    settings, _ = read_file(str(file))
    entrances_of(Settings(settings, from_file=settings), None, "", 1, ())


def one_line(error: pytest.ExceptionInfo[ValueError], file: Path) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text.count(str(file)) == 1
    return text


@pytest.mark.parametrize("name", [*OTHER_FORMATS, *CLIENT])
def test_client_rejects_other_files(name: str, file: Path) -> None:
    text, words = {**OTHER_FORMATS, **CLIENT}[name]
    file.write_text(text)
    with pytest.raises(SecurityError) as error:
        from_file(file)
    assert words in one_line(error, file)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("name", [*OTHER_FORMATS, *BROKER])
def test_broker_rejects_other_files(name: str, file: Path) -> None:
    text, words = {**OTHER_FORMATS, **BROKER}[name]
    file.write_text(text)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - of a setting, or of an address
        serve(file)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ACCEPTED_FOR_CLIENTS)
def test_client_accepts_partly_known_files(name: str, file: Path) -> None:
    file.write_text(ACCEPTED_FOR_CLIENTS[name], encoding="utf-8")
    assert from_file(file).protocol == "PLAINTEXT"


@pytest.mark.parametrize("name", ACCEPTED_FOR_BROKERS)
def test_broker_accepts_partly_known_files(name: str, file: Path) -> None:
    file.write_text(ACCEPTED_FOR_BROKERS[name])
    serve(file)


def test_missing_files_are_named(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    with pytest.raises(SettingError) as error:
        read_file(str(missing))
    assert "No such file" in one_line(error, missing)
    with pytest.raises(SecurityError) as secured:
        from_file(missing)
    assert "No such file" in one_line(secured, missing)


def test_analyze_names_the_file_once(file: Path) -> None:
    file.write_text("spring.kafka.properties.security.protocol=SSL\n")
    result = CliRunner().invoke(analyze, ["127.0.0.1:1", "--command-config", str(file)])
    assert result.exit_code == 2
    assert result.output.count(str(file)) == 1
    assert "remove the prefix spring.kafka.properties." in result.output


TOKEN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "file:///run/secrets/token",
    "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sasl.login.callback.handler.class", "oauthbearer.OAuthBearerLoginCallbackHandler"),
        ("sasl.login.callback.handler.class", "oauthbearer.secured.OAuthBearerLoginCallbackHandler"),
        ("sasl.oauthbearer.jwt.retriever.class", "oauthbearer.FileJwtRetriever"),
        ("sasl.oauthbearer.jwt.validator.class", "oauthbearer.ClientJwtValidator"),
    ],
)
def test_kafkas_own_classes_are_accepted(name: str, value: str) -> None:
    security = from_settings(TOKEN | {name: f"org.apache.kafka.common.security.{value}"})
    assert security.token_file == "/run/secrets/token"


@pytest.mark.parametrize(
    "name",
    [
        "sasl.login.refresh.window.factor",
        "sasl.login.retry.backoff.ms",
        "sasl.login.connect.timeout.ms",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.kerberos.service.name",
    ],
)
def test_settings_without_effect_are_accepted(name: str) -> None:
    assert from_settings(TOKEN | {name: "1"}).token_file


def test_classes_of_others_are_rejected() -> None:
    handler = {"sasl.login.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler"}
    with pytest.raises(SecurityError, match=r"IAMClientCallbackHandler isn't supported"):
        from_settings(TOKEN | handler)
