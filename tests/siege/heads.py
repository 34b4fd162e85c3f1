"""Heads that are not HTTP/1.1, or that two readers could read differently."""

NAMES = ("X", "Accept-Language", "User-Agent", "Referer", "Cookie", "Origin", "Via")


def good_lines(rng):
    lines = ["Host: t"] + [f"{rng.choice(NAMES)}-{n}: " + "v" * rng.randrange(1, 40)
                           for n in range(rng.randrange(6))]
    rng.shuffle(lines)
    return lines


def insert(rng, lines, *more):
    for line in more:
        lines.insert(rng.randrange(len(lines) + 1), line)


def in_a_value(rng, character):
    at = rng.randrange(1, 30)
    return "X: " + "a" * at + character + "a" * (31 - at)


def bad(rng):
    """The name of a defect, and a whole request that has it: behind it another may hide."""
    method = rng.choice(("GET", "POST"))
    target, version, end, body = rng.choice(("/healthz/live", "/v1/environments")), "HTTP/1.1", "\r\n", ""
    lines = good_lines(rng)
    defect = rng.choice(DEFECTS)
    first = None
    if defect == "control character":
        insert(rng, lines, in_a_value(rng, chr(rng.choice([c for c in range(1, 32) if c not in (9, 10, 13)]))))
    elif defect == "NUL in a value":
        insert(rng, lines, in_a_value(rng, "\0"))
    elif defect == "NUL in a name":
        insert(rng, lines, "X\0y: a")
    elif defect == "no Host":
        lines.remove("Host: t")
    elif defect == "two Hosts":
        insert(rng, lines, rng.choice(("Host: t", "host: other", "HOST: t")))
    elif defect == "space in a name":
        insert(rng, lines, rng.choice(("X y: a", "X : a", "X\t: a", " : a", ": a", "X(y): a", "X@: a")))
    elif defect == "no colon":
        insert(rng, lines, "X" * rng.randrange(1, 50))
    elif defect == "folded line":
        lines.insert(rng.randrange(1, len(lines) + 1), rng.choice(" \t") + "folded: v")
    elif defect == "line without CR":
        lines.insert(0, "X: a\nY: b")
    elif defect == "CR alone":
        insert(rng, lines, in_a_value(rng, "\r"))
    elif defect == "two lengths":
        method, body = "POST", "abcde"
        insert(rng, lines, "Content-Length: 5", f"Content-Length: {rng.choice((5, 6, 0))}")
    elif defect == "length and chunks":
        method, body = "POST", "0\r\n\r\n"
        insert(rng, lines, "Content-Length: 5", "Transfer-Encoding: chunked")
    elif defect == "chunks twice":
        method, body = "POST", "0\r\n\r\n"
        insert(rng, lines, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked")
    elif defect == "another coding":
        method, body = "POST", "0\r\n\r\n"
        insert(rng, lines, "Transfer-Encoding: " + rng.choice(
            ("xchunked", "gzip, chunked", "chunked, chunked", "identity", "chunked\0", "chunked;q=1")))
    elif defect == "length that is no number":
        method, body = "POST", "abcde"
        insert(rng, lines, "Content-Length: " + rng.choice(
            ("+5", "-5", "5, 5", "5 5", "0x5", "5.0", "18446744073709551616", "9" * 40, "five", "")))
    elif defect == "chunks in HTTP/1.0":
        method, version, body = "POST", "HTTP/1.0", "0\r\n\r\n"
        insert(rng, lines, "Transfer-Encoding: chunked")
    elif defect == "control character in the target":
        target += "?a" + chr(rng.choice([c for c in range(1, 32) if c not in (10, 13)])) + "b"
    elif defect == "NUL in the target":
        target += "\0x"
    elif defect == "space in the target":
        target += rng.choice((" x", " ", "  x y"))
    elif defect == "another version":
        version = rng.choice(("HTTP/2.0", "HTTP/0.9", "HTTP/11", "http/1.1", "XTTP/1.1", ""))
    elif defect == "too large":
        insert(rng, lines, "Y: " + "a" * rng.randrange(8200, 40000))
    elif defect == "too large, then framing":
        method, body = "POST", "0\r\n\r\n"
        lines += ["Y: " + "a" * rng.randrange(8180, 20000), "Content-Length: 5", "Transfer-Encoding: chunked"]
    elif defect == "no request line":
        first = rng.choice(("", "GET", "\0\0\0\0", "GET /", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "PRI * HTTP/2.0"))
    elif defect == "method that is no token":
        method = rng.choice(("GE\0T", "G(T", "GET,", "\x01GET", "\xffGET"))
    first = f"{method} {target} {version}" if first is None else first
    return defect, (first + end + end.join(lines) + end + end + body).encode("latin-1")


DEFECTS = (
    "control character", "NUL in a value", "NUL in a name", "no Host", "two Hosts", "space in a name",
    "no colon", "folded line", "line without CR", "CR alone", "two lengths", "length and chunks",
    "chunks twice", "another coding", "length that is no number", "chunks in HTTP/1.0",
    "control character in the target", "NUL in the target", "space in the target", "another version",
    "too large", "too large, then framing", "no request line", "method that is no token")


def hidden(token):
    """A request that must never be taken for one."""
    return f"GET /v1/teachers HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def was_heard(got):
    """GOT: all that the server sent until it closed, or None where it did not close. True: it took
    something of that for a request it may serve."""
    return got is None or any(got.startswith(b"HTTP/1.1 2", at) for at in find_all(got, b"HTTP/1.1 "))


def find_all(text, word):
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)
