// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {PayoutTree} from "../PayoutTree.sol";

/// @title Pays rewards from one root of cumulative earnings per epoch
/// @notice The root is that of a Merkle-sum search tree (PayoutTree) whose sum is the stated total. A leaf is
/// keccak256(keccak256(abi.encode(chainid, this, token, earner, cumulative))). An earner is paid its amount under the active
/// root minus the amount it was paid before. A root becomes active after a delay; the root before it stays active until then.
/// In the delay the guardian may disable it, as may anybody who proves that an earner of the active root has less in it or is
/// left out. In the first half of the delay anybody may demand an earner's leaf of it, for a bond: a root that does not show each
/// demanded leaf, with no less than before, by the end of the delay never pays. So a settler can take from no earner what
/// the active root pays it, neither openly nor by keeping the tree to itself.
interface IRewardsDistributor {
    /// @notice A leaf with its path.
    /// @param earner The earner.
    /// @param cumulative Everything that the earner ever earned.
    /// @param path From the leaf up.
    struct Claim {
        address earner;
        uint256 cumulative;
        PayoutTree.Step[] path;
    }

    /// @notice A root as stored.
    /// @param epoch 0 if there is none.
    /// @param root The Merkle root of the earnings.
    /// @param totalCumulative The sum of all leaves.
    /// @param epochFileRoot Root of the published file of the epoch's credits.
    /// @param activeAt Unix seconds; type(uint64).max if it was disabled.
    struct RootInfo {
        uint64 epoch;
        bytes32 root;
        uint256 totalCumulative;
        bytes32 epochFileRoot;
        uint64 activeAt;
    }

    /// @notice A root was posted and becomes active at `activeAt` unless it is disabled.
    /// @param epoch Higher than every epoch before.
    /// @param root The Merkle root of the earnings.
    /// @param totalCumulative The sum of all leaves.
    /// @param epochFileRoot Root of the published file of the epoch's credits.
    /// @param activeAt Unix seconds.
    event RootSubmitted(
        uint64 indexed epoch,
        bytes32 root,
        uint256 totalCumulative,
        bytes32 epochFileRoot,
        uint64 activeAt
    );
    /// @notice The leaf of `earner` under the pending root of `epoch` has to be shown before the root is active.
    /// @param epoch The pending root's epoch.
    /// @param earner An earner of the active root.
    /// @param cumulative What the earner has under the active root, at least which the leaf must have.
    /// @param by Gets the bond back unless the leaf is shown.
    event LeafDemanded(
        uint64 indexed epoch, address indexed earner, uint256 cumulative, address by
    );
    /// @notice A demanded leaf was shown.
    /// @param epoch The pending root's epoch.
    /// @param earner Whose leaf it is.
    event LeafShown(uint64 indexed epoch, address indexed earner);
    /// @notice The root of `epoch` was disabled before it was active; it never pays.
    /// @param epoch The root's epoch.
    event RootDisabled(uint64 indexed epoch);
    /// @notice `earner` was paid.
    /// @param earner The earner.
    /// @param recipient The receiver of the tokens.
    /// @param amount The amount paid now, in base units of the token.
    /// @param cumulative The total ever paid, this payment included.
    event Claimed(
        address indexed earner, address indexed recipient, uint256 amount, uint256 cumulative
    );
    /// @notice `earner`'s rewards go to `recipient` from now on.
    /// @param earner The earner.
    /// @param recipient The receiver; zero stands for the earner itself.
    event RecipientSet(address indexed earner, address indexed recipient);
    /// @notice The most by which one root may exceed the root before it changed.
    /// @param limit In base units of the token.
    event GrowthLimitSet(uint256 limit);
    /// @notice Claims are paused until `until` at the latest.
    /// @param until Unix seconds.
    event ClaimsPaused(uint64 until);
    /// @notice Claims resume before the pause has run out.
    event ClaimsUnpaused();

    /// @notice An address that must not be zero is.
    error ZeroAddress();
    /// @notice A root is zero.
    error ZeroRoot();
    /// @notice A constructor parameter is beyond its bound.
    error DelayTooLong(uint64 delay, uint64 max);
    /// @notice The epoch is not higher than the last one.
    error EpochNotIncreasing(uint64 epoch, uint64 last);
    /// @notice The last root is not active yet; a cumulative root can cover several epochs.
    error RootPending(uint64 epoch, uint64 activeAt);
    /// @notice The total is below the active root's.
    error TotalDecreased(uint256 total, uint256 active);
    /// @notice The total exceeds the paid plus the held amount.
    error TotalNotFunded(uint256 total, uint256 funded);
    /// @notice The total exceeds the active root's by more than the limit.
    error GrowthLimitExceeded(uint256 growth, uint256 limit);
    /// @notice Claims were paused too lately: the admin can act from `earliest`.
    error ClaimsWerePaused(uint256 earliest);
    /// @notice Only a pending root of this epoch can be disabled.
    error NotPending(uint64 epoch);
    /// @notice A demand comes with a bond of another size.
    error WrongBond(uint256 sent, uint256 bond);
    /// @notice Leaves are demanded in the first half of the activation delay, until `latest`.
    error DemandTooLate(uint64 latest);
    /// @notice The leaf is demanded already, or the earner's leaf of this root was shown.
    error DemandedBefore(uint64 epoch, address earner);
    /// @notice Nobody demands this leaf, or the caller's demand of it is not open.
    error NotDemanded(uint64 epoch, address earner);
    /// @notice The earner has not less under the pending root than under the active one.
    error NotFallen(address earner, uint256 active, uint256 pending);
    /// @notice No root is active yet.
    error NoActiveRoot();
    /// @notice The path is longer than PATH_LENGTH_MAX or there are more than CLAIMS_MAX claims.
    error TooLong(uint256 length);
    /// @notice The leaf is not under the root, or the tree's sum is not the stated total.
    error InvalidProof(address earner, uint256 cumulative);
    /// @notice The earner was paid this much already.
    error NothingToClaim(address earner, uint256 claimed);
    /// @notice More would be paid in all than the active root's total.
    error ClaimsExceedTotal(uint256 claimed, uint256 total);
    /// @notice The distributor cannot be a recipient.
    error BadRecipient(address recipient);
    /// @notice Claims are paused.
    error ClaimsArePaused(uint64 until);
    /// @notice The next pause of claims is possible at `earliest`.
    error PauseTooSoon(uint64 earliest);
    /// @notice Claims are not paused.
    error ClaimsNotPaused();

