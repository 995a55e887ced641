#!/usr/bin/python3
"""An HTTP proxy in front of an S3 server that does on demand what no server does on demand.

    fault_proxy.py --upstream HOST:PORT [--port N] [--port-file FILE] [--cert FILE --key FILE]
                   [--access-key ID --secret-key KEY] [RULE]...

Requests go on as they came, Host and signature too, and so do answers, except where a rule applies.
It listens on 127.0.0.1 (a free port unless --port says which; --port-file receives it once it
listens), with TLS if there is a certificate. It answers as an HTTP proxy too (GET http://… ).

Control, with curl, while it runs:

    POST   /.fault/rules    adds the rules in the body, one a line
    PUT    /.fault/rules    the same instead of those that there are
    GET    /.fault/rules    shows them, and how often each applied
    GET    /.fault/counts   {"requests": {"bucket/key": {"GET": 2}}, "methods": {"GET": 2},
                             "statuses": {"200": 2}, "bytes": 100, "connections": 1, "parallel": 1,
                             "most_parallel": 1, "proxied": 0}
                            (bytes: of bodies sent; a listing counts as "bucket/"; "proxied" came as
                            to an HTTP proxy)
    DELETE /.fault/counts   begins to count anew

A rule is a line: a fault, its settings, and which requests it is for. Rules are tried in order, all
that match apply, but only the first that answers by itself.

    error status=503 [code=SlowDown] [message=…] [region=eu-west-1] [date=SECONDS]
                                    answered with S3's error document; region: x-amz-bucket-region
                                    and <Region>; date: the Date header is off by so much
    error200 [code=InternalError]   the error document with status 200
    drop                            the connection is reset before there is an answer
    stall [after=K] [seconds=S]     nothing more comes after K bytes of the body (default 0), until
                                    the client leaves or S seconds are over; it goes on then
    cut [after=K] [how=fin|reset] [framing=length|chunked|close]
                                    the connection ends after K bytes of the body; framing: how the
                                    body is announced (close: by nothing, and fin looks like its end)
    norange                         the object from its beginning with status 200, whatever Range says
    shift [bytes=N]                 Content-Range claims N (default 1) more at both ends
    corrupt at=K                    byte K of the object is another one (requests that cover it)
    overwrite [after=K]             after K bytes of the body the object is overwritten with other
                                    bytes of the same size, and the connection is cut
    header name=N [value=V]         the answer's header N is V, or missing
    latency ms=N                    before the request goes on; connections wait side by side
    bandwidth rate=N [shared=yes]   bytes a second of each connection, or of all together
    clock seconds=N                 a server whose clock is off by N: answers carry its Date, requests
                                    that are not signed by it to 15 minutes get RequestTimeTooSkewed
    resign                          goes on with the proxy's own signature: whatever the client signs
                                    with, or does not, the server takes it
    list keys=N [size=S] [prefix=P] bucket= must say of which bucket: N objects "P000000000.bin", …
                                    that exist only in the proxy: ListObjectsV2, GET, HEAD

    key=GLOB        of "bucket/key", not encoded ("*" matches "/" too); bucket=NAME
    method=GET      of that method;  list=yes|no: only listings of a bucket, or anything but
    when=NAME:GLOB  if the request has a header like that; unless=NAME:GLOB: if it has not
    skip=N          not the first N for each key;  times=N: N times for each key (default: always)
    total=N         N times in all;  chance=P: with probability P (seeded: the same in every run)

norange, clock, resign and overwrite sign with --access-key and --secret-key (default: the
environment's AWS_…).

    error status=503 code=SlowDown times=2 method=GET key=b/*
    cut after=1000 how=reset chance=0.1
    error status=301 code=PermanentRedirect region=eu-west-1 unless=authorization:*/eu-west-1/s3/*
    error status=400 code=ExpiredToken when=x-amz-security-token:old
"""
import argparse
import asyncio
import collections
import contextlib
import datetime
import email.utils
import fnmatch
import functools
import hashlib
import hmac
import json
import os
import random
import shlex
import socket
import ssl
import struct
import sys
import time
import urllib.parse
from xml.sax.saxutils import escape

CHUNK = 256 * 1024
HEAD_LIMIT = 256 * 1024
CONTROL = "/.fault/"
MAX_SKEW = 900  # seconds, as S3 has it

