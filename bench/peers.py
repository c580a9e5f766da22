#!/usr/bin/env python3
"""What does an engine get from a node, beside Redis, nginx over https and TCP; and from its disk, beside the disk?

    bench/peers.py [--sizes 160000 2000000] [--rounds 5] [--mb 400] [--times 4] [--skip-disk]

An engine (libkvcast) gets --mb of values of one size, --times over, from a `kvcast serve` in a process of its own: TLS
on, every value checked and copied into the engine's memory. In turn with peers that hold as many values of that size:

    redis-server, redis-benchmark   GET, plaintext, one connection, hiredis with 16 in the pipeline
    nginx, wrk                      https with the same cipher, one worker, 4 connections that are kept
    iperf3 -C cubic                 TCP, unencrypted

Then values that only the node's disk has, in the order they were put, in turn with fio, which reads the files of that
directory as they are: io_uring, O_DIRECT, 32 at a time, of the values' size.

Each server has a core, as has each client. A peer that is not installed is left out: tools/deps bench installs them,
and starts none. Ratios are of medians, rounds interleaved. CPU is in seconds per GB of server and client. Build first:
cmake --preset bench && cmake --build build/bench.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fetch import ROOT, cpu_seconds, iperf3, median, program, run_with_cpu

sys.path.insert(0, str(ROOT / "tests/road"))
from node_process import Node, until  # noqa: E402
from value_store import GET, HELD, LOADED, LOOKUP, ON_DISK, PUT, STORED, IN_MEMORY, Values  # noqa: E402

BATCH_BYTES = 64 << 20  # A get of so much is asked for at a time, the next one while it comes.


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def own_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Engine:
    """`kvcast serve` with values of one size, and an engine that gets them."""

    def __init__(self, args, size, count, *options, durability=IN_MEMORY):
        library = program("libkvcast.so", args.build)
        self.node = Node(program("kvcast", args.build), "--admin", "127.0.0.1:0", *options)
        self.keys = [b"value %d" % i for i in range(count)]
        self.values = Values(library, self.node.address, size, count)
        page = random.Random(size).randbytes(1 << 20)
        for at in range(0, len(self.values.memory), len(page)):
            part = min(len(page), len(self.values.memory) - at)
            self.values.memory[at:at + part] = page[:part]
        # So much at a time that memory has room for what waits for the disk.
        step = max(1, BATCH_BYTES // size)
        for at in range(0, count, step):
            statuses = self.values.run(PUT, self.keys[at:at + step], at, durability)
            if set(statuses) - {STORED, HELD}:
                raise SystemExit(f"bench: a put ended with {set(statuses)}")
        until(lambda: set(self.values.run(LOOKUP, self.keys)) == {HELD}, "the node does not list its values")
        self.step = step

    def get(self, times=1):
        """Bytes a second, and CPU seconds per GB of the node and of the engine."""
        node, engine, begun = cpu_seconds(self.node.process.pid), own_cpu(), time.monotonic()
        batches = []
        for _ in range(times):
            for at in range(0, len(self.keys), self.step):
                keys = self.keys[at:at + self.step]
                batches.append((self.values.submit(GET, keys, at), len(keys)))
                if len(batches) > 2:
                    self.take(batches.pop(0))
        for batch in batches:
            self.take(batch)
        seconds = time.monotonic() - begun
        gb = times * len(self.values.memory) / 1e9
        return (gb * 1e9 / seconds, (cpu_seconds(self.node.process.pid) - node) / gb, (own_cpu() - engine) / gb)

    def take(self, batch):
        statuses = self.values.wait(*batch)
        if set(statuses) != {LOADED}:
            raise SystemExit(f"bench: a get ended with {set(statuses)}")

    def stop(self):
        self.values.close()
        self.node.stop()


class Redis:
    def __init__(self, size, count, folder):
        self.size, self.count, self.port = size, count, free_port()
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                                         "--appendonly", "no", "--dir", folder], stdout=subprocess.DEVNULL)
        value = random.Random(size).randbytes(size)
        with until(self.connect, "redis-server did not start") as line, line.makefile("rb") as answers:
            for i in range(count):
                key = b"key:%012d" % i  # As redis-benchmark writes them.
                line.sendall(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, size, value))
                if answers.readline() != b"+OK\r\n":
                    raise SystemExit("bench: redis-server did not take a value")

    def connect(self):
        try:
            return socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            return None

    def get(self, times=1):
        before, requests = cpu_seconds(self.process.pid), times * self.count
        output, client = run_with_cpu(["redis-benchmark", "-p", str(self.port), "-c", "1", "-P", "16", "-r",
                                       str(self.count), "-n", str(requests), "--csv", "GET", "key:__rand_int__"])
        rate = re.search(r'^"GET[^"]*","([0-9.]+)"', output, re.MULTILINE)
        if not rate:
            return None
        gb = requests * self.size / 1e9
        return float(rate[1]) * self.size, (cpu_seconds(self.process.pid) - before) / gb, client / gb

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Nginx:
    CONFIG = """
