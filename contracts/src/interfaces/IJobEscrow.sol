// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// @title Deposits of job owners, until their jobs spend them or the owners withdraw them
/// @notice The contract knows an owner's balance and how much of it is locked, not jobs. The settler locks what an order
/// that the owner signed allows, once, and moves what jobs spent of it to the RewardsDistributor, once per epoch: over all
/// time never more of an owner's deposit than its orders come to. What is not locked is the owner's to withdraw after a
/// delay, in which no order can be in flight any more. Pausing never stops a withdrawal. An owner that leaves gets its
/// whole balance after EXIT_DELAY, locked or not, whatever any role does.
interface IJobEscrow {
    /// @notice What an owner signs for a job, as EIP-712 structure `JobOrder` whose `datasets` are a list.
    struct JobOrder {
        address owner;
        bytes32 spec;
        /// @dev keccak256 of the list's members one after another, as EIP-712 encodes it.
        bytes32 datasetsHash;
        uint256 budget;
        uint256 pricePerPflop;
        uint256 maxDataPrice;
        bytes32 nonce;
        uint64 expiry;
    }

    /// @notice What an owner signs for more budget of a job, as EIP-712 structure `JobFunding`.
    struct JobFunding {
        address owner;
        bytes32 job;
        uint256 amount;
        bytes32 nonce;
        uint64 expiry;
    }

    /// @notice `amount` of `from`'s tokens was credited to `owner`.
    /// @param owner The account that was credited.
    /// @param from The account that paid.
    /// @param amount In base units of the token.
    /// @param depositId 1 for the first deposit, then without gaps.
    event Deposited(
        address indexed owner, address indexed from, uint256 amount, uint256 indexed depositId
    );
    /// @notice `amount` of `owner`'s balance moved to the distributor for `epoch`.
    /// @param epoch The settlement epoch.
    /// @param owner The account that was debited.
    /// @param amount In base units of the token.
    event Released(uint64 indexed epoch, address indexed owner, uint256 amount);
    /// @notice `owner` requested `amount`; 0 cancels an earlier request.
    /// @param owner The account that asked.
    /// @param amount In base units of the token.
    /// @param availableAt Unix seconds from which withdraw() works.
    event WithdrawalRequested(address indexed owner, uint256 amount, uint64 availableAt);
    /// @notice `amount` of `owner`'s balance is locked by its signed order.
    /// @param owner The account that signed.
    /// @param nonce The order's.
    /// @param job Whose budget is raised; 0 for the order of a job itself.
    /// @param amount In base units of the token.
    event Locked(address indexed owner, bytes32 indexed nonce, bytes32 indexed job, uint256 amount);
    /// @notice `owner` locked `amount` of its balance itself.
    /// @param owner The account.
    /// @param amount In base units of the token.
    event LockedOwn(address indexed owner, uint256 amount);
    /// @notice `amount` of `owner`'s balance is not locked any more.
    /// @param owner The account.
    /// @param amount In base units of the token.
    /// @param total What unlock() has counted for the owner, over all time.
    event Unlocked(address indexed owner, uint256 amount, uint256 total);
    /// @notice `amount` was paid back to `owner`.
    /// @param owner The account that was debited and paid.
    /// @param amount In base units of the token.
    event Withdrawn(address indexed owner, uint256 amount);
    /// @notice `owner` leaves: its jobs end, and it can take its whole balance.
    /// @param owner The account that leaves.
    /// @param availableAt Unix seconds from which exit() works; 0: it has left, or stays.
    event ExitRequested(address indexed owner, uint64 availableAt);
    /// @notice The most that one epoch may release changed.
    /// @param cap In base units of the token.
    event ReleaseCapSet(uint256 cap);
    /// @notice The most that one epoch may release of one owner's balance changed.
    /// @param cap In base units of the token.
    event OwnerReleaseCapSet(uint256 cap);

