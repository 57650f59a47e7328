// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDrandBeacon} from "./IDrandBeacon.sol";

/// @title The public order of rounds and commitments
/// @notice A round's record is posted before its work is assigned, the Merkle root of the commitments after it;
/// each once and never changed. A record begins with what the round before ends with: the result of the aggregate
/// that is posted with it or, where no deltas went in, the same state. What is re-executed is decided by randomness
/// that comes later, of this chain or of a drand chain, so nobody knows while committing which units will be checked.
interface ICommitmentLog {
    /// @notice The record of `round` of `jobId` is fixed.
    /// @param jobId The job.
    /// @param round The round, from 1.
    /// @param roundRecordHash Hash of the round record; commitments name it.
    event RoundPosted(bytes32 indexed jobId, uint64 indexed round, bytes32 roundRecordHash);
    /// @notice The aggregate of a round is fixed. Games about it are opened from here on, for a window.
    /// @param jobId The job.
    /// @param round The round whose record the aggregate names.
    /// @param signer The coordinator that stands for it.
    /// @param unit What games are about: keccak256(abi.encode(EIP-712 digest, signer)).
    /// @param commitment The signed commitment, 226 bytes.
    event AggregatePosted(
        bytes32 indexed jobId,
        uint64 indexed round,
        address indexed signer,
        bytes32 unit,
        bytes commitment
    );
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
    /// @notice Somebody, usually a worker that the coordinator ignored, published a commitment, which has to be in an epoch
    /// (IDisputeGame.openWithheld).
    /// @param jobId The job.
    /// @param round The round.
    /// @param sender The publisher. The commitment carries its own signature.
    /// @param commitment The signed commitment, 226 bytes.
    event CommitmentPosted(
        bytes32 indexed jobId, uint64 indexed round, address indexed sender, bytes commitment
    );

    /// @notice The Merkle root is zero.
    error ZeroRoot();
    /// @notice The round has a record already.
    error RoundExists(bytes32 jobId, uint64 round);
    /// @notice The round has no record.
    error RoundUnknown(bytes32 jobId, uint64 round);
    /// @notice Rounds are counted from 1.
    error RoundZero();
    /// @notice The record does not name the one that is posted for the round before.
    error NotTheRecordBefore(bytes32 named, bytes32 posted);
    /// @notice What is shown as the origin of the base state is neither of those that postRound() takes.
    error BadOrigin(uint256 length);
    /// @notice The record's base state or outer state is not what its origin gives.
    error WrongBase();
    /// @notice The record lists deltas without an aggregate, or none with one.
    error WrongDeltas(uint256 count);
    /// @notice The commitment is not to the aggregate of the round.
    error NotTheAggregate(bytes32 roundRecord);
    /// @notice Nobody with COORDINATOR_ROLE signed the aggregate.
    error NotACoordinator(address signer);
    /// @notice The round has another aggregate already.
    error AggregateExists(bytes32 jobId, uint64 round, bytes32 unit);
    /// @notice The epoch has a root already.
    error EpochExists(uint64 epoch);
    /// @notice The round was closed by another epoch already.
    error RoundClosed(bytes32 jobId, uint64 round, uint64 epoch);
    /// @notice An epoch has fewer commitments.
    error TooManyCommitments(uint256 count);
    /// @notice The commitment names the record of another round.
    error NotOfTheRound(bytes32 roundRecord);

    /// @notice Fixes the record of a round, once, and the aggregate that made its base state.
    /// @param head Head of the round's record (docs/PROTOCOL.md, "Round record"). From round 2 on it names the record that is
    /// posted for the round before.
    /// @param origin Where the base state is from. In round 1 nothing. Else the signed commitment to the aggregate of the round
    /// before, 226 bytes, whose result the record begins with; or, if no delta went in, the head of the record before, 464
    /// bytes, whose states the record has, too.
    function postRound(bytes calldata head, bytes calldata origin) external;

    /// @notice Fixes the aggregate of a round that no other one follows yet.
    /// @param jobId The job.
    /// @param round A round that has a record.
    /// @param commitment Signed by a coordinator, 226 bytes. Posting the same one again changes nothing.
    function postAggregate(bytes32 jobId, uint64 round, bytes calldata commitment) external;

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

    /// @notice Publishes a commitment: a coordinator that leaves it out of the epochs behind it loses its stake. Anyone may call; nothing
    /// but the round that it names is checked. Publishing it again changes nothing.
    /// @param jobId The job.
    /// @param round A round that has a record.
    /// @param commitment Signed, 226 bytes.
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

    /// @notice The aggregate of a round: what the base state of the next one is made by.
    /// @param jobId The job.
    /// @param round The round.
    /// @return unit Zero if it was not posted.
    /// @return blockNumber The block of the post.
    function aggregateOf(bytes32 jobId, uint64 round)
        external
        view
        returns (bytes32 unit, uint64 blockNumber);

    /// @notice The commitments of an epoch.
    /// @param epoch The epoch.
    /// @return commitmentsRoot Zero if it was not posted.
    /// @return count How many commitments there are.
    /// @return blockNumber The block of the post. Without beacon(), prevrandao of a later one draws.
    function epochOf(uint64 epoch)
        external
        view
        returns (bytes32 commitmentsRoot, uint32 count, uint64 blockNumber);

    /// @notice The coordinator that posted an epoch, and stands for it.
    /// @param epoch The epoch.
    /// @return Zero if it was not posted.
    function posterOf(uint64 epoch) external view returns (address);

    /// @notice When a commitment was published.
    /// @param leaf That it has in an epoch (docs/PROTOCOL.md).
    /// @return blockNumber Of the first postCommitment() with it; 0 if there was none.
    function publishedAt(bytes32 leaf) external view returns (uint256 blockNumber);

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
