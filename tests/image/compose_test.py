"""docker/compose.yaml and docker/haproxy.cfg: the servers, the worker and the proxy with the commands and variables that stand
there, over TLS, while a server is killed.

  compose_test.py ROOT CONFIG FOLDER     as image_test.py, beside scripts/with-postgres

All are on the loopback device, so a server has an address of its own there. The database is reached by its socket."""
import os
import pathlib
import shutil
import ssl
import subprocess
import sys

import yaml

from container import Container, Image
from life import Wire, ask, begin, expect, finish, people, stop, teach, train, wait_until

DOCKER = pathlib.Path(__file__).resolve().parents[2] / "docker"
PLACE = os.environ["POSTGRES_TEST_DATABASE"]
ADDRESSES = {"one": "127.0.0.11", "two": "127.0.0.12", "worker": "127.0.0.13"}


class Proxied(Wire):
    def __init__(self, certificate):
        super().__init__(8443)
        self.context = ssl.create_default_context(cafile=certificate)

    def open(self):
        super().open()
        self.socket = self.context.wrap_socket(self.socket, server_hostname="localhost")


def read_compose():
    said = subprocess.run(["docker-compose", "-f", str(DOCKER / "compose.yaml"), "config"], capture_output=True, text=True,
                          env={**os.environ, "POSTGRES_PASSWORD": "a password"})
    if said.returncode != 0:
        raise SystemExit("test-image: compose.yaml: " + said.stderr)
    return yaml.safe_load(said.stdout)["services"]


class Place:
    def __init__(self, root, config, folder):
        self.image, self.folder, self.services = Image(root, config), folder, read_compose()
        self.volume, about = folder + "/shared", os.stat(root + "/data")
        shutil.copytree(root + "/data", self.volume)
        os.chown(self.volume, about.st_uid, about.st_gid)
        socket = next(pair[5:] for pair in PLACE.split("&") if pair.startswith("host="))
        self.volumes = [(self.volume, "/data"), (socket, "/mnt")]

    def how(self, name):
        service = self.services[name]
        expect(service["read_only"] and service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"],
               f"{name} has rights that it does not need")
        expect(service["volumes"] == ["data:/data:rw"], f"{name} has the volumes {service['volumes']}")
        return {"entrypoint": service.get("entrypoint"), "command": service.get("command"), "more": {
            **service["environment"], "TACET_DATABASE": "postgresql:///tacet?host=/mnt&user=tacet",
            "TACET_LISTEN": ADDRESSES[name] + ":8080", "TACET_SERVER": f"http://{ADDRESSES[name]}:8080"}}

    def serve(self, name):
        return begin(self.image, self.volumes, f"{self.folder}/{name}.log", **self.how(name))

    def work(self, name):
        return Container(self.image, self.volumes, f"{self.folder}/{name}.log", **self.how(name))

    def proxy(self):
        """HAProxy with our file, but for the place of the certificate. Gives the process and the certificate."""
        pair = self.folder + "/certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", pair + ".key", "-out", pair + ".crt"], check=True, capture_output=True)
        with open(pair, "w") as both:
            both.write(open(pair + ".crt").read() + open(pair + ".key").read())
        settings = self.folder + "/haproxy.cfg"
        with open(settings, "w") as out:
            out.write((DOCKER / "haproxy.cfg").read_text().replace("/run/certificate.pem", pair))
        hosts = self.folder + "/hosts"
        with open(hosts, "w") as out:
            out.writelines(f"{address} {name}\n" for name, address in ADDRESSES.items())
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
        log = open(self.folder + "/proxy.log", "ab")
        process = subprocess.Popen(["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "haproxy", "-f", settings], stdout=log, stderr=log)
        return process, pair + ".crt"


def through(place, proxy, wire, running):
    """People use the service through the proxy. A server is killed, and they go on at the other one."""
    ready = lambda: wire.ask("GET", "/healthz/ready").status == 200
    wait_until("the proxy has a server", ready)
    steward, student = people(running["one"], wire)
    train(wire, steward)
    teacher = teach(wire, steward)
    first = ask(wire, student, teacher, "first")
    expect(first.status == 200 and b"strict-transport-security" in first.head.lower(), f"the teacher: {first}")
    running["one"].end(9)
    wait_until("the proxy has left the killed server", ready)
    wait_until("the killed server is out", lambda: all(ready() for _ in range(4)))
    again = ask(wire, student, teacher, "first")
    expect(again.status == 200 and again.body == first.body, f"the question was answered anew: {again}")
    expect(ask(wire, student, teacher, "second").status == 200, "no answer from the other server")
    running["one"] = place.serve("one")
    wire.close()  # it was silent for long
    expect(wire.make("POST", "/v1/ledger:verify", steward)["ok"], "the ledger does not add up")
    expect(proxy.poll() is None, "the proxy has ended")


def main():
    place = Place(*sys.argv[1:])
    subprocess.run(["psql", "-qAt", f"postgresql:///postgres?{PLACE}", "-c", "CREATE DATABASE tacet ENCODING UTF8 TEMPLATE template0"],
                   check=True)
    running = {"one": place.serve("one")}
    running["two"] = place.serve("two")
    running["worker"] = place.work("worker")
    proxy, certificate = place.proxy()
    through(place, proxy, Proxied(certificate), running)
    proxy.terminate()
    proxy.wait()
    for container in running.values():
        stop(container)
    finish("compose's servers, worker and proxy were asked while a server was killed")


main()
