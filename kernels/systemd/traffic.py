#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Connections whose every byte is compared, and a probe that asks new ones for their algorithm.

traffic.py serve PORT                 answers each connection with its own algorithm, then sends until told to stop
traffic.py hold HOST PORT COUNT FOLDER  COUNT connections until FOLDER/stop exists; what came of them goes to FOLDER/held
traffic.py probe HOST PORT FOLDER     a new connection every 200 ms until then; what each had goes to FOLDER/probed
"""

import hashlib
import os
import socket
import sys
import threading
import time

CHUNK_BYTES = 4096
CHUNK_EVERY_S = 0.5
HEADER_BYTES = 16  # the kernel's limit of an algorithm's name
STOP, PROBE, HOLD = b"s", b"p", b"h"
PATIENCE_S = 120


def chunk(number, index):
    """What connection NUMBER carries as its chunk INDEX."""
    return hashlib.sha256(f"{number}/{index}".encode()).digest() * (CHUNK_BYTES // 32)


def exactly(connection, count):
    """COUNT bytes; less is an end before its time."""
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError(f"ended after {len(data)} of {count} bytes")
        data += more
    return data


def algorithm_of(connection):
    name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, HEADER_BYTES)
    return name.rstrip(b"\0")


def serve_one(connection):
    """The peer says what it is, and gets the algorithm's name; a connection to be held gets chunks until it says stop."""
    with connection:
        kind, number = exactly(connection, 1), int(exactly(connection, 4))
        connection.sendall(algorithm_of(connection).ljust(HEADER_BYTES))
        if kind == PROBE:
            return
        index = 0
        connection.setblocking(False)
        while True:
            try:
                if connection.recv(1) in (STOP, b""):
                    break
            except BlockingIOError:
                pass
            connection.setblocking(True)
            connection.sendall(b"\1" + chunk(number, index))
            connection.setblocking(False)
            index += 1
            time.sleep(CHUNK_EVERY_S)
        connection.setblocking(True)
        connection.sendall(b"\0" + str(index).zfill(8).encode())


def serve(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", port))
    listener.listen(256)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


def dial(address, kind, number):
    connection = socket.create_connection(address, timeout=PATIENCE_S)
    connection.sendall(kind + str(number).zfill(4).encode())
    return connection, exactly(connection, HEADER_BYTES).decode().strip()


def hold_one(address, number, folder, verdicts):
    """Compares each chunk; at the end the numbers of chunks that were sent and that came are the same."""
    index, stopped = 0, False
    try:
        connection, _ = dial(address, HOLD, number)
        with connection:
            while exactly(connection, 1) == b"\1":
                if exactly(connection, CHUNK_BYTES) != chunk(number, index):
                    raise ValueError(f"chunk {index} is not what was sent")
                index += 1
                if not stopped and os.path.exists(f"{folder}/stop"):
                    connection.sendall(STOP)
                    stopped = True
            sent = int(exactly(connection, 8))
            if sent != index or not stopped:
                raise ValueError(f"{sent} chunks sent, {index} came, stopped: {stopped}")
        verdicts[number] = f"ok {index}"
    except (OSError, EOFError, ValueError) as error:
        verdicts[number] = f"FAILED after {index} chunks: {type(error).__name__}: {error}"


def hold(address, count, folder):
    verdicts = {}
    threads = [threading.Thread(target=hold_one, args=(address, n, folder, verdicts)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    write(f"{folder}/held", [verdicts[number] for number in range(count)])


def probe(address, folder):
    lines = []
    while not os.path.exists(f"{folder}/stop"):
        try:
            connection, name = dial(address, PROBE, 0)
            connection.close()
        except (OSError, EOFError) as error:
            name = f"FAILED: {type(error).__name__}: {error}"
        lines.append(name)
        time.sleep(0.2)
    write(f"{folder}/probed", lines)


def write(path, lines):
    """As a whole or not at all: who waits for the file reads it at once."""
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
    os.rename(f"{path}.part", path)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "serve":
        serve(int(rest[0]))
    elif what == "hold":
        hold((rest[0], int(rest[1])), int(rest[2]), rest[3])
    else:
        probe((rest[0], int(rest[1])), rest[2])