    /// @notice Posts the root of everything earned up to `epoch`.
    /// @param epoch Higher than every epoch before.
    /// @param root Not zero.
    /// @param totalCumulative The sum of all leaves: not below the active root's, not above it by more than the
    /// growth limit, and not above the paid plus the held amount.
    /// @param epochFileRoot Not zero; root of the published file of the epoch's credits.
    function submitRoot(uint64 epoch, bytes32 root, uint256 totalCumulative, bytes32 epochFileRoot)
        external;

    /// @notice Disables the pending root of `epoch`.
    /// @param epoch The root's epoch.
    function disable(uint64 epoch) external;

    /// @notice Disables the root of `epoch` if it is pending and an earner has less under it than under the active
    /// root, or is not under it: earnings never fall. Anyone may call.
    /// @param epoch The pending root's epoch.
    /// @param active The earner's leaf under the active root.
    /// @param pending The leaf at which the same earner's path ends under the pending root: its own with less, or another's.
    function disableFallen(uint64 epoch, Claim calldata active, Claim calldata pending) external;

    /// @notice Demands that the pending root of `epoch` show an earner's leaf, in the first half of the activation delay. Anyone
    /// may call, and sends demandBond().
    /// @param epoch The pending root's epoch.
    /// @param active The earner's leaf under the active root.
    function demandLeaf(uint64 epoch, Claim calldata active) external payable;

    /// @notice Answers a demand while the root is pending, and gets its bond. Anyone may call.
    /// @param epoch The pending root's epoch.
    /// @param pending The demanded leaf, with no less than under the active root.
    function showLeaf(uint64 epoch, Claim calldata pending) external;

    /// @notice Gives the caller its bond back if the root of `epoch` was disabled or did not show the leaf in time, in which case it
    /// is marked as disabled.
    /// @param epoch The root's epoch.
    /// @param earner Whose leaf the caller demanded.
    function reclaimBond(uint64 epoch, address earner) external;

    /// @notice Pays `earner` its amount under the active root minus the amount paid before. Anyone may call.
    /// @param earner The earner.
    /// @param cumulative Everything that the earner ever earned, as in the leaf.
    /// @param path From the leaf up.
    /// @return amount The amount paid now.
    function claim(address earner, uint256 cumulative, PayoutTree.Step[] calldata path)
        external
        returns (uint256 amount);

    /// @notice Pays many earners; one that has nothing to claim is skipped, a wrong path reverts.
    /// @param claims At most CLAIMS_MAX.
    /// @return amount The sum paid now.
    function claimMany(Claim[] calldata claims) external returns (uint256 amount);

    /// @notice Has the caller's rewards paid to `recipient`.
    /// @param recipient Zero stands for the caller itself.
    function setRecipient(address recipient) external;

    /// @notice Sets the most by which one root may exceed the root before it.
    /// @param limit In base units of the token, below 2^128.
    function setGrowthLimit(uint256 limit) external;

    /// @notice Stops new roots. Claims continue.
    function pause() external;

    /// @notice Ends a pause of new roots.
    function unpause() external;

    /// @notice Stops claims for CLAIM_PAUSE_MAX at most; as long again must pass before the next pause.
    function pauseClaims() external;

    /// @notice Ends a pause of claims early.
    function unpauseClaims() external;

    /// @notice The token that is paid.
    function token() external view returns (address);

    /// @notice Seconds between the post of a root and its activity.
    function activationDelay() external view returns (uint64);

    /// @notice The most by which one root may exceed the root before it.
    function growthLimit() external view returns (uint256);

    /// @notice What a demand of a leaf is sent with, in the smallest unit of the chain's own coin.
    function demandBond() external pure returns (uint256);

    /// @notice Demands of leaves of the last root that are open.
    function openDemands() external view returns (uint256);

    /// @notice The highest epoch ever posted.
    function lastEpoch() external view returns (uint64);

    /// @notice The root that pays now; all zero if there is none.
    function activeRoot() external view returns (RootInfo memory);

    /// @notice The root that waits for its activation; all zero if there is none.
    function pendingRoot() external view returns (RootInfo memory);

    /// @notice Total ever paid to `earner`.
    /// @param earner Any account.
    function claimed(address earner) external view returns (uint256);

    /// @notice Total ever paid to all earners.
    function totalClaimed() external view returns (uint256);

    /// @notice Receiver of `earner`'s rewards.
    /// @param earner Any account.
    function recipientOf(address earner) external view returns (address);

    /// @notice Unix seconds until which claims are paused; in the past if they are not.
    function claimsPausedUntil() external view returns (uint64);

    /// @notice The leaf of `earner` with `cumulative` on this chain, contract and token.
    /// @param earner The earner.
    /// @param cumulative Everything that the earner ever earned.
    function leafOf(address earner, uint256 cumulative) external view returns (bytes32);
}
