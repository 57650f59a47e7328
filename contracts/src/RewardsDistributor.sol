// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {AdminTimelock} from "./AdminTimelock.sol";
import {DelayedRoles} from "./DelayedRoles.sol";
import {PayoutTree} from "./PayoutTree.sol";
import {IRewardsDistributor} from "./interfaces/IRewardsDistributor.sol";

/// @title Pays rewards from one root of cumulative earnings per epoch
/// @notice See IRewardsDistributor.
contract RewardsDistributor is
    IRewardsDistributor,
    DelayedRoles,
    Pausable,
    ReentrancyGuardTransient
{
    using SafeERC20 for IERC20;
    using SafeCast for uint256;

    /// @notice May submitRoot().
    bytes32 public constant SETTLER_ROLE = keccak256("SETTLER_ROLE");
    /// @notice Bound of the activation delay.
    uint64 public constant ACTIVATION_DELAY_MAX = 30 days;
    /// @notice The longest pause of claims, and the least time between two.
    uint64 public constant CLAIM_PAUSE_MAX = CLAIM_PAUSE;
    /// @notice Most claims in one claimMany().
    uint256 public constant CLAIMS_MAX = 256;
    /// @notice Longest path: a tree of 2^40 earners.
    uint256 public constant PATH_LENGTH_MAX = 40;

    uint64 private constant NEVER = type(uint64).max;
    uint48 private constant CLAIM_PAUSE = 7 days;
    // Pays for an answer, so that demands cannot be used to make the settler pay (docs/adr/0031-payout-trees-with-sums.md).
    uint256 private constant DEMAND_BOND = 0.01 ether;

    struct StoredRoot {
        bytes32 root;
        bytes32 epochFileRoot;
        uint128 totalCumulative;
        uint64 epoch;
        uint64 activeAt;
    }

    struct Demand {
        address by;
        uint128 cumulative;
    }

    IERC20 private immutable _token;
    uint64 private immutable _activationDelay;

    /// The last root that was posted and the one before. At most one can be pending, so two are enough and a
    /// post overwrites values that no longer matter: no copying, no growing storage.
    StoredRoot[2] private _roots;
    mapping(address earner => uint256) private _claimed;
    mapping(address earner => address) private _recipients;
    mapping(uint64 epoch => mapping(address earner => Demand)) private _demands;
    uint256 private _totalClaimed;
    // The rest is one slot, so that a claim reads its pause and its root's place at once, and a post its limit
    // and its root's place. Times are Unix seconds.
    uint48 private _claimsPausedUntil;
    uint48 private _nextClaimPauseAt;
    uint8 private _last;
    uint128 private _growthLimit;
    uint24 private _openDemands; // of the last root

    /// @notice Creates a distributor without a root.
    /// @param token_ The token that is paid.
    /// @param timelock_ Holder of DEFAULT_ADMIN_ROLE: grants roles, sets the growth limit, ends a pause of roots. Its delay
    /// is at least two activation delays: one until earnings that are posted pay, one in which they can be claimed.
    /// @param settler Holder of SETTLER_ROLE.
    /// @param guardian Holder of GUARDIAN_ROLE: disables a pending root, pauses new roots and claims, lowers the growth limit.
    /// @param activationDelay_ Seconds between the post of a root and its activity.
    /// @param growthLimit_ The most by which one root may exceed the root before it, below 2^128.
    constructor(
        IERC20 token_,
        AdminTimelock timelock_,
        address settler,
        address guardian,
        uint64 activationDelay_,
        uint256 growthLimit_
    ) DelayedRoles(timelock_, guardian, activationDelay_) {
        if (address(token_) == address(0)) revert ZeroAddress();
        if (activationDelay_ > ACTIVATION_DELAY_MAX) {
            revert DelayTooLong(activationDelay_, ACTIVATION_DELAY_MAX);
        }
        _token = token_;
        _activationDelay = activationDelay_;
        // Zero would be a root that has been active since 1970.
        _roots[0].activeAt = NEVER;
        _roots[1].activeAt = NEVER;
        _grantRole(SETTLER_ROLE, settler);
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
        // A root that never pays is overwritten, an active one is kept and the one before it is overwritten.
        uint8 active = _activeIndex();
        if (active != last && lastActiveAt != NEVER) emit RootDisabled(epochBefore);
        _checkTotal(totalCumulative, _roots[active].totalCumulative);

        uint64 activeAt = uint64(block.timestamp) + _activationDelay;
        _roots[1 - active] =
            StoredRoot(root, epochFileRoot, totalCumulative.toUint128(), epoch, activeAt);
        _last = 1 - active;
        _openDemands = 0;
        emit RootSubmitted(epoch, root, totalCumulative, epochFileRoot, activeAt);
    }

    /// @inheritdoc IRewardsDistributor
    function disable(uint64 epoch) external onlyRole(GUARDIAN_ROLE) {
        _disable(_pending(epoch));
    }

    /// @inheritdoc IRewardsDistributor
    function disableFallen(uint64 epoch, Claim calldata active, Claim calldata pending) external {
        StoredRoot storage stored = _pending(epoch);
        if (pending.earner == active.earner && pending.cumulative >= active.cumulative) {
            revert NotFallen(active.earner, active.cumulative, pending.cumulative);
        }
        _requireLeaf(_active(), active.earner, active);
        _requireLeaf(stored, active.earner, pending);
        _disable(stored);
    }

    /// @inheritdoc IRewardsDistributor
    function demandLeaf(uint64 epoch, Claim calldata active) external payable {
        if (msg.value != DEMAND_BOND) revert WrongBond(msg.value, DEMAND_BOND);
        uint64 latest = _pending(epoch).activeAt - _activationDelay / 2;
        if (block.timestamp > latest) revert DemandTooLate(latest);
        // Nobody can lose nothing, and an amount marks what was demanded.
        if (active.cumulative == 0) revert InvalidProof(active.earner, 0);
        if (_demands[epoch][active.earner].cumulative != 0) {
            revert DemandedBefore(epoch, active.earner);
        }
        _requireLeaf(_active(), active.earner, active);
        _demands[epoch][active.earner] = Demand(msg.sender, active.cumulative.toUint128());
        ++_openDemands;
        emit LeafDemanded(epoch, active.earner, active.cumulative, msg.sender);
    }

    /// @inheritdoc IRewardsDistributor
    function showLeaf(uint64 epoch, Claim calldata pending) external nonReentrant {
        StoredRoot storage stored = _pending(epoch);
        Demand storage demand = _demands[epoch][pending.earner];
        if (demand.by == address(0)) revert NotDemanded(epoch, pending.earner);
        if (pending.cumulative < demand.cumulative) {
            revert InvalidProof(pending.earner, pending.cumulative);
        }
        _requireLeaf(stored, pending.earner, pending);
        // The amount stays: a leaf is demanded once.
        demand.by = address(0);
        --_openDemands;
        emit LeafShown(epoch, pending.earner);
        Address.sendValue(payable(msg.sender), DEMAND_BOND);
    }

    /// @inheritdoc IRewardsDistributor
    function reclaimBond(uint64 epoch, address earner) external nonReentrant {
        StoredRoot storage last = _roots[_last];
        if (epoch == last.epoch) {
            if (_isPending(last.activeAt)) revert RootPending(epoch, last.activeAt);
            if (last.activeAt != NEVER && _openDemands != 0) _disable(last);
        }
        Demand storage demand = _demands[epoch][earner];
        if (demand.by != msg.sender) revert NotDemanded(epoch, earner);
        demand.by = address(0);
        Address.sendValue(payable(msg.sender), DEMAND_BOND);
    }

    /// @inheritdoc IRewardsDistributor
    function claim(address earner, uint256 cumulative, PayoutTree.Step[] calldata path)
        external
        nonReentrant
        returns (uint256 amount)
    {
        _requireClaimsRun();
        StoredRoot storage active = _active();
        _requireLeaf(active, earner, earner, cumulative, path);
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
        for (uint256 i = 0; i < claims.length; ++i) {
            Claim calldata item = claims[i];
            _requireLeaf(active, item.earner, item);
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
    function setGrowthLimit(uint256 limit) external onlyDelayedUnlessLower(limit, _growthLimit) {
        _setGrowthLimit(limit);
    }

    /// @inheritdoc IRewardsDistributor
    function pause() external onlyRole(GUARDIAN_ROLE) {
        _pause();
    }

    /// @inheritdoc IRewardsDistributor
    function unpause() external onlyDelayed {
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
    function demandBond() external pure returns (uint256) {
        return DEMAND_BOND;
    }

    /// @inheritdoc IRewardsDistributor
    function openDemands() external view returns (uint256) {
        return _openDemands;
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
        // Hashed twice so that no inner node, which is as long, can pass for a leaf.
        return keccak256(
            bytes.concat(
                keccak256(
                    abi.encode(block.chainid, address(this), address(_token), earner, cumulative)
                )
            )
        );
    }

    /// A pause of claims could outlast the timelock's delay, so claims have to have run since.
    function _requireExit() internal view override {
        uint256 open = uint256(_claimsPausedUntil) + _activationDelay;
        if (_claimsPausedUntil != 0 && block.timestamp < open) revert ClaimsWerePaused(open);
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

    /// Counts a payment. Leaves do not exceed the total, but with what earlier roots paid they could, if earnings fell.
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

    function _requireLeaf(StoredRoot storage stored, address key, Claim calldata leaf)
        private
        view
    {
        _requireLeaf(stored, key, leaf.earner, leaf.cumulative, leaf.path);
    }

    /// Requires that `key`'s path ends at this leaf.
    function _requireLeaf(
        StoredRoot storage stored,
        address key,
        address earner,
        uint256 cumulative,
        PayoutTree.Step[] calldata path
    ) private view {
        if (path.length > PATH_LENGTH_MAX) revert TooLong(path.length);
        (bytes32 root, uint256 sum) =
            PayoutTree.fold(leafOf(earner, cumulative), cumulative, key, path);
        if (root != stored.root || sum != stored.totalCumulative) {
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
        // NEVER is later than every timestamp, so a disabled root is passed over like a pending one. So is a root that
        // left a demand open.
        return _openDemands != 0 || block.timestamp < _roots[_last].activeAt ? 1 - _last : _last;
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
