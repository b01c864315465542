#!/usr/bin/env python3
"""Measures sandboxes beside each other, in one run on one machine.

    bench/bench.py --static dist/sandboxctl --plain target/release/sandboxctl --entrypoint dist/entrypoint [--save]

`make bench` calls it. A start is measured from before posix_spawn to after wait, without a shell in between, in rounds in
which everybody has one turn: what the machine does meanwhile, it does to all. Only ratios within one run can be compared
between machines.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 150
# Whoever takes longer than this has fewer turns, so that a run takes a minute and not an hour.
SLOW_NS, SLOW_ROUNDS = 100_000_000, 20
# How many times as long as its peer each may take at most.
BUDGETS = {
    "sandboxctl, static": 0.6,
    "sandboxctl, cargo build --release": 0.85,
    "entrypoint, exec mode": 0.6,
    "sandboxctl, docker": 1.15,
    "exec, native": 0.05,
    "exec, docker": 0.05,
    "run, warm": 1 / 3,
    "fs list": 1.5,
    "fs search": 1.5,
}
# What an idle sandbox may hold, and how long many may take to be made.
IDLE_KIB = 1024
MANY, MANY_SECONDS = 200, 5
# How long a small file may take to be read over MCP, in milliseconds.
MCP_READ_MS = 1
# The tree that file tools walk: so many directories, with so many files each.
TREE = 1000, 100
LARGEST_ENTRYPOINT = 600_000
USER = 1001
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

BWRAP = (
    "bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc"
    " --dev /dev --tmpfs /tmp --unshare-all --unshare-user --uid 1000 --die-with-parent --new-session --cap-drop ALL"
    " -- /bin/true"
).split()

# Other programs that start something in isolation, where they are installed.
PEERS = {
    "firejail": "firejail --quiet --noprofile --net=none --private -- /bin/true".split(),
    "codex sandbox": "codex sandbox -- /bin/true".split(),
    "srt": "srt /bin/true".split(),
    "unshare, all namespaces": "unshare --user --map-root-user --mount --pid --fork --net --ipc --uts --cgroup /bin/true".split(),
}

# Every layer and limit is on.
POLICY = """version = 1
provider = "native"

[shared_dirs]
workspace = { host = ".", guest = "/workspace" }

[limits]
memory = "512m"
cpus = 1.0
pids = 256
timeout = "1m"
"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for program in ("static", "plain", "entrypoint"):
        arguments.add_argument(f"--{program}", type=Path, required=True)
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    arguments.add_argument("--save", action="store_true", help="keep the table in bench/results")
    arguments = arguments.parse_args()

    os.umask(0o022)
    page = Page()
    page.say(f"# {datetime.date.today()}, {machine()}\n")
    page.say(load())
    with tempfile.TemporaryDirectory(prefix="bench-") as top:
        os.chmod(top, 0o755)
        programs = copies(arguments, Path(top))
        users = [0, USER] if os.getuid() == 0 else [os.getuid()]
        for user in users:
            starts(page, programs, Path(top), user, arguments.rounds)
        entrypoints(page, programs["entrypoint"], Path(top), arguments.rounds)
        memory(page, programs["static"], Path(top))
        egress(page, programs["static"], Path(top))
        containers(page, programs["static"], Path(top), arguments.rounds)
        staying(page, programs["static"], Path(top), arguments.rounds)
        files(page, programs["static"], Path(top), arguments.rounds)
        mcp(page, programs["static"], Path(top))
        image(page, programs["static"], Path(top))
    rust(page, "Verdicts", "policy", "verdicts")
    rust(page, "Protected paths", "sandbox", "walk")
    rust(page, "File tools, in a process that keeps what it has opened", "sandbox", "tools")
    page.say(load())
    if arguments.save:
        page.save()


