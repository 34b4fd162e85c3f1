"""What a notebook and a terminal show: escaped tables, a line of progress."""
from __future__ import annotations

import html
import sys
import time
from typing import Any, Iterable, Mapping, Optional, Sequence, TextIO

__all__ = ["Progress", "amount", "card", "queued", "table"]


def amount(value: Any) -> str:
    """An epsilon and a delta in few characters."""
    if not isinstance(value, Mapping):
        return ""
    return ", ".join(f"{name} {number:.4g}" for name, number in value.items() if isinstance(number, (int, float)))


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table. Every text is escaped: names of datasets and clients come from other people."""
    def cells(tag: str, row: Iterable[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in row) + "</tr>"
    body = "".join(cells("td", row) for row in rows)
    return f"<table><caption>{html.escape(title)}</caption>{cells('th', head) if head else ''}{body}</table>"


def card(title: str, facts: Mapping[str, Any]) -> str:
    """An HTML table of two columns, without the facts that are None."""
    return table(title, (), [(name, value) for name, value in facts.items() if value is not None])


def queued(progress: Mapping[str, Any]) -> str:
    """What a queued job waits for."""
    own = progress.get("queue_own")
    return f"place {progress.get('queue_place')} in the queue" + (f", behind {own} of your project's jobs" if own else "")


class Progress:
    """One line that is written anew while a job runs. Where output is no terminal, a line for each tenth."""

    def __init__(self, stream: Optional[TextIO] = None, width: int = 30) -> None:
        self.stream = stream or sys.stderr
        self.width, self.begun, self.last = width, time.monotonic(), ""
        self.live = self.stream.isatty() or "ipykernel" in sys.modules

    def say(self, text: str) -> None:
        """Writes a line of its own, before the progress."""
        self.stream.write(text + "\n")

    def show(self, job: Mapping[str, Any]) -> None:
        """Shows the state of a job."""
        said = job.get("progress") or {}
        fraction = 1.0 if job["state"] == "succeeded" else float(said.get("fraction") or 0)
        if not self.live:
            fraction = int(10 * fraction) / 10
        bar = "#" * round(self.width * fraction)
        line = f"{job['id']} {job['state']:<9} [{bar:<{self.width}}] {100 * fraction:3.0f} %"
        eta, place = said.get("eta_seconds"), said.get("queue_place")
        if self.live and job["state"] == "running" and eta is not None:
            line += f", {eta:.0f} s left"
        if job["state"] == "queued" and place:
            line += f", {queued(said)}"
        if line != self.last:
            self.stream.write("\r" + line.ljust(len(self.last)) if self.live else line + "\n")
            self.stream.flush()
        self.last = line

    def end(self) -> None:
        """Ends the line."""
        if self.live:
            self.stream.write(f", {time.monotonic() - self.begun:.0f} s\n")
            self.stream.flush()