SELECTORS = {"key", "bucket", "method", "list", "when", "unless", "skip", "times", "total", "chance"}
SETTINGS = {
    "error": {"status", "code", "message", "region", "date"},
    "error200": {"code", "message"},
    "drop": set(),
    "stall": {"after", "seconds"},
    "cut": {"after", "how", "framing"},
    "norange": set(),
    "shift": {"bytes"},
    "corrupt": {"at"},
    "overwrite": {"after"},
    "header": {"name", "value"},
    "latency": {"ms"},
    "bandwidth": {"rate", "shared"},
    "clock": {"seconds"},
    "resign": set(),
    "list": {"keys", "size", "prefix"},
}
REQUIRED = {
    "error": {"status"}, "corrupt": {"at"}, "header": {"name"}, "latency": {"ms"},
    "bandwidth": {"rate"}, "clock": {"seconds"}, "list": {"keys", "bucket"},
}
ANSWERS = ("error", "error200", "drop", "list")


class BadRule(Exception):
    pass


class ClientGone(Exception):
    pass


# --- messages ------------------------------------------------------------------------------------


class Message:
    """The head of a request or an answer; headers in order, names as they came."""

    def __init__(self, first_line, headers):
        self.first_line, self.headers = first_line, headers

    def get(self, name, default=None):
        for header, value in self.headers:
            if header.lower() == name.lower():
                return value
        return default

    def set(self, name, value):
        """None removes."""
        self.headers = [h for h in self.headers if h[0].lower() != name.lower()]
        if value is not None:
            self.headers.append((name, value))

    def encode(self):
        lines = [self.first_line] + [f"{name}: {value}" for name, value in self.headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_message(reader):
    """None at the end of the connection."""
    try:
        text = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first_line, *lines = text.decode("latin-1")[:-4].split("\r\n")
    headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines if ":" in line]
    return Message(first_line, headers)


async def read_body(reader, message, until_close):
    """The pieces of a body, without its framing."""
    if "chunked" in message.get("Transfer-Encoding", "").lower():
        while size := int((await reader.readline()).split(b";")[0], 16):
            while size:
                piece = await read_some(reader, size)
                size -= len(piece)
                yield piece
            await reader.readline()
        while (await reader.readline()).strip():
            pass
        return
    length = message.get("Content-Length")
    if length is None and until_close:
        while piece := await reader.read(CHUNK):
            yield piece
        return
    left = int(length or 0)
    while left:
        piece = await read_some(reader, left)
        left -= len(piece)
        yield piece


async def read_some(reader, at_most):
    piece = await reader.read(min(at_most, CHUNK))
    if not piece:
        raise ConnectionError("the body ends too soon")
    return piece


class Request:
    def __init__(self, message):
        self.message = message
        self.method, target, _ = message.first_line.split(" ", 2)
        self.is_proxied = not target.startswith("/")
        if self.is_proxied:
            target = "/" + target.split("://", 1)[-1].partition("/")[2]
        message.first_line = f"{self.method} {target} HTTP/1.1"
        self.path, _, self.query = target.partition("?")
        self.bucket, self.key = self.names()
        self.is_list = self.method == "GET" and not self.key and bool(self.bucket)
        self.name = f"{self.bucket}/{self.key}"

    def names(self):
        path = urllib.parse.unquote(self.path, errors="surrogateescape").removeprefix("/")
        host = self.message.get("Host", "").partition(":")[0]
        if host.endswith(".localhost"):
            return host.removesuffix(".localhost"), path
        bucket, _, key = path.partition("/")
        return bucket, key

    def parameters(self):
        return dict(urllib.parse.parse_qsl(self.query, keep_blank_values=True,
                                           errors="surrogateescape"))

    def range(self):
        """First and last byte (None: the end) that are asked for; suffixes are not."""
        unit, _, span = self.message.get("Range", "").partition("=")
        first, _, last = span.partition("-")
        if unit != "bytes" or not first:
            return 0, None
        return int(first), int(last) if last else None


# --- rules ---------------------------------------------------------------------------------------


