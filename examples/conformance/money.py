"""docs/LEDGER.md and docs/REWARDS.md in Python: seals, proofs of transfers, epoch files, payout trees."""
import json
import struct

from ethereum import abi, domain, keccak, typed
from program import fold, sha

TRANSFER_KINDS = ("transfer", "pending", "post", "void", "expire")
LEDGER = domain("Gym ledger", "1")


def text(value):
    data = value.encode()
    return struct.pack(">I", len(data)) + data


def uuid(value):
    return bytes.fromhex(value.replace("-", ""))


def optional(value, encode):
    return b"\x00" if value is None else b"\x01" + encode(value)


def i64(value):
    return struct.pack(">q", value)


def account_digest(account):
    return sha(b"gym.account.v1", i64(account["id"]), text(account["owner"]), text(account["asset"]),
               text(account["kind"]))


def transfer_leaf(t):
    """Of a transfer as proofs have it."""
    entry = lambda e: i64(e["version"]) + text(e["balance_after"])
    return sha(b"gym.transfer.v1", struct.pack(">Q", t["seq"]), uuid(t["id"]), bytes([TRANSFER_KINDS.index(t["kind"])]),
               account_digest(t["debit"]), account_digest(t["credit"]), int(t["amount"]).to_bytes(32, "big"),
               optional(t.get("pending"), uuid), optional(t.get("expires_at_ms"), i64), optional(t.get("group"), uuid),
               optional(t.get("debit_entry"), entry), optional(t.get("credit_entry"), entry), text(t["reason"]),
               i64(t["created_at_us"]))


def fingerprint(t):
    """Of what was asked for: a resolution names its pending transfer alone."""
    asked = ["", "", ""] if "pending" in t else [t["debit"]["id"], t["credit"]["id"], t["amount"]]
    rest = [t.get("pending", ""), t.get("expires_at_ms", ""), t.get("group", ""), t["reason"]]
    return sha("|".join(map(str, (t["kind"], *asked, *rest))).encode())


def seal_hash(seal):
    digest = lambda name: bytes.fromhex(seal[name][2:])
    numbers = [seal[name] for name in ("number", "first_seq", "last_seq", "transfers")]
    return sha(b"gym.seal.v1", struct.pack(">4Q", *numbers), digest("root"), digest("previous"),
               i64(seal["sealed_at_ms"]), digest("signer"))


def seal_digest(seal, hash_):
    return typed(LEDGER, "LedgerSeal(uint64 number,bytes32 hash)", seal["number"], hash_)


def proven_root(proof):
    """The root that the proof's transfer and path lead to; it must be the seal's."""
    path = [bytes.fromhex(s[2:]) for s in proof["siblings"]]
    assert proof["format"] == "gym.ledger_proof.v1"
    assert len(path) == (proof["seal"]["transfers"] - 1).bit_length() and proof["index"] < proof["seal"]["transfers"]
    return fold(transfer_leaf(proof["transfer"]), proof["index"], path)


# Payouts.

def payout_leaf(file, payout):
    address = lambda name: bytes.fromhex(name[2:])
    return keccak(keccak(abi(file["chain_id"], address(file["distributor"]), address(file["token"]),
                             address(payout["earner"]), int(payout["cumulative"]))))


def payout_node(left, pivot, right):
    """Nodes are pairs of a hash and the sum of the leaves below it; earners below the pivot are on the left."""
    return keccak(abi(*left, pivot, *right)), left[1] + right[1]


def payout_levels(file):
    levels = [[(payout_leaf(file, p), int(p["cumulative"])) for p in file["payouts"]]]  # ascending by earner
    while len(levels[-1]) > 1:
        last, height = levels[-1], len(levels) - 1
        levels.append([payout_node(last[i], first_earner(file, (i + 1) << height), last[i + 1])
                       if i + 1 < len(last) else last[i] for i in range(0, len(last), 2)])
    return levels


def first_earner(file, index):
    return bytes.fromhex(file["payouts"][index]["earner"][2:])


def payout_path(file, levels, index):
    """From the leaf up: the sibling, and the first earner of the right side."""
    return [(level[(index >> k) ^ 1], first_earner(file, (index >> k | 1) << k))
            for k, level in enumerate(levels) if (index >> k) ^ 1 < len(level)]


def fold_payout(leaf, earner, path):
    for sibling, pivot in path:
        leaf = payout_node(leaf, pivot, sibling) if earner < pivot else payout_node(sibling, pivot, leaf)
    return leaf


def canonical(file):
    """An epoch file's only form: keys sorted, no spaces."""
    return json.dumps(file, sort_keys=True, separators=(",", ":"))


def amount_of(credit):
    """The formula of a credit's kind over its inputs (docs/REWARDS.md)."""
    i = {name: int(value) for name, value in credit["inputs"].items()}
    kind, million = credit["kind"], 10 ** 6
    if kind == "compute":
        return i["flops"] * i["price"] // 10 ** 15
    if kind == "verification":
        return i["flops"] * i["price"] * i["premium_ppm"] // 10 ** 21
    if kind == "data":
        return i["tokens"] * i["price"] * i["quality_ppm"] // 10 ** 12
    if kind == "uptime":
        above = min(max(i["uptime_ppm"] - 950000, 0), 50000)
        return i["compute"] * (i["bonus_max_ppm"] * above // 50000) // million
    if kind == "emission":
        return i["burned"] * i["emission_ppm"] // million * i["compute"] // i["compute_total"]
    fee = i["charged"] * i["fee_ppm"] // million
    burned, rest = divmod(fee * i["burned_ppm"], million)
    burned += rest > 0 and 2 * rest >= million  # largest remainder of two parts; of equal ones the burned part
    return burned if kind == "burn" else fee - burned
