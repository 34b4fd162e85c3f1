"""The image: what it is, what it does when it is asked, and that its volume opens again.

  image_test.py ROOT CONFIG FOLDER     the mounted image, what buildah inspect says of it, and a folder to work in"""
import os
import shutil
import sys

from container import Image
from life import expect, finish, live_twice


def look_at(image):
    """The image asks for no rights and holds nothing but what runs."""
    config = image.config
    expect(image.user.isdigit() and image.user != "0" and image.group.isdigit() and image.group != "0",
           f"the user is {config['User']}, which Kubernetes cannot tell from root")
    expect(config["Entrypoint"] == ["tacet"] and config["Cmd"] == ["serve"], "another command")
    expect(list(config["Volumes"]) == ["/data"] and list(config["ExposedPorts"]) == ["8080/tcp"], "other volumes or ports")
    expect(image.health[0] == "CMD", f"the health check is {image.health}")
    for name in ("usr/bin/gcc", "usr/bin/make", "src", "tmp/install-deps", "data/signing.key"):
        expect(not os.path.lexists(f"{image.root}/{name}"), f"{name} is in the image")
    lists = os.listdir(image.root + "/var/lib/apt/lists")
    expect(not lists, f"apt's lists are in the image: {lists}")
    with open(image.root + "/usr/bin/tacet", "rb") as program:
        expect(b".debug_info" not in program.read(), "the program has its debug symbols")


def look_within(container):
    written = container.run("sh", "-c", "touch /tmp/x || touch /x || touch /usr/bin/x || touch /var/x")
    expect(written.returncode != 0, "the root can be written to")
    about = dict(line.split(":", 1) for line in open(f"/proc/{container.first()}/status").read().splitlines())
    expect(about["Uid"].split() == [container.image.user] * 4 and int(about["CapEff"], 16) == 0,
           f"uid {about['Uid']}, capabilities {about['CapEff']}")
    looked = container.run("tacet", "doctor")
    expect(looked.returncode == 0, f"tacet doctor: {looked.stdout}{looked.stderr}")


def main():
    root, config, folder = sys.argv[1:]
    image = Image(root, config)
    look_at(image)
    # A new volume is a copy of what the image has there.
    volume, about = folder + "/data", os.stat(root + "/data")
    shutil.copytree(root + "/data", volume)
    os.chown(volume, about.st_uid, about.st_gid)
    live_twice(image, volume, folder + "/log", look_within)
    finish("the image was asked, stopped and begun again")


main()