    /// @notice An address that must not be zero is.
    error ZeroAddress();
    /// @notice An amount that must not be zero is.
    error ZeroAmount();
    /// @notice A constructor parameter is beyond its bound.
    error DelayTooLong(uint64 delay, uint64 max);
    /// @notice The token delivered another amount than it was asked to.
    error TransferAmountMismatch(uint256 expected, uint256 received);
    /// @notice The lists differ in length, are empty, or are longer than the bound.
    error BadListLength(uint256 owners, uint256 amounts);
    /// @notice What the owner has and has not locked does not cover the amount.
    error InsufficientBalance(address owner, uint256 free, uint256 amount);
    /// @notice What the owner has locked does not cover the amount.
    error InsufficientLock(address owner, uint256 locked, uint256 amount);
    /// @notice The order's time is over.
    error OrderExpired(uint64 expiry);
    /// @notice The order was signed by somebody else, or is another than the signed one.
    error NotSigned(address owner, address signer);
    /// @notice An order with this nonce was locked before.
    error AlreadyLocked(address owner, bytes32 nonce);
    /// @notice A later epoch was released already.
    error EpochClosed(uint64 epoch, uint64 current);
    /// @notice The next epoch may not start yet.
    error EpochTooEarly(uint64 epoch, uint64 earliest);
    /// @notice The owner was debited for this epoch already.
    error AlreadyReleased(uint64 epoch, address owner);
    /// @notice The epoch's releases would exceed the cap.
    error ReleaseCapExceeded(uint64 epoch, uint256 released, uint256 cap);
    /// @notice The epoch releases more of one owner's balance than its cap.
    error OwnerReleaseCapExceeded(uint64 epoch, address owner, uint256 amount, uint256 cap);
    /// @notice There is no withdrawal request.
    error NoWithdrawal(address owner);
    /// @notice The delay of the request has not passed.
    error WithdrawalNotReady(uint64 availableAt);
    /// @notice The owner has not requested its exit.
    error NotLeaving(address owner);
    /// @notice The owner has requested its exit before.
    error LeavingAlready(uint64 availableAt);

    /// @notice Takes `amount` from the caller and credits it to `owner`. Needs an allowance.
    /// @param owner The account to credit.
    /// @param amount In base units of the token.
    /// @return depositId The number of this deposit.
    function deposit(address owner, uint256 amount) external returns (uint256 depositId);

