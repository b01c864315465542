"""Counts primes, writes them into the shared directory, and tries a few things that a sandbox should refuse."""

import os
import socket
from pathlib import Path

LIMIT = 200_000
OUTPUT = Path("/output/primes.txt")


def primes(limit):
    """The sieve of Eratosthenes."""
    prime = bytearray([1]) * (limit + 1)
    prime[0:2] = b"\0\0"
    for number in range(2, int(limit**0.5) + 1):
        if prime[number]:
            prime[number * number :: number] = bytes(len(range(number * number, limit + 1, number)))
    return [number for number in range(limit + 1) if prime[number]]


def attempt(what, action):
    """Says what comes of something that should not work."""
    try:
        action()
    except OSError as error:
        print(f"  {what}: {error.strerror}")
    else:
        raise SystemExit(f"  {what}: it worked, and should not have")


found = primes(LIMIT)
OUTPUT.write_text("".join(f"{prime}\n" for prime in found))
print(f"{len(found)} primes up to {LIMIT}, written to {OUTPUT} by uid {os.getuid()}")
print("and what it cannot do:")
attempt("read /etc/shadow", lambda: Path("/etc/shadow").read_text())
attempt("change its own program", lambda: Path(__file__).write_text("evil"))
attempt("write to /usr/bin", lambda: Path("/usr/bin/evil").write_text("evil"))
attempt("connect to 192.0.2.1", lambda: socket.create_connection(("192.0.2.1", 80), timeout=5))
attempt("become root", lambda: os.setuid(0))