daemon off; master_process off; pid %(folder)s/pid; error_log %(folder)s/error.log;
events { worker_connections 64; }
http {
  access_log off; keepalive_requests 100000000; client_body_temp_path %(folder)s/body; proxy_temp_path %(folder)s/proxy;
  fastcgi_temp_path %(folder)s/fastcgi; uwsgi_temp_path %(folder)s/uwsgi; scgi_temp_path %(folder)s/scgi;
  open_file_cache max=100000 inactive=1h;
  server {
    listen 127.0.0.1:%(port)d ssl; root %(folder)s/files;
    ssl_certificate %(folder)s/crt.pem; ssl_certificate_key %(folder)s/key.pem;
    ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
  }
}
"""

    def __init__(self, size, count, folder):
        self.size, self.folder, self.port = size, Path(folder), free_port()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", "key.pem", "-out", "crt.pem", "-days", "2", "-subj", "/CN=localhost"],
                       cwd=folder, check=True, capture_output=True)
        (self.folder / "files").mkdir()
        value = random.Random(size).randbytes(size)
        for i in range(count):
            (self.folder / "files" / str(i)).write_bytes(value)
        (self.folder / "nginx.conf").write_text(self.CONFIG % {"folder": folder, "port": self.port})
        (self.folder / "ask.lua").write_text(
            f"local i = 0\nrequest = function() i = (i + 1) % {count}; return wrk.format('GET', '/' .. i) end\n")
        self.process = subprocess.Popen(["nginx", "-c", str(self.folder / "nginx.conf")], stderr=subprocess.DEVNULL)

    def get(self, seconds=2):
        before = cpu_seconds(self.process.pid)
        output, client = run_with_cpu(["wrk", "-t", "1", "-c", "4", "-d", f"{seconds}s", "-s",
                                       str(self.folder / "ask.lua"), f"https://127.0.0.1:{self.port}/"])
        said = re.search(r"(\d+) requests in ([0-9.]+)s", output)
        if not said or "Non-2xx" in output or "Socket errors" in output:
            return None
        size = int(said[1]) * self.size
        gb = size / 1e9
        return size / float(said[2]), (cpu_seconds(self.process.pid) - before) / gb, client / gb

    def stop(self):
        self.process.terminate()
        self.process.wait()


def report(title, results, ours):
    print(f"\n{title}")
    for name, rounds in results.items():
        rounds = [result for result in rounds if result]
        if not rounds:
            print(f"  {name:28} left out")
            continue
        rate, server, client = median(rounds)
        rates = [result[0] / 1e9 for result in rounds]
        ratio = "" if name == ours else f"   kvcast has {median(results[ours])[0] / rate:.2f} of it"
        print(f"  {name:28} {rate / 1e9:5.2f} GB/s ({min(rates):.2f} to {max(rates):.2f})  CPU s/GB: {server:.2f} + "
              f"{client:.2f}{ratio}", flush=True)


def from_memory(args, size):
    count = args.mb * 1_000_000 // size
    ours = "kvcast, an engine's get"
    results = {ours: [], "redis-server": [], "nginx, https": [], "iperf3 -C cubic": []}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        engine = Engine(args, size, count, "--ram", f"{args.mb * 3}MiB", "--cache-dir", "none")
        redis = Redis(size, count, folder) if shutil.which("redis-benchmark") and shutil.which("redis-server") else None
        nginx = Nginx(size, count, folder) if shutil.which("wrk") and shutil.which("nginx") else None
        try:
            for _ in range(args.rounds):
                results[ours].append(engine.get(args.times))
                results["redis-server"].append(redis and redis.get(args.times))
                results["nginx, https"].append(nginx and nginx.get())
                results["iperf3 -C cubic"].append(iperf3(args.mb * args.times * 2))
        finally:
            for server in (engine, redis, nginx):
                if server:
                    server.stop()
    report(f"values of {size} bytes from memory, {args.rounds} rounds of {args.times} x {args.mb} MB", results, ours)
    return median(results[ours])[0]


def fio(directory, size, total):
    """The files of a directory, read as they are."""
    if not shutil.which("fio"):
        return None
    files = sorted(path for path in Path(directory).rglob("*") if path.is_file() and path.stat().st_size > 1 << 24)
    each = min(path.stat().st_size for path in files) // size * size
    output, cpu = run_with_cpu(["fio", "--name=raw", "--readonly", "--rw=read", f"--bs={size // 4096 * 4096}", "--direct=1",
                                "--ioengine=io_uring", "--iodepth=32", "--file_service_type=sequential",
                                f"--filesize={each // 4096 * 4096}", f"--size={min(total, each * len(files)) // 4096 * 4096}",
                                "--filename=" + ":".join(map(str, files)), "--output-format=json"])
    if not output:
        return None
    read = json.loads(output[output.index("{"):])["jobs"][0]["read"]
    return read["bw_bytes"], 0.0, cpu / (read["io_bytes"] / 1e9)


def from_disk(args, size, memory_rate):
    total = args.disk_mb * 1_000_000
    ours = "kvcast, out of the disk tier"
    results = {ours: [], "fio, raw reads": []}
    with tempfile.TemporaryDirectory(dir=args.disk_dir) as folder:
        # Memory for a tenth of it.
        engine = Engine(args, size, total // size, "--ram", f"{max(128, args.disk_mb // 10)}MiB", "--disk",
                        f"{folder},bytes={args.disk_mb * 2}MiB", durability=ON_DISK)
        memory, below = engine.node.metric("kvcast_store_memory_hits_total"), engine.node.metric("kvcast_store_lower_hits_total")
        try:
            for _ in range(args.rounds):
                results[ours].append(engine.get())
                results["fio, raw reads"].append(fio(folder, size, total))
            memory = engine.node.metric("kvcast_store_memory_hits_total") - memory
            below = engine.node.metric("kvcast_store_lower_hits_total") - below
        finally:
            engine.stop()
    report(f"values of {size} bytes out of the disk tier, {args.rounds} rounds of {args.disk_mb} MB; "
           f"{below / max(1, below + memory):.0%} of the objects came from the disk", results, ours)
    raw = [result for result in results["fio, raw reads"] if result]
    if raw:
        lesser = min(median(raw)[0], memory_rate)
        print(f"  {median(results[ours])[0] / lesser:.2f} of the lesser of raw reads and the same from memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[160_000, 2_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=int, default=400, help="of values, in memory")
    parser.add_argument("--times", type=int, default=4, help="how often these are got in a round")
    parser.add_argument("--disk-mb", type=int, default=2000)
    parser.add_argument("--disk-dir", help="a directory on the disk that is to be asked about")
    parser.add_argument("--skip-disk", action="store_true")
    parser.add_argument("--build", default="bench")
    args = parser.parse_args()
    for size in args.sizes:
        rate = from_memory(args, size)
        if not args.skip_disk:
            from_disk(args, size, rate)


if __name__ == "__main__":
    main()
