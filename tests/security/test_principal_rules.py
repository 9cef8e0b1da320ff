"""`ssl.principal.mapping.rules`. Cases after Kafka's `SslPrincipalMapperTest`."""

import pytest

from kohort.security.principal import PrincipalError
from kohort.security.principal_rules import PrincipalRules, RulesError

ALICE = "CN=Alice,OU=people,O=kohort,C=DE"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", ALICE),
        ("RULE:^CN=(.*?),OU=people.*$/$1/L,DEFAULT", "alice"),
        ("RULE:^CN=(.*?),OU=people.*$/$1/U", "ALICE"),
        (r"RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/", "Alice@people"),
        (r"RULE:^CN=(?<who>.*?),.*$/${who}/", "Alice"),
        (r"RULE:^OU=.*$/x/, RULE:^.*CN=(\w+).*$/$1$9/", "Alice$9"),
        (r"RULE:^CN=(.*?),.*$/a\/$1/", "a/Alice"),
        (" DEFAULT , RULE:.*/x/", ALICE),
    ],
)
def test_first_matching_rule_wins(rules: str, name: str) -> None:
    assert PrincipalRules(rules).name(ALICE) == name


def test_unmatched_name_is_rejected() -> None:
    with pytest.raises(PrincipalError, match=r"no rule of ssl.principal.mapping.rules fits CN=bob"):
        PrincipalRules("RULE:^CN=alice$/$0/").name("CN=bob")


@pytest.mark.parametrize("rules", ["RULE:^CN=(.*?)/L", "DEFAULTS", "RULE:a/b/X", "RULE:(/x/", "default", "DEFAULT,,"])
def test_rules_that_cannot_be_read(rules: str) -> None:
    with pytest.raises(RulesError):
        PrincipalRules(rules)
