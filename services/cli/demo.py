"""`equirank demo`: feeds the demo's pools (run by `equirank up --demo`)."""

import signal
import threading
from contextlib import closing
from typing import Annotated

import typer

from services.backends import open_log, open_store
from services.cli.begin import begin
from services.demo.attack import attack
from services.demo.feed import feed
from services.demo.scenario import Scenario
from services.runtime.signals import on_signals


def demo(scenario: Annotated[Scenario, typer.Argument()] = Scenario.ARENA) -> None:
    """Feed the pools of a scenario until all outcomes are sent, or until TERM or Ctrl-C."""
    settings = begin()
    stop = threading.Event()
    on_signals((signal.SIGINT, signal.SIGTERM), stop.set, lambda _: None)
    with closing(open_log(settings)) as log:
        if scenario is Scenario.ARENA:
            feed(settings, log, stop)
        else:
            attack(settings, log, open_store(settings, log.outcomes.identity).solved, stop)
        stop.wait()
