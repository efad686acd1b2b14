"""All settings of the service. Environment variables EQUIRANK_* override the TOML file, and the TOML file overrides the defaults here.

EQUIRANK_CONFIG names the TOML file. In environment variables, lists and tables are written as JSON.
"""

import os
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote, urlparse

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from ratings_core.errors import InputError

_CONFIG: Final = "EQUIRANK_CONFIG"
_OTHERS: Final = ("EQUIRANK_SHARED", "EQUIRANK_PEERS", "EQUIRANK_TEST_OUTCOMES", "EQUIRANK_REQUIRE", "EQUIRANK_KUBECONFIG")
_CLUSTER_TESTS: Final = "EQUIRANK_CLUSTER_"
"""Prefix of environment variables that only tests and benchmarks read."""
_SECRETS: Final = re.compile(r"://[^@]*:[^@]*@|://.*\?")
"""A password or a query in a URL. A query may contain a signature."""
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

NO_ARCHIVE: Final = "off"
"""Value of the setting `archive` that switches the archive off."""
_NO_FOLDERS: Final = frozenset({NO_ARCHIVE, "on", "yes", "no", "true", "false", "none", "null", "default", "0", "1"})
"""Words, in any case, that are probably meant to switch something. As the name of a folder, they would let the log drop records."""
_NO_TABLES: Final = re.compile(r"[\[\]^|\\]|%[0-9A-Fa-f]{2}")
"""What a path of Delta tables cannot contain: deltalake (1.6) fails, or reads `%41` as `A` and writes to another folder."""
TOPIC_PREFIX = "equirank."
"""Default prefix of topic names."""


class Provisional(NamedTuple):
    """The least evidence for a rank. Agents with less are provisional.

    Numbers of outcomes and opponents only grow, and are the same for all methods. A wide interval of ranks is no criterion: in the middle
    of a close field, agents with any number of games have one. Neither is a wide deviation: half of a newcomer's takes 7 duels by Glicko-2,
    and 135 games of five against five by Weng-Lin.

    Attributes:
        outcomes: An agent with fewer outcomes is provisional.
        opponents: An agent that met fewer others is provisional on solved boards of games with more agents.
    """

    outcomes: int
    opponents: int = 2

    def lacks_evidence(self, outcomes: int | None, opponents: int | None, total: int, *, complete: bool = False) -> bool:
        """Whether an agent of a solved board is provisional.

        Args:
            outcomes: Number of its outcomes; None if it is not known.
            opponents: Number of agents that it met; None if it is not known, or agents are compared by tasks.
            total: Number of agents on the board.
            complete: Whether it has a score on every task, which is enough however few they are. False in games.
        """
        few = outcomes is not None and outcomes < self.outcomes and not complete
        return few or (opponents is not None and opponents < min(self.opponents, total - 1))


PROVISIONAL: Final = Provisional(outcomes=10)
"""Limits; `provisional_outcomes` replaces the first one."""


