// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {ICommitmentLog} from "../interfaces/ICommitmentLog.sol";
import {IDisputeGame} from "../interfaces/IDisputeGame.sol";
import {Commitment, Commitments} from "./Commitments.sol";
import {
    Cursor,
    Finding,
    Frames,
    IDisputeErrors,
    OpeningResult,
    OuterFacts,
    SlotProof,
    Stage
} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {RoundRecords, SlotTerms} from "./RoundRecords.sol";
import {WithheldRules} from "./WithheldRules.sol";

/// @title Evidence for openings, and contradictions in signed commitments
/// @notice Reads signed commitments and round records, and says whether one contradicts the other. Stateless but for the log that it
/// believes.
contract OpeningRules is WithheldRules {
    using Commitments for Commitment;
    using Frames for Cursor;
    using Frames for OuterFacts;
    using RoundRecords for bytes;

    /// @dev Fields of IDisputeGame.openConflict.
    uint256 private constant NEXT_RECORD = 7;
    uint256 private constant EQUIVOCATION = 8;
    /// @dev Elements of proveSigner, behind the fields of open.
    uint256 private constant NOBODY = 7;
    uint256 private constant NOT_TAKEN_LATE = 8;

    /// @dev Evidence of a withdrawn delta: commitment, unit, heads of the aggregate's own record and of the one that lists the delta.
    uint256 private constant OWN = Commitments.BYTES + 32;
    uint256 private constant LISTING = OWN + RoundRecords.HEAD_BYTES;
    uint256 private constant LISTING_END = LISTING + RoundRecords.HEAD_BYTES;

    /// @dev A withdrawn delta. @param root Of its bytes. @param leaf Of it in the list of those that went in.
    struct Withdrawn {
        bytes32 root;
        bytes32 leaf;
    }

    /// @notice The two commitments are not one signer's for the same unit of the same round.
    error NotTheSameUnit();
    /// @notice The second record is not the one behind the first.
    error NotTheNextRecord();
    /// @notice The aggregate's round subtracts no deltas.
    error SubtractsNone();

    /// @notice See WithheldRules.
    constructor(ICommitmentLog log, uint256 windowBlocks, uint256 notice)
        WithheldRules(log, windowBlocks, notice)
    {}

    /// @notice The log and the window.
    function parameters() external view returns (address log, uint256 windowBlocks) {
        return (address(_LOG), _WINDOW_BLOCKS);
    }

    /// @notice Blocks before an epoch by which a published commitment has to be in it.
    function noticeBlocks() external view returns (uint256) {
        return _NOTICE_BLOCKS;
    }

    /// @notice See IDisputeGame.open.
    function open(
        bytes calldata commitment,
        bytes calldata record,
        SlotProof calldata slot,
        uint32 index,
        bytes32[] calldata path,
        bytes32
    ) external view returns (OpeningResult memory result) {
        Commitment memory c = Commitments.read(commitment);
        uint64 epoch = _epochOf(c, record);
        result = _begin(c, commitment, epoch);
        if (c.slot != Commitments.AGGREGATE_SLOT) {
            if (c.slot >= Commitments.WORKERS_SLOTS) revert NotAWorkersUnit(c.slot);
            _checkEpoch(epoch, commitment, index, path);
            _addTerms(result, c, record, slot);
            return result;
        }
        result.deadline = _deadlineOfAggregate(record, epoch);
        // In no tree and no slot: the signature is the claim.
        RoundRecords.checkEmpty(slot);
        if (index != 0 || path.length != 0) revert MerkleSha256.BadProofLength(path.length, 0);
        result.facts = _outerFacts(c, record, epoch);
        result.fault = RoundRecords.outerContradiction(c, record);
    }

    /// @notice See IDisputeGame.openLate.
    function openLate(
        bytes calldata commitment,
        bytes calldata record,
        SlotProof calldata slot,
        uint32 index,
        bytes32[] calldata path,
        bytes32
    ) external view returns (OpeningResult memory result) {
        Commitment memory c = Commitments.read(commitment);
        _epochOf(c, record);
        if (!record.takesLate()) revert TakesNoLate();
        if (c.slot >= Commitments.WORKERS_SLOTS) revert NotAWorkersUnit(c.slot);
        uint64 epoch = _nextEpoch(record);
        result = _begin(c, commitment, epoch);
        _checkEpoch(epoch, commitment, index, path);
        _addTerms(result, c, record, slot);
    }

    /// @notice See IDisputeGame.openConflict.
    function openConflict(
        bytes calldata commitment,
        bytes calldata record,
        bytes calldata other,
        bytes32
    ) external view returns (OpeningResult memory result) {
        Commitment memory c = Commitments.read(commitment);
        uint64 epoch = _epochOf(c, record);
        bytes32 digest = c.digest(address(_LOG));
        result.asserter = Commitments.signer(commitment, digest);
        if (other.length == Commitments.BYTES) {
            bytes32 second = _otherDigest(c, other, result.asserter);
            if (second == digest) revert IDisputeErrors.NoFault();
            // One game whichever of the two is named first.
            if (second < digest) digest = second;
            // Either may be a late one.
            if (record.takesLate() && c.slot != Commitments.AGGREGATE_SLOT) {
                epoch = _nextEpoch(record);
            }
            result.fault = 1 + EQUIVOCATION;
        } else {
            epoch = _checkNext(c, record, other);
            result.fault = 1 + NEXT_RECORD;
        }
        result.unit = keccak256(abi.encode(digest, result.asserter));
        result.deadline = result.fault == 1 + EQUIVOCATION && c.slot == Commitments.AGGREGATE_SLOT
            ? _deadlineOfAggregate(record, epoch)
            : _deadline(epoch);
    }

    /// @notice See IDisputeMoves.proveSigner.
    function proveSigner(
        bytes32,
        Cursor calldata c,
        OuterFacts calldata facts,
        bytes calldata record,
        SlotProof calldata slot,
        bytes calldata commitment
    ) external view returns (Finding memory) {
        c.expect(Stage.INCLUDED, true);
        c.check(facts.hash());
        bytes32 round = c.height == 0 ? facts.roundRecord : facts.previousRecord;
        bool shown = Commitments.leaf(commitment) == c.node && record.hash() == round;
        if (!shown) revert IDisputeErrors.WrongFrame();
        // Whoever signed it: no commitment to that round is under the root.
        if (c.height == Frames.LATE && !record.takesLate()) return Finding(NOT_TAKEN_LATE, 0, 0);
        return Finding(_signerFault(commitment, record, slot), 0, 0);
    }

    /// @notice See IDisputeMoves.showIncluded: of a withdrawn delta. Nothing is left to prove about what it takes.
    function showIncluded(
        bytes32,
        Cursor calldata c,
        OuterFacts calldata facts,
        uint32 index,
        bytes calldata evidence,
        bytes32[] calldata path,
        bytes32[] calldata included,
        bool late
    ) external view returns (Cursor memory next) {
        c.expect(Stage.INCLUDED, false);
        c.check(facts.hash());
        bool withdrawn = c.height == Frames.WITHDRAWN || c.height == Frames.WITHDRAWN_HELD;
        if (!withdrawn || late) revert IDisputeErrors.WrongStage(c.stage);
        Withdrawn memory delta = _checkWithdrawn(c, facts.roundRecord, evidence);
        MerkleSha256.verify(c.node, c.index, c.leaves, delta.root, included);
        RoundRecords.checkIncluded(evidence[LISTING:], delta.leaf, index, path);
        next = c;
        (next.answered, next.node) = (true, 0);
    }

    /// @dev A worker's commitment to a unit that a game has proven wrong, of the round and the slot that a withdrawn delta is from.
    function _checkWithdrawn(Cursor calldata c, bytes32 roundRecord, bytes calldata evidence)
        private
        view
        returns (Withdrawn memory)
    {
        if (evidence.length != LISTING_END) revert IDisputeErrors.Malformed(evidence.length);
        bytes calldata commitment = evidence[:Commitments.BYTES];
        bytes calldata listing = evidence[LISTING:];
        _checkListing(evidence[OWN:LISTING], listing, roundRecord, uint256(c.twin) >> 16);
        Commitment memory shown = Commitments.read(commitment);
        bool held = c.height == Frames.WITHDRAWN_HELD;
        _checkRoundOf(shown, listing, held);
        bool same = shown.kind == Commitments.TRAIN && shown.slot == uint16(uint256(c.twin));
        if (!same) revert IDisputeErrors.BadRecord(shown.slot);
        _checkProven(shown, commitment);
        bytes32 unit = bytes32(evidence[Commitments.BYTES:OWN]);
        return Withdrawn(shown.deltaRoot, RoundRecords.includedLeaf(shown, held, unit));
    }

    /// @dev The posted record of the round after the one that a withdrawn delta went into. @param own That of the aggregate's round.
    /// @param age Rounds between those of the two aggregates.
    function _checkListing(
        bytes calldata own,
        bytes calldata listing,
        bytes32 roundRecord,
        uint256 age
    ) private view {
        if (own.hash() != roundRecord) revert IDisputeErrors.WrongFrame();
        if (!own.subtracts()) revert SubtractsNone();
        _posted(listing);
        bool listed = listing.job() == own.job()
            && uint256(listing.round()) + age == uint256(own.round()) + 1;
        if (!listed) revert NotTheNextRecord();
    }

    /// @dev The commitment is to the round of the deltas that a record lists, or to the one before.
    function _checkRoundOf(Commitment memory shown, bytes calldata listing, bool held)
        private
        view
    {
        (bytes32 round,) = _LOG.roundOf(listing.job(), listing.round() - (held ? 2 : 1));
        if (round != shown.roundRecord) revert NotPosted();
    }

    /// @dev The game that asks has seen a fault of the unit proven.
    function _checkProven(Commitment memory shown, bytes calldata commitment) private view {
        bytes32 digest = shown.digest(address(_LOG));
        bytes32 unit = keccak256(abi.encode(digest, Commitments.signer(commitment, digest)));
        if (IDisputeGame(msg.sender).unitOf(unit).provenAt == 0) {
            revert IDisputeGame.NotFaulty(unit);
        }
    }

    /// @dev What is wrong with a worker's commitment: NOBODY, or the field that the record contradicts.
    function _signerFault(bytes calldata commitment, bytes calldata record, SlotProof calldata slot)
        private
        view
        returns (uint256)
    {
        Commitment memory c = Commitments.read(commitment);
        address signer = Commitments.signerOrNone(commitment, c.digest(address(_LOG)));
        if (signer == address(0)) return NOBODY;
        uint256 fault = RoundRecords.contradiction(c, record, record.terms(c.slot, slot), signer);
        if (fault == 0) revert IDisputeErrors.NoFault();
        return fault - 1;
    }

    /// @dev The record is the one that the commitment names, and posted. @return epoch As above.
    function _epochOf(Commitment memory c, bytes calldata record)
        private
        view
        returns (uint64 epoch)
    {
        bytes32 hash;
        (hash, epoch) = _posted(record);
        if (hash != c.roundRecord) revert NotPosted();
    }

    /// @dev Names, asserter and window of a game. @param epoch That the commitment is in, or for an aggregate its round's.
    function _begin(Commitment memory c, bytes calldata commitment, uint64 epoch)
        private
        view
        returns (OpeningResult memory result)
    {
        if (epoch == 0) revert NotPosted();
        result.deadline = _deadline(epoch);
        bytes32 digest = c.digest(address(_LOG));
        result.asserter = Commitments.signer(commitment, digest);
        // Somebody else's signature under the same words is another unit.
        result.unit = keccak256(abi.encode(digest, result.asserter));
    }

    /// @dev What the record fixes for a worker's unit, and how the commitment contradicts it.
    function _addTerms(
        OpeningResult memory result,
        Commitment memory c,
        bytes calldata record,
        SlotProof calldata slot
    ) private view {
        SlotTerms memory t = record.terms(c.slot, slot);
        result.facts = keccak256(abi.encode(RoundRecords.facts(c, record, t)));
        result.fault = RoundRecords.contradiction(c, record, t, result.asserter);
    }

    /// @dev Last block of the window of the aggregate of the record's round: a game needs the epoch, and nobody has to have seen the aggregate before
    /// the log has it.
    function _deadlineOfAggregate(bytes calldata record, uint64 epoch)
        private
        view
        returns (uint256)
    {
        (, uint64 blockNumber) = _LOG.aggregateOf(record.job(), record.round());
        if (blockNumber == 0) return type(uint256).max;
        uint256 afterEpoch = _deadline(epoch);
        uint256 afterPost = blockNumber + _WINDOW_BLOCKS;
        return afterPost > afterEpoch ? afterPost : afterEpoch;
    }

    function _outerFacts(Commitment memory c, bytes calldata record, uint64 epoch)
        private
        view
        returns (bytes32)
    {
        OuterFacts memory facts = RoundRecords.outerFacts(c, record);
        (facts.epochRoot, facts.epochLeaves,) = _LOG.epochOf(epoch);
        _addPrevious(facts, record);
        return facts.hash();
    }

    /// @dev What held deltas are from: the record before, if it is posted, since nobody can challenge the units of another one.
    function _addPrevious(OuterFacts memory facts, bytes calldata record) private view {
        uint64 round = record.round();
        if (round < 2) return;
        (bytes32 hash, uint64 epoch) = _LOG.roundOf(record.job(), round - 1);
        if (epoch == 0 || hash != record.previous()) return;
        facts.previousRecord = hash;
        (facts.previousEpochRoot, facts.previousEpochLeaves,) = _LOG.epochOf(epoch);
    }

    /// @dev Another commitment of the same signer for the same unit. @return digest Possibly the same.
    function _otherDigest(Commitment memory c, bytes calldata data, address asserter)
        private
        view
        returns (bytes32 digest)
    {
        Commitment memory other = Commitments.read(data);
        digest = other.digest(address(_LOG));
        bool same = other.roundRecord == c.roundRecord && other.slot == c.slot
            && other.attempt == c.attempt && Commitments.signerOrNone(data, digest) == asserter;
        if (!same) revert NotTheSameUnit();
    }

    /// @dev The next record is posted and does not continue from the aggregate, or from another record than that of its round, which is
    /// posted, too. @return epoch Of the next round, or 0.
    function _checkNext(Commitment memory c, bytes calldata record, bytes calldata next)
        private
        view
        returns (uint64 epoch)
    {
        (, epoch) = _posted(next);
        bool follows = next.job() == record.job() && next.round() == uint256(record.round()) + 1;
        if (!follows) revert NotTheNextRecord();
        if (c.slot != Commitments.AGGREGATE_SLOT || c.kind != Commitments.AGGREGATE) {
            revert IDisputeErrors.BadRecord(c.kind);
        }
        bool same = next.previous() == c.roundRecord && next.baseRoot() == c.finalStateRoot
            && next.momentumRoot() == c.deltaRoot;
        if (same) revert IDisputeErrors.NoFault();
    }
}
