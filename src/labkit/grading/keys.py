"""The instructor's key and the hidden seeds that come of it."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from labkit.contract.errors import LabkitError

HIDDEN_DRAWS = 5
KEY_FILE = "key"
_SHORTEST = 16


class Key:
    """A secret. Never shown: it prints as its fingerprint."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @property
    def fingerprint(self) -> str:
        """Tells two keys apart without giving either away."""
        return hmac.new(self._secret, b"labkit key fingerprint", hashlib.sha256).hexdigest()[:16]

    def seeds(self, submission_sha256: str, exercise: str) -> list[bytes]:
        """Seeds of the hidden draws: HMAC(key, submission's SHA-256 + exercise id + i)."""
        return [self._digest(f"{submission_sha256}\0{exercise}\0{i}") for i in range(HIDDEN_DRAWS)]

    def _digest(self, message: str) -> bytes:
        return hmac.new(self._secret, message.encode("ascii"), hashlib.sha256).digest()

    def __repr__(self) -> str:
        return f"Key({self.fingerprint})"


def load_key(path: Path | None, out: Path) -> Key:
    """The key in `path`; without one the key in `out`, made at the first grading (mode 0600).

    Raises LabkitError when the file cannot be read or is too short to be a secret.
    """
    if path is None:
        path = out / KEY_FILE
        if not path.exists():
            _make(path)
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise LabkitError(f"The key {path} cannot be read: {error.strerror}.") from None
    if len(secret) < _SHORTEST:
        raise LabkitError(
            f"The key {path} has {len(secret)} bytes; it needs at least {_SHORTEST}. "
            "Leave out --key and labkit makes one."
        )
    return Key(secret)


def _make(path: Path) -> None:
    """Write a new key so that only its owner may read it, and never over another one."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32) + "\n")
    try:
        os.link(part, path)
    except FileExistsError:
        pass  # another grading made one a moment ago: that one counts
    finally:
        part.unlink()
