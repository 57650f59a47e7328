// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {ICommitmentLog} from "../interfaces/ICommitmentLog.sol";
import {Commitment, Commitments} from "./Commitments.sol";
import {OpeningResult, SlotProof} from "./DisputeTypes.sol";
import {RoundRecords, SlotTerms} from "./RoundRecords.sol";

/// @title Openings of games about verifiers' reports
/// @notice The rules of a DisputeGame whose asserters are verifiers (docs/adr/0045-verifiers-stake.md). A report says what a worker's
/// unit gives, in the words of a commitment, signed for the game that calls instead of the log. It is in no tree: its signer
/// stands for it. All later moves are those of games about units. Stateless but for the log that it believes.
contract ReportRules {
    using Commitments for Commitment;
    using RoundRecords for bytes;

    ICommitmentLog private immutable _LOG;
    uint256 private immutable _WINDOW_BLOCKS;

    /// @notice The round has no posted epoch, or the record is not the one that is posted.
    error NotPosted();
    /// @notice The slot is not a worker's: nobody stakes on reports about such units.
    error NotAWorkersUnit(uint256 slot);
    /// @notice The round's record lets no commitment into the next epoch.
    error TakesNoLate();
    /// @notice A report is in no tree.
    error InNoTree();
    /// @notice Such moves are not about reports.
    error NotAboutReports();

    /// A report has no place in a tree to show.
    modifier inNoTree(uint32 index, bytes32[] calldata path) {
        if (index != 0 || path.length != 0) revert InNoTree();
        _;
    }

    /// @notice Fixes the log. @param log CommitmentLog. @param windowBlocks Blocks after an epoch's root in which games are opened: longer
    /// than those in which its units are, since a report comes after the root.
    constructor(ICommitmentLog log, uint256 windowBlocks) {
        (_LOG, _WINDOW_BLOCKS) = (log, windowBlocks);
    }

    /// @notice Contradictions of two reports, and moves about aggregates: there are none.
    fallback() external {
        revert NotAboutReports();
    }

    /// @notice The log and the window.
    function parameters() external view returns (address log, uint256 windowBlocks) {
        return (address(_LOG), _WINDOW_BLOCKS);
    }

    /// @notice See IDisputeGame.open; index and path are empty.
    function open(
        bytes calldata report,
        bytes calldata record,
        SlotProof calldata slot,
        uint32 index,
        bytes32[] calldata path,
        bytes32
    ) external view inNoTree(index, path) returns (OpeningResult memory) {
        return _begin(report, record, slot, false);
    }

    /// @notice See IDisputeGame.openLate: the window is that of the next round's epoch, which takes late commitments, too.
    function openLate(
        bytes calldata report,
        bytes calldata record,
        SlotProof calldata slot,
        uint32 index,
        bytes32[] calldata path,
        bytes32
    ) external view inNoTree(index, path) returns (OpeningResult memory) {
        if (!record.takesLate()) revert TakesNoLate();
        return _begin(report, record, slot, true);
    }

    function _begin(
        bytes calldata report,
        bytes calldata record,
        SlotProof calldata slot,
        bool next
    ) private view returns (OpeningResult memory result) {
        Commitment memory c = Commitments.read(report);
        if (c.slot >= Commitments.WORKERS_SLOTS) revert NotAWorkersUnit(c.slot);
        result.deadline = _deadline(c, record, next);
        bytes32 digest = c.digest(msg.sender);
        result.asserter = Commitments.signer(report, digest);
        result.unit = keccak256(abi.encode(digest, result.asserter));
        SlotTerms memory t = record.terms(c.slot, slot);
        result.facts = keccak256(abi.encode(RoundRecords.facts(c, record, t)));
        // A verifier is not the slot's worker, and need not be: only a slot that the round does not have is a fault.
        result.fault = RoundRecords.contradiction(c, record, t, t.worker);
    }

    /// @dev Last block of the window. The record is posted, and the one that the report names.
    function _deadline(Commitment memory c, bytes calldata record, bool next)
        private
        view
        returns (uint256)
    {
        (bytes32 posted, uint64 epoch) = _LOG.roundOf(record.job(), record.round());
        if (posted != c.roundRecord || record.hash() != posted) revert NotPosted();
        if (next) (, epoch) = _LOG.roundOf(record.job(), record.round() + 1);
        if (epoch == 0) revert NotPosted();
        (,, uint64 blockNumber) = _LOG.epochOf(epoch);
        return blockNumber + _WINDOW_BLOCKS;
    }
}
