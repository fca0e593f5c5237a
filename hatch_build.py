"""Ships the catalogue inside the wheel where the environment that builds it can run the package."""

import os
import subprocess
import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CatalogueHook(BuildHookInterface):
    """Without it a first command generates the catalogue into the user's cache, which takes some seconds."""

    def initialize(self, version: str, build_data: dict) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        path = Path(self.directory) / "catalogue.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "deeptheory.lab.entries", str(path)]
        environment = {**os.environ, "PYTHONPATH": str(root / "src"), "JAX_PLATFORMS": "cpu"}
        done = subprocess.run(command, capture_output=True, env=environment)
        if done.returncode == 0:
            build_data["force_include"][str(path)] = "deeptheory/catalogue.json"
