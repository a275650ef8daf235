"""An operator in Kopf with a timer and a daemon for each object, as the example `background.rs` of operator-runtime has."""

import asyncio
import os
import time

import kopf

KIND = ("test.example.com", "v1", "subjects")
ticks = open(os.environ["TICKS"], "w", buffering=1)


@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = False
    settings.scanning.disabled = True


@kopf.timer(*KIND, interval=10)
async def tick(name, **_):
    ticks.write(f"{name} {time.time():.4f}\n")


@kopf.daemon(*KIND, cancellation_timeout=1)
async def watch(stopped, **_):
    while not stopped:
        await stopped.wait(60)
