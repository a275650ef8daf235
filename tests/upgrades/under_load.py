"""Replaces a release of an operator by another one while clients create, read, change and delete its objects.

The operators run as their Deployment would run them: with leader election, as their service account, with the roles that are installed. The
webhooks of all their processes are behind one Service, which forwards connections to the ready ones. As in a cluster, it notices the end of
one late. `Rollout.replace` does what a Deployment with one replica does: it starts the new one, waits until that is ready, and only then
stops the old one.
"""

import collections
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request

from load import HISTORY, MERGE, Api, Client, Kind, Watch, change, copy, version_of

COPIES = 24  # objects of each kind that exist before
LAG = 2  # seconds after which no connection is forwarded to a process that was told to stop
GRACE = 30  # seconds that a pod has to end, as Kubernetes gives it by default
PATIENCE = 60  # seconds until everything has settled
QUIET = 5  # seconds in which a settled operator may write nothing
MOST = 30  # problems that are printed
OF_ONE_OBJECT = {"managedFields", "resourceVersion", "podIP", "podIPs", "clusterIP", "clusterIPs"}


def until(what, is_true, patience=PATIENCE):
    """Waits until a function returns a true value, and returns it."""
    end = time.monotonic() + patience
    while not (value := is_true()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {patience} s: {what() if callable(what) else what}")
        time.sleep(0.1)
    return value


def stop_if(problems):
    if problems:
        raise AssertionError("\n".join([*problems[:MOST], f"{len(problems)} problems"]))


class Process:
    """A pod of the operator."""

    def __init__(self, program, name, kubeconfig, log):
        self.name, self.log = name, log
        self.http, self.webhooks = free_port(), free_port()
        # all that the Deployment sets, and other ports; the address of the webhooks is reachable, as that of a pod
        environment = {
            "PATH": os.environ["PATH"], "KUBECONFIG": str(kubeconfig), "HTTP_ADDRESS": f"127.0.0.1:{self.http}",
            "WEBHOOK_ADDRESS": f"0.0.0.0:{self.webhooks}",
        }
        with open(log, "w") as output:
            self.process = subprocess.Popen([program], env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def page(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/{path}", timeout=1) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the {self.name} release has ended")
        return self.page("readyz") is not None

    def requests(self):
        """The number of its requests, by method and status."""
        lines = re.findall(r'^rest_client_requests_total\{code="(.*?)".*?method="(.*?)"\} (\d+)', self.page("metrics") or "", re.M)
        return {(method, code): int(count) for code, method, count in lines}


def free_port():
    with socket.create_server(("0.0.0.0", 0)) as listener:
        return listener.getsockname()[1]


class Rollout:
    """An API server with the objects of an operator, of which releases replace each other."""

    def __init__(self, cluster, service, name, resources, documents, masked):
        self.cluster, self.service, self.name, self.masked = cluster, service, name, masked
        self.api = self.client()
        self.kinds = {resource: Kind(self.api, resource) for resource in resources}
        self.documents = documents
        self.kubeconfig = self.as_service_account()
        self.running, self.processes = None, []
        self.watches = {}

    def client(self):
        return Api(self.cluster.kubeconfig)

    def as_service_account(self):
        """A kubeconfig as a pod of the operator has: its namespace, and the permissions of its roles."""
        config = self.api.config
        user = config["users"][0]
        account = {"name": user["name"], "user": user["user"] | {"as": f"system:serviceaccount:{self.name}:{self.name}"}}
        context = config["contexts"][0]
        context = context | {"context": context["context"] | {"namespace": self.name}}
        path = self.cluster.kubeconfig.with_name("kubeconfig-" + self.name)
        path.write_text(json.dumps(config | {"users": [account], "contexts": [context]}))
        return path

    def launch(self, program, release, log):
        process = Process(program, release, self.kubeconfig, log)
        self.processes.append(process)
        until(f"the {release} release is ready", process.is_ready)
        self.service.ports = [*self.service.ports, process.webhooks]
        return process

    def begin(self, program, release, log):
        """The first release, with objects; half of them are changed once, as those of the clients will be."""
        self.leases = Watch(self.client(), f"/apis/coordination.k8s.io/v1/namespaces/{self.name}/leases")
        self.running = self.launch(program, release, log)
        until(f"the {release} release leads", self.holder)
        for resource, kind in self.kinds.items():
            # an object may have to be converted
            until(f"{resource} are listed", lambda: self.api.call("GET", kind.everywhere())[0] == 200)
            self.watches[resource] = Watch(self.client(), kind.everywhere())
        self.earlier, changed = {}, []
        for resource, documents in self.documents.items():
            kind, names = self.kinds[resource], []
            for number in range(COPIES):
                document = documents[number % len(documents)]
                name = f"{document['metadata']['name']}-{number}"
                self.write("POST", kind.path(version=version_of(kind, document)), copy(document, name))
                names.append(name)
                if number >= len(documents) and number < 2 * len(documents) and change(document):
                    changed.append((kind.path(name, version_of(kind, document)), {"spec": change(document)}))
            self.earlier[resource] = names
        self.settle()
        for path, patch in changed:
            self.write("PATCH", path, patch)
        self.settle()

    def write(self, method, path, body):
        # the API server may not know the certificate of the webhooks yet
        done = lambda: self.api.call(method, path, body, MERGE if method == "PATCH" else "application/json")
        status, answer = until(lambda: f"{method} {path}: {done()}", lambda: (it := done())[0] < 300 and it)
        return answer

    def settle(self, quiet=3):
        """Waits until nothing has changed for some seconds."""
        began = time.monotonic()
        watches = self.watches.values()
        until("nothing changes", lambda: time.monotonic() - max(began, *(it.last() for it in watches)) > quiet)

    def objects(self):
        """By uid, without pods of workloads, whose names are random."""
        items = [item | {"resource": it} for it, kind in self.kinds.items() for item in self.api.get(kind.everywhere())["items"]]
        of_workload = lambda item: any(owner["kind"] == "ReplicaSet" for owner in item["metadata"].get("ownerReferences", []))
        return {item["metadata"]["uid"]: item for item in items if not of_workload(item)}

    def replace(self, program, release, log, apply):
        """Another release takes over from the running one, under load; the figures of that."""
        old, before = self.running, self.objects()
        mark = {resource: len(watch.events) for resource, watch in self.watches.items()}
        # the first two of each document are not labelled, because others are compared with them
        earlier = lambda resource: self.earlier[resource][2 * len(self.documents[resource]):]
        clients = [Client(self.client(), self.kinds[it], documents, earlier(it)) for it, documents in self.documents.items()]
        time.sleep(1)
        apply()
        new = self.launch(program, release, log)
        told, holder = time.monotonic(), self.holder()
        old.process.send_signal(signal.SIGTERM)
        # The endpoints follow later, and connections until then go to both.
        leaving = threading.Timer(LAG, lambda: setattr(self.service, "ports", [new.webhooks]))
        leaving.start()
        until(f"the {old.name} release ends", lambda: old.process.poll() is not None, GRACE)
        code, ended = old.process.returncode, time.monotonic()
        leaving.join()
        until(f"the {release} release leads", lambda: self.holder() not in (None, holder))
        self.running = new
        time.sleep(3)
        for client in clients:
            client.stop()
        problems = [f"the {old.name} release ended with {code}"] if code else []
        problems += [f"refused after {at - told:+.1f} s: {what}" for client in clients for at, what in client.refusals]
        problems += [it for watch in self.watches.values() for it in watch.problems]
        stop_if(problems)
        until(lambda: "\n".join(self.unsettled(clients)[:MOST]), lambda: not self.unsettled(clients))
        self.settle()
        changes, written = self.changes(before, mark)
        problems += changes
        problems += self.writes(new)
        problems += [f"{it.name} release: {line}" for it in (old, new) for line in open(it.log) if "orbidden" in line or "panicked" in line]
        stop_if(problems)
        self.remove(clients)
        gap, count = self.leaderless(told), sum(client.requests for client in clients)
        slowest = max(client.slowest for client in clients)
        return (
            f"{count} requests, none refused, the slowest {slowest:.2f} s; no leader for {gap:.2f} s; "
            f"the {old.name} release ended {ended - told:.2f} s after the signal; {written} children written, once"
        )

    def holder(self):
        """Who holds the lease, `None` if nobody does."""
        return self.leases.events and self.leases.events[-1][2]["spec"].get("holderIdentity") or None

    def leaderless(self, since):
        """The time from the release of the lease to its next holder."""
        released = None
        for at, _, lease in self.leases.events:
            holder = lease["spec"].get("holderIdentity")
            if at >= since and not holder:
                released = released or at
            if released and holder:
                return at - released
        raise AssertionError("the lease was not released")

    def family(self, item, children):
        """What an object and its children are, apart from its name, and from what is of one object: times, addresses and the like."""
        of_item = [it for it in children if any(owner["uid"] == item["metadata"]["uid"] for owner in it["metadata"].get("ownerReferences", []))]
        name = re.escape(item["metadata"]["name"])

        def general(text):
            # hashes of a ReplicaSet's pods, and of a child with the uid of its owner
            text = re.sub(rf"\b{name}-[0-9a-f]{{8,10}}\b", "NAME-HASH", text)
            return re.sub(r'"[0-9a-f]{16}"', '"HASH"', re.sub(rf"\b{name}(?!\w)", "NAME", text))

        plain = lambda it: json.loads(general(json.dumps(self.masked(without(it)), sort_keys=True)))
        children = {(it["resource"], general(it["metadata"]["name"])): plain(it) for it in of_item}
        return {"object": plain(item), **{"/".join(key): children[key] for key in sorted(children)}}

    def unsettled(self, clients):
        """How the objects of the clients differ from those of the same document that were there before."""
        objects = self.objects().values()
        named = {(item["resource"], item["metadata"]["name"]): item for item in objects}
        found = []
        for client, (resource, documents) in zip(clients, self.documents.items()):
            found += [f"{name} still exists" for name in client.deleted if (resource, name) in named]
            for name, document in client.created[-HISTORY:]:
                if name in client.deleted:
                    continue
                place = documents.index(document) + (len(documents) if name in client.changed and change(document) else 0)
                model = named[resource, self.earlier[resource][place]]
                item = named.get((resource, name))
                if not item:
                    found.append(f"{name} does not exist")
                elif (expected := self.family(model, objects)) != (actual := self.family(item, objects)):
                    found += [f"{name} is not as {model['metadata']['name']}:", *differences(expected, actual)]
        return found

    def changes(self, before, mark):
        """What happened to objects that were there before, and to their children, that should not have; and how many children were written. A
        release may write each child once, if it owns other fields than the one before, but not another content."""
        after, found, written = self.objects(), [], 0
        events = [event for resource, watch in self.watches.items() for event in watch.events[mark[resource]:]]
        found += [f"{item['metadata']['name']} was deleted" for _, event, item in events if event == "DELETED" and item["metadata"]["uid"] in before]
        times = collections.Counter(item["metadata"]["uid"] for _, _, item in events)
        for uid, item in before.items():
            is_child = any(owner["uid"] in before for owner in item["metadata"].get("ownerReferences", []))
            if not is_child or uid not in after or not times[uid]:
                continue
            written += 1
            where = f"{item['resource']} {item['metadata']['name']}"
            # their status follows from their pods
            content = [{key: value for key, value in without(it).items() if key != "status"} for it in (item, after[uid])]
            found += [f"{where} was changed{it}" for it in differences(*content)]
            if times[uid] > 1:
                found.append(f"{where} was written {times[uid]} times")
        return found, written

    def writes(self, process):
        """What a settled operator writes, apart from its lease."""
        first = process.requests()
        if not first:
            return [f"the {process.name} release does not count its requests"]
        time.sleep(QUIET)
        sent = {key: count - first.get(key, 0) for key, count in process.requests().items() if count != first.get(key, 0)}
        renewals = sum(count for (method, _), count in sent.items() if method == "PUT")
        others = {key: count for key, count in sent.items() if key[0] not in ("GET", "PUT")}
        found = [f"the {process.name} release does not settle, and sent {others}"] if others else []
        if renewals > QUIET // 2 + 1:
            found.append(f"the {process.name} release sent {renewals} PUTs in {QUIET} s")
        return found

    def remove(self, clients):
        """Deletes the objects of the clients, so that the next ones may have the same names."""
        for client in clients:
            for name, _ in client.created:
                if name not in client.deleted:
                    self.write("DELETE", client.kind.path(name) + "?gracePeriodSeconds=0", None)
                    client.deleted.append(name)
        until("the objects of the clients are deleted", lambda: not any("still exists" in it for it in self.unsettled(clients)))
        self.settle()

    def stop(self):
        for watch in self.watches.values():
            watch.stopping = True
        for process in self.processes:
            process.process.kill()
            process.process.wait()


def without(value):
    """A value without the addresses in it, and without field managers."""
    if isinstance(value, dict):
        return {key: without(it) for key, it in value.items() if key not in OF_ONE_OBJECT}
    return [without(it) for it in value] if isinstance(value, list) else value


def differences(before, after):
    """The values that differ, by their paths."""
    if type(before) is type(after) is dict:
        for key in sorted({*before, *after}):
            yield from (f".{key}{it}" for it in differences(before.get(key), after.get(key)))
    elif type(before) is type(after) is list and len(before) == len(after):
        for index, pair in enumerate(zip(before, after)):
            yield from (f"[{index}]{it}" for it in differences(*pair))
    elif before != after:
        yield f": {json.dumps(before)} became {json.dumps(after)}"