def starts(page, programs, top, user, rounds):
    """Whole processes: from nothing to `true` in a sandbox and back."""
    contenders = {
        "sandboxctl, static": [programs["static"], "run", "--quiet", "--", "true"],
        "sandboxctl, cargo build --release": [programs["plain"], "run", "--quiet", "--", "true"],
        "sandboxctl, static, with the egress proxy": [
            programs["static"], "run", "--quiet", "--allow-host", "api.example.org:443", "--", "true",
        ],
        "bwrap, same namespaces": BWRAP,
        "/bin/true, no isolation": ["/bin/true"],
    }
    contenders |= PEERS
    times, missing = as_user(user, top, lambda: interleaved(contenders, rounds))
    caller = "root" if user == 0 else f"uid {user}"
    page.table(f"Start of a sandbox, called by {caller}", times, missing, beside="bwrap, same namespaces")


def entrypoints(page, entrypoint, top, rounds):
    """From a root process to `true` as another user."""
    size = entrypoint.stat().st_size
    page.say(f"## Entrypoint\n\nSize: {size:,} bytes; budget {verdict(size, LARGEST_ENTRYPOINT)}.\n")
    if os.getuid() != 0:
        page.say("Start not measured: changing the user needs root.")
        return
    contenders = {
        "entrypoint, exec mode": [entrypoint, "/bin/true"],
        "setpriv": ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "/bin/true"],
        "gosu": ["gosu", f"{USER}:{USER}", "/bin/true"],
        "su-exec": ["su-exec", f"{USER}:{USER}", "/bin/true"],
        "/bin/true alone": ["/bin/true"],
    }
    # The variable is for the entrypoint; nobody else looks at it.
    measure = lambda: interleaved(contenders, rounds)
    times, missing = as_user(0, top, measure, {"AGENT_USER": f"{USER}:{USER}"})
    page.table("Start as another user", times, missing, beside="gosu" if "gosu" in times else "setpriv")


def memory(page, program, top):
    """What an idle sandbox holds: its PID 1 and its egress proxy, while the agent sleeps."""
    project = top / "idle"
    prepare(project, os.getuid())
    client = subprocess.Popen(
        [program, "run", "--quiet", "--allow-host", "api.example.org:443", "--", "sleep", "60"],
        cwd=project, env=environment(project), stdin=subprocess.DEVNULL,
    )
    try:
        # PID 1 is the child that has a child of its own, and then the proxy is there too.
        first = wait_for(lambda: next((child for child in children(client.pid) if children(child)), None))
        proxy = next(child for child in children(client.pid) if b"serve" in Path(f"/proc/{child}/cmdline").read_bytes())
        rows = [("PID 1", first), ("egress proxy", proxy), ("sandboxctl, which waits outside", client.pid)]
        page.say("## Memory of an idle sandbox\n\n| process | resident KiB | of it its own, not files |\n| --- | --: | --: |")
        for name, pid in rows:
            status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            page.say(f"| {name} | {kib(status['VmRSS']):,} | {kib(status['RssAnon']):,} |")
        page.say("")
    finally:
        client.send_signal(signal.SIGTERM)
        client.wait()


