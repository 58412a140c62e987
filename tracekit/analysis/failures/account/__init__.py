"""account: the request was turned away because of who asks: login, plan, money or organization.

What it means
    Nothing is wrong with the request or the network. Who pays, who may, and how much is left decide, and mostly a person has to act.

Evidence
    HTTP 401, 402 and 403, and the account's words inside 400 and 429: a disabled organization, a credit balance, a limit that resets
    at a time. The status alone does not tell these apart.

What to do
    See the kind: log in again, wait for the reset, pay, or ask the organization's administrator.
"""

from tracekit.analysis.failures.account import authentication, billing, organization, usage_limit

__all__ = ["authentication", "billing", "organization", "usage_limit"]
