"""All settings of the service. Environment variables EQUIRANK_* override the TOML file, and the TOML file overrides the defaults here.

EQUIRANK_CONFIG names the TOML file. In environment variables, lists and tables are written as JSON.
"""

import os
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, NamedTuple

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

TOPIC_PREFIX = "equirank."
"""Default prefix of topic names."""


class Provisional(NamedTuple):
    """Limits for provisional agents.

    Attributes:
        outcomes: An agent with fewer outcomes is provisional on live boards.
        ranks: An agent whose interval of ranks spans a larger share of the board is provisional on solved boards.
        deviation: An agent whose rating deviation exceeds this share of a new agent's deviation is provisional on live boards.
    """

    outcomes: int
    ranks: float
    deviation: float


PROVISIONAL: Final = Provisional(outcomes=10, ranks=0.5, deviation=0.5)
"""Default limits."""


class Settings(BaseSettings):
    """Settings of one installation. All have defaults, for the embedded installation."""

    model_config = SettingsConfigDict(env_prefix="EQUIRANK_", extra="forbid", frozen=True, hide_input_in_errors=True)

    data: Path = Field(Path("equirank-data"), description="Folder of the embedded log, checkpoints, results and sockets.")
    host: str = Field("127.0.0.1", description="Address the API listens on; beyond loopback it needs keys.")
    port: int = Field(8000, ge=0, le=65535, description="Port of API and pages; 0 picks a free one.")
    metrics_port: int = Field(9464, ge=0, le=65535, description="Port of the engine's metrics; 0 picks a free one.")
    metrics_host: str = Field("127.0.0.1", description="Address the engine's metrics listen on; they name no agent and no pool.")
    allowed_hosts: tuple[str, ...] = Field((), description="Further host names that requests may carry (Host and Origin).")
    write_keys: tuple[SecretStr, ...] = Field((), description="Bearer keys that may write outcomes.")
    admin_keys: tuple[SecretStr, ...] = Field((), description="Bearer keys that may also create pools, retract and change settings.")

    api_connections: int = Field(8192, ge=16, description="Open connections of the API; further ones are answered 503 and closed.")
    api_body_bytes: int = Field(64 << 20, ge=1 << 20, description="Bytes of all request bodies at once; further requests are answered 503.")
    api_body_seconds: float = Field(20.0, gt=0, description="Deadline for a whole request body; a slower one is answered 408.")
    api_writers: int = Field(16, ge=1, le=256, description="Requests of one API process that write to the log at once.")
    api_exports: int = Field(2, ge=1, le=64, description="Exports that one API process streams at once; further ones are answered 503.")
    api_writes: int = Field(128, ge=1, description="Requests that write or wait for it; further ones are answered 503 with Retry-After.")
    api_write_seconds: float = Field(15.0, gt=0, description="Deadline of the log for one request; a slower one is answered 503.")

    keys_file: Path | None = Field(
        None,
        description="File of further keys, read again when it changes. A line each: `write NAME sha256:DIGEST`, or `admin ...` likewise.",
    )
    api_key_rate: float | None = Field(
        None, gt=0, description="Requests a second that one key may write, or one address where there are no keys; further ones get 429."
    )
    tls_certificate: Path | None = Field(None, description="PEM file of the API's certificate chain; with it the API speaks HTTPS only.")
    tls_key: Path | None = Field(None, description="PEM file of the certificate's private key.")

    kafka: str | None = Field(None, description="Bootstrap servers of Kafka; none: the embedded SQLite log.")
    kafka_options: dict[str, str | int | bool] = Field(
        default_factory=dict, repr=False, description="SASL and SSL options handed to kafka-python."
    )
    kafka_replication: int = Field(1, ge=1, description="Replication factor of topics that the engine creates.")
    topic_prefix: str = Field(TOPIC_PREFIX, pattern=r"^[A-Za-z0-9._-]{0,200}$", description="Prefix of the Kafka topics' names.")
    redis: str | None = Field(None, repr=False, description="URL of Redis; none: the embedded server.")
    ray: str = Field("local", description="Ray's address; local starts one for this engine.")
    checkpoints: str | None = Field(None, description="Where checkpoints and results go (any fsspec URL); none: in the data folder.")
    checkpoints_shared: bool = Field(
        False, description="Whether a checkpoint folder is one file system that every Ray node mounts, such as a ReadWriteMany volume."
    )

    partitions: int = Field(8, ge=1, le=4096, description="Partitions of the outcome log, written once.")
    shards: int = Field(1, ge=1, le=4096, description="Shard actors; partitions are spread over them.")
    solve_workers: int | None = Field(None, ge=1, description="Solves at once; none: CPUs - 1, at least 1.")
    batch_records: int = Field(2000, ge=1, le=100_000, description="Most log records folded between two looks at the clock.")
    publish_seconds: float = Field(0.2, gt=0, description="Least time between two publications of a live board.")
    checkpoint_seconds: float = Field(5.0, gt=0, description="Least time between two checkpoints of a partition that moved.")
    checkpoint_outcomes: int = Field(
        1_000_000, ge=1, description="Outcomes of a partition after which a checkpoint is written before that time."
    )
    retraction_seconds: float = Field(
        2.0, ge=0, description="From a retraction to the generation without its outcome; retractions within this time share one."
    )
    retraction_share: float = Field(
        0.25,
        gt=0,
        le=1,
        description="Largest share of a shard's time for folding pools again without retracted outcomes; the next one waits. 1: no limit.",
    )
    checkpoints_kept: int = Field(3, ge=1, description="Checkpoints kept a partition.")
    archive: str | None = Field(
        None,
        description="Where every outcome is kept for ever as columns (a folder, or a URL of an object store); needs the extra `archive`. "
        "None: nowhere.",
    )
    archive_seconds: float = Field(30.0, gt=0, description="Least time between two appends of a partition to the archive.")
    drop_archived: bool = Field(
        True,
        description="Whether the log of `equirank up` drops records once they are archived and a checkpoint is beyond them. Kafka's topics "
        "forget by their own retention.",
    )
    fresh_seconds: float = Field(
        30.0,
        gt=0,
        description="`/freshz` answers 503 once a partition has not been reported by its shard, or a record has waited, for longer.",
    )
    solve_seconds: float = Field(10.0, gt=0, description="Least time between two solves of one method on one pool.")
    solve_outcomes: int = Field(100_000, ge=1, description="New outcomes after which a pool is solved again before that time.")
    solves_kept: int = Field(10, ge=1, le=100, description="Newest results of each pool and method that are kept and can be compared.")
    solve_memory_bytes: int = Field(4 << 30, ge=256 << 20, description="Memory one solve may take.")
    solves_memory_bytes: int | None = Field(
        None,
        ge=256 << 20,
        description="Memory of all solves together, each taken to need half more than its last one took, or all it may where none "
        "ended yet; none: what Ray's nodes have.",
    )
    solve_deadline_seconds: float = Field(120.0, gt=0, description="A solve past this is cancelled.")
    interval_seconds: float = Field(
        5.0,
        ge=0,
        description="Most seconds of one worker for the intervals of one board; all intervals take at most half of one worker that no "
        "solve needs. 0: none but those that Bradley-Terry and Davidson compute with the solve.",
    )

    provisional_outcomes: int = Field(
        PROVISIONAL.outcomes, ge=0, description="An agent of fewer outcomes is provisional on live boards: a question mark at its rank."
    )
    provisional_ranks: float = Field(
        PROVISIONAL.ranks,
        gt=0,
        le=1,
        description="An agent whose interval of ranks spans more of the way from first to last is provisional on solved boards.",
    )
    provisional_deviation: float = Field(
        PROVISIONAL.deviation,
        gt=0,
        le=1,
        description="An agent whose deviation (so its interval, too) is wider than this share of a newcomer's is provisional on the live "
        "boards of methods that hold one; 1: no agent.",
    )

    create_pools: bool | None = Field(None, description="Create unknown pools on first use; none: only when the log is embedded.")
    max_pools: int = Field(10_000, ge=1, description="Most pools of the installation.")
    max_agents: int = Field(10_000_000, ge=2, le=2**31 - 1, description="Most agents of a pool created here.")
    max_tasks: int = Field(1_000, ge=1, le=2**31 - 1, description="Most tasks of a pool created here.")
    future_seconds: float = Field(300.0, ge=0, description="How far ahead of the clock the API takes an outcome's time.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least level of the JSON log lines.")

    @field_validator("data", "keys_file", "tls_certificate", "tls_key", "host", "metrics_host", "ray", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        if value == "":
            msg = "must not be empty: leave it out instead"
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
                "the URL must hold no password and no query, because errors name it: set the variables of the object store, such as "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
            raise ValueError(msg)
        return value

    @field_validator("checkpoints", "archive")
    @classmethod
    def _absolute_folder(cls, value: str | None) -> str | None:
        """Make a path absolute, so that processes started in other folders use the same one. An empty text becomes None."""
        return str(_at_home(Path(value)).absolute()) if value and "://" not in value else value or None

    @field_validator("write_keys", "admin_keys")
    @classmethod
    def _keys(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(not (key := one.get_secret_value()) or key != key.strip() for one in value):
            msg = "a key must not be empty, nor begin or end with a space: everybody knows an empty one"
            raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _closed_unless_keyed(self) -> "Settings":
        if self.host not in LOOPBACK and not (self.write_keys or self.admin_keys or self.keys_file):
            msg = f"host {self.host} is beyond loopback: set EQUIRANK_WRITE_KEYS and EQUIRANK_ADMIN_KEYS, or EQUIRANK_KEYS_FILE"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _whole_tls(self) -> "Settings":
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
        """The limits for provisional agents."""
        return Provisional(self.provisional_outcomes, self.provisional_ranks, self.provisional_deviation)

    @property
    def checkpoint_url(self) -> str:
        """Path or fsspec URL of the folder of checkpoints and results."""
        return self.checkpoints or (self.data / "state").as_uri()

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


def no_settings(names: Iterable[str]) -> list[str]:
    """The names among `names` that begin with EQUIRANK_ but are not settings: misspelled names, or settings of another version. Sorted."""
    known = {f"EQUIRANK_{name.upper()}" for name in Settings.model_fields} | {_CONFIG, *_OTHERS}
    return sorted(name for name in names if name.startswith("EQUIRANK_") and not name.startswith(_CLUSTER_TESTS) and name not in known)


def _toml(settings: type[BaseSettings], file: Path) -> TomlConfigSettingsSource:
    """Source with the settings of the TOML file. Raises `InputError` if it is missing or invalid; pydantic would ignore a missing file."""
    try:
        tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(_CONFIG, str(file), f"must name a file that can be read ({error.strerror})") from error
    except ValueError as error:
        raise InputError(_CONFIG, str(file), f"must name a TOML file ({error})") from error
    return TomlConfigSettingsSource(settings, file)
