"""Ed25519 (RFC 8032, section 5.1), verification alone; it keeps no secret, so it may be slow."""
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def ed_add(a, b):
    """The sum of two points in extended coordinates."""
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return ((f - e) * (d - c) % P, (d + c) * (f + e) % P, (d - c) * (d + c) % P, (f - e) * (f + e) % P)


def ed_times(scalar, point):
    rest = ed_times(scalar >> 1, ed_add(point, point)) if scalar else (0, 1, 1, 0)
    return ed_add(rest, point) if scalar & 1 else rest


def ed_point(text):
    """The point that 32 bytes stand for, or None."""
    sign, y = divmod(int.from_bytes(text, "little"), 1 << 255)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x * ROOT % P if (x * x - square) % P else x
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P)


def ed_holds(key, message, signature, base=ed_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))):
    a, r, s = ed_point(key), ed_point(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(key) != 32 or len(signature) != 64 or a is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    left, right = ed_times(s, base), ed_add(r, ed_times(h, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0
