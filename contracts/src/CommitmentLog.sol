// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {AdminTimelock} from "./AdminTimelock.sol";
import {DelayedRoles} from "./DelayedRoles.sol";
import {Commitment, Commitments} from "./dispute/Commitments.sol";
import {RoundRecords} from "./dispute/RoundRecords.sol";
import {ICommitmentLog} from "./interfaces/ICommitmentLog.sol";
import {IDrandBeacon} from "./interfaces/IDrandBeacon.sol";

/// @title The public order of rounds and commitments
/// @notice See ICommitmentLog.
contract CommitmentLog is ICommitmentLog, DelayedRoles {
    using Commitments for Commitment;
    using RoundRecords for bytes;

    /// @notice May postRound(), postAggregate() and postEpoch(), and signs aggregates.
    bytes32 public constant COORDINATOR_ROLE = keccak256("COORDINATOR_ROLE");

    struct Round {
        bytes32 recordHash;
        uint64 epoch;
        /// The block in which the aggregate was posted.
        uint64 aggregateBlock;
        bytes32 aggregate;
    }

    /// Two words: 131,072 commitments at most, and seconds until 2106.
    struct Epoch {
        bytes32 root;
        uint24 count;
        uint40 blockNumber;
        uint32 timestamp;
        address poster;
    }

    IDrandBeacon private immutable _BEACON;
    mapping(bytes32 jobId => mapping(uint64 round => Round)) private _rounds;
    mapping(uint64 epoch => Epoch) private _epochs;
    /// The block in which a commitment was published.
    mapping(bytes32 leaf => uint256) private _published;

    /// @notice Creates an empty log.
    /// @param timelock_ Holder of DEFAULT_ADMIN_ROLE: grants roles.
    /// @param coordinator Holder of COORDINATOR_ROLE.
    /// @param guardian Holder of GUARDIAN_ROLE: takes the coordinator's role away.
    /// @param beacon_ The drand chain that draws what is verified; zero: this chain's prevrandao does.
    constructor(
        AdminTimelock timelock_,
        address coordinator,
        address guardian,
        IDrandBeacon beacon_
    ) DelayedRoles(timelock_, guardian, 0) {
        _BEACON = beacon_;
        _grantRole(COORDINATOR_ROLE, coordinator);
    }

    /// @inheritdoc ICommitmentLog
    function postRound(bytes calldata head, bytes calldata origin)
        external
        onlyRole(COORDINATOR_ROLE)
    {
        bytes32 hash = head.hash();
        (bytes32 jobId, uint64 round) = (head.job(), head.round());
        if (round == 0) revert RoundZero();
        if (_rounds[jobId][round].recordHash != 0) revert RoundExists(jobId, round);
        bytes32 before = _rounds[jobId][round - 1].recordHash;
        if (round > 1 && before == 0) revert RoundUnknown(jobId, round - 1);
        if (head.previous() != before) revert NotTheRecordBefore(head.previous(), before);
        _checkOrigin(head, jobId, round, origin);
        _rounds[jobId][round].recordHash = hash;
        emit RoundPosted(jobId, round, hash);
    }

    /// @inheritdoc ICommitmentLog
    function postAggregate(bytes32 jobId, uint64 round, bytes calldata commitment)
        external
        onlyRole(COORDINATOR_ROLE)
    {
        Round storage target = _rounds[jobId][round];
        if (target.recordHash == 0) revert RoundUnknown(jobId, round);
        bool followed = _rounds[jobId][round + 1].recordHash != 0;
        if (followed && target.aggregate == 0) revert RoundExists(jobId, round + 1);
        _fixAggregate(jobId, round, commitment, Commitments.read(commitment));
    }

    /// @inheritdoc ICommitmentLog
    function postEpoch(
        uint64 epoch,
        bytes32 jobId,
        uint64 round,
        bytes32 commitmentsRoot,
        uint32 count
    ) external onlyRole(COORDINATOR_ROLE) {
        if (commitmentsRoot == 0) revert ZeroRoot();
        // Epoch 0 means "open" in a round.
        if (epoch == 0 || _epochs[epoch].root != 0) revert EpochExists(epoch);
        Round storage target = _rounds[jobId][round];
        if (target.recordHash == 0) revert RoundUnknown(jobId, round);
        if (target.epoch != 0) revert RoundClosed(jobId, round, target.epoch);
        if (count > type(uint24).max) revert TooManyCommitments(count);
        target.epoch = epoch;
        // Checked above.
        // forge-lint: disable-next-line(unsafe-typecast)
        uint24 count_ = uint24(count);
        _epochs[epoch] = Epoch(
            commitmentsRoot, count_, uint40(block.number), uint32(block.timestamp), msg.sender
        );
        emit EpochPosted(epoch, jobId, round, commitmentsRoot, count);
    }

    /// @inheritdoc ICommitmentLog
    function postCommitment(bytes32 jobId, uint64 round, bytes calldata commitment) external {
        Round storage target = _rounds[jobId][round];
        if (target.recordHash == 0) revert RoundUnknown(jobId, round);
        bytes32 named = Commitments.read(commitment).roundRecord;
        if (named != target.recordHash) revert NotOfTheRound(named);
        bytes32 leaf = Commitments.leaf(commitment);
        // The first post counts.
        if (_published[leaf] != 0) return;
        _published[leaf] = block.number;
        emit CommitmentPosted(jobId, round, msg.sender, commitment);
    }

    /// @inheritdoc ICommitmentLog
    function roundOf(bytes32 jobId, uint64 round)
        external
        view
        returns (bytes32 roundRecordHash, uint64 epoch)
    {
        Round storage target = _rounds[jobId][round];
        return (target.recordHash, target.epoch);
    }

    /// @inheritdoc ICommitmentLog
    function aggregateOf(bytes32 jobId, uint64 round)
        external
        view
        returns (bytes32 unit, uint64 blockNumber)
    {
        Round storage target = _rounds[jobId][round];
        return (target.aggregate, target.aggregateBlock);
    }

    /// @inheritdoc ICommitmentLog
    function epochOf(uint64 epoch)
        external
        view
        returns (bytes32 commitmentsRoot, uint32 count, uint64 blockNumber)
    {
        Epoch storage target = _epochs[epoch];
        return (target.root, target.count, target.blockNumber);
    }

    /// @inheritdoc ICommitmentLog
    function posterOf(uint64 epoch) external view returns (address) {
        return _epochs[epoch].poster;
    }

    /// @inheritdoc ICommitmentLog
    function publishedAt(bytes32 leaf) external view returns (uint256 blockNumber) {
        return _published[leaf];
    }

    /// @inheritdoc ICommitmentLog
    function beacon() external view returns (IDrandBeacon) {
        return _BEACON;
    }

    /// @inheritdoc ICommitmentLog
    function drawOf(uint64 epoch) external view returns (uint64 round, bytes32 randomness) {
        Epoch storage target = _epochs[epoch];
        if (target.root == 0 || address(_BEACON) == address(0)) return (0, 0);
        round = _BEACON.roundAfter(target.timestamp);
        randomness = _BEACON.randomnessOf(round);
    }

    /// @dev The record begins with what the round before ends with.
    function _checkOrigin(bytes calldata head, bytes32 jobId, uint64 round, bytes calldata origin)
        private
    {
        uint256 deltas = head.includedCount();
        bool made = round > 1 && origin.length == Commitments.BYTES;
        if (made != (deltas != 0)) revert WrongDeltas(deltas);
        if (made) {
            Commitment memory c = Commitments.read(origin);
            _fixAggregate(jobId, round - 1, origin, c);
            _checkStates(head, c.finalStateRoot, c.deltaRoot);
        } else if (round > 1) {
            // No aggregate was posted before, either: what it made would be the base state.
            Round storage previous = _rounds[jobId][round - 1];
            if (previous.aggregate != 0) {
                revert AggregateExists(jobId, round - 1, previous.aggregate);
            }
            if (origin.hash() != previous.recordHash) revert BadOrigin(origin.length);
            _checkStates(head, origin.baseRoot(), origin.momentumRoot());
        } else if (origin.length != 0) {
            revert BadOrigin(origin.length);
        }
    }

    function _checkStates(bytes calldata head, bytes32 baseRoot, bytes32 momentumRoot)
        private
        pure
    {
        bool same = head.baseRoot() == baseRoot && head.momentumRoot() == momentumRoot;
        if (!same) revert WrongBase();
    }

    /// @dev Once: games about it are opened from the first post on.
    function _fixAggregate(
        bytes32 jobId,
        uint64 round,
        bytes calldata commitment,
        Commitment memory c
    ) private {
        Round storage target = _rounds[jobId][round];
        bool its = c.kind == Commitments.AGGREGATE && c.slot == Commitments.AGGREGATE_SLOT
            && c.roundRecord == target.recordHash;
        if (!its) revert NotTheAggregate(c.roundRecord);
        bytes32 digest = c.digest(address(this));
        address signer = Commitments.signer(commitment, digest);
        bytes32 unit = keccak256(abi.encode(digest, signer));
        if (target.aggregate == unit) return;
        if (target.aggregate != 0) revert AggregateExists(jobId, round, target.aggregate);
        if (!hasRole(COORDINATOR_ROLE, signer)) revert NotACoordinator(signer);
        (target.aggregate, target.aggregateBlock) = (unit, uint64(block.number));
        emit AggregatePosted(jobId, round, signer, unit, commitment);
    }
}
