"""The small file that remembers which job a trainer submitted."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import MalformedError

_VERSION = 1


@dataclass(frozen=True)
class Submission:
    """A job as it was, or was about to be, submitted.

    The key and the text are saved before the request is sent: whatever happens to it, sending the
    same again submits nothing twice.
    """

    network: str
    key: str
    yaml: str
    job: str | None = None
    version: int = _VERSION


class StateFile:
    """One file for what was asked for: the same trainer in another process finds the same job."""

    def __init__(self, folder: Path, asked: object) -> None:
        digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        self.path = folder / f"{digest[:32]}.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time submits."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def load(self) -> Submission | None:
        """What was submitted; None if nothing was.

        Raises:
            MalformedError: for a damaged file.
        """
        try:
            fields = json.loads(self.path.read_text())
            if fields["version"] != _VERSION:
                raise ValueError(f"version {fields['version']}")
            return Submission(**fields)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise MalformedError(
                f"{self.path} is damaged ({error}): remove it to submit the job anew; `gym job list` "
                "shows what was submitted"
            ) from None

    def save(self, submission: Submission) -> None:
        """Replaces the file, whole or not at all."""
        part = self.path.with_suffix(".part")
        with open(part, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            json.dump(asdict(submission), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path)

    def forget(self) -> None:
        """Removes the file."""
        self.path.unlink(missing_ok=True)
