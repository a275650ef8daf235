#!/usr/bin/env python3
"""The objects that the Operator Lifecycle Manager makes of a bundle, after its documentation:
https://olm.operatorframework.io/docs/ and https://github.com/operator-framework/operator-lifecycle-manager/tree/master/pkg/controller/install

    tests/olm/install.py FOLDER NAMESPACE [TARGET...]    prints those of the manifests in a folder

The targets are the namespaces of the OperatorGroup; without any, it is for all.
"""

import copy
import pathlib
import sys

# the volumes that OLM mounts for webhooks, with their folders
CERTIFICATES = {
    "webhook-cert": "/tmp/k8s-webhook-server/serving-certs",
    "apiservice-cert": "/apiserver.local.config/certificates",
}


def read_bundle(folder, yaml):
    return [yaml.safe_load(path.read_text()) for path in sorted(folder.iterdir())]


def installed(bundle, namespace, targets, ca_bundle=None):
    """The objects in the operator's namespace. `targets` are the namespaces of its OperatorGroup, None for all; their roles are copies.
    `ca_bundle` is the authority of the webhooks' certificate, in base64, whose Secret is not among the objects."""
    version = next(it for it in bundle if it["kind"] == "ClusterServiceVersion")
    spec = version["spec"]
    mode = "AllNamespaces" if targets is None else "OwnNamespace" if targets == [namespace] else "MultiNamespace"
    modes = {it["type"] for it in spec["installModes"] if it["supported"]}
    assert mode in modes, f"{mode} is not in {modes}"
    strategy = spec["install"]["spec"]
    objects = []
    for document in bundle:
        if document is version:
            continue
        document = copy.deepcopy(document)
        if document["kind"] not in ("CustomResourceDefinition", "ClusterRole"):
            document["metadata"]["namespace"] = namespace
        objects.append(document)
    accounts = {it["serviceAccountName"] for part in ("permissions", "clusterPermissions") for it in strategy.get(part, [])}
    for name in sorted(accounts):
        objects.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
    for permissions in strategy.get("permissions", []):
        for index, target in enumerate([namespace, *(it for it in targets or [] if it != namespace)]):
            objects += role("Role", f"{version['metadata']['name']}-{index}", permissions, namespace, target)
    for permissions in strategy.get("clusterPermissions", []):
        objects += role("ClusterRole", version["metadata"]["name"], permissions, namespace, None)
    webhooks = spec.get("webhookdefinitions", [])
    for deployment in strategy["deployments"]:
        served = [it for it in webhooks if it["deploymentName"] == deployment["name"]]
        objects.append(deployment_object(deployment, namespace, targets, bool(served)))
        if served:
            objects.append(service(deployment, served, namespace))
    for webhook in webhooks:
        objects += configuration(webhook, namespace, objects, ca_bundle)
    return objects


def role(kind, name, permissions, home, target):
    metadata = {"name": name} | ({"namespace": target} if target else {})
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": permissions["serviceAccountName"], "namespace": home}
    return [
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "rules": permissions["rules"]},
        {"apiVersion": f"{group}/v1", "kind": f"{kind}Binding", "metadata": metadata,
         "roleRef": {"apiGroup": group, "kind": kind, "name": name}, "subjects": [subject]},
    ]


def deployment_object(deployment, namespace, targets, has_webhooks):
    spec = copy.deepcopy(deployment["spec"])
    template = spec["template"]
    annotations = template["metadata"].setdefault("annotations", {})
    annotations["olm.targetNamespaces"] = ",".join(targets or [])
    if has_webhooks:
        pod = template["spec"]
        for volume, path in CERTIFICATES.items():
            prefix = "apiserver" if volume == "apiservice-cert" else "tls"
            items = [{"key": f"tls.{it}", "path": f"{prefix}.{it}"} for it in ("crt", "key")]
            pod.setdefault("volumes", []).append({"name": volume, "secret": {"secretName": certificate_secret(deployment), "items": items}})
            for container in pod["containers"]:
                container.setdefault("volumeMounts", []).append({"name": volume, "mountPath": path})
    metadata = {"name": deployment["name"], "namespace": namespace, "labels": deployment.get("label", {})}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def certificate_secret(deployment):
    """The Secret in which OLM keeps the certificate of a deployment's webhooks."""
    return f"{deployment['name']}-service-cert"


def service(deployment, webhooks, namespace):
    ports = {it["containerPort"]: it["targetPort"] for it in webhooks}
    ports = [{"name": str(port), "port": port, "targetPort": target} for port, target in ports.items()]
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{deployment['name']}-service", "namespace": namespace},
        "spec": {"selector": deployment["spec"]["selector"]["matchLabels"], "ports": ports},
    }


def configuration(webhook, namespace, objects, ca_bundle):
    client = {"service": {"name": f"{webhook['deploymentName']}-service", "namespace": namespace, "path": webhook["webhookPath"], "port": webhook["containerPort"]}}
    if ca_bundle:
        client["caBundle"] = ca_bundle
    if webhook["type"] == "ConversionWebhook":
        for crd in objects:
            if crd["metadata"]["name"] in webhook["conversionCRDs"]:
                crd["spec"]["conversion"] = {
                    "strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": webhook["admissionReviewVersions"]},
                }
        return []
    fields = ("admissionReviewVersions", "failurePolicy", "matchPolicy", "objectSelector", "reinvocationPolicy", "rules", "sideEffects", "timeoutSeconds")
    hook = {"name": webhook["generateName"], "clientConfig": client} | {it: webhook[it] for it in fields if it in webhook}
    kind = webhook["type"].replace("AdmissionWebhook", "WebhookConfiguration")
    return [{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": webhook["generateName"]}, "webhooks": [hook]}]


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from shared import yaml

    manifests, namespace, *targets = sys.argv[1:]
    print(yaml.safe_dump_all(installed(read_bundle(pathlib.Path(manifests), yaml), namespace, targets or None)))
