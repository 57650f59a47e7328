// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Descriptors} from "../onestep/Descriptors.sol";
import {ICommitmentLog} from "../interfaces/ICommitmentLog.sol";
import {BigEndian} from "./BigEndian.sol";
import {Commitment, Commitments} from "./Commitments.sol";
import {
    Cursor,
    DataRequest,
    Frames,
    IDisputeErrors,
    OpeningResult,
    SlotProof,
    Stage,
    Wanted
} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {RoundRecords, SlotTerms} from "./RoundRecords.sol";

/// @title Games about data that somebody stands for and does not give
/// @notice docs/adr/0049-withheld-data-on-chain.md. Stateless but for the log that it believes.
abstract contract WithheldRules {
    using Commitments for Commitment;
    using Frames for Cursor;
    using Frames for DataRequest;
    using RoundRecords for bytes;

    /// @dev What is wanted, tensor, chunk.
    uint256 private constant HEAD_BYTES = 13;
    /// @dev Of an answer that shows a commitment: whether it is in the next epoch, and where.
    uint256 private constant PLACE_BYTES = 5;
    uint256 private constant RANK_MAX = 8;
    /// @dev Behind the fields of IDisputeGame.open.
    uint256 private constant ATTEMPT = 7;

    ICommitmentLog internal immutable _LOG;
    uint256 internal immutable _WINDOW_BLOCKS;
    /// @dev From the block in which a commitment is published to that of an epoch that has to have it.
    uint256 internal immutable _NOTICE_BLOCKS;

    /// @notice The round has no posted epoch, or the record is not the one that is posted.
    error NotPosted();
    /// @notice The slot is neither a worker's nor the aggregate's: such units are not decided here.
    error NotAWorkersUnit(uint256 slot);
    /// @notice The round's record lets no commitment into the next epoch.
    error TakesNoLate();
    /// @notice The commitment was not published, or fewer blocks before the epoch than the coordinator has to take it.
    error NotPublishedInTime(uint256 publishedAt, uint256 epochBlock);
    /// @notice Such data nobody stands for.
    error NotWanted(uint256 what);

    /// @notice Fixes the log. @param log CommitmentLog. @param windowBlocks Blocks after an epoch's root in which games are opened.
    /// @param notice Blocks before an epoch by which a published commitment has to be in it.
    constructor(ICommitmentLog log, uint256 windowBlocks, uint256 notice) {
        (_LOG, _WINDOW_BLOCKS, _NOTICE_BLOCKS) = (log, windowBlocks, notice);
    }

    /// @notice See IDisputeGame.openWithheld.
    function openWithheld(
        bytes calldata request,
        bytes calldata record,
        SlotProof calldata slot,
        uint32 index,
        bytes32[] calldata path,
        bytes32
    ) external view returns (OpeningResult memory result) {
        (, uint64 epoch) = _posted(record);
        if (epoch == 0) revert NotPosted();
        DataRequest memory r;
        if (request.length < HEAD_BYTES) revert IDisputeErrors.Malformed(request.length);
        r.what = uint8(request[0]);
        r.tensor = uint32(BigEndian.number(request, 1, 4));
        r.chunk = uint64(BigEndian.number(request, 5, 8));
        bytes calldata commitment = request[HEAD_BYTES:];
        if (r.what == Wanted.COMMITMENT) {
            if (index != 0) revert MerkleSha256.LeafOutside(index, 0);
            _checkNoPath(path);
            epoch = _askForCommitment(r, commitment, record, slot, epoch);
            result.asserter = _LOG.posterOf(epoch);
        } else if (r.what == Wanted.DELTA || r.what == Wanted.LATE_DELTA) {
            RoundRecords.checkEmpty(slot);
            if (r.what == Wanted.LATE_DELTA) epoch = _lateEpoch(record);
            _checkEpoch(epoch, commitment, index, path);
            result.asserter = _askForDelta(r, commitment, record);
        } else {
            RoundRecords.checkEmpty(slot);
            _checkNoPath(path);
            if (index != 0 || commitment.length != 0) revert IDisputeErrors.Malformed(index);
            r.root = _rootOf(r.what, record);
            result.asserter = _LOG.posterOf(epoch);
        }
        if (r.root == 0) revert MerkleSha256.ZeroRoot();
        result.facts = r.hash();
        result.unit = keccak256(abi.encode(result.facts, result.asserter));
        result.deadline = _deadline(epoch);
    }

    /// @notice See IDisputeMoves.showWithheld.
    function showWithheld(
        bytes32,
        Cursor calldata c,
        DataRequest calldata request,
        bytes calldata head,
        bytes calldata content,
        bytes32[] calldata path,
        bytes32[] calldata above
    ) external view returns (Cursor memory next) {
        c.expect(Stage.UNIT, false);
        c.check(request.hash());
        if (request.what == Wanted.COMMITMENT) _checkShown(request, head, content, path, above);
        else _checkChunk(request, head, content, path, above);
        next = c;
        // Nothing is left to prove.
        (next.answered, next.node) = (true, 0);
    }

    /// @dev A commitment that its round fixes, published in time for the epoch. @param epoch Of its round. @return behind The epoch that
    /// answers: the next round's, if that takes late ones.
    function _askForCommitment(
        DataRequest memory r,
        bytes calldata commitment,
        bytes calldata record,
        SlotProof calldata slot,
        uint64 epoch
    ) private view returns (uint64 behind) {
        if (r.tensor != 0 || r.chunk != 0) revert IDisputeErrors.Malformed(r.chunk);
        Commitment memory c = _commitmentOf(commitment, record);
        r.worker = Commitments.signer(commitment, c.digest(address(_LOG)));
        SlotTerms memory t = record.terms(c.slot, slot);
        uint256 fault = RoundRecords.contradiction(c, record, t, r.worker);
        // No coordinator takes another attempt.
        if (c.attempt != 0) fault = 1 + ATTEMPT;
        if (fault != 0) revert IDisputeErrors.BadRecord(fault - 1);
        behind = epoch;
        (r.root, r.leaves,) = _LOG.epochOf(epoch);
        if (record.takesLate()) {
            behind = _lateEpoch(record);
            (r.nextRoot, r.nextLeaves,) = _LOG.epochOf(behind);
        }
        r.leaf = Commitments.leaf(commitment);
        (r.roundRecord, r.slot) = (c.roundRecord, uint32(c.slot));
        uint256 publishedAt = _LOG.publishedAt(r.leaf);
        (,, uint64 epochBlock) = _LOG.epochOf(behind);
        if (publishedAt == 0 || publishedAt + _NOTICE_BLOCKS > epochBlock) {
            revert NotPublishedInTime(publishedAt, epochBlock);
        }
    }

    /// @return signer Of the commitment, who stands for its delta.
    function _askForDelta(DataRequest memory r, bytes calldata commitment, bytes calldata record)
        private
        view
        returns (address signer)
    {
        if (r.tensor != 0) revert IDisputeErrors.Malformed(r.tensor);
        Commitment memory c = _commitmentOf(commitment, record);
        r.root = c.deltaRoot;
        return Commitments.signer(commitment, c.digest(address(_LOG)));
    }

    /// @dev To a worker's unit of the record's round.
    function _commitmentOf(bytes calldata commitment, bytes calldata record)
        private
        pure
        returns (Commitment memory c)
    {
        c = Commitments.read(commitment);
        if (record.hash() != c.roundRecord) revert NotPosted();
        if (c.slot >= Commitments.WORKERS_SLOTS) revert NotAWorkersUnit(c.slot);
    }

    function _rootOf(uint256 what, bytes calldata record) private pure returns (bytes32) {
        if (what == Wanted.BASE) return record.baseRoot();
        if (what == Wanted.OUTER) return record.momentumRoot();
        if (what == Wanted.DATASET) return record.datasetRoot();
        revert NotWanted(what);
    }

    /// @dev The commitment is under the epoch's root, or another one of its worker to the same unit: then its worker is at fault.
    function _checkShown(
        DataRequest calldata r,
        bytes calldata place,
        bytes calldata commitment,
        bytes32[] calldata path,
        bytes32[] calldata above
    ) private view {
        _checkNoPath(above);
        if (place.length != PLACE_BYTES) revert IDisputeErrors.Malformed(place.length);
        bool inNext = place[0] != 0;
        bytes32 leaf = Commitments.leaf(commitment);
        MerkleSha256.verify(
            inNext ? r.nextRoot : r.root,
            BigEndian.number(place, 1, 4),
            inNext ? r.nextLeaves : r.leaves,
            leaf,
            path
        );
        if (leaf == r.leaf) return;
        Commitment memory c = Commitments.read(commitment);
        bool same = c.roundRecord == r.roundRecord && c.slot == r.slot
            && Commitments.signerOrNone(commitment, c.digest(address(_LOG))) == r.worker;
        if (!same) revert IDisputeErrors.WrongFrame();
    }

    /// @dev The chunk is under the root; or the tensor has fewer, or the state fewer tensors. @param head dtype, rank and dims of the
    /// tensor, as they are hashed; empty if it is none. @param above From the tensor to the root.
    function _checkChunk(
        DataRequest calldata r,
        bytes calldata head,
        bytes calldata content,
        bytes32[] calldata path,
        bytes32[] calldata above
    ) private view {
        bytes32 leaf;
        if (head.length != 0) leaf = _tensorOf(r.chunk, head, content, path);
        else leaf = _leafOf(r.what, content, path);
        // The number of leaves above is not asked for: a tensor's digest, the head of a dataset and the absent leaf are hashes of
        // other bytes than a node is, so each has one depth.
        uint256 index = r.tensor;
        if (r.what == Wanted.DELTA || r.what == Wanted.LATE_DELTA) _checkNoPath(above);
        else if (r.what == Wanted.DATASET && above.length > 1) _checkNoPath(above);
        bytes32 computed = MerkleSha256.ascend(index, leaf, above);
        if (computed != r.root) revert MerkleSha256.RootMismatch(computed, r.root);
    }

    /// @dev What is no tensor: the head of a dataset, or the absent leaf where a state has no tensor.
    function _leafOf(uint256 what, bytes calldata content, bytes32[] calldata path)
        private
        view
        returns (bytes32)
    {
        _checkNoPath(path);
        if (what == Wanted.DATASET) return MerkleSha256.chunkLeaf(content);
        bool absent = (what == Wanted.BASE || what == Wanted.OUTER) && content.length == 0;
        if (!absent) revert IDisputeErrors.Malformed(content.length);
        return MerkleSha256.ABSENT_LEAF;
    }

    /// @dev The digest of a tensor, from a chunk of it; or from its tree root (`path`) if it has no such chunk.
    function _tensorOf(
        uint256 chunk,
        bytes calldata head,
        bytes calldata content,
        bytes32[] calldata path
    ) private view returns (bytes32) {
        uint256 bytes_ = _sizeOf(head);
        uint256 chunks = (bytes_ + MerkleSha256.CHUNK_BYTES - 1) / MerkleSha256.CHUNK_BYTES;
        bytes32 treeRoot;
        if (chunk < chunks) {
            uint256 left = bytes_ - chunk * MerkleSha256.CHUNK_BYTES;
            uint256 length = left < MerkleSha256.CHUNK_BYTES ? left : MerkleSha256.CHUNK_BYTES;
            if (content.length != length) revert MerkleSha256.BadChunk(content.length);
            uint256 depth = MerkleSha256.depthOf(chunks);
            if (path.length != depth) revert MerkleSha256.BadProofLength(path.length, depth);
            treeRoot = MerkleSha256.ascend(chunk, MerkleSha256.chunkLeaf(content), path);
        } else {
            if (content.length != 0) revert MerkleSha256.BadChunk(content.length);
            if (path.length != 1) revert MerkleSha256.BadProofLength(path.length, 1);
            treeRoot = path[0];
        }
        return sha256(abi.encodePacked(uint8(2), head, treeRoot));
    }

    /// @dev Bytes of a tensor. @param head dtype (1), rank (1), dims (8 each).
    function _sizeOf(bytes calldata head) private pure returns (uint256 bytes_) {
        if (head.length < 2) revert IDisputeErrors.Malformed(head.length);
        uint256 rank = uint8(head[1]);
        bytes_ = Descriptors.sizeOf(uint8(head[0]));
        if (bytes_ == 0 || rank > RANK_MAX || head.length != 2 + 8 * rank) {
            revert IDisputeErrors.Malformed(head.length);
        }
        for (uint256 i = 0; i < rank; ++i) {
            bytes_ *= BigEndian.number(head, 2 + 8 * i, 8);
        }
    }

    function _checkNoPath(bytes32[] calldata path) private pure {
        if (path.length != 0) revert MerkleSha256.BadProofLength(path.length, 0);
    }

    /// @dev The record is posted. @return hash Of it. @return epoch Of its round; 0 while it has none.
    function _posted(bytes calldata record) internal view returns (bytes32 hash, uint64 epoch) {
        bytes32 computed = record.hash();
        (hash, epoch) = _LOG.roundOf(record.job(), record.round());
        if (computed != hash) revert NotPosted();
    }

    /// @dev The epoch of the round behind one that takes late commitments.
    function _lateEpoch(bytes calldata record) private view returns (uint64 epoch) {
        if (!record.takesLate()) revert TakesNoLate();
        epoch = _nextEpoch(record);
        if (epoch == 0) revert NotPosted();
    }

    /// @dev Epoch of the round after the record's; 0 while it has none.
    function _nextEpoch(bytes calldata record) internal view returns (uint64 epoch) {
        (, epoch) = _LOG.roundOf(record.job(), record.round() + 1);
    }

    /// @dev The commitment is under the epoch's root.
    function _checkEpoch(
        uint64 epoch,
        bytes calldata commitment,
        uint256 index,
        bytes32[] calldata path
    ) internal view {
        (bytes32 root, uint32 count,) = _LOG.epochOf(epoch);
        MerkleSha256.verify(root, index, count, Commitments.leaf(commitment), path);
    }

    /// @dev Last block of the window; there is none before the epoch.
    function _deadline(uint64 epoch) internal view returns (uint256) {
        if (epoch == 0) return type(uint256).max;
        (,, uint64 blockNumber) = _LOG.epochOf(epoch);
        return blockNumber + _WINDOW_BLOCKS;
    }
}
