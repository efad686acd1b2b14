"""Settings: environment over file over defaults, and nothing that is meant for them is lost."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsError

from ratings_core.errors import InputError
from services.cli import begin
from services.cli.main import _expected
from services.runtime.setting_examples import SETTING_EXAMPLES
from services.runtime.settings import Settings


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "equirank.toml"
    monkeypatch.setenv("EQUIRANK_CONFIG", str(file))
    for name in ("EQUIRANK_PORT", "EQUIRANK_SHARDS"):
        monkeypatch.delenv(name, raising=False)
    return file


def test_the_environment_wins_over_the_file_and_the_file_over_defaults(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text('port = 1\nshards = 7\nwrite_keys = ["a"]\n')
    monkeypatch.setenv("EQUIRANK_PORT", "2")
    found = Settings()
    assert (found.port, found.shards, found.partitions) == (2, 7, 8)
    assert [key.get_secret_value() for key in found.write_keys] == ["a"]
    assert Settings(port=3).port == 3


def test_a_name_that_is_no_setting_is_refused(config: Path) -> None:
    config.write_text("prot = 1\n")
    with pytest.raises(ValidationError, match="prot"):
        Settings()


def test_variables_that_are_no_settings_are_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(begin, "configure", lambda _: None)
    for name, value in (("EQUIRANK_SHARD", "3"), ("EQUIRANK_SHARDS", "3"), ("OTHER", "1")):
        monkeypatch.setenv(name, value)
    assert begin.begin(port=1).port == 1
    told = [record.getMessage() for record in caplog.records if "not a setting" in record.getMessage()]
    assert told == ["EQUIRANK_SHARD is not a setting and is ignored; docs/reference/settings.md lists all settings"]


@pytest.mark.parametrize("name", ["EQUIRANK_ADMIN_KEY", "EQUIRANK_WRITE_KEY", "EQUIRANK_ADMN_KEYS", "EQUIRANK_KEY_FILE"])
def test_a_misspelled_setting_of_keys_ends_the_start_without_its_value(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, '["secret"]')
    with pytest.raises(InputError, match="must be a setting, because it seems to hold keys") as refused:
        begin.begin(port=1)
    assert "EQUIRANK_WRITE_KEYS, EQUIRANK_ADMIN_KEYS" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("value", ["secret", '["secret"', "'secret'"])
def test_keys_that_are_not_json_are_refused_by_the_name_of_their_variable(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("EQUIRANK_ADMIN_KEYS", value)
    with pytest.raises(SettingsError) as refused:
        begin.begin(port=1)
    message = _expected(refused.value)
    assert message is not None
    assert message.startswith("EQUIRANK_ADMIN_KEYS is not JSON: lists and tables are JSON there, as in")
    assert "secret" not in message


@pytest.mark.parametrize("content", [None, "port = \n", b"\xff\xfe"])
def test_a_file_that_is_not_there_or_no_toml_is_refused(config: Path, content: str | bytes | None) -> None:
    if content is not None:
        config.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match="EQUIRANK_CONFIG"):
        Settings()


def test_keys_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIRANK_ADMIN_KEYS", '["hunter2"]')
    assert "hunter2" not in repr(Settings())


def test_no_secret_is_shown_or_named_by_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIRANK_REDIS", "redis://user:hunter2@host/0")
    monkeypatch.setenv("EQUIRANK_KAFKA_OPTIONS", '{"sasl_plain_password": "hunter2"}')
    assert "hunter2" not in repr(Settings())
    monkeypatch.setenv("EQUIRANK_WRITE_KEYS", '["hunter2", ""]')
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["s3://key:hunter2@bucket/equirank", "s3://key:hun/ter2@bucket/equirank", "az://container/equirank?sig=hunter2", "sftp://a:b@c"]
)
def test_an_archive_with_a_password_in_its_url_is_refused_without_naming_it(url: str) -> None:
    with pytest.raises(ValidationError, match="AWS_SECRET_ACCESS_KEY") as refused:
        Settings(archive=url)
    assert "ter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["/srv/a:b@c", "s3://bucket/equirank", "abfss://files@account.dfs.core.windows.net/equirank", "file:///srv/a"]
)
def test_an_archive_without_secrets_is_taken(url: str) -> None:
    assert Settings(archive=url).archive == url


def test_beyond_loopback_needs_keys() -> None:
    with pytest.raises(ValidationError, match="EQUIRANK_WRITE_KEYS"):
        Settings(host="0.0.0.0")  # noqa: S104 - refused
    assert Settings(host="0.0.0.0", admin_keys=("k",)).host == "0.0.0.0"  # noqa: S104 - with a key


@pytest.mark.parametrize("name", ["data", "keys_file", "tls_key", "host", "metrics_host", "ray"])
def test_an_empty_variable_names_no_folder_file_or_address(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"EQUIRANK_{name.upper()}", "")
    with pytest.raises(ValidationError, match="must not be empty"):
        Settings()


def test_an_empty_variable_of_a_server_means_the_embedded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EQUIRANK_KAFKA", "EQUIRANK_REDIS"):
        monkeypatch.setenv(name, "")
    found = Settings()
    assert (found.kafka, found.redis, found.embedded) == (None, None, True)


@pytest.mark.parametrize("name", ["data", "checkpoints", "archive"])
def test_a_home_folder_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="~nobody-of-that-name names no home folder"):
        Settings.model_validate({name: "~nobody-of-that-name/x"})


@pytest.mark.parametrize("name", ["checkpoints", "archive"])
def test_a_folder_is_the_same_for_every_process_wherever_it_was_started(name: str) -> None:
    given = {value: getattr(Settings.model_validate({name: value}), name) for value in ("state", "~/state", "/state", "s3://b/state", "")}
    assert given == {
        "state": str(Path.cwd() / "state"),
        "~/state": str(Path.home() / "state"),
        "/state": "/state",
        "s3://b/state": "s3://b/state",
        "": None,
    }


def test_a_ratings_topic_is_refused_on_the_embedded_log() -> None:
    with pytest.raises(ValidationError, match="ratings_topic needs Kafka, because the embedded log has no ratings topic"):
        Settings(ratings_topic=True)
    assert Settings(ratings_topic=True, kafka="broker:9092").ratings_topic
    assert not Settings().ratings_topic


@pytest.mark.parametrize(
    ("given", "url", "is_copy"),
    [
        ({}, "/data/archive", True),
        ({"archive": ""}, "/data/archive", True),
        ({"archive": "off"}, None, False),
        ({"archive": "/data/archive"}, "/data/archive", False),
        ({"archive": "s3://bucket/archive"}, "s3://bucket/archive", False),
        ({"kafka": "broker:9092"}, None, False),
        ({"kafka": "broker:9092", "archive": "off"}, None, False),
        ({"kafka": "broker:9092", "archive": "/archive"}, "/archive", False),
    ],
)
def test_only_the_embedded_log_has_an_archive_by_default(given: dict[str, str], url: str | None, is_copy: bool) -> None:
    found = Settings(data=Path("/data"), **given)  # type: ignore[arg-type]  # texts, as the environment gives them
    assert (found.archive_url, found.archive_is_copy) == (url, is_copy)


def test_a_folder_of_an_archive_may_be_called_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings(archive="./off").archive_url == str(tmp_path / "off")


@pytest.mark.parametrize("word", ["OFF", "Off", "on", "none", "True", "0"])
def test_a_word_that_is_probably_a_switch_is_no_folder_of_an_archive(word: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The log would drop its records for an archive in such a folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValidationError, match=f"for a folder of this name, write ./{word}"):
        Settings(archive=word)
    assert Settings(archive=f"./{word}").archive_url == str(tmp_path / word)


@pytest.mark.parametrize("name", ["a[1]", "a]", "a^b", "a|b", "a\\b", "a%41", "%2f"])
def test_a_path_that_tables_cannot_have_is_refused_as_an_archive(name: str, tmp_path: Path) -> None:
    for url in (str(tmp_path / name), (tmp_path / name).as_uri()):
        with pytest.raises(ValidationError, match="the library of its tables cannot use such a path"):
            Settings(archive=url)
    assert Settings(data=tmp_path / name).archive_url is None
    assert Settings(archive=f"s3://bucket/{name}").archive_url == f"s3://bucket/{name}"


def test_every_setting_has_an_example_and_the_examples_are_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(SETTING_EXAMPLES) == list(Settings.model_fields)
    for name, value in SETTING_EXAMPLES.items():
        monkeypatch.setenv(f"EQUIRANK_{name.upper()}", value)
    changed, plain = Settings(), Settings.model_construct()
    assert [name for name in SETTING_EXAMPLES if getattr(changed, name) == getattr(plain, name)] == []
