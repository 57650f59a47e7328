// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {BigEndian} from "./BigEndian.sol";
import {Commitment, Commitments} from "./Commitments.sol";
import {Facts, IDisputeErrors, OuterFacts, SlotProof} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";

/// @notice What a round fixes for the unit of one slot. @param worker 0: the round has no such slot. @param steps Of the unit.
struct SlotTerms {
    address worker;
    uint256 steps;
}

/// @title Heads of round records, which fix the terms of the units of their round
/// @notice docs/PROTOCOL.md, "Round record". Only hash() and what comes with it says whose head it is.
library RoundRecords {
    uint256 internal constant HEAD_BYTES = 464;
    /// @dev Worker, sampling rate, steps.
    uint256 private constant SLOT_BYTES = 28;
    /// @dev Of every record; with the bits below added to it.
    uint256 private constant FORMAT = 3;
    /// @dev Of a round whose late commitments are in the epoch of the next one.
    uint256 private constant TAKES_LATE = 1;
    /// @dev Of a round whose aggregate subtracts deltas that were proven faulty.
    uint256 private constant SUBTRACTS = 2;

    /// @notice Its hash, which is posted. Reverts if it is not the head of a record.
    function hash(bytes calldata head) internal pure returns (bytes32) {
        if (head.length != HEAD_BYTES) revert IDisputeErrors.Malformed(head.length);
        uint256 format = BigEndian.number(head, 0, 2);
        if (format < FORMAT || format > FORMAT + TAKES_LATE + SUBTRACTS) {
            revert IDisputeErrors.Malformed(head.length);
        }
        return sha256(abi.encodePacked("gym.round.v1", head));
    }

    /// @notice Whether commitments to the round's units may be in the epoch of the next round.
    function takesLate(bytes calldata head) internal pure returns (bool) {
        return (BigEndian.number(head, 0, 2) - FORMAT) & TAKES_LATE != 0;
    }

    /// @notice Whether the round's aggregate subtracts deltas that were proven faulty.
    function subtracts(bytes calldata head) internal pure returns (bool) {
        return (BigEndian.number(head, 0, 2) - FORMAT) & SUBTRACTS != 0;
    }

    /// @notice Leaf of a delta that went in. @param held Of the round before the others. @param unit Its id in records.
    function includedLeaf(Commitment memory c, bool held, bytes32 unit)
        internal
        pure
        returns (bytes32)
    {
        // Below WORKERS_SLOTS.
        // forge-lint: disable-next-line(unsafe-typecast)
        uint32 slot = uint32(c.slot);
        return sha256(abi.encodePacked("gym.included_delta.v1", slot, unit, c.deltaRoot, held));
    }

    /// @notice Reverts unless the record has `leaf` in its list of included deltas. @param path From it to the list's root.
    function checkIncluded(
        bytes calldata head,
        bytes32 leaf,
        uint256 index,
        bytes32[] calldata path
    ) internal view {
        MerkleSha256.verify(_digest(head, 432), index, includedCount(head), leaf, path);
    }

    /// @notice The terms of a slot. @param proof Of the slot's leaf; empty if the round has no such slot. Reverts unless it is.
    function terms(bytes calldata head, uint256 slot, SlotProof calldata proof)
        internal
        view
        returns (SlotTerms memory t)
    {
        uint256 slots = BigEndian.number(head, 392, 4);
        if (slot >= slots) {
            checkEmpty(proof);
            return t;
        }
        if (proof.terms.length != SLOT_BYTES) {
            revert IDisputeErrors.Malformed(proof.terms.length);
        }
        // Below the number of slots, a uint32.
        // forge-lint: disable-next-line(unsafe-typecast)
        bytes32 leaf = sha256(abi.encodePacked("gym.slot_terms.v1", uint32(slot), proof.terms));
        MerkleSha256.verify(_digest(head, 396), slot, slots, leaf, proof.path);
        t.worker = address(uint160(BigEndian.number(proof.terms, 0, 20)));
        t.steps = BigEndian.number(proof.terms, 24, 4);
    }

    /// @notice Reverts if it proves anything.
    function checkEmpty(SlotProof calldata proof) internal pure {
        uint256 length = proof.terms.length + proof.path.length;
        if (length != 0) revert IDisputeErrors.Malformed(length);
    }

    function job(bytes calldata record) internal pure returns (bytes32) {
        return _digest(record, 2);
    }

    function round(bytes calldata record) internal pure returns (uint64) {
        return uint64(BigEndian.number(record, 34, 8));
    }

    /// @notice Hash of the record before.
    function previous(bytes calldata record) internal pure returns (bytes32) {
        return _digest(record, 42);
    }

    function baseRoot(bytes calldata record) internal pure returns (bytes32) {
        return _digest(record, 74);
    }

    function momentumRoot(bytes calldata record) internal pure returns (bytes32) {
        return _digest(record, 106);
    }

    function datasetRoot(bytes calldata record) internal pure returns (bytes32) {
        return _digest(record, 234);
    }

    /// @notice Number of deltas that the base state was made from.
    function includedCount(bytes calldata record) internal pure returns (uint256) {
        return BigEndian.number(record, 428, 4);
    }

    /// @notice The fixed terms of a train unit.
    function facts(Commitment memory c, bytes calldata record, SlotTerms memory t)
        internal
        pure
        returns (Facts memory f)
    {
        f.recordsRoot = c.recordsRoot;
        f.finalStateRoot = c.finalStateRoot;
        f.deltaRoot = c.deltaRoot;
        f.jobSeed = _digest(record, 266);
        f.traceRoot = _digest(record, 298);
        f.initialStateRoot = _digest(record, 330);
        f.datasetRoot = datasetRoot(record);
        f.round = round(record);
        f.slot = uint32(c.slot);
        // Four bytes of the leaf.
        // forge-lint: disable-next-line(unsafe-typecast)
        f.steps = uint32(t.steps);
        f.checkpointEvery = uint32(BigEndian.number(record, 362, 4));
    }

    /// @notice The fixed terms of an aggregate unit. @return f All but the epoch.
    function outerFacts(Commitment memory c, bytes calldata record)
        internal
        pure
        returns (OuterFacts memory f)
    {
        f.recordsRoot = c.recordsRoot;
        f.finalStateRoot = c.finalStateRoot;
        f.momentumAfter = c.deltaRoot;
        f.roundRecord = c.roundRecord;
        f.traceRoot = _digest(record, 298);
        f.baseRoot = baseRoot(record);
        f.momentumRoot = momentumRoot(record);
    }

    /// @notice 0, or 1 + the field of a worker's commitment that is not what the round fixes; in the order of IDisputeGame.open.
    function contradiction(
        Commitment memory c,
        bytes calldata record,
        SlotTerms memory t,
        address asserter
    ) internal pure returns (uint256) {
        if (c.kind != Commitments.TRAIN) return 1;
        if (t.worker == address(0) || t.worker != asserter) return 2;
        if (c.deltaCodec != _codec(record)) return 3;
        if (c.steps != t.steps) return 4;
        unchecked {
            // The engine counts modulo 2^64.
            // forge-lint: disable-next-line(unsafe-typecast)
            if (c.tokens != uint64(BigEndian.number(record, 366, 8) * t.steps)) return 5;
            // forge-lint: disable-next-line(unsafe-typecast)
            if (c.flops != uint64(BigEndian.number(record, 374, 8) * t.steps)) return 6;
        }
        return _hasZero(c) ? 7 : 0;
    }

    /// @notice The same of an aggregate's, whose FLOPs no record has; whoever signed stands for it.
    function outerContradiction(Commitment memory c, bytes calldata record)
        internal
        pure
        returns (uint256)
    {
        if (c.kind != Commitments.AGGREGATE) return 1;
        if (c.deltaCodec != _codec(record)) return 3;
        if (c.steps != 1) return 4;
        if (c.tokens != 0) return 5;
        return _hasZero(c) ? 7 : 0;
    }

    function _codec(bytes calldata record) private pure returns (uint256) {
        return BigEndian.number(record, 382, 2);
    }

    function _hasZero(Commitment memory c) private pure returns (bool) {
        return c.recordsRoot == 0 || c.finalStateRoot == 0 || c.deltaRoot == 0;
    }

    function _digest(bytes calldata record, uint256 offset) private pure returns (bytes32) {
        return bytes32(BigEndian.number(record, offset, 32));
    }
}
