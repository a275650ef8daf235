#!/usr/bin/env python3
"""What the test scripts in Python share: running programs, counting checks, and the programs that are built if they are absent.

    tests/shared.py helm      prints the path of Helm, for scripts of the shell; HELM names another one
"""

import os
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve()
TOOL = os.environ.get("CARGO_OPERATOR")
CONTROL_PLANE = REPOSITORY / "tests/control-plane"
MODULES = {
    "helm": ("HELM", "helm/helm", "helm.sh/helm/v3/cmd/helm@v3.18.6"),
    "kube-score": ("KUBE_SCORE", "kube-score/kube-score", "github.com/zegl/kube-score/cmd/kube-score@v1.20.0"),
    "operator-verify": ("OPERATOR_VERIFY", "olm/operator-verify", "github.com/operator-framework/api/cmd/operator-verify@v0.9.1"),
}
checks = 0

try:
    import yaml
except ImportError:
    folder = TARGET / "helm" / "python"
    if not folder.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "pyyaml"], check=True)
    sys.path.insert(0, str(folder))
    import yaml


def run(*command, cwd=None, fails=False, input=None, with_errors=False, **environment):
    """The output of a command; also its standard error if the command is to fail, or `with_errors`."""
    done = subprocess.run([str(it) for it in command], cwd=cwd, env={**os.environ, **environment}, input=input, capture_output=True, text=True)
    if fails != (done.returncode != 0):
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr if fails or with_errors else done.stdout


def check(is_true, problem):
    global checks
    checks += 1
    if not is_true:
        sys.exit(f"FAILED: {problem}")


def summary():
    print(f"passed: {checks} checks")


def program(name):
    """A program of a Go module: the one that the variable names, or one that is built into the target folder."""
    variable, path, module = MODULES[name]
    if given := os.environ.get(variable):
        return given
    built = TARGET / path
    if not built.exists():
        run("go", "install", module, GOBIN=str(built.parent))
    return built


if __name__ == "__main__":
    print(program(*sys.argv[1:]))
