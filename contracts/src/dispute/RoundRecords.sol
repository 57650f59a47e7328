// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {BigEndian} from "./BigEndian.sol";
import {Commitment, Commitments} from "./Commitments.sol";
import {Facts, IDisputeErrors, OuterFacts} from "./DisputeTypes.sol";

/// @title Round records, which fix the terms of the units of their round
/// @notice docs/PROTOCOL.md, "Round record". Only hash() and what comes with it says whose record it is.
library RoundRecords {
    uint256 private constant HEAD_BYTES = 400;
    uint256 private constant SLOT_BYTES = 28;
    /// @dev A game about two records is opened by one transaction, for which nodes take 128 KiB.
    uint256 private constant BYTES_MAX = 60_928;
    uint256 private constant FORMAT = 2;

    /// @notice The part of it that is posted. Reverts if it is not a record.
    function hash(bytes calldata record) internal pure returns (bytes32) {
        bool legal = record.length >= HEAD_BYTES && record.length <= BYTES_MAX
            && BigEndian.number(record, 0, 2) == FORMAT;
        if (!legal) revert IDisputeErrors.Malformed(record.length);
        return sha256(abi.encodePacked("gym.round.v1", record));
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

    /// @notice The fixed terms of a train unit.
    function facts(Commitment memory c, bytes calldata record)
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
        f.datasetRoot = _digest(record, 234);
        f.round = round(record);
        f.slot = uint32(c.slot);
        f.steps = uint32(BigEndian.number(record, 362, 4));
        f.checkpointEvery = uint32(BigEndian.number(record, 366, 4));
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
    function contradiction(Commitment memory c, bytes calldata record, address asserter)
        internal
        pure
        returns (uint256)
    {
        uint256 steps = BigEndian.number(record, 362, 4);
        if (c.kind != Commitments.TRAIN) return 1;
        if (_workerOf(record, c.slot) != asserter) return 2;
        if (c.deltaCodec != _codec(record)) return 3;
        if (c.steps != steps) return 4;
        unchecked {
            // The engine counts modulo 2^64.
            // forge-lint: disable-next-line(unsafe-typecast)
            if (c.tokens != uint64(BigEndian.number(record, 370, 8) * steps)) return 5;
            // forge-lint: disable-next-line(unsafe-typecast)
            if (c.flops != uint64(BigEndian.number(record, 378, 8) * steps)) return 6;
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
        return BigEndian.number(record, 386, 2);
    }

    function _hasZero(Commitment memory c) private pure returns (bool) {
        return c.recordsRoot == 0 || c.finalStateRoot == 0 || c.deltaRoot == 0;
    }

    function _digest(bytes calldata record, uint256 offset) private pure returns (bytes32) {
        return bytes32(BigEndian.number(record, offset, 32));
    }

    /// @dev Slots are in ascending order. @return worker 0 if the round has no such slot.
    function _workerOf(bytes calldata record, uint256 slot) private pure returns (address) {
        uint256 low = 0;
        uint256 high = BigEndian.number(record, 396, 4);
        if (high > Commitments.WORKERS_SLOTS) revert IDisputeErrors.Malformed(396);
        while (low < high) {
            uint256 middle = (low + high) / 2;
            uint256 offset = HEAD_BYTES + middle * SLOT_BYTES;
            uint256 found = BigEndian.number(record, offset, 4);
            if (found == slot) return address(uint160(BigEndian.number(record, offset + 4, 20)));
            if (found < slot) low = middle + 1;
            else high = middle;
        }
        return address(0);
    }
}