class Rule:
    def __init__(self, line):
        self.line = line
        self.fault, *words = shlex.split(line)
        if self.fault not in SETTINGS:
            raise BadRule(f"no such fault: {self.fault}")
        self.options = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals or name not in SETTINGS[self.fault] | SELECTORS:
                raise BadRule(f"{self.fault} has no setting: {word}")
            self.options[name] = value
        missing = REQUIRED.get(self.fault, set()) - self.options.keys()
        if missing:
            raise BadRule(f"{self.fault} needs {', '.join(sorted(missing))}")
        self.seen = collections.Counter()  # by key
        self.applied = 0
        self.random = random.Random(line)
        self.free_at = 0.0  # of a shared bandwidth

    def text(self, name, default=""):
        return self.options.get(name, default)

    def number(self, name, default=0):
        return float(self.options.get(name, default))

    def matches(self, request):
        return self.is_meant(request) and self.is_due(request)

    def is_meant(self, request):
        options = self.options
        if "bucket" in options and request.bucket != options["bucket"]:
            return False
        if "key" in options and not fnmatch.fnmatchcase(request.name, options["key"]):
            return False
        if "method" in options and request.method != options["method"]:
            return False
        if "list" in options and request.is_list != (options["list"] == "yes"):
            return False
        if "when" in options and not self.has_header(request, options["when"]):
            return False
        if "unless" in options and self.has_header(request, options["unless"]):
            return False
        if self.fault == "corrupt":
            first, last = request.range()
            at = int(options["at"])
            return request.method == "GET" and first <= at and (last is None or at <= last)
        return self.fault != "list" or request.method in ("GET", "HEAD")

    @staticmethod
    def has_header(request, condition):
        name, _, pattern = condition.partition(":")
        value = request.message.get(name)
        return value is not None and fnmatch.fnmatchcase(value, pattern or "*")

    def is_due(self, request):
        options = self.options
        if "total" in options and self.applied >= int(options["total"]):
            return False
        if "chance" in options and self.random.random() >= float(options["chance"]):
            return False
        if "skip" in options or "times" in options:
            index = self.seen[request.name] - int(options.get("skip", 0))
            self.seen[request.name] += 1
            if index < 0 or ("times" in options and index >= int(options["times"])):
                return False
        self.applied += 1
        return True


def parse_rules(text):
    lines = (line.strip() for line in text.splitlines())
    return [Rule(line) for line in lines if line and not line.startswith("#")]


# --- signatures ----------------------------------------------------------------------------------


class Signer:
    """AWS Signature Version 4, as far as a request has to be signed again."""

    def __init__(self, access_key, secret_key):
        self.access_key, self.secret_key = access_key, secret_key

    def sign(self, request):
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        message = request.message
        message.set("Authorization", None)
        message.set("x-amz-security-token", None)
        message.set("x-amz-date", stamp)
        if not message.get("x-amz-content-sha256"):
            message.set("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
        signed = {name.lower(): value for name, value in message.headers
                  if name.lower() == "host" or name.lower().startswith("x-amz-")}
        names = ";".join(sorted(signed))
        pairs = sorted(self.encode_pair(pair) for pair in request.query.split("&") if pair)
        canonical = "\n".join([
            request.method, request.path, "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{signed[name]}" for name in sorted(signed)), "", names,
            message.get("x-amz-content-sha256")])
        scope = f"{day}/us-east-1/s3/aws4_request"
        key = ("AWS4" + self.secret_key).encode()
        for word in scope.split("/"):
            key = hmac.digest(key, word.encode(), "sha256")
        digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
        to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}"
        signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
        message.set("Authorization", f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope}, "
                                     f"SignedHeaders={names}, Signature={signature}")

    @staticmethod
    def encode_pair(pair):
        name, _, value = pair.partition("=")
        return tuple(urllib.parse.quote(urllib.parse.unquote_to_bytes(part), safe="-_.~")
                     for part in (name, value))


def signing_time(request):
    stamp = request.message.get("x-amz-date")
    if not stamp:
        return None
    moment = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ")
    return moment.replace(tzinfo=datetime.timezone.utc).timestamp()


# --- answers of the proxy's own ------------------------------------------------------------------


def http_date(offset=0.0):
    return email.utils.formatdate(time.time() + offset, usegmt=True)


def plain_answer(status, body, headers=()):
    message = Message(f"HTTP/1.1 {status} -", [("Date", http_date()), *headers])
    message.set("Content-Length", str(len(body)))
    return message, body


