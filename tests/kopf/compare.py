"""Runs the same scripts against an operator in Kopf and the same one in the runtime, and compares what their handlers log.

Usage: compare.py WORK KOPF_SERVER_KUBECONFIG OURS_KUBECONFIG -- KOPF_COMMAND... -- OUR_COMMAND...

A script is a list of sessions; before each session both operators are started, and after it they are killed. A session is a list of steps, of
which each waits until nothing more is logged. The lines of each object are compared in their order, without times.

How long an operator takes depends on what else the machine does. An object of its own, the pulse, is edited over and over: what is not logged
while the operator handles two such edits, from their start to their end, is not on its way.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

from cluster import Cluster

# Seconds: longer than the delay of a retry that a step waits for, shorter than one that it does not.
QUIET = 4.0
# Seconds: longer than a busy machine takes, as only what fails takes all of them.
PATIENCE = 120
SUBJECTS = "/apis/test.example.com/v1/namespaces/default/subjects"


class Side:
    """One of the two operators, and its server."""

    def __init__(self, name, kubeconfig, command, work):
        self.name, self.command = name, command
        self.cluster = Cluster(kubeconfig)
        self.log = f"{work}/{name}.jsonl"
        self.plan = f"{work}/plan.json"
        self.output = open(f"{work}/{name}.log", "a")
        self.environment = os.environ | {
            "KUBECONFIG": kubeconfig, "CALL_LOG": self.log, "CALL_PLAN": self.plan, "PYTHONHASHSEED": "0",
        }
        self.process = None
        self.pulse, self.pulses, self.beats, self.problem = None, 0, 0, None
        self.by_object, self.lock = {}, threading.Lock()
        open(self.log, "a").close()
        self.reader = open(self.log)

    def start(self):
        """Starts the operator and a pulse, and waits for the first beat."""
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdout=self.output, stderr=self.output, start_new_session=True
        )
        self.pulses += 1
        name = f"pulse-{self.pulses}"
        self.create(name, {"size": 0})
        wait_for(self, lambda: self.has_handled(name, "f", 0), "the operator handles nothing")
        self.pulse, self.beats = name, 1
        threading.Thread(target=self.beat, args=(name,), daemon=True).start()

    def beat(self, name):
        """Counts the edits that the operator has handled wholly: `u2` is its last handler of an edit."""
        try:
            count = 0
            while self.pulse == name:
                count += 1
                self.patch(name, {"spec": {"size": count}})
                while self.pulse == name and not self.has_handled(name, "u2", count):
                    time.sleep(0.05)
                self.beats += 1
                time.sleep(0.5)
        except Exception as error:
            if self.pulse == name:
                self.problem = error

    def kill(self):
        self.pulse = None
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def has_handled(self, name, handler, size):
        """Whether a handler was called after the field's own handler got this size."""
        lines = self.lines(name)
        sizes = [line.get("new") if line["handler"] == "f" else None for line in lines]
        return size in sizes and any(line["handler"] == handler for line in lines[sizes.index(size):])

    def lines(self, name):
        """The lines of an object, of which each is parsed once."""
        with self.lock:
            while True:
                start = self.reader.tell()
                line = self.reader.readline()
                # the last line may be half written
                if not line.endswith("\n"):
                    self.reader.seek(start)
                    return list(self.by_object.get(name, []))
                line = json.loads(line)
                self.by_object.setdefault(line["object"], []).append(line)

    # what the steps of scripts do

    def create(self, name, spec, **metadata):
        body = {"apiVersion": "test.example.com/v1", "kind": "Subject", "metadata": {"name": name, **metadata}, "spec": spec}
        self.cluster.send("POST", SUBJECTS, body)

    def patch(self, name, patch, status=False):
        self.cluster.send("PATCH", f"{SUBJECTS}/{name}{'/status' if status else ''}", patch)

    def delete(self, name):
        self.cluster.send("DELETE", f"{SUBJECTS}/{name}")

    def read(self, name):
        return self.cluster.send("GET", f"{SUBJECTS}/{name}")

    def exists(self, name):
        return self.read(name) is not None


def create(spec={"size": 1}, **metadata):
    return lambda side, name: side.create(name, spec, **metadata)


def edit(**spec):
    return lambda side, name: side.patch(name, {"spec": spec})


def meta(**metadata):
    return lambda side, name: side.patch(name, {"metadata": metadata})


def status(**fields):
    return lambda side, name: side.patch(name, {"status": fields}, status=True)


def delete(side, name):
    side.delete(name)


def gone(side, name):
    if side.exists(name):
        raise AssertionError("the object still exists")


def there(side, name):
    if not side.exists(name):
        raise AssertionError("the object is gone")


def finalizers(count):
    """Waits until the object has so many finalizers, of others and of the operator."""
    def step(side, name):
        has_count = lambda: len(side.read(name)["metadata"].get("finalizers", [])) == count
        wait_for(side, has_count, f"the object does not have {count} finalizers")
    return step


def called(*handlers):
    """Waits for calls since the beginning, of a handler several times if it is there several times."""
    def step(side, name):
        are_called = lambda: Counter(line["handler"] for line in side.lines(name)) >= Counter(handlers)
        wait_for(side, are_called, f"{handlers} were not called")
    return step


