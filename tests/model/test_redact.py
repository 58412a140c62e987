"""No credential survives redaction, and ordinary error texts do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.model.redact import LIMIT, error_text, mask_secrets

# Assembled here so that no scanner of repositories takes them for real.
SECRETS = [
    "sk-ant-" + "api03-" + "a1B2" * 8,
    "sk-" + "proj-" + "Zz09" * 6,
    "ghp" + "_" + "0123456789abcdefABCDEF0123456789abcd",
    "github_pat" + "_" + "11AAAAAAA0" * 3,
    "glpat" + "-" + "x" * 20,
    "xoxb" + "-" + "123456789012-abcdefghijkl",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "eyJ" + "hbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjM0In0" + "." + "c2lnbmF0dXJl",
]
LABELLED = [
    ("Authorization: Bearer ", "0123456789abcdef"),
    ("authorization: basic ", "dXNlcjpwYXNzd29yZA=="),
    ("https://", "someone:hunter2secret"),
    ("api_key=", "0123456789"),
    ('{"password": "', "correct-horse"),
    ("x-api-key: ", "0123456789abcdef"),
]

secrets = st.sampled_from(SECRETS)
words = st.text(st.characters(exclude_categories=["Cs"]))
texts = st.lists(st.one_of(words, secrets, st.sampled_from([label + secret for label, secret in LABELLED]))).map(" ".join)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "failed with {} today", "x='{}'", "a\n{}\nb", '{{"key": "{}"}}'])
def test_a_secret_is_masked_wherever_it_stands(secret: str, around: str) -> None:
    masked = mask_secrets(around.format(secret))
    assert secret not in masked
    assert "[secret]" in masked


@pytest.mark.parametrize(("label", "secret"), LABELLED)
def test_what_a_label_gives_away_is_masked(label: str, secret: str) -> None:
    masked = mask_secrets(f"{label}{secret}@host" if label == "https://" else f"{label}{secret}")
    assert secret not in masked
    assert "[secret]" in masked


def test_a_private_key_is_masked_even_when_its_end_is_missing() -> None:
    begin = "-----BEGIN RSA " + "PRIVATE KEY-----"
    end = "-----END RSA " + "PRIVATE KEY-----"
    assert mask_secrets(f"before {begin}\nMIIE\nabc\n{end} after") == "before [secret] after"
    assert "MIIE" not in mask_secrets(f"{begin}\nMIIE")


@pytest.mark.parametrize(
    "text",
    [
        "ENOENT: no such file or directory, open 'src/main.py'",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "API Error: 529 overloaded_error (req_011CSHoEeqs5C35K2UUqR7Fy)",
        "Command timed out after 2m 0s",
        "connect ECONNREFUSED 127.0.0.1:8080",
        "https://example.org:8080/path?page=2",
        "toolu_01A09q90qw90lq917835lq9 failed",
    ],
)
def test_an_ordinary_error_stays_readable(text: str) -> None:
    assert error_text(text) == text


@given(texts)
def test_no_secret_survives_in_any_company(text: str) -> None:
    masked = error_text(text)
    assert not [secret for secret in SECRETS if secret in masked]


@given(texts)
def test_masking_twice_changes_nothing(text: str) -> None:
    once = mask_secrets(text)
    assert mask_secrets(once) == once


@given(texts.map(lambda text: text * 200))
def test_no_text_is_kept_beyond_the_limit(text: str) -> None:
    assert len(error_text(text)) <= LIMIT


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("inside", [1, 5, 12])
def test_the_cut_never_uncovers_a_secret(secret: str, inside: int) -> None:
    text = "." * (LIMIT - inside) + " " + secret + " tail"
    kept = error_text(text)
    assert secret[:8] not in kept


def test_a_huge_text_is_cut_before_it_is_searched() -> None:
    assert len(error_text("password=" * 1_000_000)) <= LIMIT


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("token: secret: abcdef123456", "abcdef123456"),
        ('password="correct horse battery"', "horse"),
        ("https://user:p@ss@host/x", "ss@"),
    ],
)
def test_secrets_in_unusual_clothes_are_masked(text: str, secret: str) -> None:
    assert secret not in mask_secrets(text)