def egress(page, program, top):
    """One server, one client, and each proxy in between."""
    script = ROOT / "bench" / "egress.py"
    project = top / "egress"
    prepare(project, os.getuid())
    shutil.copy(script, project / "egress.py")
    server = subprocess.Popen([sys.executable, script, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip()
    count = str(ROUNDS)

    def measured(argv, cwd=project):
        done = subprocess.run(argv, cwd=cwd, env=environment(project), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"bench: {argv[0]} failed: {done.stderr}")
        return json.loads(done.stdout)

    # A limit of processes and memory is for the client as well, which is not what is measured.
    sandbox = [
        program, "run", "--quiet", "--allow-host", f"127.0.0.1:{port}", "--", "python3", "/workspace/egress.py", "measure",
        "127.0.0.1:61080", port, count,
    ]
    results = {
        "no proxy": measured(["python3", str(script), "measure", "direct", port, count]),
        "sandboxctl": measured(sandbox),
    }
    for rules in (10, 10_000):
        hosts = [f"--allow-host=host-{number}.example.org:443" for number in range(rules)]
        results[f"sandboxctl, {rules:,} rules more"] = measured([*sandbox[:2], *hosts, *sandbox[2:]])
    missing = []
    for name, start in PROXIES.items():
        if not found(name):
            missing.append(f"{name} (not installed)")
            continue
        with start(top) as at:
            results[name] = measured(["python3", str(script), "measure", at, port, count])
    server.stdin.close()
    server.wait()
    page.say("## Egress proxy\n")
    page.say("| | tunnel opened, ms | round trip of one byte, us | GB/s | requests a second | tunnels at once |")
    page.say("| --- | --: | --: | --: | --: | --: |")
    for name, result in results.items():
        opened = statistics.median(result["opened"]) / 1e6
        passed = statistics.median(result["passed"]) / 1e3
        rate = statistics.median(result["rates"]) / 1e9
        requests = statistics.median(result["requests"])
        page.say(f"| {name} | {opened:.2f} | {passed:.0f} | {rate:.2f} | {requests:,.0f} | {result['tunnels']} |")
    if missing:
        page.say(f"\nNot measured: {', '.join(missing)}.")
    page.say("")


@contextlib.contextmanager
def tinyproxy(top):
    yield from proxy(top, "tinyproxy", ["-d", "-c"], "Port {port}\nListen 127.0.0.1\nMaxClients 2000\nLogLevel Error\n")


@contextlib.contextmanager
def squid(top):
    configuration = (
        "http_port 127.0.0.1:{port}\nhttp_access allow all\naccess_log none\ncache_log /dev/null\npid_filename none\n"
        "cache deny all\n"
    )
    yield from proxy(top, "squid", ["-N", "-f"], configuration)


def proxy(top, name, flags, configuration):
    """Runs a proxy while it is measured."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = top / f"{name}.conf"
    file.write_text(configuration.format(port=port))
    running = subprocess.Popen([found(name), *flags, file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: answers(port))
        yield f"127.0.0.1:{port}"
    finally:
        running.kill()
        running.wait()


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# Other proxies, where they are installed.
PROXIES = {"tinyproxy": tinyproxy, "squid": squid}


def rust(page, title, package, bench):
    """A bench program of a crate, which prints its own table."""
    command = ["cargo", "bench", "--locked", "--quiet", "--package", package, "--bench", bench]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    failure = "over its budget" if done.stdout else "it did not run"
    verdict = "" if done.returncode == 0 else f"\n`{bench}` ended with status {done.returncode}: {failure}.\n"
    page.say(f"## {title}\n\n```text\n{done.stdout.rstrip()}\n```\n{verdict}")


def containers(page, program, top, rounds):
    """The same in Docker, beside Docker alone. `tests/engine env` names the image."""
    image = os.environ.get("SANDBOX_TEST_IMAGE")
    if not image or os.getuid() != 0:
        page.say("\nContainers not measured: it takes root and an engine (tests/engine).\n")
        return
    docker = ["docker", "run", "--rm"]
    contenders = {
        "sandboxctl, docker": [program, "run", "--quiet", "--provider", "docker", "--", "true"],
        "docker run": [*docker, image, "true"],
        "docker run, no network": [*docker, "--network=none", image, "true"],
    }
    engine = os.stat("/var/run/docker.sock").st_gid
    policy = POLICY.replace("native", "docker") + f'\n[image]\nname = "{image}"\n'
    times, missing = as_user(USER, top, lambda: interleaved(contenders, rounds), groups=[engine], policy=policy)
    page.table(f"Start of a container, called by uid {USER}", times, missing, beside="docker run")
    times = as_user(USER, top, lambda: warm(program), groups=[engine], policy=policy)
    page.table(f"Start of a container that was made ahead, called by uid {USER}", times, [], beside="run, cold")


def warm(program):
    """Nanoseconds of cold and warm starts, in turns. Nothing is made in the background while either is measured."""
    run = [str(program), "run", "--quiet", "--provider", "docker", "--", "true"]
    pool = lambda verb, *flags: subprocess.run([program, "pool", verb, *flags], check=True, capture_output=True)
    settings = Path.home() / ".config/sandboxctl/sandbox.toml"
    settings.parent.mkdir(parents=True)
    times = {"run, warm": [], "run, cold": []}
    for _ in range(SLOW_ROUNDS):
        settings.unlink(missing_ok=True)
        times["run, cold"].append(once(run))
        settings.write_text("[pool]\nsize = 1\n")
        pool("fill", "--provider", "docker")
        times["run, warm"].append(once(run))
        pool("fill", "--provider", "docker")
    pool("drain")
    return times


def staying(page, program, top, rounds):
    """Persistent sandboxes: a command in one, what an idle one holds, and many of them."""
    project = top / "staying"
    prepare(project, os.getuid())
    call = lambda *words: subprocess.run(
        [program, *words], cwd=project, env=environment(project), stdin=subprocess.DEVNULL, check=True, capture_output=True
    )
    image = os.environ.get("SANDBOX_TEST_IMAGE")
    has_docker = bool(image) and os.getuid() == 0
    contenders = {"exec, native": [program, "exec", "native", "--", "true"]}
    call("create", "--name", "native")
    if has_docker:
        (project / "sandbox.toml").write_text(POLICY.replace("native", "docker") + f'\n[image]\nname = "{image}"\n')
        call("create", "--name", "docker")
        (project / "sandbox.toml").write_text(POLICY)
        contenders["exec, docker"] = [program, "exec", "docker", "--", "true"]
        contenders["docker exec"] = ["docker", "exec", "sandboxctl-docker", "true"]
    else:
        page.say("docker exec not measured: it takes root and an engine (tests/engine).\n")
    before = os.getcwd(), dict(os.environ)
    os.chdir(project)
    os.environ.update(environment(project))
    try:
        times, missing = interleaved(contenders, rounds)
    finally:
        os.chdir(before[0])
        os.environ.clear()
        os.environ.update(before[1])
    page.table("A command in a persistent sandbox", times, missing, beside="docker exec" if has_docker else "exec, native")

    inspected = json.loads(call("inspect", "native").stdout)[0]
    processes = [inspected["pid"], *children(inspected["pid"])]
    resident = 0
    for pid in processes:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        resident += kib(status["VmRSS"])
    page.say(f"An idle sandbox: {resident:,} KiB resident, {len(processes)} process(es); budget {verdict(resident, IDLE_KIB)}.\n")

    began = time.perf_counter_ns()
    for number in range(MANY):
        call("create", "--name", f"many-{number}")
    taken = (time.perf_counter_ns() - began) / 1e9
    alive = json.loads(call("ls", "--format", "json").stdout)["sandboxes"]
    alive = sum(one["state"] == "running" and one["name"].startswith("many-") for one in alive)
    page.say(f"{alive} native sandboxes alive at once, created one after the other in {taken:.1f} s; budget {verdict(taken, MANY_SECONDS)}.\n")
    names = [f"many-{number}" for number in range(MANY)]
    call("rm", "--force", "native", *(["docker"] if has_docker else []), *names)


def files(page, program, top, rounds):
    """The file tools of a persistent sandbox, beside programs that do the same on the host: whole processes."""
    project = top / "files"
    prepare(project, os.getuid())
    directories, each = TREE
    for number in range(directories):
        directory = project / f"{number % 10}" / f"{number}"
        directory.mkdir(parents=True)
        for file in range(each):
            (directory / f"file-{file}.txt").write_text(f"line one of {file}\nneedle-{number}-{file}\n" * 8)
    call = lambda *words: subprocess.run(
        [program, *words], cwd=project, env=environment(project), stdin=subprocess.DEVNULL, check=True, capture_output=True
    )
    call("create", "--name", "files")
    fd = found("fdfind") or found("fd") or "fd"
    listing = {
        "fs list": [program, "fs", "list", "files", "--hidden", "--max-entries", "200000"],
        "fd": [fd, "--hidden", "--no-ignore", "."],
    }
    searching = {
        "fs search": [program, "fs", "search", "files", "needle-7[0-9]*-99$", "--hidden", "--max-matches", "100000"],
        "rg": ["rg", "--hidden", "--no-ignore", "needle-7[0-9]*-99$"],
    }
    reading = {
        "fs read": [program, "fs", "read", "files", "0/0/file-0.txt"],
        "exec cat": [program, "exec", "files", "--", "cat", "0/0/file-0.txt"],
    }
    before = os.getcwd(), dict(os.environ)
    os.chdir(project)
    os.environ.update(environment(project))
    try:
        for title, contenders, beside in (
            (f"List {directories * each:,} files", listing, "fd"),
            (f"Search {directories * each:,} files", searching, "rg"),
            ("Read a small file", reading, "exec cat"),
        ):
            times, missing = interleaved(contenders, min(rounds, SLOW_ROUNDS))
            page.table(title, times, missing, beside=beside)
    finally:
        os.chdir(before[0])
        os.environ.clear()
        os.environ.update(before[1])
    call("rm", "--force", "files")


def mcp(page, program, top):
    """A small file, read over MCP in a sandbox that lives: from a request on a pipe to its answer."""
    project = top / "mcp"
    prepare(project, os.getuid())
    (project / "small").write_text("small\n")
    server = subprocess.Popen(
        [program, "mcp", "serve"], cwd=project, env=environment(project), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )

    def ask(number, method, params):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        if answer.get("id") != number or "error" in answer or answer["result"].get("isError"):
            sys.exit(f"bench: mcp: {answer}")

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    ask(0, "initialize", client)
    server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    times = []
    for number in range(1, 2001):
        began = time.perf_counter_ns()
        ask(number, "tools/call", {"name": "read", "arguments": {"path": "small"}})
        times.append(time.perf_counter_ns() - began)
    server.stdin.close()
    server.wait()
    # The first ones make the sandbox and fill caches.
    times = sorted(times[100:])
    p50, p99 = times[len(times) // 2] / 1e6, times[len(times) * 99 // 100] / 1e6
    page.say(f"## MCP\n\n`read` of a small file: p50 {p50:.3f} ms, p99 {p99:.3f} ms; budget of p50 {verdict(p50, MCP_READ_MS)}.\n")


def image(page, program, top):
    """The stock image: how large it is, and how long it takes where nothing has changed."""
    base, rust = (os.environ.get(f"SANDBOX_TEST_{name}") for name in ("DEBIAN", "RUST"))
    if not base or not rust:
        return
    project = top / "image"
    project.mkdir()
    settings = f"""version = 1
[image]
name = "bench-image"
base = "{base}"
packages = ["bash"]
platforms = ["linux/{'amd64' if platform.machine() == 'x86_64' else 'arm64'}"]
ca_certificates = "/etc/ssl/certs/ca-certificates.crt"
build_args = {{ RUST = "{rust}" }}
"""
    (project / "sandbox.toml").write_text(settings)
    build = [program, "build", "--trust", "--quiet"]
    taken = []
    for _ in range(4):
        began = time.perf_counter_ns()
        subprocess.run(build, cwd=project, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        taken.append(time.perf_counter_ns() - began)
    size = subprocess.check_output(["docker", "image", "inspect", "--format", "{{.Size}}", "bench-image"], text=True)
    subprocess.run(["docker", "image", "rm", "bench-image"], check=True, stdout=subprocess.DEVNULL)
    again = statistics.median(taken[1:]) / 1e9
    page.say(f"\n## Image\n\nStock image on Debian with bash: {int(size):,} bytes. Built again with nothing changed: {again:.1f} s.\n")


def interleaved(contenders, rounds):
    """Nanoseconds of each contender, everybody once in each round; and who could not take part."""
    programs = {name: found(str(argv[0])) for name, argv in contenders.items()}
    missing = [f"{name} (not installed)" for name, program in programs.items() if not program]
    present = {name: [programs[name], *map(str, argv[1:])] for name, argv in contenders.items() if programs[name]}
    for name, argv in list(present.items()):
        trial = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if trial.returncode != 0:
            print(f"bench: {name} fails: {trial.stderr.strip()}", file=sys.stderr)
            present.pop(name)
            missing.append(f"{name} (fails here)")
    times = {name: [] for name in present}
    for turn in range(rounds + 3):
        for name, argv in present.items():
            slow = times[name] and statistics.median(times[name]) > SLOW_NS
            if slow and turn % max(1, rounds // SLOW_ROUNDS) != 0:
                continue
            taken = once(argv)
            # The first rounds fill caches.
            if turn >= 3:
                times[name].append(taken)
    return times, missing


def once(argv):
    """Nanoseconds of one start."""
    quiet = [(os.POSIX_SPAWN_OPEN, stream, "/dev/null", os.O_RDWR, 0) for stream in (0, 1, 2)]
    began = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=quiet)
    _, status = os.waitpid(pid, 0)
    taken = time.perf_counter_ns() - began
    if status != 0:
        sys.exit(f"bench: {argv[0]} failed after it had worked")
    return taken


def as_user(user, top, measure, extra=(), groups=(), policy=POLICY):
    """Measures in a process of that user, in a project directory of its own."""
    project = top / f"project-{user}"
    prepare(project, user, policy)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            if os.getuid() != user:
                os.setgroups(list(groups))
                os.setgid(user)
                os.setuid(user)
            os.chdir(project)
            os.environ.clear()
            os.environ.update(environment(project), **dict(extra))
            with os.fdopen(write, "w") as pipe:
                json.dump(measure(), pipe)
        except BaseException as error:
            print(f"bench: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status != 0:
        sys.exit("bench: measuring failed")
    return json.loads(text)


def prepare(project, user, policy=POLICY):
    project.mkdir(exist_ok=True)
    home(project).mkdir(exist_ok=True)
    (project / "sandbox.toml").write_text(policy)
    for path in (project, home(project), project / "sandbox.toml"):
        os.chown(path, user, user)


def home(project):
    return project.with_name(f"{project.name}-home")


def environment(project):
    return {"HOME": str(home(project)), "PATH": PATH, "LANG": "C.UTF-8"}


def copies(arguments, top):
    """The programs where every user can reach them."""
    programs = {}
    for name in ("static", "plain", "entrypoint"):
        programs[name] = top / name
        shutil.copy(getattr(arguments, name), programs[name])
    return programs


def found(program):
    return shutil.which(program, path=f"{PATH}:{os.environ['PATH']}")


def children(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []  # it has ended


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not (value := condition()):
        if time.monotonic() > deadline:
            sys.exit("bench: what was started did not answer")
        time.sleep(0.01)
    return value


def kib(field):
    return int(field.split()[0])


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    return f"{platform.machine()}, {os.cpu_count()} × {model or 'processor'}, Linux {platform.release()}"


def load():
    now = os.getloadavg()[0]
    note = "" if now < os.cpu_count() / 2 else " (busy: medians are high and ratios uncertain)"
    return f"Load: {now:.2f}{note}\n"


def verdict(found, most):
    """What is said of a figure beside its budget."""
    return f"{most:,} holds" if found <= most else f"{most:,} missed"


class Page:
    """What is printed, and kept when asked for."""

    def __init__(self):
        self.lines = []

    def say(self, text):
        print(text, flush=True)
        self.lines.append(text)

    def table(self, title, times, missing, beside):
        self.say(f"## {title}\n")
        self.say(f"| what | runs | median ms | 95 % ms | beside {beside.split(',')[0]} | budget |\n| --- | --: | --: | --: | --: | --- |")
        peer = statistics.median(times[beside]) if times.get(beside) else None
        for name, taken in times.items():
            middle = statistics.median(taken)
            late = sorted(taken)[int(len(taken) * 0.95)]
            ratio = f"{middle / peer:.2f}" if peer else ""
            budget = verdict(middle / peer, BUDGETS[name]) if peer and name in BUDGETS else ""
            self.say(f"| {name} | {len(taken)} | {middle / 1e6:.2f} | {late / 1e6:.2f} | {ratio} | {budget} |")
        self.say(f"\nNot measured: {', '.join(missing)}.\n" if missing else "")

    def save(self):
        name = f"{datetime.date.today()}-{platform.machine()}-{os.cpu_count()}cpu-linux-{platform.release()}.md"
        path = ROOT / "bench" / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.lines) + "\n")
        print(f"kept in {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
