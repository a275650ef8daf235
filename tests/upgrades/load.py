"""What uses the API server while a release of an operator replaces another one: clients that work with its objects, watches, and the Service
in front of its webhooks."""

import asyncio
import base64
import http.client
import json
import random
import ssl
import subprocess
import threading
import time

PACE = 0.06  # seconds between two requests of a client
HISTORY = 6  # objects that a client keeps, of which the newer half is as it was created
NAMESPACE = "default"
MERGE = "application/merge-patch+json"
# What a client changes in the spec of an object, by its kind; in a kind that is not here, only its labels.
CHANGES = {
    "programs.example.com/v1alpha1/Database": {"size": 4},
    "programs.example.com/v1beta1/Database": {"replicas": 4},
    "programs.example.com/v1/Database": {"replicas": 4},
    "programs.example.com/v1/Bundle": {"value": "changed"},
    "programs.example.com/v1/Bucket": {"versioned": False},
    "example.com/v1/Account": {"quota": 7},
    "example.com/v1/Order": {"items": ["cup"]},
}


class Api:
    """A client of the API server, as the administrator. Not for several threads."""

    def __init__(self, kubeconfig):
        command = ["kubectl", "config", "view", "--raw", "-o", "json", "--kubeconfig", str(kubeconfig)]
        config = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.config, self.host, self.token = config, cluster["server"].removeprefix("https://"), user["token"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.tls = ssl.create_default_context(cadata=authority)
        self.connection = None

    def open(self, timeout=60):
        return http.client.HTTPSConnection(self.host, context=self.tls, timeout=timeout)

    def send(self, connection, method, path, body=None, content_type="application/json"):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()

    def call(self, method, path, body=None, content_type="application/json"):
        """The status and the object of the answer."""
        self.connection = self.connection or self.open()
        answer = self.send(self.connection, method, path, body, content_type)
        return answer.status, json.loads(answer.read())

    def get(self, path):
        status, value = self.call("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {value.get('message')}")
        return value


class Kind:
    """Where the objects of a kind are, in each served version."""

    def __init__(self, api, resource):
        plural, _, group = resource.partition(".")
        self.plural, self.versions = plural, [""]
        if group:
            spec = api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{resource}")["spec"]
            self.versions = sorted((it["name"] for it in spec["versions"] if it["served"]), key=lambda name: name != stored(spec))
            self.root, self.is_namespaced = f"/apis/{group}/", spec["scope"] == "Namespaced"
        else:
            self.root, self.is_namespaced = "/apis/apps/v1" if plural == "deployments" else "/api/v1", True

    def everywhere(self):
        return f"{self.root}{self.versions[0]}/{self.plural}"

    def path(self, name="", version=None):
        namespace = f"/namespaces/{NAMESPACE}" if self.is_namespaced else ""
        version = self.versions[0] if version is None else version
        return f"{self.root}{version}{namespace}/{self.plural}" + (f"/{name}" if name else "")


def stored(spec):
    (name,) = (it["name"] for it in spec["versions"] if it["storage"])
    return name


class Watch(threading.Thread):
    """Records the changes of the objects of a kind: for each its time, its type and the object."""

    def __init__(self, api, path):
        super().__init__(daemon=True)
        self.api, self.path, self.events, self.problems, self.stopping = api, path, [], [], False
        listed = api.get(path)
        self.version = listed["metadata"]["resourceVersion"]
        self.start()

    def run(self):
        while not self.stopping:
            try:
                self.follow()
            except (OSError, http.client.HTTPException) as error:
                if not self.stopping:
                    self.problems.append(f"watch of {self.path}: {error}")
                    return

    def follow(self):
        connection = self.api.open(timeout=600)
        path = f"{self.path}?watch=1&allowWatchBookmarks=true&timeoutSeconds=500&resourceVersion={self.version}"
        answer = self.api.send(connection, "GET", path)
        if answer.status != 200:
            raise OSError(f"{answer.status} {answer.read().decode()}")
        for line in answer:
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise OSError(json.dumps(event["object"]))
            self.version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self.events.append((time.monotonic(), event["type"], event["object"]))

    def last(self):
        return self.events[-1][0] if self.events else 0


class Service:
    """Forwards connections to the ready processes, as kube-proxy does for the Service of the webhooks."""

    def __init__(self):
        self.ports = []
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.serve, args=[started], daemon=True).start()
        started.wait()

    def serve(self, started):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.forward, "127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % server.sockets[0].getsockname()[1]
        started.set()
        self.loop.run_forever()

    async def forward(self, reader, writer):
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", random.choice(self.ports))
        except (OSError, IndexError):
            return writer.transport.abort()
        await asyncio.gather(pump(reader, to_writer), pump(to_reader, writer))


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


class Client(threading.Thread):
    """Works with objects of a kind: creates one, reads it in each version, changes an earlier one, labels one that was there before, and
    deletes an old one, without end. Each answer that is not a success is recorded."""

    def __init__(self, api, kind, documents, earlier):
        super().__init__(daemon=True)
        self.api, self.kind, self.documents, self.earlier = api, kind, documents, earlier
        self.refusals, self.requests, self.slowest, self.stopping = [], 0, 0, False
        self.created, self.changed, self.deleted = [], set(), []
        self.start()

    def run(self):
        number = 0
        while not self.stopping:
            self.round(number)
            number += 1

    def round(self, number):
        document = self.documents[number % len(self.documents)]
        version = version_of(self.kind, document)
        name = f"{document['metadata']['name']}-load-{number}"
        self.request("POST", self.kind.path(version=version), copy(document, name))
        self.created.append((name, document))
        for version in self.kind.versions:
            self.request("GET", self.kind.path(name, version))
        version = self.kind.versions[number % len(self.kind.versions)]
        self.request("GET", self.kind.path(version=version) + "?limit=3")
        labels = {"metadata": {"labels": {"load": str(number)}}}
        self.request("PATCH", self.kind.path(self.earlier[number % len(self.earlier)], version), labels)
        if number >= HISTORY // 2:
            name, document = self.created[number - HISTORY // 2]
            if spec := change(document):
                self.request("PATCH", self.kind.path(name, version_of(self.kind, document)), {"spec": spec})
            self.changed.add(name)
        if number >= HISTORY:
            name, _ = self.created[number - HISTORY]
            self.request("DELETE", self.kind.path(name) + "?gracePeriodSeconds=0")
            self.deleted.append(name)

    def request(self, method, path, body=None):
        began = time.monotonic()
        try:
            status, answer = self.api.call(method, path, body, MERGE if method == "PATCH" else "application/json")
        except (OSError, http.client.HTTPException) as error:
            status, answer, self.api.connection = 0, {"message": repr(error)}, None
        took = time.monotonic() - began
        self.requests, self.slowest = self.requests + 1, max(self.slowest, took)
        if not 200 <= status < 300:
            self.refusals.append((began, f"{method} {path}: {status} {answer.get('message')}"))
        time.sleep(PACE)

    def stop(self):
        self.stopping = True
        self.join()


def version_of(kind, document):
    return document["apiVersion"].rpartition("/")[2] if kind.versions != [""] else ""


def change(document):
    return CHANGES.get(f"{document['apiVersion']}/{document['kind']}")


def copy(document, name):
    return document | {"metadata": document["metadata"] | {"name": name}}
