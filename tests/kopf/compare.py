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
        self.pulse, self.beats = None, 0
        self.by_object, self.lock = {}, threading.Lock()
        open(self.log, "a").close()
        self.reader = open(self.log)

    def start(self, number):
        """Starts the operator and the pulse of this session, and waits for the first beat."""
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdout=self.output, stderr=self.output, start_new_session=True
        )
        name = f"pulse-{number}"
        self.create(name, {"size": 0})
        wait_for(lambda: self.called(name, "f", 1), "the operator handles nothing")
        self.pulse, self.beats = name, 1
        threading.Thread(target=self.beat, args=(name,), daemon=True).start()

    def beat(self, name):
        """Counts the edits that the operator has handled wholly: `u2` is its last handler of an edit."""
        count = 0
        while self.pulse == name:
            count += 1
            self.patch(name, {"spec": {"size": count}})
            while self.pulse == name and not self.called(name, "u2", count):
                time.sleep(0.05)
            self.beats += 1
            time.sleep(0.5)

    def kill(self):
        self.pulse = None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def called(self, name, handler, times):
        return sum(line["handler"] == handler for line in self.lines(name)) >= times

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

    def exists(self, name):
        return self.cluster.send("GET", f"{SUBJECTS}/{name}") is not None


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


class Until:
    """A step after which only the calls of some handlers are waited for."""

    def __init__(self, step, *handlers):
        self.step, self.handlers = step, handlers

    def __call__(self, side, name):
        before = len(side.lines(name))
        self.step(side, name)
        are_called = lambda: {line["handler"] for line in side.lines(name)[before:]}.issuperset(self.handlers)
        wait_for(are_called, f"{self.handlers} were not called")
        # what they have led to is recorded
        time.sleep(0.5)


class Script:
    """`only` selects the lines that are compared. With `differs`, a class of differences, the lines differ, but not after `masked`."""

    def __init__(self, *sessions, plan={}, only=None, differs=None, masked=None):
        self.sessions, self.plan, self.only, self.differs, self.masked = sessions, plan, only, differs, masked


def load(path):
    scope = {key: value for key, value in globals().items() if not key.startswith("_")}
    exec(compile(open(path).read(), path, "exec"), scope)
    return scope["SCRIPTS"], scope["CLASSES"]


def wait_for(condition, problem):
    until = time.time() + PATIENCE
    while not condition():
        if time.time() > until:
            raise AssertionError(problem)
        time.sleep(0.02)


def wait_for_quiet(side, name):
    count, since, beats = -1, time.time(), side.beats
    until = time.time() + PATIENCE
    # the first may have been under way; two whole ones follow
    while time.time() - since < QUIET or side.beats < beats + 3:
        now = len(side.lines(name))
        if now != count:
            count, since, beats = now, time.time(), side.beats
        if time.time() > until:
            raise AssertionError("the operator does not come to rest")
        time.sleep(0.1)


def run_session(side, name, steps, problems):
    try:
        for step in steps:
            step(side, name)
            if not isinstance(step, Until):
                wait_for_quiet(side, name)
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
    count = max(len(script.sessions) for script in scripts.values())
    for number in range(count):
        active = {name: it for name, it in scripts.items() if number < len(it.sessions)}
        for name, script in active.items():
            down = script.sessions[number].get("down", [])
            for step in down:
                step(side, name)
        side.start(number)
        work = lambda name, script: run_session(side, name, [lambda side, name: None, *script.sessions[number].get("up", [])], problems)
        together([lambda name=name, script=script: work(name, script) for name, script in active.items()])
        for name, script in active.items():
            if number + 1 == len(script.sessions):
                results[name] = side.lines(name)
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
            run(side, scripts, of, problems)
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
        if not is_equal and script.masked is not None:
            masked = [script.masked(lines) for lines in chosen]
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
