"""Searches all that a process inside can read for a value: environments, command lines, memory, files. `search.py REVERSED` has the value
from its end, so that it is nowhere by its being searched for. A second word is found wherever it is: the token that stands for the value."""

import json
import os
import sys

VALUE = sys.argv[1][::-1].encode()
TOKEN = next(os.environ[name] for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY") if name in os.environ).encode()
found = {"value": [], "token": [], "memory": []}


def look(place, content):
    for name, word in (("value", VALUE), ("token", TOKEN)):
        if word in content and place not in found[name]:
            found[name].append(place)


def memory(process):
    """What a process has in memory, but for what it has mapped of files to read or execute."""
    page, step = os.sysconf("SC_PAGE_SIZE"), 1 << 23
    proc = f"/proc/{process}"
    with open(f"{proc}/maps") as maps, open(f"{proc}/mem", "rb", 0) as mapped, open(f"{proc}/pagemap", "rb", 0) as pages:
        for line in maps:
            span, rights, _, _, inode, *_ = line.split()
            start, end = (int(word, 16) for word in span.split("-"))
            if not rights.startswith("rw") and (inode != "0" or "[v" in line):
                continue
            for at in range(start, end, step):
                size = min(end - at, step)
                pages.seek(at // page * 8)
                # The last byte of an entry says whether the page is there (0x80) or swapped out (0x40): most were never used.
                if max(pages.read(size // page * 8)[7::8], default=0) < 0x40:
                    continue
                mapped.seek(at)
                try:
                    look(f"memory of {process}", mapped.read(size))
                except OSError:
                    pass
    found["memory"].append(process)


for process in filter(str.isdigit, os.listdir("/proc")):
    if int(process) == os.getpid():
        continue
    for name in ("environ", "cmdline"):
        try:
            with open(f"/proc/{process}/{name}", "rb") as file:
                look(f"{name} of {process}", file.read())
        except OSError:
            pass
    try:
        memory(process)
    except OSError:
        pass
for top in ("/etc", "/home", "/run", "/tmp", "/var", "/workspace"):
    for directory, _, names in os.walk(top):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isfile(path) and "/toolchain/" not in path:
                try:
                    with open(path, "rb") as file:
                        look(path, file.read())
                except OSError:
                    pass
print(json.dumps(found))