class Until:
    """A step after which only the calls of some handlers are waited for, of one several times if it is there several times."""

    def __init__(self, step, *handlers):
        self.step, self.handlers = step, handlers

    def __call__(self, side, name):
        before = len(side.lines(name))
        self.step(side, name)
        are_called = lambda: Counter(line["handler"] for line in side.lines(name)[before:]) >= Counter(self.handlers)
        wait_for(side, are_called, f"{self.handlers} were not called")
        # what they have led to is recorded
        time.sleep(0.5)


class Script:
    """`only` selects the lines that are compared. With `differs`, a class of differences, the lines differ: either they are equal after
    `masked`, or those of ours are `ours`. `quiet` is in seconds. `alone`: the sessions end before those of the others begin."""

    def __init__(self, *sessions, plan={}, only=None, differs=None, masked=None, ours=None, quiet=QUIET, alone=False):
        self.sessions, self.plan, self.only, self.differs, self.masked = sessions, plan, only, differs, masked
        self.ours, self.quiet, self.alone = ours, quiet, alone


def load(path):
    scope = {key: value for key, value in globals().items() if not key.startswith("_")}
    exec(compile(open(path).read(), path, "exec"), scope)
    return scope["SCRIPTS"], scope["CLASSES"]


def wait_for(side, condition, problem, pause=0.02):
    until = time.time() + PATIENCE
    while not condition():
        if side.problem is not None:
            raise AssertionError(f"the pulse: {side.problem!r}")
        if side.process.poll() is not None:
            raise AssertionError(f"the operator ended with {side.process.returncode}")
        if time.time() > until:
            raise AssertionError(problem)
        time.sleep(pause)


def wait_for_quiet(side, name, quiet):
    count, since, beats = -1, time.time(), side.beats

    def is_quiet():
        nonlocal count, since, beats
        now = len(side.lines(name))
        if now != count:
            count, since, beats = now, time.time(), side.beats
        # the first may have been under way; two whole ones follow
        return time.time() - since >= quiet and side.beats >= beats + 3

    wait_for(side, is_quiet, "the operator does not come to rest", pause=0.1)


def run_session(side, name, steps, quiet, problems):
    try:
        for step in steps:
            step(side, name)
            if not isinstance(step, Until):
                wait_for_quiet(side, name, quiet)
    except Exception as error:
        problems.append(f"{name} on {side.name}: {error}")


def together(calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run(side, scripts, results, problems):
    """All scripts at once, each with its own object."""
    count = max((len(script.sessions) for script in scripts.values()), default=0)
    for number in range(count):
        active = {name: it for name, it in scripts.items() if number < len(it.sessions)}
        for name, script in active.items():
            down = script.sessions[number].get("down", [])
            for step in down:
                step(side, name)
        def work(name, script):
            steps = [lambda side, name: None, *script.sessions[number].get("up", [])]
            run_session(side, name, steps, script.quiet, problems)
        try:
            side.start()
            together([lambda name=name, script=script: work(name, script) for name, script in active.items()])
            for name, script in active.items():
                if number + 1 == len(script.sessions):
                    results[name] = side.lines(name)
        finally:
            side.kill()


def shown(line):
    rest = {key: value for key, value in line.items() if key not in ("object", "handler", "cause", "attempt")}
    return f"{line['cause']} {line['handler']}@{line['attempt']}" + (f" {json.dumps(rest, sort_keys=True)}" if rest else "")


def main():
    work, kopf_config, our_config, *rest = sys.argv[1:]
    assert rest.pop(0) == "--"
    cut = rest.index("--")
    sides = [Side("kopf", kopf_config, rest[:cut], work), Side("ours", our_config, rest[cut + 1:], work)]
    scripts, classes = load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts.py"))
    chosen = os.environ.get("SCRIPTS", "").split()
    scripts = {name: it for name, it in scripts.items() if not chosen or name in chosen}
    with open(f"{work}/plan.json", "w") as plan:
        json.dump({name: script.plan for name, script in scripts.items()}, plan)
    results, problems = [{}, {}], []
    def guarded(side, of):
        try:
            for alone in (False, True):
                run(side, {name: it for name, it in scripts.items() if it.alone == alone}, of, problems)
        except Exception as error:
            problems.append(f"the operator in {side.name}: {error!r}")

    together([lambda side=side, of=of: guarded(side, of) for side, of in zip(sides, results)])
    code = 0
    for problem in problems:
        print(f"FAILED {problem}")
        code = 1
    used, equal = set(), 0
    for name, script in scripts.items():
        chosen = [[line for line in result.get(name, []) if script.only is None or script.only(line)] for result in results]
        of = [list(map(shown, lines)) for lines in chosen]
        is_equal = of[0] == of[1]
        if not is_equal and script.differs is not None:
            masked = [script.masked(lines) for lines in chosen] if script.masked else [script.ours, of[1]]
            if masked[0] != masked[1]:
                script.differs = None
        if is_equal and script.differs is None:
            equal += 1
            continue
        if not is_equal and script.differs is not None:
            used.add(script.differs)
            print(f"differs as expected ({script.differs}): {name}")
            continue
        code = 1
        print(f"FAILED {name}" + (f": equal, and should differ ({script.differs})" if is_equal else ""))
        for side, lines in zip(sides, of):
            print(f"  {side.name}:")
            for line in lines:
                print(f"    {line}")
    print(f"{equal} scripts are handled equally, {len(scripts) - equal} differ in {len(used)} classes")
    for name in sorted(used):
        print(f"  {name}: {classes[name]}")
    sys.exit(code)


main()
