// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {AdminTimelock} from "./AdminTimelock.sol";
import {DelayedRoles} from "./DelayedRoles.sol";
import {IJobEscrow} from "./interfaces/IJobEscrow.sol";

/// @title Deposits of job owners
/// @notice See IJobEscrow.
contract JobEscrow is IJobEscrow, DelayedRoles, EIP712, Pausable, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using SafeCast for uint256;

    /// @notice May lock(), lockFunding(), unlock() and release().
    bytes32 public constant SETTLER_ROLE = keccak256("SETTLER_ROLE");
    /// @notice Most owners in one release() or unlock().
    uint256 public constant RELEASE_OWNERS_MAX = 256;
    /// @notice Bound of the withdrawal delay, so that a wrong parameter cannot lock deposits up.
    uint64 public constant WITHDRAWAL_DELAY_MAX = 30 days;
    /// @notice Seconds between requestExit() and exit(): time to end the owner's jobs and release what they spent.
    uint64 public constant EXIT_DELAY = 30 days;
    /// @notice Bound of the epoch interval.
    uint64 public constant EPOCH_INTERVAL_MAX = 30 days;

    bytes32 private constant JOB_ORDER_TYPEHASH = keccak256(
        "JobOrder(address owner,bytes32 spec,bytes32[] datasets,uint256 budget,uint256 pricePerPflop,uint256 maxDataPrice,bytes32 nonce,uint64 expiry)"
    );
    bytes32 private constant JOB_FUNDING_TYPEHASH = keccak256(
        "JobFunding(address owner,bytes32 job,uint256 amount,bytes32 nonce,uint64 expiry)"
    );

    /// locked <= balance. One slot: a release changes both.
    struct Account {
        uint128 balance;
        uint128 locked;
    }

    struct Withdrawal {
        uint256 amount;
        uint64 availableAt;
    }

    IERC20 private immutable _token;
    address private immutable _distributor;
    uint64 private immutable _withdrawalDelay;
    uint64 private immutable _epochInterval;

    mapping(address owner => Account) private _accounts;
    mapping(address owner => uint256) private _unlocked;
    mapping(address owner => mapping(bytes32 nonce => uint256)) private _jobLocks;
    mapping(address owner => mapping(bytes32 nonce => uint256)) private _fundingLocks;
    mapping(address owner => Withdrawal) private _withdrawals;
    mapping(address owner => uint64 availableAt) private _exits;
    mapping(uint64 epoch => mapping(address owner => uint256)) private _releasedOf;
    uint256 private _totalBalance;
    uint256 private _totalLocked;
    uint256 private _depositCount;
    // One slot: a release reads both.
    uint128 private _releaseCap;
    uint128 private _ownerReleaseCap = type(uint128).max;
    uint256 private _releasedInEpoch;
    uint64 private _epoch;
    uint64 private _epochStartedAt;

    /// @notice Creates an empty escrow.
    /// @param token_ The token that is held.
    /// @param distributor_ The RewardsDistributor, the only place that releases go to.
    /// @param timelock_ Holder of DEFAULT_ADMIN_ROLE: grants roles, sets the caps, ends a pause. Its delay is at least two
    /// withdrawal delays.
    /// @param settler Holder of SETTLER_ROLE.
    /// @param guardian Holder of GUARDIAN_ROLE: pauses, lowers the caps.
    /// @param withdrawalDelay_ Seconds between a request and its withdrawal.
    /// @param epochInterval_ Least seconds between the first releases of two epochs.
    /// @param releaseCap_ The most that one epoch may release, in base units, below 2^128.
    constructor(
        IERC20 token_,
        address distributor_,
        AdminTimelock timelock_,
        address settler,
        address guardian,
        uint64 withdrawalDelay_,
        uint64 epochInterval_,
        uint256 releaseCap_
    ) DelayedRoles(timelock_, guardian, withdrawalDelay_) EIP712("Gym JobEscrow", "1") {
        if (address(token_) == address(0) || distributor_ == address(0)) {
            revert ZeroAddress();
        }
        if (withdrawalDelay_ > WITHDRAWAL_DELAY_MAX) {
            revert DelayTooLong(withdrawalDelay_, WITHDRAWAL_DELAY_MAX);
        }
        if (epochInterval_ > EPOCH_INTERVAL_MAX) {
            revert DelayTooLong(epochInterval_, EPOCH_INTERVAL_MAX);
        }
        _token = token_;
        _distributor = distributor_;
        _withdrawalDelay = withdrawalDelay_;
        _epochInterval = epochInterval_;
        _grantRole(SETTLER_ROLE, settler);
        _releaseCap = releaseCap_.toUint128();
        emit ReleaseCapSet(releaseCap_);
    }

    /// @inheritdoc IJobEscrow
    function deposit(address owner, uint256 amount)
        external
        nonReentrant
        whenNotPaused
        returns (uint256 depositId)
    {
        return _deposit(owner, amount);
    }

    /// @inheritdoc IJobEscrow
    function depositWithPermit(
        address owner,
        uint256 amount,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external nonReentrant whenNotPaused returns (uint256 depositId) {
        // Whoever sees the signature can submit it first; then the allowance is there and this call fails.
        try IERC20Permit(address(_token))
            .permit(msg.sender, address(this), amount, deadline, v, r, s) {}
            catch {}
        return _deposit(owner, amount);
    }

    /// @inheritdoc IJobEscrow
    function lock(JobOrder calldata order, bytes calldata signature)
        external
        whenNotPaused
        onlyRole(SETTLER_ROLE)
    {
        _requireSigned(
            order.owner, keccak256(abi.encode(JOB_ORDER_TYPEHASH, order)), order.expiry, signature
        );
        _lockOnce(_jobLocks[order.owner], order.owner, order.nonce, order.budget);
        emit Locked(order.owner, order.nonce, 0, order.budget);
    }

    /// @inheritdoc IJobEscrow
    function lockFunding(JobFunding calldata funding, bytes calldata signature)
        external
        whenNotPaused
        onlyRole(SETTLER_ROLE)
    {
        _requireSigned(
            funding.owner,
            keccak256(abi.encode(JOB_FUNDING_TYPEHASH, funding)),
            funding.expiry,
            signature
        );
        _lockOnce(_fundingLocks[funding.owner], funding.owner, funding.nonce, funding.amount);
        emit Locked(funding.owner, funding.nonce, funding.job, funding.amount);
    }

    /// @inheritdoc IJobEscrow
    function lockOwn(uint256 amount) external whenNotPaused {
        _lock(msg.sender, amount);
        emit LockedOwn(msg.sender, amount);
    }

    /// @inheritdoc IJobEscrow
    function unlock(address[] calldata owners, uint256[] calldata totals)
        external
        onlyRole(SETTLER_ROLE)
    {
        _requireLists(owners.length, totals.length);
        for (uint256 i = 0; i < owners.length; ++i) {
            uint256 before = _unlocked[owners[i]];
            if (totals[i] > before) _unlock(owners[i], totals[i] - before);
        }
    }

    /// @inheritdoc IJobEscrow
    function release(uint64 epoch, address[] calldata owners, uint256[] calldata amounts)
        external
        nonReentrant
        whenNotPaused
        onlyRole(SETTLER_ROLE)
    {
        _requireLists(owners.length, amounts.length);
        _enterEpoch(epoch);
        uint256 total = 0;
        for (uint256 i = 0; i < owners.length; ++i) {
            _debit(epoch, owners[i], amounts[i]);
            total += amounts[i];
        }
        uint256 released = _releasedInEpoch + total;
        if (released > _releaseCap) revert ReleaseCapExceeded(epoch, released, _releaseCap);
        _releasedInEpoch = released;
        _totalBalance -= total;
        _totalLocked -= total;
        _pay(_distributor, total);
    }

    /// @inheritdoc IJobEscrow
    function requestWithdrawal(uint256 amount) external {
        _requireFree(msg.sender, amount);
        uint64 availableAt = uint64(block.timestamp) + _withdrawalDelay;
        _withdrawals[msg.sender] = Withdrawal(amount, availableAt);
        emit WithdrawalRequested(msg.sender, amount, availableAt);
    }

    /// @inheritdoc IJobEscrow
    function withdraw() external nonReentrant returns (uint256 amount) {
        Withdrawal memory request = _withdrawals[msg.sender];
        if (request.amount == 0) revert NoWithdrawal(msg.sender);
        if (block.timestamp < request.availableAt) revert WithdrawalNotReady(request.availableAt);
        uint256 free = _freeOf(msg.sender);
        amount = request.amount < free ? request.amount : free;
        _payBack(msg.sender, amount);
    }

    /// @inheritdoc IJobEscrow
    function requestExit() external {
        uint64 before = _exits[msg.sender];
        if (before != 0) revert LeavingAlready(before);
        _setExit(msg.sender, uint64(block.timestamp) + EXIT_DELAY);
    }

    /// @inheritdoc IJobEscrow
    function cancelExit() external {
        if (_exits[msg.sender] == 0) revert NotLeaving(msg.sender);
        _setExit(msg.sender, 0);
    }

    /// @inheritdoc IJobEscrow
    function exit() external nonReentrant returns (uint256 amount) {
        uint64 availableAt = _exits[msg.sender];
        if (availableAt == 0) revert NotLeaving(msg.sender);
        if (block.timestamp < availableAt) revert WithdrawalNotReady(availableAt);
        _setExit(msg.sender, 0);
        Account memory account = _accounts[msg.sender];
        if (account.locked != 0) _unlock(msg.sender, account.locked);
        amount = account.balance;
        _payBack(msg.sender, amount);
    }

    /// @inheritdoc IJobEscrow
    function setReleaseCap(uint256 cap) external onlyDelayedUnlessLower(cap, _releaseCap) {
        _releaseCap = cap.toUint128();
        emit ReleaseCapSet(cap);
    }

    /// @inheritdoc IJobEscrow
    function setOwnerReleaseCap(uint256 cap)
        external
        onlyDelayedUnlessLower(cap, _ownerReleaseCap)
    {
        _ownerReleaseCap = cap.toUint128();
        emit OwnerReleaseCapSet(cap);
    }

    /// @inheritdoc IJobEscrow
    function pause() external onlyRole(GUARDIAN_ROLE) {
        _pause();
    }

    /// @inheritdoc IJobEscrow
    function unpause() external onlyDelayed {
        _unpause();
    }

    /// @inheritdoc IJobEscrow
    function token() external view returns (address) {
        return address(_token);
    }

    /// @inheritdoc IJobEscrow
    function distributor() external view returns (address) {
        return _distributor;
    }

    /// @inheritdoc IJobEscrow
    function balanceOf(address owner) external view returns (uint256) {
        return _accounts[owner].balance;
    }

    /// @inheritdoc IJobEscrow
    function lockedOf(address owner) external view returns (uint256) {
        return _accounts[owner].locked;
    }

    /// @inheritdoc IJobEscrow
    function unlockedOf(address owner) external view returns (uint256) {
        return _unlocked[owner];
    }

    /// @inheritdoc IJobEscrow
    function jobLockOf(address owner, bytes32 nonce) external view returns (uint256) {
        return _jobLocks[owner][nonce];
    }

    /// @inheritdoc IJobEscrow
    function fundingLockOf(address owner, bytes32 nonce) external view returns (uint256) {
        return _fundingLocks[owner][nonce];
    }

    /// @inheritdoc IJobEscrow
    function totalLocked() external view returns (uint256) {
        return _totalLocked;
    }

    /// @inheritdoc IJobEscrow
    function totalBalance() external view returns (uint256) {
        return _totalBalance;
    }

    /// @inheritdoc IJobEscrow
    function depositCount() external view returns (uint256) {
        return _depositCount;
    }

    /// @inheritdoc IJobEscrow
    function withdrawalOf(address owner)
        external
        view
        returns (uint256 amount, uint64 availableAt)
    {
        Withdrawal storage request = _withdrawals[owner];
        return (request.amount, request.availableAt);
    }

    /// @inheritdoc IJobEscrow
    function exitOf(address owner) external view returns (uint64 availableAt) {
        return _exits[owner];
    }

    /// @inheritdoc IJobEscrow
    function withdrawalDelay() external view returns (uint64) {
        return _withdrawalDelay;
    }

    /// @inheritdoc IJobEscrow
    function epochInterval() external view returns (uint64) {
        return _epochInterval;
    }

    /// @inheritdoc IJobEscrow
    function releaseCap() external view returns (uint256) {
        return _releaseCap;
    }

    /// @inheritdoc IJobEscrow
    function ownerReleaseCap() external view returns (uint256) {
        return _ownerReleaseCap;
    }

    /// @inheritdoc IJobEscrow
    function releaseState() external view returns (uint64 epoch, uint256 released) {
        return (_epoch, _releasedInEpoch);
    }

    /// @inheritdoc IJobEscrow
    function releasedOf(uint64 epoch, address owner) external view returns (uint256) {
        return _releasedOf[epoch][owner];
    }

    function _deposit(address owner, uint256 amount) private returns (uint256 depositId) {
        if (owner == address(0)) revert ZeroAddress();
        if (amount == 0) revert ZeroAmount();
        depositId = ++_depositCount;
        _accounts[owner].balance += amount.toUint128();
        _totalBalance += amount;
        emit Deposited(owner, msg.sender, amount, depositId);

        uint256 before = _token.balanceOf(address(this));
        _token.safeTransferFrom(msg.sender, address(this), amount);
        _requireDelivered(address(this), before, amount);
    }

    /// The signature is `owner`'s over this structure, for this contract and chain, and still valid.
    function _requireSigned(
        address owner,
        bytes32 structHash,
        uint64 expiry,
        bytes calldata signature
    ) private view {
        if (block.timestamp > expiry) revert OrderExpired(expiry);
        address signer = ECDSA.recoverCalldata(_hashTypedDataV4(structHash), signature);
        if (signer != owner) revert NotSigned(owner, signer);
    }

    function _lockOnce(
        mapping(bytes32 nonce => uint256) storage locks,
        address owner,
        bytes32 nonce,
        uint256 amount
    ) private {
        if (locks[nonce] != 0) revert AlreadyLocked(owner, nonce);
        locks[nonce] = amount;
        _lock(owner, amount);
    }

    function _lock(address owner, uint256 amount) private {
        if (amount == 0) revert ZeroAmount();
        _requireFree(owner, amount);
        _accounts[owner].locked += amount.toUint128();
        _totalLocked += amount;
    }

    /// Counts `amount` as unlocked, though at most what is locked can become free.
    function _unlock(address owner, uint256 amount) private {
        uint256 total = _unlocked[owner] + amount;
        _unlocked[owner] = total;
        uint128 locked = _accounts[owner].locked;
        uint128 freed = amount < locked ? amount.toUint128() : locked;
        _accounts[owner].locked = locked - freed;
        _totalLocked -= freed;
        emit Unlocked(owner, freed, total);
    }

    function _freeOf(address owner) private view returns (uint256) {
        Account memory account = _accounts[owner];
        return account.balance - account.locked;
    }

    function _requireFree(address owner, uint256 amount) private view {
        uint256 free = _freeOf(owner);
        if (amount > free) revert InsufficientBalance(owner, free, amount);
    }

    function _requireLists(uint256 owners, uint256 amounts) private pure {
        if (owners == 0 || owners > RELEASE_OWNERS_MAX || owners != amounts) {
            revert BadListLength(owners, amounts);
        }
    }

    /// The cap would mean nothing if the settler could open epochs at will.
    function _enterEpoch(uint64 epoch) private {
        uint64 current = _epoch;
        if (epoch < current || epoch == 0) revert EpochClosed(epoch, current);
        if (epoch == current) return;
        uint64 earliest = _epochStartedAt + _epochInterval;
        if (current != 0 && block.timestamp < earliest) revert EpochTooEarly(epoch, earliest);
        _epoch = epoch;
        _epochStartedAt = uint64(block.timestamp);
        _releasedInEpoch = 0;
    }

    function _debit(uint64 epoch, address owner, uint256 amount) private {
        if (amount == 0) revert ZeroAmount();
        if (_releasedOf[epoch][owner] != 0) revert AlreadyReleased(epoch, owner);
        if (amount > _ownerReleaseCap) {
            revert OwnerReleaseCapExceeded(epoch, owner, amount, _ownerReleaseCap);
        }
        Account memory account = _accounts[owner];
        if (amount > account.locked) revert InsufficientLock(owner, account.locked, amount);
        _releasedOf[epoch][owner] = amount;
        uint128 paid = amount.toUint128();
        _accounts[owner] = Account(account.balance - paid, account.locked - paid);
        emit Released(epoch, owner, amount);
    }

    function _setExit(address owner, uint64 availableAt) private {
        _exits[owner] = availableAt;
        emit ExitRequested(owner, availableAt);
    }

    /// Closes the owner's request and pays `amount` of what is not locked.
    function _payBack(address owner, uint256 amount) private {
        delete _withdrawals[owner];
        _accounts[owner].balance -= amount.toUint128();
        _totalBalance -= amount;
        emit Withdrawn(owner, amount);
        if (amount != 0) _pay(owner, amount);
    }

    function _pay(address to, uint256 amount) private {
        uint256 before = _token.balanceOf(to);
        _token.safeTransfer(to, amount);
        _requireDelivered(to, before, amount);
    }

    /// Rejects tokens that take a fee on transfers: balances here must be backed one to one.
    function _requireDelivered(address to, uint256 before, uint256 amount) private view {
        uint256 received = _token.balanceOf(to) - before;
        if (received != amount) revert TransferAmountMismatch(amount, received);
    }
}
