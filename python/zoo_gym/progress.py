"""Live progress: a line that is redrawn in a terminal, a box that is redrawn in a notebook, a line
now and then elsewhere."""

from __future__ import annotations

import html
import os
import sys
import time
from typing import Any, Protocol, TextIO

_BAR_WIDTH = 24
_TERMINAL_INTERVAL_S = 0.1
_NOTEBOOK_INTERVAL_S = 0.5
_LINES_INTERVAL_S = 5.0
_KIB = 1024


def counted(count: int, noun: str) -> str:
    """As "1 step", "3 steps"."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


class View(Protocol):
    """Where progress is shown."""

    interval_s: float

    def show(self, text: str, share: float) -> None: ...

    def close(self) -> None: ...


class TerminalView:
    """One line, redrawn in place and cut to the terminal's width: a longer one cannot be redrawn."""

    interval_s = _TERMINAL_INTERVAL_S

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_open = False

    def show(self, text: str, share: float) -> None:
        filled = round(share * _BAR_WIDTH)
        bar = "#" * filled + "." * (_BAR_WIDTH - filled)
        self._stream.write("\r" + _fitted(f"[{bar}] {text}", _columns(self._stream)) + "\033[K")
        self._stream.flush()
        self._is_open = True

    def close(self) -> None:
        if self._is_open:
            self._stream.write("\n")
            self._stream.flush()
        self._is_open = False


def _columns(stream: TextIO) -> int | None:
    """The width of a terminal; None: it is not one, or does not say."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def _fitted(line: str, columns: int | None) -> str:
    # The last column stays free: some terminals begin a new line behind it.
    if columns is None or len(line) < columns:
        return line
    return line[: max(0, columns - 4)] + "..."


class LinesView:
    """Lines, for logs."""

    interval_s = _LINES_INTERVAL_S

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, text: str, share: float) -> None:
        self._stream.write(f"{share:4.0%} {text}\n")
        self._stream.flush()

    def close(self) -> None:
        pass


class NotebookView:
    """One HTML element, redrawn in place."""

    interval_s = _NOTEBOOK_INTERVAL_S

    def __init__(self, display: Any, make_html: Any) -> None:
        self._display = display
        self._html = make_html
        self._handle: Any = None

    def show(self, text: str, share: float) -> None:
        content = self._html(
            f'<progress max="1" value="{share:.4f}" style="width:20em"></progress> '
            f"<code>{html.escape(text)}</code>"
        )
        if self._handle is None:
            self._handle = self._display(content, display_id=True)
        else:
            self._handle.update(content)

    def close(self) -> None:
        pass


class SilentView:
    """Shows nothing."""

    interval_s = _LINES_INTERVAL_S

    def show(self, text: str, share: float) -> None:
        pass

    def close(self) -> None:
        pass


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this; IPython in a terminal is a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def find_view(enabled: bool = True) -> View:
    """The view that fits where this process runs."""
    if not enabled:
        return SilentView()
    if _in_notebook():
        from IPython.display import HTML, display

        return NotebookView(display, HTML)
    if sys.stderr is not None and sys.stderr.isatty():
        return TerminalView(sys.stderr)
    return LinesView(sys.stderr) if sys.stderr is not None else SilentView()


class Progress:
    """Progress from ``begin`` to ``total``, with the time left by the pace of what is done.

    Args:
        unit: "step" or "round".
        begin: what was done before this began; it took none of this one's time.
    """

    def __init__(self, view: View, unit: str, begin: int, total: int) -> None:
        self._view = view
        self._unit = unit
        self._begin, self._total = begin, total
        self._start = time.monotonic()
        self._done, self._done_at = begin, self._start
        self._due = 0.0

    def show(self, done: int, loss: float | None, note: str = "") -> None:
        """Redraws if it is time to, and always at the end."""
        now = time.monotonic()
        if done != self._done:
            self._done, self._done_at = done, now
        if now < self._due and done < self._total:
            return
        self._due = now + self._view.interval_s
        parts = [f"{self._unit} {done}/{self._total}"]
        if loss is not None:
            parts.append(f"loss {loss:.4f}")
        left_s = self._left_s(now)
        if left_s is not None:
            parts.append(f"{duration(left_s)} left")
        if note:
            parts.append(note)
        self._view.show("  ".join(parts), done / max(1, self._total))

    def _left_s(self, now: float) -> float | None:
        """None: not known, or over. It falls while the next one is under way, which is not taken to be
        done before it is."""
        taken, left = self._done - self._begin, self._total - self._done
        if taken <= 0 or left <= 0:
            return None
        pace_s = (self._done_at - self._start) / taken
        left_s = pace_s * left - min(now - self._done_at, pace_s)
        return left_s if left_s > 0 else None

    def close(self) -> None:
        """Ends the line."""
        self._view.close()


class Transfer:
    """Bytes on their way.

    Args:
        verb: as "downloading the weights".
    """

    def __init__(self, view: View, verb: str) -> None:
        self._view = view
        self._verb = verb
        self._due = 0.0

    def show(self, done: int, total: int) -> None:
        """Redraws if it is time to, and always at the end."""
        now = time.monotonic()
        if now < self._due and done < total:
            return
        self._due = now + self._view.interval_s
        self._view.show(f"{self._verb}  {_size(done)} of {_size(total)}", done / max(1, total))

    def close(self) -> None:
        """Ends the line."""
        self._view.close()


def _size(size_bytes: int) -> str:
    size = size_bytes / _KIB
    for unit in ("KiB", "MiB"):
        if size < _KIB:
            return f"{size:.1f} {unit}"
        size /= _KIB
    return f"{size:.1f} GiB"


def duration(seconds: float) -> str:
    """As "90 s", "12 min", "3.5 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:.1f} days"


def say(text: str) -> None:
    """One line for the user, beside the progress."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)