def error_answer(request, status, code, text="", region="", date=0.0):
    body = ('<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{escape(code)}</Code><Message>{escape(text or code)}</Message>"
            + (f"<Region>{escape(region)}</Region>" if region else "")
            + "<RequestId>FAULT0000000001</RequestId><HostId>fault-proxy</HostId></Error>").encode()
    headers = [("Content-Type", "application/xml"), ("x-amz-request-id", "FAULT0000000001")]
    if region:
        headers.append(("x-amz-bucket-region", region))
    message, body = plain_answer(status, b"" if request.method == "HEAD" else body, headers)
    message.set("Date", http_date(date))
    return message, body


class SyntheticBucket:
    """Objects that are worked out when they are asked for."""

    MODIFIED = 1700000000

    def __init__(self, rule):
        self.count, self.size = int(rule.text("keys")), int(rule.text("size", "0"))
        self.prefix = rule.text("prefix")

    def key(self, index):
        return f"{self.prefix}{index:09d}.bin"

    def body(self, key):
        return (key.encode() * (self.size // len(key) + 1))[: self.size]

    @functools.cached_property
    def empty_etag(self):
        return hashlib.md5(b"").hexdigest()

    def etag(self, key):
        return hashlib.md5(self.body(key)).hexdigest() if self.size else self.empty_etag

    def first_from(self, text, after):
        """The index of the first key that is not before `text`, or behind it."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            key = self.key(middle)
            if key < text or (after and key == text):
                low = middle + 1
            else:
                high = middle
        return low

    def answer(self, request):
        return self.page(request) if request.is_list else self.object(request)

    def page(self, request):
        parameters = request.parameters()
        prefix, most = parameters.get("prefix", ""), int(parameters.get("max-keys", 1000))
        begin = max(self.first_from(prefix, False),
                    self.first_from(parameters.get("start-after", ""), True),
                    int(parameters.get("continuation-token", "0").removeprefix("from+/=")))
        keys = []
        for index in range(begin, min(begin + min(most, 1000) + 1, self.count)):
            if not self.key(index).startswith(prefix):
                break
            keys.append(self.key(index))
        more = len(keys) > min(most, 1000)
        keys = keys[: min(most, 1000)]
        modified = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.MODIFIED))
        parts = ['<?xml version="1.0" encoding="UTF-8"?>\n'
                 '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                 f"<Name>{escape(request.bucket)}</Name><Prefix>{escape(prefix)}</Prefix>"
                 f"<KeyCount>{len(keys)}</KeyCount><MaxKeys>{most}</MaxKeys>"
                 f"<EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>"]
        if more:  # characters in the token that have to be encoded
            parts.append("<NextContinuationToken>from+/="
                         f"{begin + len(keys)}</NextContinuationToken>")
        for key in keys:
            parts.append(f"<Contents><Key>{urllib.parse.quote_plus(key, safe='/')}</Key>"
                         f"<LastModified>{modified}</LastModified>"
                         f"<ETag>&quot;{self.etag(key)}&quot;</ETag><Size>{self.size}</Size>"
                         "<StorageClass>STANDARD</StorageClass></Contents>")
        parts.append("</ListBucketResult>")
        return plain_answer(200, "".join(parts).encode(), [("Content-Type", "application/xml")])

    def object(self, request):
        index = self.first_from(request.key, False)
        if index == self.count or self.key(index) != request.key:
            return error_answer(request, 404, "NoSuchKey")
        etag = f'"{self.etag(request.key)}"'
        if request.message.get("If-Match", etag) != etag:
            return error_answer(request, 412, "PreconditionFailed")
        body = self.body(request.key)
        headers = [("ETag", etag), ("Accept-Ranges", "bytes"),
                   ("Last-Modified", email.utils.formatdate(self.MODIFIED, usegmt=True))]
        if not request.message.get("Range"):
            return self.whole(request, 200, body, headers)
        first, last = request.range()
        if first >= len(body):
            return error_answer(request, 416, "InvalidRange")
        last = len(body) - 1 if last is None else min(last, len(body) - 1)
        headers.append(("Content-Range", f"bytes {first}-{last}/{len(body)}"))
        return self.whole(request, 206, body[first : last + 1], headers)

    @staticmethod
    def whole(request, status, body, headers):
        message, body = plain_answer(status, body, headers)
        return message, b"" if request.method == "HEAD" else body


# --- one connection ------------------------------------------------------------------------------


class Connection:
    """A client, and the connection to the server that goes with it."""

    def __init__(self, proxy, reader, writer):
        self.proxy, self.reader, self.writer = proxy, reader, writer
        self.upstream = None

    async def serve(self):
        while message := await read_message(self.reader):
            request = Request(message)
            if request.path.startswith(CONTROL):
                await self.control(request)
                continue
            self.proxy.count_request(request)
            try:
                if not await self.treat(request):
                    break
            finally:
                self.proxy.parallel -= 1

    def close(self):
        self.writer.close()
        self.close_upstream()

    def close_upstream(self):
        if self.upstream:
            self.upstream[1].close()
            self.upstream = None

    async def control(self, request):
        body = b"".join([piece async for piece in read_body(self.reader, request.message, False)])
        message, body = self.proxy.control(request, body.decode())
        self.writer.write(message.encode() + body)
        await self.writer.drain()

    async def treat(self, request):
        """False: the connection is not to be used again."""
        rules = collections.defaultdict(list)
        for rule in list(self.proxy.rules):
            if (rule.fault not in ANSWERS or not any(rules[fault] for fault in ANSWERS)) \
                    and rule.matches(request):
                rules[rule.fault].append(rule)
        for rule in rules["latency"]:
            await asyncio.sleep(rule.number("ms") / 1000)
        answer = self.own_answer(request, rules)
        if answer or rules["drop"]:
            async for _ in read_body(self.reader, request.message, False):
                pass
            if rules["drop"]:
                return await self.reset()
            return await self.send_own(request, rules, *answer)
        return await self.forward(request, rules)

    def own_answer(self, request, rules):
        for rule in rules["error"]:
            return error_answer(request, rule.text("status"), rule.text("code", "SlowDown"),
                                rule.text("message"), rule.text("region"), rule.number("date"))
        for rule in rules["error200"]:
            return error_answer(request, 200, rule.text("code", "InternalError"),
                                rule.text("message"))
        for rule in rules["list"]:
            return SyntheticBucket(rule).answer(request)
        for rule in rules["clock"]:
            signed, offset = signing_time(request), rule.number("seconds")
            if signed is not None and abs(signed - time.time() - offset) > MAX_SKEW:
                return error_answer(request, 403, "RequestTimeTooSkewed", date=offset)
        return None

    async def send_own(self, request, rules, message, body):
        async def pieces():
            if body:
                yield body

        return await self.send(request, rules, message, pieces())

    async def forward(self, request, rules):
        if rules["norange"]:
            request.message.set("Range", None)
        if rules["norange"] or rules["clock"] or rules["resign"]:
            self.proxy.signer.sign(request)
        reader, writer = await self.connect()
        writer.write(request.message.encode())
        upload = asyncio.create_task(self.upload(request, writer))
        try:
            while True:
                message = await read_message(reader)
                if message is None:
                    raise ConnectionError("the server closed the connection")
                if not message.first_line.split(" ")[1].startswith("1"):
                    break
                self.writer.write(message.encode())
                await self.writer.drain()
            status = message.first_line.split(" ")[1]
            bodyless = request.method == "HEAD" or status in ("204", "304")
            body = self.nothing() if bodyless else read_body(reader, message, True)
            keep = await self.send(request, rules, message, body)
        finally:
            if not upload.done():
                upload.cancel()
        if not keep or message.get("Connection", "").lower() == "close":
            self.close_upstream()
        return keep and upload.done() and not upload.cancelled()

    async def connect(self):
        if self.upstream is None or self.upstream[0].at_eof():
            self.close_upstream()
            self.upstream = await asyncio.open_connection(*self.proxy.upstream, limit=HEAD_LIMIT)
        return self.upstream

    async def upload(self, request, writer):
        async for piece in read_body(self.reader, request.message, False):
            writer.write(piece)
            await writer.drain()

    @staticmethod
    async def nothing():
        return
        yield  # makes it a generator

    # --- the answer --------------------------------------------------------------------------------

    async def send(self, request, rules, head, body):
        # The body is read as the server announced it, however it is announced from here on.
        message = Message(head.first_line, list(head.headers))
        status = message.first_line.split(" ")[1]
        self.proxy.statuses[status] += 1
        self.change_head(rules, message)
        framing = next((rule.text("framing", "length") for rule in rules["cut"]), "length")
        if framing != "length":
            message.set("Content-Length", None)
        if framing == "chunked":
            message.set("Transfer-Encoding", "chunked")
        if framing == "close":
            message.set("Transfer-Encoding", None)
            message.set("Connection", "close")
        chunked = "chunked" in message.get("Transfer-Encoding", "").lower()
        self.writer.write(message.encode())
        offset = request.range()[0] if status == "206" else 0
        async with contextlib.aclosing(body):
            if not await self.send_body(request, rules, body, chunked, offset):
                return False
        if chunked and request.method != "HEAD":
            self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()
        return framing != "close" and (chunked or message.get("Content-Length") is not None
                                       or status in ("204", "304"))

    def change_head(self, rules, message):
        for rule in rules["clock"]:
            message.set("Date", http_date(rule.number("seconds")))
        for rule in rules["shift"]:
            claimed = message.get("Content-Range")
            if claimed:
                span, _, size = claimed.removeprefix("bytes ").partition("/")
                first, last = (int(n) + int(rule.number("bytes", 1)) for n in span.split("-"))
                message.set("Content-Range", f"bytes {first}-{last}/{size}")
        for rule in rules["header"]:
            message.set(rule.text("name"), rule.options.get("value"))

    async def send_body(self, request, rules, body, chunked, offset):
        """False: the connection was ended."""
        events = self.events(rules)
        sent = 0
        async for piece in body:
            piece = self.corrupted(rules, piece, offset + sent)
            while piece:
                while events and sent >= events[0][0]:
                    if not await self.strike(request, events.pop(0)[1]):
                        return False
                take = min(len(piece), events[0][0] - sent) if events else len(piece)
                await self.send_piece(rules, piece[:take], chunked)
                sent += take
                piece = piece[take:]
        for _, rule in events:  # an empty body, or the very end
            if sent >= int(rule.number("after")) and not await self.strike(request, rule):
                return False
        return True

    @staticmethod
    def events(rules):
        striking = rules["stall"] + rules["overwrite"] + rules["cut"]
        return sorted(((int(rule.number("after")), rule) for rule in striking),
                      key=lambda event: event[0])

    @staticmethod
    def corrupted(rules, piece, offset):
        for rule in rules["corrupt"]:
            at = int(rule.text("at")) - offset
            if 0 <= at < len(piece):
                piece = piece[:at] + bytes([piece[at] ^ 0xFF]) + piece[at + 1 :]
        return piece

    async def send_piece(self, rules, piece, chunked):
        if not rules["bandwidth"]:
            await self.write(piece, chunked)
            return
        rate = min(rule.number("rate") for rule in rules["bandwidth"])
        step = max(1, min(CHUNK, int(rate / 50)))
        for begin in range(0, len(piece), step):
            part = piece[begin : begin + step]
            await self.write(part, chunked)
            for rule in rules["bandwidth"]:
                await self.wait_turn(rule, len(part))

    @staticmethod
    async def wait_turn(rule, size):
        seconds = size / rule.number("rate")
        if rule.text("shared") == "yes":
            now = time.monotonic()
            rule.free_at = max(rule.free_at, now) + seconds
            seconds = rule.free_at - now
        await asyncio.sleep(seconds)

    async def write(self, piece, chunked):
        if self.writer.is_closing():
            raise ClientGone
        self.writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        self.proxy.bytes += len(piece)
        await self.writer.drain()

    async def strike(self, request, rule):
        """A fault in mid-body. False: the connection is over."""
        await self.flush()
        if rule.fault == "stall":
            await self.stall(rule.number("seconds", 1e9))
            return True
        if rule.fault == "overwrite":
            await self.overwrite(request)
        return await (self.reset() if rule.text("how") == "reset" else self.finish())

    async def stall(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.reader.at_eof() or self.writer.is_closing():
                raise ClientGone
            await asyncio.sleep(0.02)

    async def flush(self):
        while self.writer.transport.get_write_buffer_size() and not self.writer.is_closing():
            await asyncio.sleep(0.001)

    async def finish(self):
        self.close_upstream()
        return False

    async def reset(self):
        await self.flush()
        await asyncio.sleep(0.01)  # what was sent arrives first
        connected = self.writer.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        return await self.finish()

    async def overwrite(self, request):
        """Puts as many bytes of another kind in the object's place."""
        head = await self.exchange(request, "HEAD", b"")
        size = int(head.get("Content-Length", "0"))
        await self.exchange(request, "PUT", os.urandom(1) * size)

    async def exchange(self, request, method, body):
        message = Message(f"{method} {request.path} HTTP/1.1", [
            ("Host", request.message.get("Host", "")), ("Connection", "close"),
            ("Content-Length", str(len(body)))])
        other = Request(message)
        self.proxy.signer.sign(other)
        reader, writer = await asyncio.open_connection(*self.proxy.upstream, limit=HEAD_LIMIT)
        writer.write(message.encode() + body)
        answer = await read_message(reader)
        writer.close()
        return answer


# --- the proxy -----------------------------------------------------------------------------------


class Proxy:
    def __init__(self, upstream, signer, rules):
        self.upstream, self.signer, self.rules = upstream, signer, rules
        self.parallel = 0
        self.tasks = set()
        self.reset_counts()

    def reset_counts(self):
        self.requests = collections.defaultdict(collections.Counter)
        self.methods, self.statuses = collections.Counter(), collections.Counter()
        self.bytes = self.connections = self.proxied = 0
        self.most_parallel = self.parallel

    def count_request(self, request):
        self.requests[request.name][request.method] += 1
        self.methods[request.method] += 1
        self.proxied += request.is_proxied
        self.parallel += 1
        self.most_parallel = max(self.most_parallel, self.parallel)

    def control(self, request, body):
        what = request.path.removeprefix(CONTROL)
        try:
            if what == "rules" and request.method in ("POST", "PUT"):
                rules = parse_rules(body)
                self.rules = rules if request.method == "PUT" else self.rules + rules
                return plain_answer(200, b"")
            if what == "rules" and request.method == "GET":
                text = "".join(f"{rule.applied} {rule.line}\n" for rule in self.rules)
                return plain_answer(200, text.encode())
            if what == "counts" and request.method == "GET":
                return plain_answer(200, json.dumps(self.counts()).encode() + b"\n")
            if what == "counts" and request.method == "DELETE":
                self.reset_counts()
                return plain_answer(200, b"")
        except (BadRule, ValueError) as error:
            return plain_answer(400, f"{error}\n".encode())
        return plain_answer(404, b"no such control\n")

    def counts(self):
        names = ("requests", "methods", "statuses", "bytes", "connections", "parallel",
                 "most_parallel", "proxied")
        return {name: getattr(self, name) for name in names}

    async def serve(self, reader, writer):
        self.connections += 1
        self.tasks.add(task := asyncio.current_task())  # the loop holds it but weakly
        task.add_done_callback(self.tasks.discard)
        connection = Connection(self, reader, writer)
        try:
            await connection.serve()
        except (ClientGone, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            connection.close()


async def run(arguments, rules):
    host, _, port = arguments.upstream.rpartition(":")
    proxy = Proxy((host, int(port)), Signer(arguments.access_key, arguments.secret_key), rules)
    tls = None
    if arguments.cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(arguments.cert, arguments.key)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", arguments.port, ssl=tls,
                                        limit=HEAD_LIMIT, backlog=1024)
    bound = server.sockets[0].getsockname()[1]
    if arguments.port_file:
        with open(arguments.port_file + ".new", "w") as file:
            file.write(f"{bound}\n")
        os.rename(arguments.port_file + ".new", arguments.port_file)
    else:
        print(bound, flush=True)
    async with server:
        await server.serve_forever()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file")
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--access-key", default=os.environ.get("AWS_ACCESS_KEY_ID", ""))
    parser.add_argument("--secret-key", default=os.environ.get("AWS_SECRET_ACCESS_KEY", ""))
    parser.add_argument("rules", nargs="*")
    arguments = parser.parse_args()
    try:
        rules = parse_rules("\n".join(arguments.rules))
    except (BadRule, ValueError) as error:
        sys.exit(f"fault_proxy.py: {error}")
    try:
        asyncio.run(run(arguments, rules))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
