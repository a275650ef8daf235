#!/usr/bin/env python3
"""What the test scripts in Python share: running programs, counting checks, and the programs that are built if they are absent.

    tests/shared.py helm      prints the path of Helm, for scripts of the shell; HELM names another one
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve()
TOOL = os.environ.get("CARGO_OPERATOR")
CONTROL_PLANE = REPOSITORY / "tests/control-plane"
MODULES = {
    "helm": ("HELM", "helm/helm", "helm.sh/helm/v3/cmd/helm@v3.18.6"),
    "helm4": ("HELM4", "helm4/helm", "helm.sh/helm/v4/cmd/helm@v4.3.2"),
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


def kubectl(*arguments, **options):
    return run("kubectl", *arguments, **options)


def read(*arguments):
    return json.loads(kubectl("get", *arguments, "-o", "json"))


def eventually(what, is_true, seconds=30):
    """Calls a function until it returns a true value; one that fails is called again, too."""
    end = time.monotonic() + seconds
    while True:
        problem = None
        try:
            if is_true():
                check(True, what)
                print(f"  ok  {what}", flush=True)
                return
        except (SystemExit, OSError, KeyError) as error:
            problem = error
        check(time.monotonic() < end, f"not {what}: {problem}")
        time.sleep(0.3)


def free_port():
    with socket.create_server(("0.0.0.0", 0)) as it:
        return it.getsockname()[1]


def address():
    """The address of this machine; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        it.connect(("192.0.2.1", 9))
        return it.getsockname()[0]


def join_service(service, port):
    """In place of the controller of EndpointSlices: a Service reaches this machine, at the port that `port` returns for a target port."""
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    owner = {"apiVersion": "v1", "kind": "Service", "name": name, "uid": service["metadata"]["uid"], "controller": True}
    ports = [{"name": it.get("name", ""), "port": port(it["targetPort"])} for it in service["spec"]["ports"]]
    metadata = {"name": f"{name}-0", "namespace": namespace, "labels": {"kubernetes.io/service-name": name}, "ownerReferences": [owner]}
    endpoints = [{"addresses": [address()], "conditions": {"ready": True}}]
    slices = {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, "addressType": "IPv4",
        "endpoints": endpoints, "ports": ports,
    }
    kubectl("apply", "--server-side", "-f", "-", input=json.dumps(slices))


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
