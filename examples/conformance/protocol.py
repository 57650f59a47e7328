"""docs/PROTOCOL.md in Python: names, records, commitments, sampling and reports."""
import struct

from ethereum import abi, domain, keccak, typed
from program import merkle_root, sha

COMMITMENT = ("UnitCommitment(uint8 kind,bytes32 roundRecord,uint32 slot,uint32 attempt,bytes32 recordsRoot,"
              "bytes32 finalStateRoot,uint16 deltaCodec,bytes32 deltaRoot,uint32 steps,uint64 tokens,uint64 flops)")
TRAIN, AGGREGATE = 1, 2
AGGREGATE_SLOT = 0xFFFFFFFF
STEPS = 2  # the stage of a game at which every unit's first answer leads on
HEAD = ("job round previous base momentum program aggregate_program evaluate_program dataset seed trace "
        "initial_state checkpoint_every tokens flops codec floor_ppm aggregate_ppm").split()


def signing_domain(chain_id, log):
    return domain("Gym", "1", chain_id, log)


def job_id(owner, key):
    return sha(b"gym.job.v1", owner, struct.pack(">I", len(key)), key)


def unit_id(job, round_, slot):
    return sha(b"gym.unit.v1", job, struct.pack(">QII", round_, slot, 0))


def encode_head(head, slots, included):
    """`head` by the names of HEAD; slots: (worker, rate, steps), by number; included: (slot, unit, delta root,
    whether it was held)."""
    out = struct.pack(">H32sQ", 3, head["job"], head["round"]) + b"".join(head[name] for name in HEAD[2:12])
    out += struct.pack(">IQQHII", *(head[name] for name in HEAD[12:]))
    slot_leaves = [sha(b"gym.slot_terms.v1", struct.pack(">I20sII", i, *s)) for i, s in enumerate(slots)]
    delta_leaves = [sha(b"gym.included_delta.v1", struct.pack(">I32s32s?", *d)) for d in included]
    out += struct.pack(">I32s", len(slots), merkle_root(slot_leaves))
    return out + struct.pack(">I32s", len(included), merkle_root(delta_leaves))


def decode_round_record(data):
    """@return head, its bytes, slots, included."""
    fields = struct.unpack_from(">H32sQ320sIQQHIII32sI32s", data)
    assert fields[0] == 3
    roots = [fields[3][i:i + 32] for i in range(0, 320, 32)]
    head = dict(zip(HEAD, (*fields[1:3], *roots, *fields[4:10])))
    slots = [struct.unpack_from(">20sII", data, 464 + 28 * i) for i in range(fields[10])]
    at = 464 + 28 * len(slots)
    included = [struct.unpack_from(">I32s32s?", data, at + 69 * i) for i in range(fields[12])]
    assert len(data) == at + 69 * len(included)
    assert encode_head(head, slots, included) == data[:464]
    return head, data[:464], slots, included


def record_hash(head_bytes):
    return sha(b"gym.round.v1", head_bytes)


def encode_commitment(fields, signature):
    """`fields` in the order of the EIP-712 struct."""
    return struct.pack(">HB32sII32s32sH32sIQQ", 1, *fields) + signature


def decode_commitment(data):
    assert len(data) == 226
    fields = struct.unpack_from(">HB32sII32s32sH32sIQQ", data)
    assert fields[0] == 1
    return fields[1:], data[161:]


def commitment_digest(domain_, fields):
    return typed(domain_, COMMITMENT, *fields)


def is_sampled(beacon, unit, rate_ppm):
    return int.from_bytes(sha(b"gym.sample.v1", beacon, unit)[:8], "big") * 10 ** 6 < rate_ppm << 64


def sampling_rate(valid_run, floor_ppm):
    return min(10 ** 6, max(floor_ppm, 10 ** 6 // max(1, valid_run)))


def verifier_of(beacon, unit, draw, worker, candidates):
    """`candidates`: (address, missed draws)."""
    rank = lambda c: (c[1], sha(b"gym.verifier.v1", beacon, unit, struct.pack(">I", draw), c[0]), c[0])
    return min((c for c in candidates if c[0] != worker), key=rank)[0]


def challenge_digest(domain_, beacon, unit):
    return typed(domain_, "TraceChallenge(bytes32 beacon,bytes32 unit)", beacon, unit)


def trace_at(signature, chunks):
    """What a report has as trace, of the chunk leaves of the unit's last step; of an aggregate, of its record's link."""
    word = lambda i: int.from_bytes(sha(b"gym.positions.v1", signature, struct.pack(">I", i))[:8], "big")
    return sha(b"gym.trace.v1", *(chunks[word(i) * len(chunks) >> 64] for i in range(64)))


def report_digest(beacon, unit, draw, verifier, records_root, final_state_root, delta_root, trace, signature, salt):
    return sha(b"gym.report.v1", beacon, unit, struct.pack(">I", draw), verifier, records_root, final_state_root,
               delta_root, trace, signature, salt)


def uptime_digest(domain_, node, nonce, issued_ms):
    return typed(domain_, "UptimeAnswer(address node,bytes32 nonce,uint64 issuedMs)", node, nonce, issued_ms)


# Names on chain.

def unit_on_chain(digest, signer):
    return keccak(abi(digest, signer))


def announcement(chain_id, game, sender, unit, salt):
    return keccak(abi(chain_id, game, sender, unit, salt))


def facts_hash(fields, head):
    """Of a train unit: `fields` of its commitment, `head` of its round record."""
    _, _, slot, _, records, final, _, delta, steps, _, _ = fields
    return keccak(abi(records, final, delta, head["seed"], head["trace"], head["initial_state"], head["dataset"],
                      head["round"], slot, steps, head["checkpoint_every"]))


def start_position(unit, facts):
    """The cursor of every game's first move: stage 1, not answered, the unit as node, the facts as frame."""
    return keccak(abi(1, 0, 0, 0, 0, unit, bytes(32), facts))
