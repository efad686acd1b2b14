"""Write each pool of an archive to a file for `equirank replay`, after the loss of the archive's log.

    python archived_pools.py URL FOLDER      URL: address of the archive; FOLDER: new folder for a file POOL.parquet per pool

docs/operations/disasters.md runs it in a pod of Equirank.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from services.admin.export import COLUMNS
from services.archive.reader import ArchiveReader, open_reader
from services.archive.schema import fields
from services.checkpoints.blob_files import BlobFiles

ROWS = 1 << 17


def main() -> None:
    """Read every table once for its pool names, and then once per pool."""
    url, folder = sys.argv[1].rstrip("/"), Path(sys.argv[2])
    folder.mkdir(parents=True)
    above, _, name = url.rpartition("/")
    for table in sorted(BlobFiles(above).names(name)):
        archive = open_reader(url, int(table.removeprefix("partition-")))
        for pool in sorted(pools(archive)):
            with pq.ParquetWriter(folder / f"{pool}.parquet", fields(COLUMNS)) as file:
                rows = sum(write(file, part) for part in archive.read(pool=pool, columns=COLUMNS, most=ROWS))
            print(f"{pool}: {rows} rows")


def pools(archive: ArchiveReader) -> set[str]:
    """Names of the pools of a table."""
    parts = archive.read(columns=["pool"], most=ROWS)
    return {name for part in parts for name in pc.unique(part["pool"]).drop_null().to_pylist()}


def write(file: pq.ParquetWriter, part: pa.Table) -> int:
    """Append rows to a file. Returns their number."""
    file.write_table(part)
    return len(part)


if __name__ == "__main__":
    main()
