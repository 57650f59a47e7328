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
    /// @notice One more, or one less, game is open against `owner`.
    /// @param owner The asserter.
    /// @param locks Open games.
    event LocksChanged(address indexed owner, uint256 locks);
    /// @notice A fault of `owner` is proven.
    /// @param owner The owner of the lost stake.
    /// @param finder The prover of the fault.
    /// @param compensated The compensated party.
    /// @param burned Base units that exist no more.
    /// @param reward Base units to the finder.
    /// @param compensation Base units to the compensated.
    event Slashed(
        address indexed owner,
        address indexed finder,
        address indexed compensated,
        uint256 burned,
        uint256 reward,
        uint256 compensation
    );

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

    /// @notice Removes `amount` from the caller's active stake.
    /// @param amount At most the active stake; not zero.
    /// @return availableAt Unix seconds from which it can be withdrawn.
    function thaw(uint256 amount) external returns (uint64 availableAt);

    /// @notice Pays out thawed stake, unless a game is open against the caller.
    /// @return amount In base units.
    function withdraw() external returns (uint256 amount);

    /// @notice The game: nothing of `owner` can be withdrawn until unlock().
    /// @param owner The asserter.
    function lock(address owner) external;

    /// @notice The game: takes one lock away.
    /// @param owner The asserter.
    function unlock(address owner) external;

    /// @notice The game: takes `amount`, or all there is, from active and then thawing stake. The shares of the
    /// constructor are burned and paid as compensation, the rest goes to the finder.
    /// @param owner The party at fault.
    /// @param amount At most this much; type(uint256).max: everything.
    /// @param finder The prover of the fault; not zero.
    /// @param compensated The damaged party; zero: its share is burned.
    /// @return taken The total amount taken.
    function slash(address owner, uint256 amount, address finder, address compensated)
        external
        returns (uint256 taken);

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

    /// @notice The token that is staked.
    function token() external view returns (address);

    /// @notice The dispute game.
    function game() external view returns (address);

    /// @notice Seconds from thaw() to withdraw(): at least the challenge window and two challenge periods.
    function thawPeriod() external view returns (uint64);
}
