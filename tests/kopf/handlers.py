"""An operator whose handlers log their calls and fail as planned, as `handlers.rs` in the examples of operator-runtime is."""

import asyncio
import json
import os

import kopf

LOG, PLAN = os.environ["CALL_LOG"], os.environ["CALL_PLAN"]
KIND = ("test.example.com", "v1", "subjects")


@kopf.on.startup()
def configure(settings, **_):
    settings.execution.default_backoff = 0.2
    settings.networking.error_backoffs = [0.1] * 3
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.reconnect_backoff = 0.01
    settings.background.cancellation_polling = 0.5


def calls(name, handler):
    try:
        with open(LOG) as log:
            lines = [json.loads(line) for line in log]
    except FileNotFoundError:
        return 0
    return sum(1 for line in lines if (line["object"], line["handler"]) == (name, handler))


def leaf(path):
    return ".".join(path)


async def call(handler, name, reason, retry, **more):
    planned = json.load(open(PLAN)).get(name, {}).get(handler, [])
    count = calls(name, handler)
    line = {"object": name, "handler": handler, "cause": str(reason), "attempt": retry, **more}
    with open(LOG, "a") as log:
        log.write(json.dumps(line) + "\n")
    outcome = planned[count] if count < len(planned) else "ok"
    if outcome == "permanent":
        raise kopf.PermanentError("wrong")
    if outcome.startswith("temporary"):
        raise kopf.TemporaryError("busy", delay=float(outcome.partition(":")[2] or "0.2"))
    if outcome == "other":
        raise RuntimeError("failed")
    if outcome == "block":
        await asyncio.sleep(3600)


def paths(diff):
    return sorted(leaf(path) for _, path, _, _ in diff)


def simple(id):
    async def handler(name, reason, retry, **_):
        await call(id, name, reason, retry)

    return handler


def update(id):
    async def handler(name, reason, retry, diff, **_):
        await call(id, name, reason, retry, diff=paths(diff))

    return handler


# What all handlers want: an object with this label is none of their business.
SEEN = {"ignored": kopf.ABSENT}


def register(decorator, id, function, labels={}, **options):
    decorator(*KIND, id=id, labels=SEEN | labels, **options)(function(id))


register(kopf.on.resume, "r1", simple)
register(kopf.on.create, "c1", simple, retries=4)
register(kopf.on.resume, "r2", simple)
register(kopf.on.create, "c2", simple)
register(kopf.on.update, "u1", update)


@kopf.on.field(*KIND, field="spec.size", id="f", labels=SEEN)
async def field(name, reason, retry, old, new, **_):
    await call("f", name, reason, retry, old=old, new=new)


@kopf.on.field(*KIND, field="status.phase", id="phase", labels=SEEN)
async def phase(name, reason, retry, old, new, labels, patch, **_):
    await call("phase", name, reason, retry, old=old, new=new)
    if "ends" in labels:
        patch.status["phase"] = "ended"


register(kopf.on.update, "u2", update)
register(kopf.on.delete, "d1", simple)
register(kopf.on.delete, "d2", simple)
register(kopf.on.create, "labelled", simple, labels={"label": "yes"})
register(kopf.on.update, "grown", update, when=lambda new, old, **_: (old or {}).get("spec", {}).get("size", 0) < new["spec"].get("size", 0), annotations={"grows": kopf.PRESENT})


@kopf.on.create(*KIND, id="each", labels=SEEN, when=lambda spec, **_: "items" in spec)
async def each(name, reason, spec, retry, **_):
    for item in spec["items"]:
        async def sub(name, reason, retry, item=item, **_):
            await call(f"each/{item}", name, reason, retry)

        kopf.register(sub, id=item)


@kopf.on.create(*KIND, id="memo", labels=SEEN | {"memo": "yes"})
async def remember(name, reason, retry, memo, **_):
    memo.count = 1 + getattr(memo, "count", 0)
    await call("memo", name, reason, retry, count=memo.count)


@kopf.on.update(*KIND, id="recall", labels=SEEN | {"memo": "yes"})
async def recall(name, reason, retry, memo, **_):
    memo.count = 1 + getattr(memo, "count", 0)
    await call("recall", name, reason, retry, count=memo.count)


any_of = update("any")
for decorator in (kopf.on.create, kopf.on.update, kopf.on.resume):
    decorator(*KIND, id="any", labels=SEEN | {"any": "yes"})(any_of)


@kopf.on.event(*KIND, id="event", labels={"events": "yes"})
async def event(name, type, **_):
    await call("event", name, {None: "listed", "ADDED": "added", "MODIFIED": "modified", "DELETED": "deleted"}[type], 0)


@kopf.timer(*KIND, id="timer", interval=0.4, backoff=0.1, labels={"timer": "yes"})
async def timer(name, retry, **_):
    await call("timer", name, "timer", retry)


@kopf.timer(*KIND, id="idle", idle=1, labels={"idle": "yes"})
async def idle(name, retry, **_):
    await call("idle", name, "timer", retry)


@kopf.daemon(*KIND, id="daemon", backoff=0.1, labels={"daemon": "yes"}, cancellation_timeout=5)
async def daemon(name, retry, stopped, **_):
    await call("daemon", name, "daemon", retry)
    await stopped.wait()
    await call("daemon-end", name, "daemon", 0)
