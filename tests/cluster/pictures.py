"""Pictures of the chart's dashboards with the data of a run: `EQUIRANK_CLUSTER_PICTURES=FOLDER make cluster`.

Grafana cannot be installed from the registries that the tests use. So each panel is drawn from its own queries, legend and unit.
The pictures show whether a panel says something and is readable. They do not show that Grafana loads the file.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tests.cluster.cluster import CHART, NAMESPACE
from tests.cluster.prometheus import Prometheus

_UNITS: Final = {"s": "s", "bytes": "B", "ops": "/s", "reqps": "req/s"}


def draw(monitoring: Prometheus, folder: Path, seconds: float) -> list[Path]:
    """One HTML page for each dashboard, of the last `seconds`."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_page(monitoring, json.loads(path.read_text()), folder / f"{path.stem}.html", seconds) for path in _dashboards()]


def _dashboards() -> list[Path]:
    return sorted((CHART / "dashboards").glob("*.json"))


def _page(monitoring: Prometheus, dashboard: Mapping[str, Any], path: Path, seconds: float) -> Path:
    panels = [panel for panel in dashboard["panels"] if panel["type"] == "timeseries"]
    titles = [f"{panel['title']} [{_UNITS.get(_unit(panel), '1')}]" for panel in panels]
    figure = make_subplots(rows=-(-len(panels) // 3), cols=3, subplot_titles=titles, vertical_spacing=0.06, horizontal_spacing=0.05)
    for index, panel in enumerate(panels):
        for trace in _traces(monitoring, panel, seconds):
            figure.add_trace(trace, row=index // 3 + 1, col=index % 3 + 1)
    figure.update_layout(title=dashboard["title"], template="plotly_dark", width=1800, height=300 * -(-len(panels) // 3), showlegend=False)
    figure.write_html(path, include_plotlyjs=True)
    return path


def _unit(panel: Mapping[str, Any]) -> str:
    return str(panel["fieldConfig"]["defaults"].get("unit", "none"))


def _traces(monitoring: Prometheus, panel: Mapping[str, Any], seconds: float) -> list[go.Scatter]:
    """One line for each series, with its legend at its last point. A panel without series stays empty."""
    traces = []
    for target in panel["targets"]:
        query = target["expr"].replace("$__rate_interval", "1m").replace("$namespace", NAMESPACE)
        for series in monitoring.range(query, seconds):
            name = _legend(target.get("legendFormat", ""), series["metric"])
            times, values = zip(*((moment - time.time(), float(value)) for moment, value in series["values"]), strict=True)
            text = [""] * (len(values) - 1) + [name]
            traces.append(go.Scatter(x=times, y=values, name=name, text=text, mode="lines+text", textposition="top left"))
    return traces


def _legend(text: str, labels: Mapping[str, str]) -> str:
    for name, value in labels.items():
        text = text.replace("{{" + name + "}}", value)
    return text
