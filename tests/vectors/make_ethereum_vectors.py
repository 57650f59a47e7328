#!/usr/bin/env python3
"""Writes ethereum.json: what Foundry's cast computes, for our own code to agree with.

Usage: python3 tests/vectors/make_ethereum_vectors.py   (after scripts/setup.sh, from the top folder)

Each vector holds the command that made it. The inputs come from a fixed seed; a second run writes the same file,
but for the keystore, whose salt and initial vector are random.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
CAST = "contracts/node_modules/@foundry-rs/cast-linux-amd64/bin/cast"
RNG = random.Random(20261121)


def cast(*arguments):
    done = subprocess.run([CAST, *arguments], cwd=TOP, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cast {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


def command(*arguments):
    return "cast " + " ".join(f"'{a}'" if set(a) & set(' "[](){}') or not a else a for a in arguments)


def rand_hex(size):
    return "0x" + RNG.randbytes(size).hex()


def keccak_vectors():
    out = []
    for size in (0, 1, 31, 32, 55, 56, 135, 136, 137, 300):
        text = rand_hex(size)
        out.append({"command": command("keccak", text), "input": text, "hash": cast("keccak", text)})
    return out


def key_vectors():
    out = []
    for i in range(8):
        key = "0x" + f"{1:064x}" if i == 0 else rand_hex(32)
        digest = rand_hex(32)
        sign = ("wallet", "sign", "--no-hash", "--private-key", key, digest)
        out.append({
            "command": command(*sign),
            "key": key,
            "address": cast("wallet", "address", "--private-key", key),
            "public_key": cast("wallet", "public-key", "--raw-private-key", key),
            "digest": digest,
            "signature": cast(*sign),
        })
    return out


def typed_data(domain, primary, members, message):
    fields = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
    types = {"EIP712Domain": [{"name": k, "type": v} for k, v in fields.items() if k in domain],
             **members}
    return {"types": types, "primaryType": primary, "domain": domain, "message": message}


def typed_vectors():
    contract = rand_hex(20)
    address = rand_hex(20)
    key = rand_hex(32)
    permit = typed_data(
        {"name": "Gym", "version": "1", "chainId": 31337, "verifyingContract": contract}, "Permit",
        {"Permit": [{"name": n, "type": t} for t, n in (
            ("address", "owner"), ("address", "spender"), ("uint256", "value"), ("uint256", "nonce"),
            ("uint256", "deadline"))]},
        {"owner": address, "spender": contract, "value": str(10**24 + 7), "nonce": "3",
         "deadline": "1893456000"})
    call = typed_data(
        {"name": "Gym", "version": "2"}, "Call",
        {"Call": [{"name": n, "type": t} for t, n in (
            ("string", "method"), ("uint64", "atMs"), ("bytes32", "nonce"), ("bytes", "payload"),
            ("bool", "last"), ("bytes32[]", "roots"))]},
        {"method": "Submit", "atMs": "1790000000123", "nonce": rand_hex(32), "payload": rand_hex(77),
         "last": True, "roots": [rand_hex(32), rand_hex(32)]})
    nested = typed_data(
        {"name": "Gym", "version": "1", "chainId": 1}, "Outer",
        {"Outer": [{"name": "id", "type": "uint64"}, {"name": "inner", "type": "Inner"}],
         "Inner": [{"name": "who", "type": "address"}, {"name": "empty", "type": "string"}]},
        {"id": "18446744073709551615", "inner": {"who": address, "empty": ""}})
    out = []
    for name, data in (("permit", permit), ("call", call), ("nested", nested)):
        sign = ("wallet", "sign", "--private-key", key, "--data", json.dumps(data))
        out.append({"name": name, "command": command(*sign), "key": key, "data": data,
                    "signature": cast(*sign)})
    return out


def rlp_vectors():
    cases = ["0x", "0x00", "0x7f", "0x80", rand_hex(55), rand_hex(56), rand_hex(300), [],
             ["0x", "0x01", ["0x02", []], rand_hex(40)], [rand_hex(30), rand_hex(25)],
             [rand_hex(200), [rand_hex(100), [rand_hex(3)]]]]
    out = []
    for case in cases:
        text = json.dumps(case) if isinstance(case, list) else case
        out.append({"command": command("to-rlp", text), "item": case, "encoded": cast("to-rlp", text)})
    return out


def abi_vectors():
    a, b = rand_hex(20), rand_hex(20)
    cases = [
        ("transfer(address,uint256)", [a, str(2**256 - 1)]),
        ("release(uint64,address[],uint256[])", ["7", f"[{a},{b}]", "[1,1000000000000000000]"]),
        ("release(uint64,address[],uint256[])", ["7", "[]", "[]"]),
        ("postCommitment(bytes32,uint64,bytes)", [rand_hex(32), "3", rand_hex(65)]),
        ("postCommitment(bytes32,uint64,bytes)", [rand_hex(32), "3", "0x"]),
        ("depositWithPermit(address,uint256,uint256,uint8,bytes32,bytes32)",
         [a, "5", "6", "27", rand_hex(32), rand_hex(32)]),
        ("claimMany((address,uint256,bytes32[])[])",
         [f"[({a},5,[{rand_hex(32)},{rand_hex(32)}]),({b},6,[])]"]),
        ("mixed(bool,string,bytes4,uint8[3],(bool,string)[2],bytes[][])",
         ["true", "a text longer than thirty-two bytes, for padding", "0x01020304", "[1,2,255]",
          "[(true,x),(false,yy)]", "[[0x01,0x0203],[],[0x]]"]),
        ("pair((uint64,bytes32),string)", [f"(9,{rand_hex(32)})", "plain"]),
    ]
    return [{"command": command("calldata", signature, *arguments), "signature": signature,
             "arguments": arguments, "encoded": cast("calldata", signature, *arguments)}
            for signature, arguments in cases]


def transaction_vectors():
    out = []
    for i in range(6):
        key = rand_hex(32)
        fields = {
            "chain_id": [1, 31337, 11155111][i % 3], "nonce": [0, 1, 127, 128, 2**32, 5][i],
            "priority_fee_wei": [0, 1, 10**9, 2 * 10**9, 3, 10**10][i],
            "fee_max_wei": [7, 10**10, 10**11, 2**70, 3, 10**11][i],
            "gas_limit": [21000, 30_000_000, 53_000, 100_000, 21_000, 128][i],
            "value_wei": [0, 1, 10**24, 0, 2**200, 255][i], "to": rand_hex(20) if i != 3 else None,
            "data": ["0x", "0x00", rand_hex(4), rand_hex(70), rand_hex(300), "0x7f"][i],
        }
        arguments = ["mktx", "--private-key", key, "--chain", str(fields["chain_id"]),
                     "--nonce", str(fields["nonce"]), "--gas-limit", str(fields["gas_limit"]),
                     "--gas-price", str(fields["fee_max_wei"]),
                     "--priority-gas-price", str(fields["priority_fee_wei"]),
                     "--value", str(fields["value_wei"])]
        arguments += [fields["to"], fields["data"]] if fields["to"] else ["--create", fields["data"]]
        raw = cast(*arguments)
        sender = cast("wallet", "address", "--private-key", key)
        created = ("compute-address", sender, "--nonce", str(fields["nonce"]))
        out.append({"command": command(*arguments), "key": key, **{k: str(v) if v is not None else None
                                                                  for k, v in fields.items()},
                    "raw": raw, "hash": cast("keccak", raw), "from": sender,
                    "created": cast(*created).split()[-1]})
    return out


def keystore_vector():
    key = rand_hex(32)
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("wallet", "import", "it", "--keystore-dir", folder, "--private-key", key,
                     "--unsafe-password", "correct horse")
        cast(*arguments)
        text = (pathlib.Path(folder) / "it").read_text()
    return {"command": command(*arguments).replace(folder, "FOLDER"), "key": key,
            "passphrase": "correct horse", "json": text}


vectors = {"origin": cast("--version").splitlines()[0], "keccak": keccak_vectors(), "keys": key_vectors(),
           "typed_data": typed_vectors(), "rlp": rlp_vectors(), "abi": abi_vectors(),
           "transactions": transaction_vectors(), "keystore": keystore_vector()}
path = TOP / "tests" / "vectors" / "ethereum.json"
path.write_text(json.dumps(vectors, indent=1) + "\n")
print(f"wrote {path.relative_to(TOP)}")
