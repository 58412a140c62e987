"""What may be kept of a text: error texts are cut and stripped of secrets, everything else stays out of the store."""

import re
from typing import Final

LIMIT: Final = 2_000
"""Characters kept of an error's text."""

_SECRET: Final = re.compile(
    r"""
      sk-ant-[A-Za-z0-9_\-]{8,}                                   # Anthropic keys and tokens
    | \bsk-[A-Za-z0-9_\-]{16,}                                    # keys of other model providers
    | \b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs]|npm|pypi)[_\-][A-Za-z0-9_\-]{12,}
    | \bA(?:KIA|SIA)[A-Z0-9]{16}\b                                # AWS access keys
    | \beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*  # JSON web tokens
    | -----BEGIN[ A-Z]*PRIVATE\ KEY-----.*?(?:-----END[ A-Z]*PRIVATE\ KEY-----|\Z)
    | (?<=://)[^/\s:@]+:[^/\s]+(?=@)                              # user:password in a URL; a password may hold an @
    | (?i:(?<=bearer\ )|(?<=basic\ ))[A-Za-z0-9._~+/=\-]{8,}
    | (?i:(?:(?:api[_\-]?key|secret|password|passwd|token|authorization)["']?\s*[:=]\s*)+)
      (?:"[^"\n]{6,}"|'[^'\n]{6,}'|["']?[^\s"',;&]{6,})
    """,
    re.VERBOSE | re.DOTALL,
)


def mask_secrets(text: str) -> str:
    """Replace what looks like a credential by `[secret]`."""
    return _SECRET.sub("[secret]", text)


def error_text(text: str) -> str:
    """Give the part of an error's own text that may be stored: no secrets, at most `LIMIT` characters."""
    # Cut first, with room for a secret that straddles the limit: error texts can hold megabytes of output.
    return mask_secrets(text[: LIMIT + 512])[:LIMIT]
