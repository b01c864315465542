"""Servers of a small internet. Real are git over HTTPS and SSH, PostgreSQL and Redis; a mock is that of models. And there are registries of pip, npm, cargo and apt, which are files of the form that those read,
each with one package. Says `ready`, and ends with whoever has started it."""

import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tarfile
import threading
import time
import zipfile

import provider_stub

ADDRESS, FILES, KEYS, WANTED = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
NAMES = ["*.example.org", "api.anthropic.com", "api.openai.com"]
DATABASE = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=KILL"]
PASSWORD = "Basic " + base64.b64encode(b"x-access-token:ghp_the-real-one-4f1d").decode()
WITH_US = ["setpriv", "--pdeathsig=KILL"]


def run(*words, **more):
    """Runs a command to its end, and shows what it has said where it fails."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stdout}")
    return done.stdout


def start(*words):
    with open(at("log"), "a") as log:
        subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def await_port(port):
    while True:
        try:
            return socket.create_connection((ADDRESS, port), 1).close()
        except ConnectionRefusedError:
            time.sleep(0.01)


def at(*names):
    path = os.path.join(FILES, *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def write(content, *names):
    with open(at(*names), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def archive(files):
    """A .tar.gz with these files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content.encode()))
    return made.getvalue()


def authority():
    """A certificate authority in KEYS, and the certificate of this server in FILES."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    ca, key = os.path.join(KEYS, "ca.pem"), at("keys", "ca.key")
    # Python wants to be told since 3.13 that it may sign.
    may_sign = ["-addext", "keyUsage=critical,keyCertSign"]
    run("openssl", "req", "-x509", *curve, "-subj", "/CN=tests", *may_sign, "-keyout", key, "-out", ca)
    names = ["-addext", "subjectAltName=" + ",".join("DNS:" + name for name in NAMES), "-addext", "basicConstraints=critical,CA:FALSE"]
    made = ["-keyout", at("keys", "tls.key"), "-out", at("keys", "tls.pem")]
    run("openssl", "req", "-x509", *curve, "-subj", "/CN=example.org", "-CA", ca, "-CAkey", key, *names, *made)


def repository():
    source = os.path.join(FILES, "source")
    config = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    run("git", *config, "init", "--quiet", source)
    write("from git\n", "source", "file")
    run("git", "-C", source, "add", "file")
    run("git", "-C", source, *config, "commit", "--quiet", "-m", "first")
    run("git", "clone", "--quiet", "--bare", source, at("web", "git", "tiny.git"))


def packages():
    wheel = at("web", "simple", "tiny", "tiny-1.0-py3-none-any.whl")
    about = {"METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"}
    about["WHEEL"] = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    about["RECORD"] = ""
    with zipfile.ZipFile(wheel, "w") as made:
        for name, content in about.items():
            made.writestr(f"tiny-1.0.dist-info/{name}", content)
    write('<a href="tiny-1.0-py3-none-any.whl">tiny</a>', "web", "simple", "tiny", "index.html")

    tarball = archive({"package/package.json": '{"name":"tiny","version":"1.0.0"}', "package/index.js": ""})
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    dist = {"tarball": "https://npm.example.org/npm/tiny-1.0.0.tgz", "integrity": integrity}
    version = {"name": "tiny", "version": "1.0.0", "dist": dist}
    document = {"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    write(tarball, "web", "npm", "tiny-1.0.0.tgz")
    write(json.dumps(document), "web", "npm", "tiny")

    manifest = '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n'
    crate = archive({"tiny-1.0.0/Cargo.toml": manifest, "tiny-1.0.0/src/lib.rs": ""})
    entry = {"name": "tiny", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False}
    entry["cksum"] = hashlib.sha256(crate).hexdigest()
    write(json.dumps({"dl": "https://crates.example.org/crates/{crate}.crate"}), "web", "crates", "config.json")
    write(json.dumps(entry), "web", "crates", "ti", "ny", "tiny")
    write(crate, "web", "crates", "tiny.crate")

    control = "Package: tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: tiny\n"
    write(control, "deb", "DEBIAN", "control")
    deb = at("web", "debian", "tiny.deb")
    run("dpkg-deb", "--root-owner-group", "--build", os.path.join(FILES, "deb"), deb)
    with open(deb, "rb") as file:
        content = file.read()
    entry = f"{control}Filename: ./tiny.deb\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"
    write(gzip.compress(entry.encode()), "web", "debian", "Packages.gz")


class Web(http.server.SimpleHTTPRequestHandler):
    """Files, and below /git what git-http-backend(1) answers."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *words):
        super().__init__(*words, directory=os.path.join(FILES, "web"))

    def log_message(self, *words):
        pass

    def do_GET(self):
        self.note()
        if self.path.startswith("/git/"):
            self.git()
        elif self.path == "/echo":
            self.echo()
        else:
            super().do_GET()

    def do_POST(self):
        self.note()
        self.git()

    def note(self):
        with open(at("asked"), "a") as asked:
            asked.write(f"{self.headers.get('Host')} {self.command} {self.path} {self.headers.get('Authorization')}\n")

    def echo(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def git(self):
        path, _, query = self.path.partition("?")
        if "/private" in path and self.headers.get("Authorization") != PASSWORD:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path = path.replace("/private", "")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        variables = {
            "GIT_PROJECT_ROOT": os.path.join(FILES, "web"),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        answer = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env={**os.environ, **variables})
        head, _, content = answer.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class WebServer(http.server.ThreadingHTTPServer):
    """Shakes hands in the thread of each connection."""

    def finish_request(self, request, client_address):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(at("keys", "tls.pem"), at("keys", "tls.key"))
        with context.wrap_socket(request, server_side=True) as connection:
            super().finish_request(connection, client_address)

    def handle_error(self, request, client_address):
        pass


def serve(handler):
    server = WebServer((ADDRESS, 443), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def web():
    repository()
    packages()
    serve(Web)


def models():
    provider_stub.LOG = open(at("requests"), "w")
    serve(provider_stub.Provider)


def ssh():
    repository()
    os.makedirs("/run/sshd", exist_ok=True)
    host, client = at("keys", "host"), os.path.join(KEYS, "key")
    for key in (host, client):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    shutil.copy(client + ".pub", at("keys", "authorized"))
    with open(host + ".pub") as public, open(os.path.join(KEYS, "known_hosts"), "w") as known:
        known.write("git.example.org " + public.read())
    options = {
        "ListenAddress": ADDRESS,
        "HostKey": host,
        "AuthorizedKeysFile": at("keys", "authorized"),
        "StrictModes": "no",
        "UsePAM": "no",
        "PidFile": "none",
        "ForceCommand": 'git-shell -c "$SSH_ORIGINAL_COMMAND"',
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    start(*WITH_US, "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", *words)
    await_port(22)


def postgres():
    versions = "/usr/lib/postgresql"
    programs = os.path.join(versions, max(os.listdir(versions), key=float), "bin")
    data = os.path.join(FILES, "postgres")
    write("of-the-test\n", "password")
    os.makedirs(data)
    shutil.chown(data, "postgres", "postgres")
    login = ["--username=agent", "--auth=scram-sha-256", "--pwfile=" + at("password")]
    run(*DATABASE, f"{programs}/initdb", "--no-sync", "--locale=C", *login, data, cwd="/")
    with open(os.path.join(data, "pg_hba.conf"), "a") as rules:
        rules.write("hostssl all all 0.0.0.0/0 scram-sha-256\n")
    for name in ("tls.pem", "tls.key"):
        shutil.copy(at("keys", name), data)
        shutil.chown(os.path.join(data, name), "postgres", "postgres")
    os.chmod(os.path.join(data, "tls.key"), 0o600)
    settings = ["ssl=on", "ssl_cert_file=tls.pem", "ssl_key_file=tls.key", "unix_socket_directories=", "fsync=off"]
    words = [word for setting in settings for word in ("-c", setting)]
    start(*DATABASE, f"{programs}/postgres", "-D", data, "-h", ADDRESS, *words)
    while subprocess.run([f"{programs}/pg_isready", "-q", "-h", ADDRESS]).returncode != 0:
        time.sleep(0.01)


def redis():
    certificate = ["--tls-cert-file", at("keys", "tls.pem"), "--tls-key-file", at("keys", "tls.key")]
    certificate += ["--tls-auth-clients", "no", "--tls-port", "6380"]
    start(*WITH_US, "redis-server", "--bind", ADDRESS, "--protected-mode", "no", "--save", "", *certificate)
    await_port(6379)


authority()
for each in WANTED:
    {"web": web, "models": models, "ssh": ssh, "postgres": postgres, "redis": redis}[each]()
sys.stdout.write("ready\n")
sys.stdout.flush()
threading.Event().wait()
