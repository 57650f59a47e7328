// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {AdminTimelock} from "./AdminTimelock.sol";
import {DelayedRoles} from "./DelayedRoles.sol";
import {ICommitmentLog} from "./interfaces/ICommitmentLog.sol";
import {IDrandBeacon} from "./interfaces/IDrandBeacon.sol";

/// @title The public order of rounds and commitments
/// @notice See ICommitmentLog.
contract CommitmentLog is ICommitmentLog, DelayedRoles {
    /// @notice May postRound() and postEpoch().
    bytes32 public constant COORDINATOR_ROLE = keccak256("COORDINATOR_ROLE");
    /// @notice Most bytes in postCommitment().
    uint256 public constant COMMITMENT_BYTES_MAX = 1024;

    struct Round {
        bytes32 recordHash;
        uint64 epoch;
    }

    struct Epoch {
        bytes32 root;
        uint32 count;
        uint64 blockNumber;
        uint64 timestamp;
    }

    IDrandBeacon private immutable _BEACON;
    mapping(bytes32 jobId => mapping(uint64 round => Round)) private _rounds;
    mapping(uint64 epoch => Epoch) private _epochs;

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
    function postRound(bytes32 jobId, uint64 round, bytes32 roundRecordHash)
        external
        onlyRole(COORDINATOR_ROLE)
    {
        if (roundRecordHash == 0) revert ZeroHash();
        if (_rounds[jobId][round].recordHash != 0) revert RoundExists(jobId, round);
        _rounds[jobId][round].recordHash = roundRecordHash;
        emit RoundPosted(jobId, round, roundRecordHash);
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
        target.epoch = epoch;
        _epochs[epoch] =
            Epoch(commitmentsRoot, count, uint64(block.number), uint64(block.timestamp));
        emit EpochPosted(epoch, jobId, round, commitmentsRoot, count);
    }

    /// @inheritdoc ICommitmentLog
    function postCommitment(bytes32 jobId, uint64 round, bytes calldata commitment) external {
        if (commitment.length == 0 || commitment.length > COMMITMENT_BYTES_MAX) {
            revert BadCommitmentLength(commitment.length);
        }
        if (_rounds[jobId][round].recordHash == 0) revert RoundUnknown(jobId, round);
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
    function epochOf(uint64 epoch)
        external
        view
        returns (bytes32 commitmentsRoot, uint32 count, uint64 blockNumber)
    {
        Epoch storage target = _epochs[epoch];
        return (target.root, target.count, target.blockNumber);
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
}
