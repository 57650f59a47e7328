// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// @title Stakes of workers
/// @notice Stake backs every unit that its owner commits to. To get it back, an owner lets it thaw: thawing stake backs
/// nothing new and is slashed like the rest until it is withdrawn. Nobody has a role here: only the dispute game
/// can lock and slash, and only by its own rules.
interface IStake {
    /// @notice `amount` more backs the units of `owner`.
    /// @param owner Whose stake grew.
    /// @param from The payer.
    /// @param amount In base units.
    event Staked(address indexed owner, address indexed from, uint256 amount);
    /// @notice `amount` of `owner` no longer backs new units.
    /// @param owner Whose stake thaws.
    /// @param amount In base units.
    /// @param shares Of the owner's thawing pool; a slash makes every share worth less.
    /// @param availableAt Unix seconds from which it can be withdrawn.
    event ThawStarted(address indexed owner, uint256 amount, uint256 shares, uint64 availableAt);
    /// @notice `owner` took thawed stake out.
    /// @param owner Whose stake it was.
    /// @param amount In base units.
    event StakeWithdrawn(address indexed owner, uint256 amount);
    /// @notice `defender` may answer in games against `owner`; zero: nobody else.
    /// @param owner Whose units are defended.
    /// @param defender The delegate.
    event DefenderChanged(address indexed owner, address indexed defender);
    /// @notice Stake of `owner` that is withdrawn from `since` on goes to `recipient`.
    /// @param owner Whose stake.
    /// @param recipient Where it goes.
    /// @param since Unix seconds.
    event RecipientChanged(address indexed owner, address indexed recipient, uint64 since);
    /// @notice One more, or one less, game is open against `owner`.
    /// @param owner The asserter.
    /// @param locks Open games.
    event LocksChanged(address indexed owner, uint256 locks);
    /// @notice `prover` won a game against `owner`.
    /// @param owner The asserter.
    /// @param number Of the game's announcement.
    /// @param prover Its challenger.
    /// @param moves What the game counts in the division of the provers' share.
    event ProofRecorded(
        address indexed owner, uint256 indexed number, address indexed prover, uint256 moves
    );
    /// @notice A fault of `owner` is proven.
    /// @param owner The owner of the lost stake.
    /// @param finder The prover of the fault.
    /// @param burned Base units that exist no more.
    /// @param reward Base units to the finder.
    /// @param compensation Base units for the other provers.
    event Slashed(
        address indexed owner,
        address indexed finder,
        uint256 burned,
        uint256 reward,
        uint256 compensation
    );
    /// @notice A prover beside the finder got its part of a slash.
    /// @param number Of its game's announcement.
    /// @param prover Its challenger.
    /// @param amount In base units.
    event Compensated(uint256 indexed number, address indexed prover, uint256 amount);

    /// @notice An address is zero.
    error ZeroAddress();
    /// @notice An amount is zero.
    error ZeroAmount();
    /// @notice The thaw period exceeds its bound.
    error PeriodTooLong(uint64 period, uint64 max);
    /// @notice Shares of a slash that do not add up to at most the whole, or burn less than half.
    error BadShares(uint32 burnedPpm, uint32 compensationPpm);
    /// @notice The token took a fee.
    error TransferAmountMismatch(uint256 expected, uint256 received);
    /// @notice More than the active stake.
    error InsufficientStake(address owner, uint256 active, uint256 amount);
    /// @notice The owner has as many thaws under way as are allowed.
    error TooManyThaws(uint256 max);
    /// @notice Nothing of the owner has thawed.
    error NothingThawed(address owner);
    /// @notice Games are open against the owner.
    error StakeLocked(address owner, uint256 locks);
    /// @notice The caller is not the dispute game.
    error NotTheGame(address caller);
    /// @notice The owner has no lock to take away.
    error NotLocked(address owner);
    /// @notice The caller is neither the owner nor its recipient.
    error NotTheStaker(address owner, address caller);
    /// @notice The game was not won, has its part already, or waits for a slash.
    error NothingDue(uint256 number);

    /// @notice Adds to the stake of `owner`.
    /// @param owner Whose stake grows; not zero.
    /// @param amount Taken from the caller; not zero.
    function stake(address owner, uint256 amount) external;

