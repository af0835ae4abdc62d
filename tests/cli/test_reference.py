"""docs/cli.md is what the commands say, and its examples run."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from onlinehash.cli import reference
from onlinehash.cli.main import app

ROOT = Path(__file__).parents[2]
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# What listens or measures for long is tested elsewhere.
NOT_RUN = {"serve", "demo", "paper"}


def test_the_reference_is_up_to_date() -> None:
    again = "python -m onlinehash.cli.reference writes it again"
    assert (ROOT / "docs" / "cli.md").read_text() == reference.text(), again


def test_every_option_is_described() -> None:
    for name, command in COMMANDS.items():
        assert command.help, name
        for parameter in command.params:
            assert parameter.help, f"{name}: {parameter.name}"


def test_every_command_has_its_python() -> None:
    for name, command in COMMANDS.items():
        if name not in NOT_RUN:
            module = reference.module_of(command)
            assert "onlinehash " + name in module.SHELL
            assert module.PYTHON.strip()


def test_the_examples_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(reference.FILES.split("```python\n")[1].split("```")[0], {})
    for name, command in COMMANDS.items():
        if name in NOT_RUN:
            continue
        for line in reference.module_of(command).SHELL.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "onlinehash"
            done = CliRunner().invoke(app, arguments, catch_exceptions=False)
            assert done.exit_code == 0, line + done.output
            assert done.stdout, line
