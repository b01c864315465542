"""Servers of a small internet. Each says on standard output who has come, one line for each."""

import socket
import sys
import threading

ADDRESS, HOSTS, RESOLVERS = sys.argv[1], sys.argv[2], sys.argv[3:]
# The metadata service of a cloud, by both of its addresses, and a host that has no other address than one of IPv6.
OTHERS = ["169.254.169.254", "fd00:ec2::254", "2001:db8::1"]


def say(*words):
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def head(connection):
    got = b""
    while b"\r\n\r\n" not in got:
        part = connection.recv(4096)
        if not part:
            break
        got += part
    return got.decode("latin-1")


def web(connection, port):
    """Answers one request of HTTP with its own first line and the host that it names. `…/wants/KEY` wants that key."""
    got = head(connection)
    lines = got.split("\r\n")
    host = next((line[5:].strip() for line in lines if line.lower().startswith("host:")), "")
    say("http", str(port), lines[0], host)
    key = next((line[10:].strip() for line in lines if line.lower().startswith("x-api-key:")), None)
    if key is not None:
        say("key", key)
    wanted = lines[0].partition("/wants/")[2].partition(" ")[0]
    status = b"401 Unauthorized" if wanted not in ("", key) else b"200 OK"
    body = f"served {lines[0]} for {host}\n".encode()
    answer = b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body))
    connection.sendall(answer + body)


def greet(connection, port):
    """Speaks first, as servers of SSH and mail do, and repeats one line."""
    say("greeted", str(port))
    connection.sendall(b"SSH-2.0-test\r\n")
    connection.sendall(b"you said " + connection.recv(4096))


def announce(connection, port):
    """Announces an answer without end, and never gives it."""
    head(connection)
    say("announced", str(port))
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serve(address, port, answer):
    listener = socket.create_server((address, port), family=family(address), backlog=128)

    def accept():
        while True:
            connection, _ = listener.accept()

            def one():
                with connection:
                    try:
                        answer(connection, port)
                    except OSError:
                        pass

            threading.Thread(target=one, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def names():
    found = {}
    with open(HOSTS) as lines:
        for line in lines:
            address, *words = line.split()
            for word in words:
                found.setdefault(word, []).append(address)
    return found


def reply(query, known):
    """Answers one question of DNS (RFC 1035): A and AAAA records of the names that are known. What is no question gets no answer."""
    if len(query) < 17:
        say("udp", "53")
        return None
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1").lower())
        at += 1 + query[at]
    name, end = ".".join(labels), at + 5
    say("dns", name)
    kind = {1: socket.AF_INET, 28: socket.AF_INET6}.get(int.from_bytes(query[at + 1 : at + 3], "big"))
    addresses = [address for address in known.get(name, []) if family(address) == kind]
    code = 0 if name in known else 3
    header = query[:2] + bytes([0x81, 0x80 | code, 0, 1, 0, len(addresses), 0, 0, 0, 0])
    packed = [socket.inet_pton(kind, address) for address in addresses]
    records = [b"\xc0\x0c" + query[at + 1 : end] + bytes([0, 0, 0, 5, 0, len(data)]) + data for data in packed]
    return header + query[12:end] + b"".join(records)


def resolve(address):
    listener = socket.socket(family(address), socket.SOCK_DGRAM)
    listener.bind((address, 53))
    known = names()

    def receive():
        while True:
            query, sender = listener.recvfrom(4096)
            answer = reply(query, known)
            if answer:
                listener.sendto(answer, sender)

    threading.Thread(target=receive, daemon=True).start()


for port in (80, 8080):
    serve(ADDRESS, port, web)
serve("127.0.0.1", 8080, web)
for other in OTHERS:
    serve(other, 80, web)
serve(ADDRESS, 22, greet)
serve(ADDRESS, 9203, announce)
for resolver in RESOLVERS:
    resolve(resolver)
resolve(ADDRESS)
say("ready")
threading.Event().wait()
