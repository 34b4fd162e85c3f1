"""Datasets: uploads, sealing, training on them."""
from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from typing import Any, BinaryIO, Iterable, Mapping, Optional, Union, cast

from .episodes import Episode, lines
from .notebook import amount
from .resources import Job, Resource

__all__ = ["Dataset", "Source"]

Source = Union[str, "os.PathLike[str]", Iterable[Union[Episode, Mapping[str, Any]]]]
KINDS = {".ndjson": "application/x-ndjson", ".jsonl": "application/x-ndjson", ".csv": "text/csv"}


class Dataset(Resource):
    """Experts' trajectories with a budget."""

    shown = ("name", "state", "environment", "experts", "trajectories", "transitions")

    def _read(self) -> dict[str, Any]:
        return self.client.api.get_dataset(self.id)  # type: ignore[return-value]

    def upload(self, episodes: Source, key: Optional[str] = None) -> "Dataset":
        """Uploads episodes, all or nothing; a lost connection is repeated under the same key.

        A file that ends in .ndjson or .csv is sent as it is. For a table the dataset needs a description with a
        ``table`` (docs/own-data.md).
        """
        kind = "application/x-ndjson"
        with tempfile.TemporaryFile() as file:
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0) as packed:  # a repeat has the same bytes
                if isinstance(episodes, (str, os.PathLike)):
                    suffix = os.path.splitext(episodes)[1].lower()
                    if suffix not in KINDS:
                        raise ValueError(f"The file must end in {', '.join(KINDS)}. Read other files with "
                                         "tacet.read_hdf5, read_npz or read_csv.")
                    kind = KINDS[suffix]
                    with open(episodes, "rb") as source:
                        shutil.copyfileobj(source, packed)
                else:
                    for line in lines(episodes):
                        packed.write(line)
            self.client.api.upload_trajectories(self.id, cast(BinaryIO, file), kind, content_encoding="gzip", key=key)
        self.refresh()
        return self

    def seal(self) -> "Dataset":
        """Fixes the data. After that jobs may use them."""
        self.document = self.client.api.seal_dataset(self.id)  # type: ignore[assignment]
        return self

    def train(self, algorithm: str = "auto", **job: Any) -> Job:
        """Starts a job on these data; see ``Client.train``."""
        return self.client.train(self, algorithm, **job)

    def estimate(self, algorithm: str = "auto", **job: Any) -> dict[str, Any]:
        """What such a job would cost. It is free. Where the budget cannot pay, ``feasible`` is false, and
        ``["accounts"][0]["remaining"]`` is what would still be paid. Where there is no plan, ``cost``, ``plan``, ``leaves``
        and ``advice`` are None, and ``reason`` says why."""
        return self.client.estimate(self, algorithm, **job)

    def advise(self, epsilon: float, delta: float, **more: Any) -> list[dict[str, Any]]:
        """Other jobs for the same price, the most hopeful first. It is free and reads no data."""
        body = {"dataset": self.id, "privacy": {"epsilon": epsilon, "delta": delta}, **more}
        return self.client.api.advise_job(body)["candidates"]  # type: ignore[arg-type, return-value, typeddict-item]

    def budget(self) -> dict[str, Any]:
        """Limit, spent, reserved and remaining."""
        return self.client.api.get_dataset_budget(self.id)  # type: ignore[return-value]

    def remaining(self) -> str:
        """What is left, in a few words."""
        return amount(self.budget()["remaining"])
