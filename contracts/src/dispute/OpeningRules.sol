// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

import {ICommitmentLog} from "../interfaces/ICommitmentLog.sol";
import {Facts, Frames, IDisputeErrors, OpeningResult} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";

/// @title What a game is opened with
/// @notice Reads a signed commitment and its round record, and says whether one contradicts the other (docs/PROTOCOL.md, "Bytes
/// that are hashed and signed"). Stateless but for the log that it believes.
contract OpeningRules {
    using Frames for Facts;

    uint256 private constant COMMITMENT_BYTES = 226;
    uint256 private constant RECORD_HEAD_BYTES = 400;
    uint256 private constant SLOT_BYTES = 28;
    uint256 private constant RECORD_BYTES_MAX = 65_536;
    uint256 private constant FORMAT = 1;
    uint256 private constant RECORD_FORMAT = 2;
    uint256 private constant TRAIN = 1;
    uint256 private constant SLOTS_MAX = 65_536;
    bytes32 private constant DOMAIN_TYPE = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant COMMITMENT_TYPE = keccak256(
        "UnitCommitment(uint8 kind,bytes32 roundRecord,uint32 slot,uint32 attempt,bytes32 recordsRoot,bytes32 finalStateRoot,uint16 deltaCodec,bytes32 deltaRoot,uint32 steps,uint64 tokens,uint64 flops)"
    );

    ICommitmentLog private immutable _LOG;
    uint256 private immutable _WINDOW_BLOCKS;

    /// @notice The round has no posted epoch, or the record is not the one that is posted.
    error NotPosted();
    /// @notice The slot is no worker's: such units are not decided here.
    error NotAWorkersUnit(uint256 slot);

    /// @dev A signed commitment, read.
    struct Commitment {
        uint256 kind;
        bytes32 roundRecord;
        uint256 slot;
        uint256 attempt;
        bytes32 recordsRoot;
        bytes32 finalStateRoot;
        uint256 deltaCodec;
        bytes32 deltaRoot;
        uint256 steps;
        uint256 tokens;
        uint256 flops;
    }

    /// @notice Fixes the log. @param log CommitmentLog. @param windowBlocks Blocks after an epoch's root in which games are opened.
    constructor(ICommitmentLog log, uint256 windowBlocks) {
        (_LOG, _WINDOW_BLOCKS) = (log, windowBlocks);
    }

    /// @notice The log and the window.
    function parameters() external view returns (address log, uint256 windowBlocks) {
        return (address(_LOG), _WINDOW_BLOCKS);
    }

    /// @notice See IDisputeGame.open.
    function open(
        bytes calldata commitment,
        bytes calldata record,
        uint32 index,
        bytes32[] calldata path,
        bytes32
    ) external view returns (OpeningResult memory result) {
        if (commitment.length != COMMITMENT_BYTES || _u(commitment, 0, 2) != FORMAT) {
            revert IDisputeErrors.Malformed(commitment.length);
        }
        Commitment memory c = _read(commitment);
        uint64 epoch = _epochOf(c.roundRecord, record);
        result.deadline = _checkEpoch(epoch, commitment, index, path);
        bytes32 digest = _digest(c);
        result.asserter = ECDSA.recover(digest, commitment[161:226]);
        // Somebody else's signature under the same words is another unit.
        result.unit = keccak256(abi.encode(digest, result.asserter));
        Facts memory facts = _facts(c, record);
        result.facts = keccak256(abi.encode(facts));
        result.fault = _contradiction(c, record, result.asserter);
    }

    function _read(bytes calldata data) private pure returns (Commitment memory c) {
        c.kind = _u(data, 2, 1);
        c.roundRecord = bytes32(_u(data, 3, 32));
        c.slot = _u(data, 35, 4);
        c.attempt = _u(data, 39, 4);
        c.recordsRoot = bytes32(_u(data, 43, 32));
        c.finalStateRoot = bytes32(_u(data, 75, 32));
        c.deltaCodec = _u(data, 107, 2);
        c.deltaRoot = bytes32(_u(data, 109, 32));
        c.steps = _u(data, 141, 4);
        c.tokens = _u(data, 145, 8);
        c.flops = _u(data, 153, 8);
    }

    /// @dev The record is the one of the commitment and of the chain, and its round has an epoch root.
    function _epochOf(bytes32 named, bytes calldata record) private view returns (uint64 epoch) {
        if (
            record.length < RECORD_HEAD_BYTES || record.length > RECORD_BYTES_MAX
                || _u(record, 0, 2) != RECORD_FORMAT
        ) {
            revert IDisputeErrors.Malformed(record.length);
        }
        bytes32 posted;
        (posted, epoch) = _LOG.roundOf(bytes32(_u(record, 2, 32)), uint64(_u(record, 34, 8)));
        bool known = posted == named && epoch != 0
            && sha256(abi.encodePacked("gym.round.v1", record)) == posted;
        if (!known) revert NotPosted();
    }

    /// @dev The commitment is under the epoch's root. @return deadline Last block of the window.
    function _checkEpoch(
        uint64 epoch,
        bytes calldata commitment,
        uint256 index,
        bytes32[] calldata path
    ) private view returns (uint256 deadline) {
        (bytes32 root, uint32 count, uint64 blockNumber) = _LOG.epochOf(epoch);
        bytes32 leaf = sha256(abi.encodePacked("gym.commitment.v1", commitment));
        MerkleSha256.verify(root, index, count, leaf, path);
        return blockNumber + _WINDOW_BLOCKS;
    }

    /// @dev What the worker signed (EIP-712).
    function _digest(Commitment memory c) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(DOMAIN_TYPE, keccak256("Gym"), keccak256("1"), block.chainid, address(_LOG))
        );
        bytes32 what = keccak256(abi.encode(COMMITMENT_TYPE, c));
        return keccak256(abi.encodePacked(hex"1901", domain, what));
    }

    function _facts(Commitment memory c, bytes calldata record)
        private
        pure
        returns (Facts memory facts)
    {
        facts.recordsRoot = c.recordsRoot;
        facts.finalStateRoot = c.finalStateRoot;
        facts.deltaRoot = c.deltaRoot;
        facts.jobSeed = bytes32(_u(record, 266, 32));
        facts.traceRoot = bytes32(_u(record, 298, 32));
        facts.initialStateRoot = bytes32(_u(record, 330, 32));
        facts.datasetRoot = bytes32(_u(record, 234, 32));
        facts.round = uint64(_u(record, 34, 8));
        facts.slot = uint32(c.slot);
        facts.steps = uint32(_u(record, 362, 4));
        facts.checkpointEvery = uint32(_u(record, 366, 4));
    }

    /// @dev 0, or 1 + the field that is not what the round fixes; in the order of IDisputeGame.open.
    function _contradiction(Commitment memory c, bytes calldata record, address asserter)
        private
        pure
        returns (uint256)
    {
        if (c.slot >= SLOTS_MAX) revert NotAWorkersUnit(c.slot);
        uint256 steps = _u(record, 362, 4);
        if (c.kind != TRAIN) return 1;
        if (_workerOf(record, c.slot) != asserter) return 2;
        if (c.deltaCodec != _u(record, 386, 2)) return 3;
        if (c.steps != steps) return 4;
        unchecked {
            // The engine counts modulo 2^64.
            // forge-lint: disable-next-line(unsafe-typecast)
            if (c.tokens != uint64(_u(record, 370, 8) * steps)) return 5;
            // forge-lint: disable-next-line(unsafe-typecast)
            if (c.flops != uint64(_u(record, 378, 8) * steps)) return 6;
        }
        bool zero = c.recordsRoot == 0 || c.finalStateRoot == 0 || c.deltaRoot == 0;
        return zero ? 7 : 0;
    }

    /// @dev Slots are in ascending order. @return worker 0 if the round has no such slot.
    function _workerOf(bytes calldata record, uint256 slot) private pure returns (address) {
        uint256 low = 0;
        uint256 high = _u(record, 396, 4);
        if (high > SLOTS_MAX) revert IDisputeErrors.Malformed(396);
        while (low < high) {
            uint256 middle = (low + high) / 2;
            uint256 offset = RECORD_HEAD_BYTES + middle * SLOT_BYTES;
            uint256 found = _u(record, offset, 4);
            if (found == slot) return address(uint160(_u(record, offset + 4, 20)));
            if (found < slot) low = middle + 1;
            else high = middle;
        }
        return address(0);
    }

    /// @dev A big-endian number of `size` bytes, 1 to 32.
    function _u(bytes calldata data, uint256 offset, uint256 size)
        private
        pure
        returns (uint256 x)
    {
        if (offset + size > data.length) {
            revert IDisputeErrors.Malformed(offset);
        }
        assembly ("memory-safe") {
            x := shr(sub(256, shl(3, size)), calldataload(add(data.offset, offset)))
        }
    }
}