    /// @notice deposit() with the caller's EIP-2612 signature in place of an allowance.
    /// @dev A permit that someone else submitted first is not an error as long as the allowance is there.
    /// @param owner The account to credit; the tokens and the signature are the caller's.
    /// @param amount In base units of the token, also the value that was signed.
    /// @param deadline Unix seconds at which the signature expires.
    /// @param v The signature's recovery byte.
    /// @param r The signature's first half.
    /// @param s The signature's second half.
    /// @return depositId The number of this deposit.
    function depositWithPermit(
        address owner,
        uint256 amount,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external returns (uint256 depositId);

    /// @notice Locks the budget of an order until jobs have spent it, unlock() or exit(). Once per owner and nonce.
    /// @param order Not expired; the owner's balance that is not locked covers the budget. Requests of withdrawals do not
    /// count: the owner signed, and a withdrawal pays what is free when it is made.
    /// @param signature The owner's over the order, 65 bytes.
    function lock(JobOrder calldata order, bytes calldata signature) external;

    /// @notice lock() for more budget of a job. Nonces are counted apart from those of orders for jobs.
    /// @param funding Likewise.
    /// @param signature The owner's over the funding, 65 bytes.
    function lockFunding(JobFunding calldata funding, bytes calldata signature) external;

    /// @notice Locks `amount` of the caller's own balance: what is released without an order, such as emission.
    /// @param amount In base units of the token.
    function lockOwn(uint256 amount) external;

    /// @notice Raises what was unlocked of each owner, over all time, to a total; the difference is free to withdraw, as
    /// far as it was locked. A total that is not above the last one changes nothing, so a repetition does no harm.
    /// @param owners At most RELEASE_OWNERS_MAX accounts.
    /// @param totals One per owner, in base units of the token.
    function unlock(address[] calldata owners, uint256[] calldata totals) external;

    /// @notice Moves the owners' spending of `epoch` to the distributor, each owner at most once per epoch and out of what
    /// it has locked.
    /// @param epoch Not lower than the last one; a higher one only after the minimum interval.
    /// @param owners At most RELEASE_OWNERS_MAX accounts.
    /// @param amounts One amount per owner, in base units of the token.
    function release(uint64 epoch, address[] calldata owners, uint256[] calldata amounts) external;

    /// @notice Asks for `amount` back; replaces an earlier request and restarts the delay.
    /// @param amount At most what the caller has and has not locked; 0 cancels the request.
    function requestWithdrawal(uint256 amount) external;

    /// @notice Pays the caller's request, or what it has and has not locked if that is less.
    /// @return amount The paid amount, in base units of the token.
    function withdraw() external returns (uint256 amount);

    /// @notice Announces that the caller leaves. Nobody can put off what exit() does after EXIT_DELAY.
    function requestExit() external;

    /// @notice Takes requestExit() back.
    function cancelExit() external;

    /// @notice Pays the caller's whole balance, locked or not, at least EXIT_DELAY after requestExit(); also during a pause.
    /// @return amount The paid amount, in base units of the token.
    function exit() external returns (uint256 amount);

    /// @notice Sets the most that one epoch may release.
    /// @param cap In base units of the token.
    function setReleaseCap(uint256 cap) external;

    /// @notice Sets the most that one epoch may release of one owner's balance, for all its jobs together.
    /// @param cap In base units of the token, below 2^128; not limited at first.
    function setOwnerReleaseCap(uint256 cap) external;

    /// @notice Stops deposits and releases. Withdrawals continue.
    function pause() external;

    /// @notice Ends a pause.
    function unpause() external;

    /// @notice The token that is held.
    function token() external view returns (address);

    /// @notice Where releases go.
    function distributor() external view returns (address);

    /// @notice Balance of `owner`, requests and locked money included.
    /// @param owner Any account.
    function balanceOf(address owner) external view returns (uint256);

    /// @notice The part of `owner`'s balance that is locked.
    /// @param owner Any account.
    function lockedOf(address owner) external view returns (uint256);

    /// @notice What unlock() and exit() have counted for `owner`, over all time.
    /// @param owner Any account.
    function unlockedOf(address owner) external view returns (uint256);

    /// @notice What the order for a job with this nonce locked; 0 if it did not.
    /// @param owner Any account.
    /// @param nonce Any nonce.
    function jobLockOf(address owner, bytes32 nonce) external view returns (uint256);

    /// @notice What the order for more budget with this nonce locked; 0 if it did not.
    /// @param owner Any account.
    /// @param nonce Any nonce.
    function fundingLockOf(address owner, bytes32 nonce) external view returns (uint256);

    /// @notice The sum of what all owners have locked.
    function totalLocked() external view returns (uint256);

    /// @notice The sum of all balances.
    function totalBalance() external view returns (uint256);

    /// @notice How many deposits there were; also the last depositId.
    function depositCount() external view returns (uint256);

    /// @notice `owner`'s open request.
    /// @param owner Any account.
    /// @return amount 0 if there is none.
    /// @return availableAt Unix seconds from which withdraw() works.
    function withdrawalOf(address owner) external view returns (uint256 amount, uint64 availableAt);

    /// @notice When `owner` can leave.
    /// @param owner Any account.
    /// @return availableAt Unix seconds from which exit() works; 0: no exit was requested.
    function exitOf(address owner) external view returns (uint64 availableAt);

    /// @notice Seconds between a request and its withdrawal.
    function withdrawalDelay() external view returns (uint64);

    /// @notice Least seconds between the first releases of two epochs.
    function epochInterval() external view returns (uint64);

    /// @notice The most that one epoch may release.
    function releaseCap() external view returns (uint256);

    /// @notice The most that one epoch may release of one owner's balance.
    function ownerReleaseCap() external view returns (uint256);

    /// @notice The last epoch that released, and how much it has released.
    /// @return epoch 0 before the first release.
    /// @return released In base units of the token.
    function releaseState() external view returns (uint64 epoch, uint256 released);

    /// @notice Amount debited from `owner` for `epoch`.
    /// @param epoch Any epoch.
    /// @param owner Any account.
    function releasedOf(uint64 epoch, address owner) external view returns (uint256);
}
