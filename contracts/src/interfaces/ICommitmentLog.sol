// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDrandBeacon} from "./IDrandBeacon.sol";

/// @title The public order of rounds and commitments
/// @notice A round's record is posted before its work is assigned, the Merkle root of the commitments after it;
/// each once and never changed. What is re-executed is decided by randomness that comes later, of this chain or of a
/// drand chain, so nobody knows while committing which units will be checked.
interface ICommitmentLog {
    /// @notice The record of `round` of `jobId` is fixed.
    /// @param jobId The job.
    /// @param round The round, from 0.
    /// @param roundRecordHash Hash of the round record; commitments name it.
    event RoundPosted(bytes32 indexed jobId, uint64 indexed round, bytes32 roundRecordHash);
    /// @notice The commitments of `epoch` are fixed.
    /// @param epoch The settlement epoch.
    /// @param jobId The job.
    /// @param round The round that the epoch closes.
    /// @param commitmentsRoot Merkle root over the signed unit commitments.
    /// @param count How many commitments there are.
    event EpochPosted(
        uint64 indexed epoch,
        bytes32 indexed jobId,
        uint64 indexed round,
        bytes32 commitmentsRoot,
        uint32 count
    );
    /// @notice Somebody, usually a worker that the coordinator ignored, published a commitment.
    /// @param jobId The job.
    /// @param round The round.
    /// @param sender The publisher. The commitment carries its own signature.
    /// @param commitment The encoded and signed unit commitment.
    event CommitmentPosted(
        bytes32 indexed jobId, uint64 indexed round, address indexed sender, bytes commitment
    );

    /// @notice The record hash is zero.
    error ZeroHash();
    /// @notice The Merkle root is zero.
    error ZeroRoot();
    /// @notice The round has a record already.
    error RoundExists(bytes32 jobId, uint64 round);
    /// @notice The round has no record.
    error RoundUnknown(bytes32 jobId, uint64 round);
    /// @notice The epoch has a root already.
    error EpochExists(uint64 epoch);
    /// @notice The round was closed by another epoch already.
    error RoundClosed(bytes32 jobId, uint64 round, uint64 epoch);
    /// @notice The commitment is empty or longer than COMMITMENT_BYTES_MAX.
    error BadCommitmentLength(uint256 length);

    /// @notice Fixes the record of a round, once.
    /// @param jobId The job.
    /// @param round The round, from 0.
    /// @param roundRecordHash Not zero.
    function postRound(bytes32 jobId, uint64 round, bytes32 roundRecordHash) external;

    /// @notice Fixes the commitments of a round, once per epoch and once per round.
    /// @param epoch The settlement epoch, from 1.
    /// @param jobId The job.
    /// @param round A round that has a record.
    /// @param commitmentsRoot Never zero, even if there is no commitment.
    /// @param count How many commitments there are.
    function postEpoch(
        uint64 epoch,
        bytes32 jobId,
        uint64 round,
        bytes32 commitmentsRoot,
        uint32 count
    ) external;

    /// @notice Publishes a commitment, so that a coordinator cannot drop it unseen. Anyone may call.
    /// @param jobId The job.
    /// @param round A round that has a record.
    /// @param commitment 1 to COMMITMENT_BYTES_MAX bytes.
    function postCommitment(bytes32 jobId, uint64 round, bytes calldata commitment) external;

    /// @notice The record of a round.
    /// @param jobId The job.
    /// @param round The round.
    /// @return roundRecordHash Zero if it was not posted.
    /// @return epoch The epoch that closed it, 0 while open.
    function roundOf(bytes32 jobId, uint64 round)
        external
        view
        returns (bytes32 roundRecordHash, uint64 epoch);

    /// @notice The commitments of an epoch.
    /// @param epoch The epoch.
    /// @return commitmentsRoot Zero if it was not posted.
    /// @return count How many commitments there are.
    /// @return blockNumber The block of the post. Without beacon(), prevrandao of a later one draws.
    function epochOf(uint64 epoch)
        external
        view
        returns (bytes32 commitmentsRoot, uint32 count, uint64 blockNumber);

    /// @notice The source of the randomness that draws what is verified, for ever.
    /// @return The contract with the drand chain's beacons; zero: prevrandao of this chain draws.
    function beacon() external view returns (IDrandBeacon);

    /// @notice The beacon that draws the units of an epoch, where beacon() is not zero. It follows from the time of
    /// the epoch's block alone, so nobody chooses it.
    /// @param epoch The epoch.
    /// @return round The round of the drand chain; 0 if the epoch was not posted, or there is no beacon().
    /// @return randomness Of that round, zero until somebody has proven it.
    function drawOf(uint64 epoch) external view returns (uint64 round, bytes32 randomness);
}
