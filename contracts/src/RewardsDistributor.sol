// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    AccessControlDefaultAdminRules
} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IRewardsDistributor} from "./interfaces/IRewardsDistributor.sol";

/// @title Pays rewards from one Merkle root of cumulative earnings per epoch
/// @notice See IRewardsDistributor.
contract RewardsDistributor is
    IRewardsDistributor,
    AccessControlDefaultAdminRules,
    Pausable,
    ReentrancyGuardTransient
{
    using SafeERC20 for IERC20;
    using SafeCast for uint256;

    /// @notice May submitRoot().
    bytes32 public constant SETTLER_ROLE = keccak256("SETTLER_ROLE");
    /// @notice May disable() a pending root, pause() new roots and pauseClaims().
    bytes32 public constant GUARDIAN_ROLE = keccak256("GUARDIAN_ROLE");
    /// @notice Bound of the activation delay.
    uint64 public constant ACTIVATION_DELAY_MAX = 30 days;
    /// @notice The longest pause of claims, and the least time between two.
    uint64 public constant CLAIM_PAUSE_MAX = CLAIM_PAUSE;
    /// @notice Most claims in one claimMany().
    uint256 public constant CLAIMS_MAX = 256;
    /// @notice Longest proof: a tree of 2^40 earners.
    uint256 public constant PROOF_LENGTH_MAX = 40;

    uint64 private constant NEVER = type(uint64).max;
    uint48 private constant CLAIM_PAUSE = 7 days;

    struct StoredRoot {
        bytes32 root;
        bytes32 epochFileRoot;
        uint128 totalCumulative;
        uint64 epoch;
        uint64 activeAt;
    }

    IERC20 private immutable _token;
    uint64 private immutable _activationDelay;

    /// The last root that was posted and the one before. At most one can be pending, so two are enough and a
    /// post overwrites values that no longer matter: no copying, no growing storage.
    StoredRoot[2] private _roots;
    mapping(address earner => uint256) private _claimed;
    mapping(address earner => address) private _recipients;
    uint256 private _totalClaimed;
    // The rest is one slot, so that a claim reads its pause and its root's place at once, and a post its limit
    // and its root's place. Times are Unix seconds.
    uint48 private _claimsPausedUntil;
    uint48 private _nextClaimPauseAt;
    uint8 private _last;
    uint128 private _growthLimit;

    /// @notice Creates a distributor without a root.
    /// @param token_ The token that is paid.
    /// @param admin Holder of DEFAULT_ADMIN_ROLE: grants roles, sets the growth limit, ends a pause of roots.
    /// @param adminDelay Seconds that a change of the admin takes.
    /// @param activationDelay_ Seconds between the post of a root and its activity.
    /// @param growthLimit_ The most by which one root may exceed the root before it, below 2^128.
    constructor(
        IERC20 token_,
        address admin,
        uint48 adminDelay,
        uint64 activationDelay_,
        uint256 growthLimit_
    ) AccessControlDefaultAdminRules(adminDelay, admin) {
        if (address(token_) == address(0)) revert ZeroAddress();
        if (activationDelay_ > ACTIVATION_DELAY_MAX) {
            revert DelayTooLong(activationDelay_, ACTIVATION_DELAY_MAX);
        }
        _token = token_;
        _activationDelay = activationDelay_;
        // Zero would be a root that has been active since 1970.
        _roots[0].activeAt = NEVER;
        _roots[1].activeAt = NEVER;
        _setGrowthLimit(growthLimit_);
    }

    /// @inheritdoc IRewardsDistributor
    function submitRoot(uint64 epoch, bytes32 root, uint256 totalCumulative, bytes32 epochFileRoot)
        external
        whenNotPaused
        onlyRole(SETTLER_ROLE)
    {
        if (root == 0 || epochFileRoot == 0) revert ZeroRoot();
        uint8 last = _last;
        uint64 epochBefore = _roots[last].epoch;
        if (epoch <= epochBefore) revert EpochNotIncreasing(epoch, epochBefore);
        uint64 lastActiveAt = _roots[last].activeAt;
        if (_isPending(lastActiveAt)) revert RootPending(epochBefore, lastActiveAt);
        // A disabled root is overwritten, an active one is kept and the one before it is overwritten.
        uint8 active = lastActiveAt == NEVER ? 1 - last : last;
        _checkTotal(totalCumulative, _roots[active].totalCumulative);

        uint64 activeAt = uint64(block.timestamp) + _activationDelay;
        _roots[1 - active] =
            StoredRoot(root, epochFileRoot, totalCumulative.toUint128(), epoch, activeAt);
        _last = 1 - active;
        emit RootSubmitted(epoch, root, totalCumulative, epochFileRoot, activeAt);
    }

    /// @inheritdoc IRewardsDistributor
    function disable(uint64 epoch) external onlyRole(GUARDIAN_ROLE) {
        _disable(_pending(epoch));
    }

    /// @inheritdoc IRewardsDistributor
    function disableFallen(
        uint64 epoch,
        address earner,
        uint256 activeCumulative,
        bytes32[] calldata activeProof,
        uint256 pendingCumulative,
        bytes32[] calldata pendingProof
    ) external {
        StoredRoot storage pending = _pending(epoch);
        if (pendingCumulative >= activeCumulative) {
            revert NotFallen(earner, activeCumulative, pendingCumulative);
        }
        _requireLeaf(_active().root, earner, activeCumulative, activeProof);
        _requireLeaf(pending.root, earner, pendingCumulative, pendingProof);
        _disable(pending);
    }

    /// @inheritdoc IRewardsDistributor
    function claim(address earner, uint256 cumulative, bytes32[] calldata proof)
        external
        nonReentrant
        returns (uint256 amount)
    {
        _requireClaimsRun();
        StoredRoot storage active = _active();
        _requireLeaf(active.root, earner, cumulative, proof);
        uint256 paid = _claimed[earner];
        if (cumulative <= paid) revert NothingToClaim(earner, paid);
        amount = cumulative - paid;
        _addToTotal(amount, active.totalCumulative);
        _pay(earner, amount, cumulative);
    }

    /// @inheritdoc IRewardsDistributor
    function claimMany(Claim[] calldata claims) external nonReentrant returns (uint256 amount) {
        _requireClaimsRun();
        if (claims.length > CLAIMS_MAX) revert TooLong(claims.length);
        StoredRoot storage active = _active();
        bytes32 root = active.root;
        for (uint256 i = 0; i < claims.length; ++i) {
            Claim calldata item = claims[i];
            _requireLeaf(root, item.earner, item.cumulative, item.proof);
            uint256 paid = _claimed[item.earner];
            if (item.cumulative <= paid) continue;
            uint256 due = item.cumulative - paid;
            amount += due;
            // Before each payment, not once at the end: the total must hold whenever tokens move.
            _addToTotal(due, active.totalCumulative);
            _pay(item.earner, due, item.cumulative);
        }
    }

    /// @inheritdoc IRewardsDistributor
    function setRecipient(address recipient) external {
        if (recipient == address(this)) revert BadRecipient(recipient);
        _recipients[msg.sender] = recipient;
        emit RecipientSet(msg.sender, recipient);
    }

    /// @inheritdoc IRewardsDistributor
    function setGrowthLimit(uint256 limit) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _setGrowthLimit(limit);
    }

    /// @inheritdoc IRewardsDistributor
    function pause() external onlyRole(GUARDIAN_ROLE) {
        _pause();
    }

    /// @inheritdoc IRewardsDistributor
    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _unpause();
    }

    /// @inheritdoc IRewardsDistributor
    function pauseClaims() external onlyRole(GUARDIAN_ROLE) {
        if (block.timestamp < _nextClaimPauseAt) revert PauseTooSoon(_nextClaimPauseAt);
        uint48 until = uint48(block.timestamp) + CLAIM_PAUSE;
        _claimsPausedUntil = until;
        _nextClaimPauseAt = until + CLAIM_PAUSE;
        emit ClaimsPaused(until);
    }

    /// @inheritdoc IRewardsDistributor
    function unpauseClaims() external onlyRole(GUARDIAN_ROLE) {
        if (block.timestamp >= _claimsPausedUntil) revert ClaimsNotPaused();
        _claimsPausedUntil = uint48(block.timestamp);
        emit ClaimsUnpaused();
    }

    /// @inheritdoc IRewardsDistributor
    function token() external view returns (address) {
        return address(_token);
    }

    /// @inheritdoc IRewardsDistributor
    function activationDelay() external view returns (uint64) {
        return _activationDelay;
    }

    /// @inheritdoc IRewardsDistributor
    function growthLimit() external view returns (uint256) {
        return _growthLimit;
    }

    /// @inheritdoc IRewardsDistributor
    function lastEpoch() external view returns (uint64) {
        return _roots[_last].epoch;
    }

    /// @inheritdoc IRewardsDistributor
    function activeRoot() external view returns (RootInfo memory info) {
        StoredRoot storage active = _roots[_activeIndex()];
        if (active.activeAt != NEVER) info = _info(active);
    }

    /// @inheritdoc IRewardsDistributor
    function pendingRoot() external view returns (RootInfo memory info) {
        StoredRoot storage last = _roots[_last];
        if (_isPending(last.activeAt)) info = _info(last);
    }

    /// @inheritdoc IRewardsDistributor
    function claimed(address earner) external view returns (uint256) {
        return _claimed[earner];
    }

    /// @inheritdoc IRewardsDistributor
    function totalClaimed() external view returns (uint256) {
        return _totalClaimed;
    }

    /// @inheritdoc IRewardsDistributor
    function recipientOf(address earner) public view returns (address) {
        address recipient = _recipients[earner];
        return recipient == address(0) ? earner : recipient;
    }

    /// @inheritdoc IRewardsDistributor
    function claimsPausedUntil() external view returns (uint64) {
        return _claimsPausedUntil;
    }

    /// @inheritdoc IRewardsDistributor
    function leafOf(address earner, uint256 cumulative) public view returns (bytes32) {
        // Hashed twice so that no inner node, 64 bytes, can pass for a leaf.
        return keccak256(
            bytes.concat(
                keccak256(
                    abi.encode(block.chainid, address(this), address(_token), earner, cumulative)
                )
            )
        );
    }

    function _setGrowthLimit(uint256 limit) private {
        _growthLimit = limit.toUint128();
        emit GrowthLimitSet(limit);
    }

    function _checkTotal(uint256 total, uint256 activeTotal) private view {
        if (total < activeTotal) revert TotalDecreased(total, activeTotal);
        uint256 growth = total - activeTotal;
        if (growth > _growthLimit) revert GrowthLimitExceeded(growth, _growthLimit);
        uint256 funded = _totalClaimed + _token.balanceOf(address(this));
        if (total > funded) revert TotalNotFunded(total, funded);
    }

    /// Counts a payment. A root whose leaves exceed its total is the settler's error; it pays the total at most.
    function _addToTotal(uint256 amount, uint256 total) private {
        uint256 sum = _totalClaimed + amount;
        if (sum > total) revert ClaimsExceedTotal(sum, total);
        _totalClaimed = sum;
    }

    function _pay(address earner, uint256 amount, uint256 cumulative) private {
        _claimed[earner] = cumulative;
        address recipient = recipientOf(earner);
        emit Claimed(earner, recipient, amount, cumulative);
        _token.safeTransfer(recipient, amount);
    }

    function _requireClaimsRun() private view {
        if (block.timestamp < _claimsPausedUntil) revert ClaimsArePaused(_claimsPausedUntil);
    }

    function _requireLeaf(
        bytes32 root,
        address earner,
        uint256 cumulative,
        bytes32[] calldata proof
    ) private view {
        if (proof.length > PROOF_LENGTH_MAX) revert TooLong(proof.length);
        if (!MerkleProof.verifyCalldata(proof, root, leafOf(earner, cumulative))) {
            revert InvalidProof(earner, cumulative);
        }
    }

    function _pending(uint64 epoch) private view returns (StoredRoot storage pending) {
        pending = _roots[_last];
        if (pending.epoch != epoch || !_isPending(pending.activeAt)) {
            revert NotPending(epoch);
        }
    }

    function _disable(StoredRoot storage pending) private {
        pending.activeAt = NEVER;
        emit RootDisabled(pending.epoch);
    }

    function _isPending(uint64 activeAt) private view returns (bool) {
        return activeAt != NEVER && block.timestamp < activeAt;
    }

    function _activeIndex() private view returns (uint8) {
        // NEVER is later than every timestamp, so a disabled root is passed over like a pending one.
        return block.timestamp < _roots[_last].activeAt ? 1 - _last : _last;
    }

    function _active() private view returns (StoredRoot storage active) {
        active = _roots[_activeIndex()];
        if (active.epoch == 0) revert NoActiveRoot();
    }

    function _info(StoredRoot storage stored) private view returns (RootInfo memory) {
        return RootInfo(
            stored.epoch, stored.root, stored.totalCumulative, stored.epochFileRoot, stored.activeAt
        );
    }
}
