// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IStake} from "./interfaces/IStake.sol";

/// @title Stakes of workers
/// @notice See IStake.
contract Stake is IStake, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @notice One, in parts per million.
    uint32 public constant PPM = 1_000_000;
    /// @notice Least burned share of a slash: a party that plays against itself loses it.
    uint32 public constant BURNED_PPM_MIN = 500_000;
    /// @notice Bound of the thaw period, so that a wrong parameter cannot lock stake up.
    uint64 public constant THAW_PERIOD_MAX = 90 days;
    /// @notice Most thaws under way of one owner: withdraw() stays below a block's gas.
    uint256 public constant THAWS_MAX = 64;

    struct Thaw {
        uint256 shares;
        uint64 availableAt;
        uint64 generation;
    }

    /// A won game. Its prover's part of the pot counts by `moves`.
    struct Proof {
        address prover;
        uint32 moves;
        uint64 pot;
    }

    /// What a slash leaves to the provers of games against one owner, and their moves that are not paid yet.
    struct Pot {
        uint256 tokens;
        uint256 moves;
    }

    /// A pool of thawing stake. Each thaw holds shares of it, so that a slash touches one number only.
    struct Account {
        uint256 active;
        uint256 thawing;
        uint256 shares;
        uint64 generation; // one more when a slash emptied the pool: shares of before are worth nothing
        uint32 locks;
        uint64 pot; // of games that were won since the last slash; 0: none was
        uint256 oldest; // thaws before this one are gone
        Thaw[] thaws;
        address defender;
        address recipient; // zero: the owner
        address nextRecipient; // of the owner's request; zero: there is none
        uint64 nextRecipientAt;
    }

    IERC20 private immutable _token;
    address private immutable _game;
    uint64 private immutable _thawPeriod;
    uint32 private immutable _burnedPpm;
    uint32 private immutable _compensationPpm;

    mapping(address owner => Account) private _accounts;
    uint64 private _pots;
    mapping(uint64 id => Pot) private _potOf;
    mapping(uint256 number => Proof) private _proofs;

    /// Either may do what moves the stake to nobody but its recipient.
    modifier onlyStaker(address owner) {
        if (msg.sender != owner && msg.sender != recipientOf(owner)) {
            revert NotTheStaker(owner, msg.sender);
        }
        _;
    }

    modifier onlyGame() {
        if (msg.sender != _game) revert NotTheGame(msg.sender);
        _;
    }

    /// @notice Creates the pool.
    /// @param token_ The token that is staked; burnable.
    /// @param game_ The only one that locks and slashes; its address is known before it is deployed.
    /// @param thawPeriod_ Seconds from thaw() to withdraw().
    /// @param burnedPpm Share of a slash that is burned, at least half.
    /// @param compensationPpm Share that compensates provers beside the finder.
    constructor(
        IERC20 token_,
        address game_,
        uint64 thawPeriod_,
        uint32 burnedPpm,
        uint32 compensationPpm
    ) {
        if (address(token_) == address(0) || game_ == address(0)) {
            revert ZeroAddress();
        }
        if (thawPeriod_ > THAW_PERIOD_MAX) revert PeriodTooLong(thawPeriod_, THAW_PERIOD_MAX);
        if (burnedPpm < BURNED_PPM_MIN || uint256(burnedPpm) + compensationPpm > PPM) {
            revert BadShares(burnedPpm, compensationPpm);
        }
        _token = token_;
        _game = game_;
        _thawPeriod = thawPeriod_;
        _burnedPpm = burnedPpm;
        _compensationPpm = compensationPpm;
    }

    /// @inheritdoc IStake
    function stake(address owner, uint256 amount) external nonReentrant {
        _stake(owner, amount);
    }

    /// @inheritdoc IStake
    function stakeWithPermit(
        address owner,
        uint256 amount,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external nonReentrant {
        // Whoever sees the signature can submit it first; then the allowance is there and this call fails.
        try IERC20Permit(address(_token))
            .permit(msg.sender, address(this), amount, deadline, v, r, s) {}
            catch {}
        _stake(owner, amount);
    }

    /// @inheritdoc IStake
    function setDefender(address owner, address defender) external onlyStaker(owner) {
        _accounts[owner].defender = defender;
        emit DefenderChanged(owner, defender);
    }

    /// @inheritdoc IStake
    function setRecipient(address owner, address recipient) external onlyStaker(owner) {
        if (recipient == address(0)) revert ZeroAddress();
        Account storage account = _accounts[owner];
        address current = recipientOf(owner);
        if (msg.sender == current) {
            (account.recipient, account.nextRecipient) = (recipient, address(0));
            emit RecipientChanged(owner, recipient, uint64(block.timestamp));
            return;
        }
        uint64 since = uint64(block.timestamp) + _thawPeriod;
        account.recipient = current;
        (account.nextRecipient, account.nextRecipientAt) = (recipient, since);
        emit RecipientChanged(owner, recipient, since);
    }

    /// @inheritdoc IStake
    function thaw(address owner, uint256 amount)
        external
        onlyStaker(owner)
        returns (uint64 availableAt)
    {
        return _thaw(owner, amount);
    }

    /// @inheritdoc IStake
    function withdraw(address owner)
        external
        onlyStaker(owner)
        nonReentrant
        returns (uint256 amount)
    {
        return _withdraw(owner);
    }

    /// @inheritdoc IStake
    function thaw(uint256 amount) external returns (uint64 availableAt) {
        return _thaw(msg.sender, amount);
    }

    /// @inheritdoc IStake
    function withdraw() external nonReentrant returns (uint256 amount) {
        return _withdraw(msg.sender);
    }

    /// @inheritdoc IStake
    function lock(address owner) external onlyGame {
        uint32 locks = ++_accounts[owner].locks;
        emit LocksChanged(owner, locks);
    }

    /// @inheritdoc IStake
    function unlock(address owner) external onlyGame {
        Account storage account = _accounts[owner];
        if (account.locks == 0) revert NotLocked(owner);
        uint32 locks = --account.locks;
        emit LocksChanged(owner, locks);
    }

    /// @inheritdoc IStake
    function recordProof(address owner, uint256 number, address prover, uint32 moves)
        external
        onlyGame
    {
        Account storage account = _accounts[owner];
        uint64 pot = account.pot;
        if (pot == 0) account.pot = pot = ++_pots;
        _potOf[pot].moves += moves;
        _proofs[number] = Proof(prover, moves, pot);
        emit ProofRecorded(owner, number, prover, moves);
    }

    /// @inheritdoc IStake
    function slash(address owner, uint32 sharePpm, address finder, uint256 number)
        external
        onlyGame
        nonReentrant
        returns (uint256 taken)
    {
        if (finder == address(0)) revert ZeroAddress();
        Account storage account = _accounts[owner];
        taken = _take(account, Math.mulDiv(account.active + account.thawing, sharePpm, PPM));
        uint256 compensation = _fillPot(account, taken, number);
        uint256 reward = Math.mulDiv(taken, uint256(PPM) - _burnedPpm - _compensationPpm, PPM);
        uint256 burned = taken - compensation - reward;
        emit Slashed(owner, finder, burned, reward, compensation);
        if (burned != 0) ERC20Burnable(address(_token)).burn(burned);
        if (reward != 0) _token.safeTransfer(finder, reward);
    }

    /// @inheritdoc IStake
    function compensate(uint256 number) external nonReentrant returns (uint256 amount) {
        Proof memory proof = _proofs[number];
        amount = _dueTo(proof);
        if (amount == 0) revert NothingDue(number);
        delete _proofs[number];
        Pot storage pot = _potOf[proof.pot];
        pot.tokens -= amount;
        pot.moves -= proof.moves;
        emit Compensated(number, proof.prover, amount);
        _token.safeTransfer(proof.prover, amount);
    }

    /// @inheritdoc IStake
    function compensationOf(uint256 number) external view returns (address prover, uint256 amount) {
        Proof memory proof = _proofs[number];
        return (proof.prover, _dueTo(proof));
    }

    /// @inheritdoc IStake
    function stakeOf(address owner)
        external
        view
        returns (uint256 active, uint256 thawing, uint256 locks)
    {
        Account storage account = _accounts[owner];
        return (account.active, account.thawing, account.locks);
    }

    /// @inheritdoc IStake
    function thawCount(address owner) external view returns (uint256 count) {
        return _accounts[owner].thaws.length - _accounts[owner].oldest;
    }

    /// @inheritdoc IStake
    function defenderOf(address owner) external view returns (address) {
        return _accounts[owner].defender;
    }

    /// @inheritdoc IStake
    function nextRecipientOf(address owner)
        external
        view
        returns (address recipient, uint64 since)
    {
        Account storage account = _accounts[owner];
        (recipient, since) = (account.nextRecipient, account.nextRecipientAt);
        if (recipient == address(0) || block.timestamp >= since) return (address(0), 0);
    }

    /// @inheritdoc IStake
    function token() external view returns (address) {
        return address(_token);
    }

    /// @inheritdoc IStake
    function game() external view returns (address) {
        return _game;
    }

    /// @inheritdoc IStake
    function thawPeriod() external view returns (uint64) {
        return _thawPeriod;
    }

    /// @inheritdoc IStake
    function recipientOf(address owner) public view returns (address) {
        Account storage account = _accounts[owner];
        address next = account.nextRecipient;
        if (next != address(0) && block.timestamp >= account.nextRecipientAt) return next;
        return account.recipient == address(0) ? owner : account.recipient;
    }

    function _thaw(address owner, uint256 amount) private returns (uint64 availableAt) {
        if (amount == 0) revert ZeroAmount();
        Account storage account = _accounts[owner];
        if (amount > account.active) revert InsufficientStake(owner, account.active, amount);
        if (account.thaws.length - account.oldest >= THAWS_MAX) revert TooManyThaws(THAWS_MAX);
        uint256 shares =
            account.shares == 0 ? amount : Math.mulDiv(amount, account.shares, account.thawing);
        account.active -= amount;
        account.thawing += amount;
        account.shares += shares;
        availableAt = uint64(block.timestamp) + _thawPeriod;
        account.thaws.push(Thaw(shares, availableAt, account.generation));
        emit ThawStarted(owner, amount, shares, availableAt);
    }

    function _withdraw(address owner) private returns (uint256 amount) {
        Account storage account = _accounts[owner];
        if (account.locks != 0) revert StakeLocked(owner, account.locks);
        uint256 first = account.oldest;
        uint256 next = first;
        for (; next < account.thaws.length; ++next) {
            Thaw memory request = account.thaws[next];
            if (block.timestamp < request.availableAt) break;
            delete account.thaws[next];
            if (request.generation == account.generation) {
                amount += _redeem(account, request.shares);
            }
        }
        if (next == first) revert NothingThawed(owner);
        account.oldest = next;
        emit StakeWithdrawn(owner, amount);
        if (amount != 0) _token.safeTransfer(recipientOf(owner), amount);
    }

    function _stake(address owner, uint256 amount) private {
        if (owner == address(0)) revert ZeroAddress();
        if (amount == 0) revert ZeroAmount();
        _accounts[owner].active += amount;
        emit Staked(owner, msg.sender, amount);
        uint256 before = _token.balanceOf(address(this));
        _token.safeTransferFrom(msg.sender, address(this), amount);
        uint256 received = _token.balanceOf(address(this)) - before;
        if (received != amount) revert TransferAmountMismatch(amount, received);
    }

    /// Value of `shares`, rounded down; the last ones take the remainder.
    function _redeem(Account storage account, uint256 shares) private returns (uint256 amount) {
        amount = shares == account.shares
            ? account.thawing
            : Math.mulDiv(shares, account.thawing, account.shares);
        account.thawing -= amount;
        account.shares -= shares;
    }

    /// Closes the pot of the owner's won games with the provers' share of a slash. The finder has its reward, so its game has no part
    /// in it. @return filled Tokens in the pot; 0 if there is no other prover.
    function _fillPot(Account storage account, uint256 taken, uint256 number)
        private
        returns (uint256 filled)
    {
        uint64 id = account.pot;
        // Whatever is slashed later pays for the games that were won by then.
        if (taken == 0 || id == 0) return 0;
        account.pot = 0;
        Pot storage pot = _potOf[id];
        if (_proofs[number].pot == id) {
            pot.moves -= _proofs[number].moves;
            delete _proofs[number];
        }
        if (pot.moves != 0) pot.tokens = filled = Math.mulDiv(taken, _compensationPpm, PPM);
    }

    /// The last one takes the remainder.
    function _dueTo(Proof memory proof) private view returns (uint256) {
        Pot storage pot = _potOf[proof.pot];
        return proof.moves == 0 ? 0 : Math.mulDiv(pot.tokens, proof.moves, pot.moves);
    }

    function _take(Account storage account, uint256 amount) private returns (uint256 taken) {
        uint256 fromActive = Math.min(amount, account.active);
        uint256 fromThawing = Math.min(amount - fromActive, account.thawing);
        account.active -= fromActive;
        account.thawing -= fromThawing;
        if (account.thawing == 0 && account.shares != 0) {
            account.shares = 0;
            ++account.generation;
        }
        return fromActive + fromThawing;
    }
}
