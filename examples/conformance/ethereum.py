"""Keccak-256, EIP-712, and the signer of a secp256k1 signature: what the protocol takes from Ethereum, in Python."""

MASK = (1 << 64) - 1


def rotate(x, n):
    return (x << n | x >> (64 - n)) & MASK if n else x


def round_constants():
    """From the linear feedback shift register of FIPS 202."""
    state, constants = 1, []
    for _ in range(24):
        constant = 0
        for j in range(7):
            if state & 1:
                constant |= 1 << ((1 << j) - 1)
            state = (state << 1) ^ (0x171 if state >> 7 & 1 else 0)
        constants.append(constant)
    return constants


CONSTANTS = round_constants()


def permute(a):
    """Keccak-f[1600] over a[x][y]."""
    for constant in CONSTANTS:
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        d = [c[(x + 4) % 5] ^ rotate(c[(x + 1) % 5], 1) for x in range(5)]
        a = [[a[x][y] ^ d[x] for y in range(5)] for x in range(5)]
        x, y, moving = 1, 0, a[1][0]
        for t in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            moving, a[x][y] = a[x][y], rotate(moving, (t + 1) * (t + 2) // 2 % 64)
        a = [[a[x][y] ^ (~a[(x + 1) % 5][y] & a[(x + 2) % 5][y]) for y in range(5)] for x in range(5)]
        a[0][0] ^= constant
    return a


def keccak(*parts):
    data = b"".join(parts)
    padding = 136 - len(data) % 136
    data += b"\x81" if padding == 1 else b"\x01" + bytes(padding - 2) + b"\x80"
    a = [[0] * 5 for _ in range(5)]
    for at in range(0, len(data), 136):
        for i in range(17):
            a[i % 5][i // 5] ^= int.from_bytes(data[at + 8 * i:at + 8 * i + 8], "little")
        a = permute(a)
    return b"".join(a[i % 5][i // 5].to_bytes(8, "little") for i in range(4))


def word(value):
    """A static value as abi.encode and EIP-712 have it: 32 bytes, right-aligned."""
    return (value.to_bytes(32, "big") if isinstance(value, int) else value.rjust(32, b"\0"))


def abi(*values):
    return b"".join(map(word, values))


def typed(domain, type_text, *values):
    """The digest that is signed: 0x1901, domain separator, hash of the struct."""
    return keccak(b"\x19\x01", domain, keccak(keccak(type_text.encode()), abi(*values)))


def domain(name, version, chain_id=None, contract=None):
    members, values = "string name,string version", [keccak(name.encode()), keccak(version.encode())]
    if chain_id is not None:
        members, values = members + ",uint256 chainId,address verifyingContract", values + [chain_id, contract]
    return keccak(keccak(f"EIP712Domain({members})".encode()), abi(*values))


P = 2 ** 256 - 2 ** 32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)


def plus(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    if a == b:
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(k, point):
    total = None
    while k:
        if k & 1:
            total = plus(total, point)
        point, k = plus(point, point), k >> 1
    return total


def signer(digest, signature):
    """The address whose key signed; None for a signature that no one may make."""
    r, s, v = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big"), signature[64]
    if not (0 < r < N and 0 < s <= N // 2 and v in (27, 28)):
        return None
    y = pow(r ** 3 + 7, (P + 1) // 4, P)
    if y * y % P != (r ** 3 + 7) % P:
        return None
    y = y if y % 2 == v - 27 else P - y
    inverse = pow(r, -1, N)
    key = plus(times(s * inverse % N, (r, y)), times(-int.from_bytes(digest, "big") * inverse % N, G))
    return keccak(key[0].to_bytes(32, "big"), key[1].to_bytes(32, "big"))[12:]
