"""The API of a server, for the comparison with Kopf and for the bench."""

import base64
import json
import re
import ssl
import urllib.error
import urllib.request


class Cluster:
    """The API of a server, by its kubeconfig."""

    def __init__(self, kubeconfig):
        text = open(kubeconfig).read()
        find = lambda key: re.search(rf"{key}: *\"?([^\s\"]+)", text).group(1)
        self.url = find("server")
        if "insecure-skip-tls-verify: true" in text:
            self.context = ssl._create_unverified_context()
        else:
            ca = base64.b64decode(find("certificate-authority-data")).decode()
            self.context = ssl.create_default_context(cadata=ca)
        self.token = find("token")

    def send(self, method, path, body=None, media="application/merge-patch+json"):
        data = None if body is None else json.dumps(body).encode()
        kind = media if method == "PATCH" else "application/json"
        headers = {"authorization": f"Bearer {self.token}", "content-type": kind}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise RuntimeError(f"{method} {path}: {error.code} {error.read()}") from error
