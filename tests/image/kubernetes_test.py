"""docker/kubernetes: every member is one that Kubernetes knows, and the pod runs with what stands there.

  kubernetes_test.py ROOT CONFIG FOLDER     as image_test.py"""
import os
import pathlib
import re
import sys

import kubernetes.client
import yaml

from container import Image
from life import expect, finish, live_twice

MANIFEST = pathlib.Path(__file__).resolve().parents[2] / "docker/kubernetes/tacet.yaml"


def compare(value, kind, place):
    """VALUE with the types of Kubernetes's own description, of which its client in Python is made."""
    inner = re.fullmatch(r"(list|dict)[\[(](?:str, )?(.*)[\])]", kind)
    if inner and inner[1] == "list":
        expect(isinstance(value, list), f"{place}: not a list")
        for number, one in enumerate(value):
            compare(one, inner[2], f"{place}[{number}]")
    elif inner:
        for name, one in value.items():
            compare(one, inner[2], f"{place}.{name}")
    elif kind in ("str", "int", "bool"):
        expect(type(value).__name__ == kind, f"{place}: {value!r} is not of type {kind}")
    elif kind != "object":
        model = getattr(kubernetes.client, kind)
        names = {theirs: ours for ours, theirs in model.attribute_map.items()}
        expect(isinstance(value, dict) and set(value) <= set(names), f"{place}: unknown members {set(value) - set(names)}")
        value = {name: one for name, one in value.items() if name in names}
        for name, one in value.items():
            compare(one, model.openapi_types[names[name]], f"{place}.{name}")
        try:
            model(**{names[name]: one for name, one in value.items()})  # says which member is missing, and checks choices
        except ValueError as fault:
            expect(False, f"{place}: {fault}")


def check_types(documents):
    for one in documents:
        version = one["apiVersion"].split("/")[-1]
        compare(one, version[0].upper() + version[1:] + one["kind"], one["kind"])


def confined(pod, container):
    """The profile "restricted" of Kubernetes's pod security standards, and a root that cannot be written to."""
    ours, theirs = container["securityContext"], pod["securityContext"]
    expect(theirs["runAsNonRoot"] is True and theirs["seccompProfile"] == {"type": "RuntimeDefault"}, f"the pod: {theirs}")
    expect(ours == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
           f"the container: {ours}")
    expect(pod["automountServiceAccountToken"] is False, "the pod gets a token of the cluster")


def main():
    root, config, folder = sys.argv[1:]
    image = Image(root, config)
    documents = list(yaml.safe_load_all(MANIFEST.read_text()))
    check_types(documents)
    kinds = {one["kind"]: one for one in documents}
    pod = kinds["StatefulSet"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    confined(pod, container)
    context = pod["securityContext"]
    expect((str(context["runAsUser"]), str(context["runAsGroup"])) == (image.user, image.group), "the image has another user")
    [port] = container["ports"]
    expect(f"{port['containerPort']}/tcp" in image.config["ExposedPorts"], f"the image has no port {port}")
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        expect(asked["port"] == port["name"] and asked["path"] in ("/healthz/ready", "/healthz/live"), f"{probe} asks {asked}")

    # As the kubelet does for fsGroup: the volume is root's, and its group may write to it.
    [mount] = container["volumeMounts"]
    expect(mount["mountPath"] in image.config["Volumes"], f"the volume is at {mount}")
    volume = folder + "/volume"
    os.mkdir(volume)
    os.chown(volume, 0, context["fsGroup"])
    os.chmod(volume, 0o2775)
    variables = {one["name"]: one.get("value", "5e" * 32) for one in container["env"]}
    live_twice(image, volume, folder + "/log", command=container["args"], more=variables)
    finish("the pod's command ran on a volume of its group")


main()
