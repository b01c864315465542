#!/usr/bin/env python3
"""The other end of a connection through a proxy, and who measures it: `bench.py` runs both.

    bench/egress.py serve                      prints its port, and serves until its standard input ends
    bench/egress.py measure PROXY PORT COUNT   prints nanoseconds and bytes in JSON; PROXY is HOST:PORT, or `direct`
"""

import http.client
import json
import socket
import sys
import threading
import time

# What one transfer has, and what is passed at a time.
BYTES = 256 << 20
PART = 1 << 18


def serve():
    """Echoes one byte for one byte, sends much, or answers requests of HTTP, as the first byte says."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    sys.stdin.read()


def accept(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def answer(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    part = bytes(PART)
    with connection:
        try:
            while wanted := connection.recv(1):
                if wanted == b"e":
                    connection.sendall(wanted)
                elif wanted == b"G":
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        head += connection.recv(PART)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + bytes(1024))
                else:
                    for _ in range(BYTES // PART):
                        connection.sendall(part)
        except OSError:
            pass


def connect(proxy, port):
    """Opens a connection to the server, by a tunnel where there is a proxy."""
    if proxy == "direct":
        connection = socket.create_connection(("127.0.0.1", port))
    else:
        host, at = proxy.rsplit(":", 1)
        connection = socket.create_connection((host, int(at)))
        connection.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            got = connection.recv(1)
            if not got:
                sys.exit(f"the proxy has closed the connection: {head!r}")
            head += got
        if b" 200 " not in head.split(b"\r\n")[0]:
            sys.exit(f"the proxy refuses: {head!r}")
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def requests(proxy, port, count):
    """Asks for one page again and again, on one connection for as long as the other end keeps it."""
    host, at = ("127.0.0.1", port) if proxy == "direct" else proxy.rsplit(":", 1)
    path = "/" if proxy == "direct" else f"http://127.0.0.1:{port}/"
    client = http.client.HTTPConnection(host, int(at))
    began, done = time.perf_counter_ns(), 0
    while done < count:
        try:
            client.request("GET", path)
            client.getresponse().read()
            done += 1
        except (http.client.RemoteDisconnected, ConnectionError):
            # It has closed without saying so.
            client.close()
    return count * 1e9 / (time.perf_counter_ns() - began)


def measure(proxy, port, count):
    opened, passed = [], []
    for _ in range(count):
        began = time.perf_counter_ns()
        with connect(proxy, port) as connection:
            ready = time.perf_counter_ns()
            connection.sendall(b"e")
            connection.recv(1)
            passed.append(time.perf_counter_ns() - ready)
            opened.append(ready - began)
    rates = []
    for _ in range(3):
        with connect(proxy, port) as connection:
            began, left, buffer = time.perf_counter_ns(), BYTES, bytearray(PART)
            connection.sendall(b"m")
            while left:
                left -= connection.recv_into(buffer, min(left, PART))
            rates.append(BYTES * 1e9 / (time.perf_counter_ns() - began))
    requested = [requests(proxy, port, count) for _ in range(3)]
    tunnels = [connect(proxy, port) for _ in range(1000)]
    for connection in tunnels:
        connection.sendall(b"e")
    echoed = sum(len(connection.recv(1)) for connection in tunnels)
    print(json.dumps({"opened": opened, "passed": passed, "rates": rates, "requests": requested, "tunnels": echoed}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        measure(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