class Settings(BaseSettings):
    """Settings of one installation: where it runs, who may use it, what it may use, and what it keeps.

    All have defaults, for the embedded installation. Each description ends with the reason to change the setting. What no operator has a
    reason to change, such as the size of a batch, is a constant beside the code.
    """

    model_config = SettingsConfigDict(env_prefix="EQUIRANK_", extra="forbid", frozen=True, hide_input_in_errors=True)

    data: Path = Field(
        Path("equirank-data"), description="Folder for the embedded log, checkpoints, results and sockets. Change it to use another disk."
    )
    host: str = Field(
        "127.0.0.1",
        description="Address that the API listens on. An address other than loopback requires keys. Change it to serve other machines.",
    )
    port: int = Field(
        8000,
        ge=0,
        le=65535,
        description="Port of the API and the web pages; 0 picks a free port. Change it if another program has the port.",
    )
    metrics_port: int = Field(
        9464, ge=0, le=65535, description="Port of the engine's metrics; 0 picks a free port. Change it if another program has the port."
    )
    metrics_host: str = Field(
        "127.0.0.1",
        description="Address of the engine's metrics. Metrics contain no names of agents or pools. Change it if Prometheus runs on "
        "another machine.",
    )
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Further host names accepted in the headers Host and Origin. Set it behind a proxy or a public name."
    )
    write_keys: tuple[SecretStr, ...] = Field(
        (), description="Bearer keys that may write outcomes. Set them where others can reach the API."
    )
    admin_keys: tuple[SecretStr, ...] = Field(
        (), description="Bearer keys that may also create pools, retract and change settings. Set them where others can reach the API."
    )

    api_connections: int = Field(
        8192,
        ge=16,
        description="Largest number of open connections. While more are open, requests are answered 503. Change it with the limit of open "
        "files.",
    )
    api_body_bytes: int = Field(
        64 << 20,
        ge=1 << 20,
        description="Largest total size of request bodies, in bytes. More get 503. Change it with the memory of the machine.",
    )
    api_body_seconds: float = Field(
        20.0,
        gt=0,
        description="Seconds in which a request body must be complete. A slower request is answered 408. Raise it for clients on slow "
        "networks.",
    )

    keys_file: Path | None = Field(
        None,
        description="File with further keys, read again when it changes. One key per line: `write NAME sha256:DIGEST` or "
        "`admin NAME sha256:DIGEST`. Set it to change keys without a restart.",
    )
    api_key_rate: float | None = Field(
        None,
        gt=0,
        description="Largest number of write requests per second and key, or per address if there are no keys. More get 429. Set it "
        "to limit one client.",
    )
    tls_certificate: Path | None = Field(
        None, description="PEM file with the API's certificate chain. If set, the API only uses HTTPS. Set it where no proxy encrypts."
    )
    tls_key: Path | None = Field(None, description="PEM file with the certificate's private key. Goes with the certificate.")

    kafka: str | None = Field(
        None, description="Bootstrap servers of Kafka. None: the embedded SQLite log. Set it to run on several machines."
    )
    kafka_options: dict[str, str | int | bool] = Field(
        default_factory=dict,
        repr=False,
        description="SASL and SSL options of the kafka-python client. Set them if Kafka asks for a user or uses TLS.",
    )
    kafka_replication: int = Field(
        1, ge=1, description="Replication factor of topics that the engine creates. Raise it to 3 with three brokers or more."
    )
    topic_prefix: str = Field(
        TOPIC_PREFIX,
        pattern=r"^[A-Za-z0-9._-]{0,200}$",
        description="Prefix of the Kafka topics' names. Change it if installations share a Kafka.",
    )
    ratings_topic: bool = Field(
        False,
        description="Whether shards also write the ratings of live boards, and the rows of solved boards, to the Kafka topic "
        "`ratings`, compacted by pool and agent. Set it where other systems consume ratings from Kafka.",
    )
    redis: str | None = Field(None, repr=False, description="URL of Redis. None: the embedded server. Set it to run on several machines.")
    ray: str = Field("local", description="Address of the Ray cluster. `local` starts one for this engine. Change it to use a cluster.")
    checkpoints: str | None = Field(
        None, description="fsspec URL for checkpoints and results. None: the data folder. Set it to run on several machines."
    )
    checkpoints_shared: bool = Field(
        False,
        description="Whether the checkpoint folder is on a file system that all Ray nodes mount, such as a ReadWriteMany volume. Set "
        "it where there is no object store.",
    )

    partitions: int = Field(
        8,
        ge=1,
        le=4096,
        description="Partitions of the outcome log. Fixed when the log is created. Plan at least one for each shard that may be needed.",
    )
    shards: int = Field(
        1,
        ge=1,
        le=4096,
        description="Number of shard actors. Each owns a part of the partitions. Raise it with the number of CPUs and the load.",
    )
    solve_workers: int | None = Field(
        None,
        ge=1,
        description="Number of solves at a time. None: number of CPUs - 1, at least 1. Lower it to leave CPUs to other programs.",
    )
    publish_seconds: float = Field(
        0.2,
        gt=0,
        description="Minimum seconds between two publications of a live board. Raise it to lower the load of Redis and of readers.",
    )
    checkpoint_seconds: float = Field(
        5.0,
        gt=0,
        description="Minimum seconds between two checkpoints of a partition. Lower it for a shorter restart and a fresher archive, "
        "raise it to write less.",
    )
    retraction_seconds: float = Field(
        2.0,
        ge=0,
        description="Seconds from a retraction to the start of the generation that applies it. Retractions within this time share a "
        "generation. Raise it where corrections come in bulk.",
    )
    retraction_share: float = Field(
        0.25,
        gt=0,
        le=1,
        description="Largest share of a shard's time for folding pools again after retractions. Beyond it, the next generation waits. "
        "1: no limit. Raise it for faster corrections; lower it for steadier folding.",
    )
    checkpoints_kept: int = Field(
        3, ge=1, description="Number of checkpoints kept per partition. Raise it to look further back; lower it to save space."
    )
    archive: str | None = Field(
        None,
        description="Folder or object-store URL of the archive, which keeps all outcomes permanently as tables. "
        "None: with the embedded log, a copy of it in the data folder's `archive`; with Kafka, no archive. `off`: no archive. "
        "Set it if the log does not keep everything.",
    )
    archive_seconds: float = Field(
        30.0,
        gt=0,
        description="Minimum seconds between two appends of a partition to the archive. Lower it for a fresher archive and a shorter "
        "retention of the topic.",
    )
    drop_archived: bool = Field(
        True,
        description="Whether the log of `equirank up` drops records that are covered by a checkpoint and are in the archive that "
        "`EQUIRANK_ARCHIVE` names. For the default archive it drops nothing. Kafka topics have their own retention. Disable it to keep "
        "the log, too.",
    )
    fresh_seconds: float = Field(
        30.0,
        gt=0,
        description="Seconds after which `/freshz` answers 503 if a shard does not report a partition, or if a record waits to be "
        "folded. Change it to when alerts should fire.",
    )
    solve_seconds: float = Field(
        10.0, gt=0, description="Minimum seconds between two solves of the same method and pool. Raise it to use less CPU."
    )
    solve_outcomes: int = Field(
        100_000,
        ge=1,
        description="Number of new outcomes after which a pool is solved without this delay. Raise it to use less CPU under a high load.",
    )
    solves_kept: int = Field(
        10,
        ge=1,
        le=100,
        description="Number of newest results kept per pool and method, for comparison. Besides them, the first of each hour is kept for "
        "a day, and of each day for a month, except on slices. Raise it to have all results of a longer time; lower it to save space.",
    )
    solve_memory_bytes: int = Field(4 << 30, ge=256 << 20, description="Memory limit of a solve, in bytes. Raise it for large pools.")
    solves_memory_bytes: int | None = Field(
        None,
        ge=256 << 20,
        description="Memory for all solves together, in bytes. A solve is counted with 1.5 times the peak of the previous one, or with "
        "`EQUIRANK_SOLVE_MEMORY_BYTES` before the first one has ended. None: the memory of Ray's nodes. "
        "Set it to leave memory to other programs.",
    )
    solve_deadline_seconds: float = Field(120.0, gt=0, description="Seconds after which a solve is cancelled. Raise it for large pools.")
    interval_seconds: float = Field(
        5.0,
        ge=0,
        description="Time limit for the intervals of a board, in seconds of one worker. Intervals run one board at a time; with a single "
        "worker, a solve waits at most this long for them. 0: only the intervals that Bradley-Terry and Davidson compute with the solve. "
        "Lower it to use less CPU.",
    )

    provisional_outcomes: int = Field(
        PROVISIONAL.outcomes,
        ge=0,
        description="An agent with fewer outcomes is provisional: it has no rank, and follows the ranked agents on boards. Live boards "
        "follow a change after a restart, solved boards with their next solve. Raise it where single outcomes say little.",
    )

    create_pools: bool | None = Field(
        None,
        description="Whether an outcome creates its unknown pool. None: only with the embedded log. Set it to refuse misspelled "
        "pools, or to create pools without a request.",
    )
    max_pools: int = Field(
        10_000, ge=1, description="Largest number of pools in the installation. Change it with the memory of the machines."
    )
    max_agents: int = Field(
        10_000_000, ge=2, le=2**31 - 1, description="Default limit of the agents in a new pool. Change it with the memory of the machines."
    )
    max_tasks: int = Field(
        1_000, ge=1, le=2**31 - 1, description="Default limit of the tasks in a new pool. Change it with the memory of the machines."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="Lowest level of the JSON log lines. Lower it to look for a fault."
    )

    @field_validator("data", "keys_file", "tls_certificate", "tls_key", "host", "metrics_host", "ray", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        if value == "":
            msg = "must not be empty: remove the setting to use its default"
            raise ValueError(msg)
        return value

    @field_validator("kafka", "redis")
    @classmethod
    def _none_if_empty(cls, value: str | None) -> str | None:
        return value or None

    @field_validator("data")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return _at_home(value).absolute()

    @field_validator("archive")
    @classmethod
    def _without_secrets(cls, value: str | None) -> str | None:
        if value is not None and _SECRETS.search(value):
            msg = (
                "the URL must not contain a password or a query, because error messages show it: set the environment variables of the "
                "object store instead, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
            raise ValueError(msg)
        return value

    @field_validator("checkpoints")
    @classmethod
    def _absolute_checkpoints(cls, value: str | None) -> str | None:
        return _absolute_url(value)

    @field_validator("archive")
    @classmethod
    def _absolute_archive(cls, value: str | None) -> str | None:
        if value == NO_ARCHIVE:
            return value
        if value is not None and value.lower() in _NO_FOLDERS:
            msg = f"must be a folder, a URL or `{NO_ARCHIVE}`; for a folder of this name, write ./{value}"
            raise ValueError(msg)
        if (url := _absolute_url(value)) is not None and (part := no_tables_in(url)) is not None:
            msg = f"must not contain {part}, because the library of its tables cannot use such a path"
            raise ValueError(msg)
        return url

    @field_validator("write_keys", "admin_keys")
    @classmethod
    def _keys(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(not (key := secret.get_secret_value()) or key != key.strip() for secret in value):
            msg = "a key must not be empty, and must not begin or end with a space"
            raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _closed_unless_keyed(self) -> "Settings":
        if self.host not in LOOPBACK and not (self.write_keys or self.admin_keys or self.keys_file):
            msg = f"host {self.host} is beyond loopback: set EQUIRANK_WRITE_KEYS and EQUIRANK_ADMIN_KEYS, or EQUIRANK_KEYS_FILE"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _ratings_on_kafka(self) -> "Settings":
        if self.ratings_topic and self.kafka is None:
            msg = "ratings_topic needs Kafka, because the embedded log has no ratings topic: set EQUIRANK_KAFKA, or follow pools by streams"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _tls_complete(self) -> "Settings":
        if (self.tls_certificate is None) != (self.tls_key is None):
            msg = "tls_certificate and tls_key must be set together"
            raise ValueError(msg)
        return self

    @property
    def embedded(self) -> bool:
        """Whether the log is the SQLite file in the data folder."""
        return self.kafka is None

    @property
    def creates_pools(self) -> bool:
        """Whether an unknown pool is created by its first outcome."""
        return self.embedded if self.create_pools is None else self.create_pools

    @property
    def provisional(self) -> Provisional:
        """The least evidence for a rank."""
        return PROVISIONAL._replace(outcomes=self.provisional_outcomes)

    @property
    def checkpoint_url(self) -> str:
        """Path or fsspec URL of the folder of checkpoints and results."""
        return self.checkpoints or (self.data / "state").as_uri()

    @property
    def default_archive(self) -> Path:
        """Folder of the archive that the embedded log has by default."""
        return self.data / "archive"

    @property
    def archive_url(self) -> str | None:
        """Path or URL of the archive; None without an archive. A data folder whose path tables cannot have has no default archive."""
        if self.archive is None:
            return str(self.default_archive) if self.embedded and no_tables_in(str(self.default_archive)) is None else None
        return None if self.archive == NO_ARCHIVE else self.archive

    @property
    def archive_is_copy(self) -> bool:
        """Whether the archive is the default one. The log keeps every record of it, so nothing fails if the archive does."""
        return self.archive is None and self.archive_url is not None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the base class names it
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Sources of settings in order of precedence: arguments, environment, TOML file, secrets files."""
        file = os.environ.get(_CONFIG)
        toml = (_toml(settings_cls, Path(file)),) if file else ()
        return (init_settings, env_settings, *toml, file_secret_settings)


def _at_home(path: Path) -> Path:
    """Replace `~` at the start of a path by the home folder. Raises `ValueError` if the home folder is unknown."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        msg = f"{path.parts[0]} names no home folder"
        raise ValueError(msg) from error


def _absolute_url(value: str | None) -> str | None:
    """Make a path absolute, so that processes started in other folders use the same one. An empty text becomes None."""
    return str(_at_home(Path(value)).absolute()) if value and "://" not in value else value or None


def no_tables_in(url: str) -> str | None:
    """The first part of a local path or `file:` URL that a path of tables cannot contain; None if it can, and for an object store."""
    path = unquote(urlparse(url).path) if url.startswith("file:") else url
    found = None if "://" in path else _NO_TABLES.search(path)
    return None if found is None else found[0]


def no_settings(names: Iterable[str]) -> list[str]:
    """The names among `names` that begin with EQUIRANK_ but are not settings: misspelled names, or settings of another version. Sorted."""
    known = {f"EQUIRANK_{name.upper()}" for name in Settings.model_fields} | {_CONFIG, *_OTHERS}
    return sorted(name for name in names if name.startswith("EQUIRANK_") and not name.startswith(_CLUSTER_TESTS) and name not in known)


def check_key_settings(names: Iterable[str]) -> None:
    """Raise `InputError` if a name among `names` looks like a setting of keys but is unknown: the API would be open to everybody."""
    for name in no_settings(names):
        if name.endswith(("_KEY", "_KEYS", "_KEY_FILE", "_KEYS_FILE")):
            known = ", ".join(f"EQUIRANK_{field.upper()}" for field in Settings.model_fields if "key" in field)
            raise InputError(name, "(not shown)", f"must be a setting, because it seems to hold keys. Settings of keys: {known}")


def _toml(settings: type[BaseSettings], file: Path) -> TomlConfigSettingsSource:
    """Source with the settings of the TOML file. Raises `InputError` if it is missing or invalid; pydantic would ignore a missing file."""
    try:
        tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(_CONFIG, str(file), f"must name a file that can be read ({error.strerror})") from error
    except ValueError as error:
        raise InputError(_CONFIG, str(file), f"must name a TOML file ({error})") from error
    return TomlConfigSettingsSource(settings, file)
