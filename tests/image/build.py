"""Builds an image of a project with `cargo operator image`, and reads it."""

import gzip
import hashlib
import io
import json
import os
import platform
import resource
import shutil
import sys
import tarfile

from shared import TARGET, check, run

RUST_TARGETS = {"amd64": "x86_64-unknown-linux-musl", "arm64": "aarch64-unknown-linux-musl"}
HOST = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
# what makes a build quick
QUICK = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "0", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}


def add_zigbuild(architectures):
    installed = run("rustup", "target", "list", "--installed").split()
    for architecture in architectures:
        if RUST_TARGETS[architecture] not in installed:
            run("rustup", "target", "add", RUST_TARGETS[architecture])
    if not shutil.which("cargo-zigbuild"):
        tools = TARGET / "image" / "tools"
        if not (tools / "bin/cargo-zigbuild").exists():
            run(sys.executable, "-m", "venv", tools)
            run(tools / "bin/pip", "install", "--quiet", "cargo-zigbuild")
        os.environ["PATH"] = f"{tools / 'bin'}:{os.environ['PATH']}"


def build(tool, project, architectures, archive, tag, **environment):
    """The image of a project; without a tag, that of operator.toml. Not optimized, which takes a third of the time; it differs from others
    in nothing else."""
    platforms = ",".join(f"linux/{it}" for it in architectures)
    named = ["--tag", tag] if tag else []
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = run(tool, "operator", "image", *named, "--platform", platforms, "--output", archive, cwd=project, **QUICK, **environment)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
    print(f"{text.strip()}\n  {used:.0f} s of CPU", flush=True)
    return Archive(archive)


class Archive:
    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.files = {it.name: archive.extractfile(it).read() for it in archive if it.isfile()}
        for name, content in self.files.items():
            if name.startswith("blobs/"):
                check(name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}", f"the digest of {name}")
        self.layout = json.loads(self.files["index.json"])
        image, *sboms = self.layout["manifests"]
        index = self.json(image)
        self.manifests = {it["platform"]["architecture"]: it for it in index["manifests"]}
        self.sboms = {self.json(it)["subject"]["digest"]: self.json(self.json(it)["layers"][0]) for it in sboms}

    def blob(self, descriptor):
        content = self.files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
        check(len(content) == descriptor["size"], "the size of a blob")
        return content

    def json(self, descriptor):
        return json.loads(self.blob(descriptor))

    def layer(self, architecture):
        manifest = self.json(self.manifests[architecture])
        (layer,) = manifest["layers"]
        content = gzip.decompress(self.blob(layer))
        (diff_id,) = self.json(manifest["config"])["rootfs"]["diff_ids"]
        check(diff_id == f"sha256:{hashlib.sha256(content).hexdigest()}", "the diff_id")
        with tarfile.open(fileobj=io.BytesIO(content)) as files:
            return {it.name: (it, files.extractfile(it).read() if it.isfile() else None) for it in files}
