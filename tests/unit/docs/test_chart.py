"""The chart's README and schema say what its values are, and its files hang together."""

import json
import re
import subprocess
import sys
from pathlib import Path

import yaml

from services.runtime.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "helm" / "equirank"


def test_readme_and_schema_follow_from_the_values() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "scripts/chart-docs"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_value_has_a_description() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    table = (CHART / "README.md").read_text()
    top = [name for name, value in values.items() if not isinstance(value, dict)]
    nested = [f"{name}.{key}" for name, value in values.items() if isinstance(value, dict) for key in value]
    assert [name for name in [*top, *nested] if f"`{name}`" not in table and f"`{name}." not in table] == []


def test_the_schema_is_closed_at_every_level() -> None:
    def open_levels(path: str, level: dict[str, object]) -> list[str]:
        properties = level.get("properties")
        if not isinstance(properties, dict):
            return []
        here = [] if level["additionalProperties"] is False else [path]
        return here + [name for key, value in properties.items() for name in open_levels(f"{path}.{key}", value)]

    assert open_levels("", json.loads((CHART / "values.schema.json").read_text())) == []


def test_the_image_holds_the_versions_of_the_lock() -> None:
    def pins(path: Path) -> set[str]:
        return {line.partition(" ")[0] for line in path.read_text().splitlines() if "==" in line and not line.startswith((" ", "#"))}

    runtime, everything = pins(ROOT / "deploy/docker/requirements.lock"), pins(ROOT / "requirements-dev.lock")
    assert len(runtime) > 50
    assert runtime <= everything
    assert not {pin for pin in runtime if pin.startswith(("pytest", "mypy", "ruff", "hypothesis", "pandas", "cvxpy"))}


def test_settings_that_the_chart_writes_exist() -> None:
    templates = "\n".join(path.read_text() for path in (CHART / "templates").iterdir())
    names = {name.lower() for name in re.findall(r"EQUIRANK_([A-Z_]+[A-Z])", templates)}
    assert len(names) > 10
    assert names <= set(Settings.model_fields)


def test_settings_that_the_chart_writes_or_has_no_place_for_are_refused() -> None:
    templates = "\n".join(path.read_text() for path in (CHART / "templates").iterdir())
    own = {name.lower() for name in re.findall(r"EQUIRANK_([A-Z_]+[A-Z])", templates)}
    refused = json.loads((CHART / "values.schema.json").read_text())["properties"]["settings"]["propertyNames"]["not"]["pattern"]
    assert [name for name in sorted(own | {"data", "tls_certificate", "tls_key"}) if not re.search(refused, name)] == []
