// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Vm} from "./Vm.sol";

/// What the commitment to an aggregate says that tests choose.
struct Made {
    uint8 kind;
    bytes32 roundRecord;
    uint32 slot;
    bytes32 base;
    bytes32 momentum;
}

/// Heads of round records, and aggregates that lead from one to the next.
library Heads {
    Vm private constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    bytes32 internal constant BASE = keccak256("first base");
    bytes32 internal constant MOMENTUM = keccak256("first momentum");

    /// Of round 1.
    function first(bytes32 job) internal pure returns (bytes memory) {
        return head(job, 1, 0, made(0, BASE, MOMENTUM), 0);
    }

    /// Of the round behind `before`'s, which begins with the states of `start`, made from `deltas` deltas.
    function next(bytes32 job, uint64 round, bytes memory before, Made memory start, uint32 deltas)
        internal
        pure
        returns (bytes memory)
    {
        return head(job, round, hash(before), start, deltas);
    }

    function head(bytes32 job, uint64 round, bytes32 previous, Made memory start, uint32 deltas)
        internal
        pure
        returns (bytes memory)
    {
        bytes memory roots = abi.encodePacked(previous, start.base, start.momentum);
        for (uint256 i = 0; i < 7; ++i) {
            roots = abi.encodePacked(roots, keccak256(abi.encode("root", i)));
        }
        bytes memory terms = abi.encodePacked(
            uint32(1), uint64(10), uint64(100), uint16(0), uint32(50_000), uint32(1_000_000)
        );
        bytes memory lists =
            abi.encodePacked(uint32(8192), keccak256("slots"), deltas, keccak256("deltas"));
        return abi.encodePacked(uint16(3), job, round, roots, terms, lists);
    }

    function hash(bytes memory record) internal pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.round.v1", record));
    }

    /// An aggregate of the round.
    function made(bytes32 roundRecord, bytes32 base, bytes32 momentum)
        internal
        pure
        returns (Made memory)
    {
        return Made(2, roundRecord, type(uint32).max, base, momentum);
    }

    function sign(address log, Made memory m, uint256 key) internal view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest(log, m));
        bytes memory front =
            abi.encodePacked(uint16(1), m.kind, m.roundRecord, m.slot, uint32(0), m.roundRecord);
        bytes memory back = abi.encodePacked(m.base, uint16(0), m.momentum, uint32(1), uint128(0));
        return abi.encodePacked(front, back, r, s, v);
    }

    /// EIP-712 domain separator of what is signed for a contract.
    function domain(address signedFor) internal view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256("Gym"),
                keccak256("1"),
                block.chainid,
                signedFor
            )
        );
    }

    function digest(address log, Made memory m) internal view returns (bytes32) {
        bytes32 commitment = keccak256(
            "UnitCommitment(uint8 kind,bytes32 roundRecord,uint32 slot,uint32 attempt,bytes32 recordsRoot,bytes32 finalStateRoot,uint16 deltaCodec,bytes32 deltaRoot,uint32 steps,uint64 tokens,uint64 flops)"
        );
        bytes memory front =
            abi.encode(commitment, m.kind, m.roundRecord, m.slot, uint256(0), m.roundRecord);
        bytes memory back = abi.encode(m.base, uint256(0), m.momentum, 1, uint256(0), uint256(0));
        return keccak256(
            abi.encodePacked(hex"1901", domain(log), keccak256(abi.encodePacked(front, back)))
        );
    }
}