    /// @notice stake() with the caller's EIP-2612 signature over `amount`.
    /// @param owner Whose stake grows.
    /// @param amount Taken from the caller.
    /// @param deadline Of the signature.
    /// @param v Of the signature.
    /// @param r Of the signature.
    /// @param s Of the signature.
    function stakeWithPermit(
        address owner,
        uint256 amount,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    /// @notice Lets `defender` answer in games against `owner`, and be paid for it. It can lose the stake by wrong answers, but not take
    /// it. @dev The caller is the owner or its recipient.
    /// @param owner Whose units are defended.
    /// @param defender The delegate; zero: nobody else.
    function setDefender(address owner, address defender) external;

    /// @notice Sets where withdrawn stake of `owner` goes: at once if the recipient asks, which is the owner itself at first. The owner's
    /// own request takes effect a thaw period later, unless the recipient sets one before.
    /// @param owner Whose stake.
    /// @param recipient Where it goes; not zero.
    function setRecipient(address owner, address recipient) external;

    /// @notice thaw() by the owner or its recipient.
    /// @param owner Whose stake.
    /// @param amount At most the active stake; not zero.
    /// @return availableAt Unix seconds from which it can be withdrawn.
    function thaw(address owner, uint256 amount) external returns (uint64 availableAt);

    /// @notice withdraw() by the owner or its recipient.
    /// @param owner Whose stake.
    /// @return amount In base units.
    function withdraw(address owner) external returns (uint256 amount);

    /// @notice Removes `amount` from the caller's active stake.
    /// @param amount At most the active stake; not zero.
    /// @return availableAt Unix seconds from which it can be withdrawn.
    function thaw(uint256 amount) external returns (uint64 availableAt);

    /// @notice Pays out the caller's thawed stake to its recipient, unless a game is open against the caller.
    /// @return amount In base units.
    function withdraw() external returns (uint256 amount);

    /// @notice The game: nothing of `owner` can be withdrawn until unlock().
    /// @param owner The asserter.
    function lock(address owner) external;

    /// @notice The game: takes one lock away.
    /// @param owner The asserter.
    function unlock(address owner) external;

    /// @notice The game: `prover` won a game against `owner`. The next slash of `owner` pays for it.
    /// @param owner The asserter.
    /// @param number Of the game's announcement, which is used once.
    /// @param prover Its challenger.
    /// @param moves What it counts beside the other games; not zero.
    function recordProof(address owner, uint256 number, address prover, uint32 moves) external;

    /// @notice The game: takes `sharePpm` of the stake, active before thawing. The burned share is burned; the share for
    /// compensation waits for the other provers of games that were won since the last slash, and is burned if there are none;
    /// the rest goes to the finder.
    /// @param owner The party at fault.
    /// @param sharePpm Of active and thawing stake together, in parts per million, at most all of it.
    /// @param finder The prover of the fault; not zero.
    /// @param number Of the finder's announcement: its game has no part in the compensation.
    /// @return taken The total amount taken.
    function slash(address owner, uint32 sharePpm, address finder, uint256 number)
        external
        returns (uint256 taken);

    /// @notice Sends the prover of a won game its part of the slash, by moves; anybody may call it.
    /// @param number Of the game's announcement.
    /// @return amount In base units.
    function compensate(uint256 number) external returns (uint256 amount);

    /// @notice What compensate() would send.
    /// @param number Of the game's announcement.
    /// @return prover Its challenger; zero if the game was not won, or is paid.
    /// @return amount In base units; zero before the slash.
    function compensationOf(uint256 number) external view returns (address prover, uint256 amount);

    /// @notice The stake of `owner`.
    /// @param owner Whose stake.
    /// @return active Backs units.
    /// @return thawing Backs nothing new, can still be slashed.
    /// @return locks Open games.
    function stakeOf(address owner)
        external
        view
        returns (uint256 active, uint256 thawing, uint256 locks);

    /// @notice Thaws under way of `owner`.
    /// @param owner Whose.
    /// @return count How many.
    function thawCount(address owner) external view returns (uint256 count);

    /// @notice Who else may answer in games against `owner`; zero: nobody.
    /// @param owner Whose units are defended.
    function defenderOf(address owner) external view returns (address);

    /// @notice Where withdrawn stake of `owner` goes: the owner, unless another address is set.
    /// @param owner Whose stake.
    function recipientOf(address owner) external view returns (address);

    /// @notice The recipient that `owner` asked for, as long as it waits; else zeros.
    /// @param owner Whose stake.
    /// @return recipient The next one.
    /// @return since Unix seconds from which it is the recipient.
    function nextRecipientOf(address owner) external view returns (address recipient, uint64 since);

    /// @notice The token that is staked.
    function token() external view returns (address);

    /// @notice The dispute game.
    function game() external view returns (address);

    /// @notice Seconds from thaw() to withdraw(): at least the challenge window and two challenge periods.
    function thawPeriod() external view returns (uint64);
}
