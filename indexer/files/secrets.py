"""Names of files that keep keys and passwords: nothing of such a file is read, it is found by its name alone.

By its name, for to look into it is what is to be avoided. A pattern has `*` and `?`, and capitals do not matter; one
with a slash is the end of a path. The last that meets a path decides, so that `!notes.key` brings one file back.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

SECRETS = (
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss", "*.pem", "*.key", "*.ppk",
    "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.keychain", "*.keychain-db", "*.kdb", "*.kdbx", "*.ovpn",
    ".env", ".env.*", "*.env", "!.env.example", "!.env.sample", "!.env.template", ".netrc", "_netrc", ".pgpass",
    ".my.cnf", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd", ".vault-token", "credentials*.json",
    "client_secret*.json", "service-account*.json", "service_account*.json", ".aws/credentials", ".docker/config.json",
    ".kube/config", "kubeconfig", "secring.gpg", ".gnupg/*", "*private*.asc", "*secret*.asc", "*private*.gpg",
    "*secret*.gpg", "wallet.dat", "*.tfstate", "logins.json", "key3.db", "key4.db", "cookies.sqlite", "Login Data",
    "Cookies",
)  # fmt: skip
"""The default. Public keys (`id_rsa.pub`) are read; certificates in *.pem are not: their names are those of keys."""


def why_unread(pattern: str) -> str:
    """What is said of a file that this pattern meets."""
    return f"its name is that of keys or passwords: {pattern!r} in index.secrets, where `!NAME` has a file read"


def pattern_of(path: str, patterns: tuple[str, ...]) -> str:
    """The pattern by which the file at `path` is a secret; "" where none says so."""
    names = path.lower().replace(os.sep, "/").rsplit("/", 1 + max((one.count("/") for one in patterns), default=0))
    end = "/".join(names[1:] if len(names) > 1 else names)
    if patterns and _any_of(patterns).search(end):
        for pattern in reversed(patterns):
            if _any_of((pattern,)).search(end):
                return "" if pattern.startswith("!") else pattern
    return ""


@lru_cache(maxsize=1_000)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    plain = (re.escape(one.removeprefix("!").lower()) for one in patterns)
    ends = "|".join(one.replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for one in plain)
    return re.compile(rf"(?:^|/)(?:{ends})\Z")
