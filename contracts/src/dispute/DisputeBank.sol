// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {IDisputeGame} from "../interfaces/IDisputeGame.sol";
import {IStake} from "../interfaces/IStake.sol";

/// @title Announcements, balances, and the end of games
/// @notice The money of IDisputeGame: it holds one bond per announcement and open game, and the ether that is escrowed or owed.
abstract contract DisputeBank is IDisputeGame, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @dev A wrong term must not keep bonds or units for ever.
    uint256 private constant CLOCK_MAX = 30 days;
    uint256 private constant SETTLING_MAX = 90 days;
    /// @dev Gas of a transaction, and of what is written after a move's gas is measured.
    uint256 private constant BASE_GAS = 21_000;
    uint256 private constant LAST_GAS = 15_000;
    /// @dev Gas of a byte of calldata that is not zero, and the floor of EIP-7623.
    uint256 private constant BYTE_GAS = 16;
    uint256 private constant BYTE_FLOOR_GAS = 40;
    /// @dev A word of storage that is set anew, less what an update costs.
    uint256 private constant NEW_STORAGE_GAS = 17_100;
    /// @dev What a won game counts beside its moves, whose gas is about 100,000 each, both sides' together: the gas of announcing, opening
    /// and being paid, and of a proof.
    uint32 private constant GAME_MOVES = 5;
    uint32 internal constant PROOF_MOVES = 3;
    uint32 private constant PPM = 1_000_000;

    struct Announcement {
        uint48 order; // from 1
        uint64 blockNumber;
    }

    IERC20 internal immutable _TOKEN;
    IStake internal immutable _STAKE;
    uint128 private immutable _BOND;
    uint24 internal immutable _CLOCK;
    uint40 private immutable _SETTLING;
    uint32 private immutable _ANNOUNCE_BLOCKS;
    uint32 private immutable _OPEN_BLOCKS;
    uint64 private immutable _ESCROW_GAS;
    uint32 private immutable _MISSED_PPM;

    uint48 private _announcements;
    mapping(bytes32 announcement => Announcement) private _announced;
    mapping(bytes32 game => Game) internal _games;
    mapping(bytes32 unit => Unit) internal _units;
    mapping(address owner => uint256) private _ether;
    /// Since when the asserter's first outage counts: when the clock of the unit that paid for it ran out.
    mapping(address asserter => uint40) private _outageSince;

    constructor(Terms memory t, IStake stake_) {
        bool legal = t.bond != 0 && t.clock != 0 && t.clock <= CLOCK_MAX && t.announceBlocks != 0
            && t.openBlocks != 0 && t.settling >= 2 * uint256(t.clock) && t.settling <= SETTLING_MAX
            && t.missedPpm != 0 && t.missedPpm <= PPM;
        if (!legal || stake_.game() != address(this)) revert BadTerms();
        (_TOKEN, _STAKE) = (IERC20(stake_.token()), stake_);
        (_BOND, _CLOCK, _SETTLING) = (t.bond, t.clock, t.settling);
        (_ANNOUNCE_BLOCKS, _OPEN_BLOCKS) = (t.announceBlocks, t.openBlocks);
        (_ESCROW_GAS, _MISSED_PPM) = (t.escrowGas, t.missedPpm);
    }

    /// @inheritdoc IDisputeGame
    function announce(bytes32 announcement) external nonReentrant {
        bool known =
            _announced[announcement].order != 0 || _games[announcement].status != Status.None;
        if (known) revert AlreadyAnnounced(announcement);
        uint48 order = ++_announcements;
        _announced[announcement] = Announcement(order, uint64(block.number));
        emit Announced(announcement, msg.sender, order);
        uint256 before = _balance();
        _TOKEN.safeTransferFrom(msg.sender, address(this), _BOND);
        uint256 received = _balance() - before;
        if (received != _BOND) revert TransferAmountMismatch(_BOND, received);
    }

    /// @inheritdoc IDisputeGame
    function reclaim(bytes32 unit, bytes32 salt) external nonReentrant {
        bytes32 announcement = announcementOf(msg.sender, unit, salt);
        _announcement(announcement);
        _faulty(unit);
        _endAnnouncement(announcement, true);
        _TOKEN.safeTransfer(msg.sender, _BOND);
    }

    /// @inheritdoc IDisputeGame
    function forfeit(bytes32 announcement) external nonReentrant {
        Announcement memory a = _announcement(announcement);
        uint256 last = uint256(a.blockNumber) + _ANNOUNCE_BLOCKS + _OPEN_BLOCKS;
        if (block.number <= last) revert WrongBlock(last + 1, type(uint256).max);
        _endAnnouncement(announcement, false);
        _burn(_BOND);
    }

    /// @inheritdoc IDisputeGame
    function timeout(bytes32 game) external nonReentrant {
        Game storage g = _openGame(game);
        bool asserter = g.status == Status.AsserterMoves;
        uint256 clock = asserter ? g.asserterClock : g.challengerClock;
        uint256 elapsed = block.timestamp - g.since;
        if (elapsed <= clock) revert ClockRuns(game, clock - elapsed);
        if (asserter) {
            _markFaulty(g, 0, true);
            _end(game, g, Status.FaultByClock);
        } else {
            _end(game, g, _units[g.unit].provenAt == 0 ? Status.Upheld : Status.Moot);
        }
    }

    /// @inheritdoc IDisputeGame
    function close(bytes32 game) external nonReentrant {
        Game storage g = _openGame(game);
        Unit storage u = _faulty(g.unit);
        // Until the unit is settled the game may still prove the fault with an earlier announcement.
        if (msg.sender != g.challenger && !u.settled) revert NotYourTurn(game);
        _end(game, g, Status.Moot);
    }

    /// @inheritdoc IDisputeGame
    function settle(bytes32 unit) external nonReentrant {
        Unit storage u = _faulty(unit);
        if (u.settled) revert AlreadySettled(unit);
        uint256 end = uint256(u.provenAt) + _SETTLING;
        if (block.timestamp <= end) revert TooEarly(end + 1);
        (u.settled, u.locked) = (true, false);
        (address asserter, address finder) = (u.asserter, u.finder);
        uint256 taken = _STAKE.slash(asserter, _lostShare(u, asserter), finder, u.order);
        _STAKE.unlock(asserter);
        emit UnitSettled(unit, asserter, finder, taken);
    }

    /// @inheritdoc IDisputeGame
    function withdrawEther() external nonReentrant returns (uint256 amount) {
        amount = _ether[msg.sender];
        if (amount == 0) revert NoEther(msg.sender);
        _ether[msg.sender] = 0;
        emit EtherWithdrawn(msg.sender, amount);
        (bool ok,) = msg.sender.call{value: amount}("");
        if (!ok) revert NoEther(msg.sender);
    }

    /// @inheritdoc IDisputeGame
    function announcementOf(address sender, bytes32 unit, bytes32 salt)
        public
        view
        returns (bytes32)
    {
        return keccak256(abi.encode(block.chainid, address(this), sender, unit, salt));
    }

    /// @inheritdoc IDisputeGame
    function announced(bytes32 announcement)
        external
        view
        returns (uint256 order, uint256 blockNumber)
    {
        Announcement storage a = _announced[announcement];
        return (a.order, a.blockNumber);
    }

    /// @inheritdoc IDisputeGame
    function gameOf(bytes32 game) external view returns (Game memory) {
        return _games[game];
    }

    /// @inheritdoc IDisputeGame
    function clocksOf(bytes32 game) external view returns (uint256 challenger, uint256 asserter) {
        Game storage g = _games[game];
        (challenger, asserter) = (g.challengerClock, g.asserterClock);
        uint256 elapsed = block.timestamp - g.since;
        if (g.status == Status.ChallengerMoves) challenger = _minus(challenger, elapsed);
        if (g.status == Status.AsserterMoves) asserter = _minus(asserter, elapsed);
    }

    /// @inheritdoc IDisputeGame
    function unitOf(bytes32 unit) external view returns (Unit memory) {
        return _units[unit];
    }

    /// @inheritdoc IDisputeGame
    function etherOf(address owner) external view returns (uint256) {
        return _ether[owner];
    }

    /// @inheritdoc IDisputeGame
    function terms() external view returns (Terms memory) {
        return
            Terms(
                _BOND, _CLOCK, _SETTLING, _ANNOUNCE_BLOCKS, _OPEN_BLOCKS, _ESCROW_GAS, _MISSED_PPM
            );
    }

    /// @dev Turns an announcement of the caller into a game with its escrow and two full clocks. Its status and position are the
    /// caller's to set.
    function _begin(bytes32 game, bytes32 unit, uint256 deadline)
        internal
        returns (Game storage g)
    {
        Announcement memory a = _announcement(game);
        uint256 from = uint256(a.blockNumber) + _ANNOUNCE_BLOCKS;
        uint256 to = from + _OPEN_BLOCKS;
        if (deadline < to) to = deadline;
        if (block.number < from || block.number > to) revert WrongBlock(from, to);
        uint256 needed = 2 * block.basefee * _ESCROW_GAS;
        bool fits = msg.value >= needed && msg.value <= type(uint96).max;
        if (!fits) revert EscrowTooSmall(msg.value, needed);
        delete _announced[game];
        g = _games[game];
        (g.unit, g.challenger, g.order) = (unit, msg.sender, a.order);
        (g.since, g.challengerClock, g.asserterClock) = (uint40(block.timestamp), _CLOCK, _CLOCK);
        g.escrow = uint96(msg.value);
    }

    /// @dev One more game on the unit. Its asserter's stake stays while there is one, and until a proven fault is settled.
    function _join(bytes32 unit, address asserter) internal {
        Unit storage u = _units[unit];
        if (u.settled) revert AlreadySettled(unit);
        u.asserter = asserter;
        ++u.games;
        if (u.locked) return;
        u.locked = true;
        _STAKE.lock(asserter);
    }

    /// @dev The game has proven a fault of its unit; the earliest announcement is rewarded. All that were made before the first proof
    /// count as provers: after it nobody needs another game. @param proof Moves that the proof counts as. @param byClock Whether the
    /// asserter ran out of time, which shows nothing about the unit.
    function _markFaulty(Game storage g, uint32 proof, bool byClock) internal {
        Unit storage u = _units[g.unit];
        bool first = u.provenAt == 0;
        if (first) (u.provenAt, u.lastOrder) = (uint40(block.timestamp), _announcements);
        else if (u.settled || block.timestamp > uint256(u.provenAt) + _SETTLING) return;
        u.byClock = byClock && (first || u.byClock);
        if (g.order <= u.lastOrder) {
            _STAKE.recordProof(u.asserter, g.order, g.challenger, GAME_MOVES + proof + g.moves);
        }
        if (!first && g.order > u.order) return;
        (u.finder, u.order) = (g.challenger, g.order);
        emit UnitFaulty(g.unit, u.asserter, g.challenger, g.order);
    }

    /// @dev Takes the time that a side took off its clock; it had enough.
    function _stopClock(bytes32 game, Game storage g, bool asserter) internal {
        uint256 elapsed = block.timestamp - g.since;
        uint256 clock = asserter ? g.asserterClock : g.challengerClock;
        if (elapsed > clock) revert ClockRanOut(game);
        // Not above the clock, which is a uint24.
        // forge-lint: disable-next-line(unsafe-typecast)
        if (asserter) g.asserterClock = uint24(clock - elapsed);
        // forge-lint: disable-next-line(unsafe-typecast)
        else g.challengerClock = uint24(clock - elapsed);
        g.since = uint40(block.timestamp);
    }

    /// @dev Ends an open game. The bond goes back, unless the asserter was right.
    function _end(bytes32 game, Game storage g, Status status) internal {
        Unit storage u = _units[g.unit];
        (address challenger, address asserter) = (g.challenger, u.asserter);
        g.status = status;
        _ether[challenger] += g.escrow;
        g.escrow = 0;
        bool last = --u.games == 0 && u.provenAt == 0;
        if (last) u.locked = false;
        uint256 toAsserter = status == Status.Upheld ? _BOND / 2 : 0;
        uint256 burned = status == Status.Upheld ? _BOND - toAsserter : 0;
        emit GameEnded(game, g.unit, status, burned, toAsserter);
        if (last) _STAKE.unlock(asserter);
        if (status != Status.Upheld) return _TOKEN.safeTransfer(challenger, _BOND);
        _burn(burned);
        if (toAsserter != 0) _TOKEN.safeTransfer(asserter, toAsserter);
    }

    /// @dev About what the transaction costs in the end.
    function _gasOf(uint256 gasAtStart, uint256 payload) internal view returns (uint256 total) {
        total = BASE_GAS + BYTE_GAS * payload + gasAtStart - gasleft() + LAST_GAS;
        uint256 floor = BASE_GAS + BYTE_FLOOR_GAS * payload;
        if (floor > total) total = floor;
    }

    /// @dev The extra gas of an account.s first credit, whose storage is new.
    function _gasOfCredit(address owner) internal view returns (uint256) {
        return _ether[owner] == 0 ? NEW_STORAGE_GAS : 0;
    }

    /// @dev Pays gas of an answer out of the game's escrow, as far as it goes. @return paid Wei.
    function _payGas(Game storage g, address sender, uint256 gasUsed)
        internal
        returns (uint256 paid)
    {
        uint256 price = 2 * block.basefee;
        if (tx.gasprice < price) price = tx.gasprice;
        paid = gasUsed * price;
        if (paid > g.escrow) paid = g.escrow;
        if (paid == 0) return 0;
        // Not above the escrow, which is a uint96.
        // forge-lint: disable-next-line(unsafe-typecast)
        g.escrow -= uint96(paid);
        _ether[sender] += paid;
    }

    /// @dev All for a proven fault. An outage of a machine misses the clocks of all games at once, so they cost a part together; a later
    /// outage was warned of.
    function _lostShare(Unit storage u, address asserter) private returns (uint32 ppm) {
        if (!u.byClock) return PPM;
        uint256 since = _outageSince[asserter];
        if (since == 0) {
            _outageSince[asserter] = u.provenAt;
            return _MISSED_PPM;
        }
        return u.provenAt <= since + _SETTLING ? 0 : PPM;
    }

    function _announcement(bytes32 id) private view returns (Announcement memory a) {
        a = _announced[id];
        if (a.order == 0) revert NotAnnounced(id);
    }

    function _endAnnouncement(bytes32 id, bool returned) private {
        delete _announced[id];
        emit AnnouncementEnded(id, returned);
    }

    function _openGame(bytes32 game) private view returns (Game storage g) {
        g = _games[game];
        bool open_ = g.status == Status.AsserterMoves || g.status == Status.ChallengerMoves;
        if (!open_) revert NotOpen(game);
    }

    function _faulty(bytes32 unit) private view returns (Unit storage u) {
        u = _units[unit];
        if (u.provenAt == 0) revert NotFaulty(unit);
    }

    function _balance() private view returns (uint256) {
        return _TOKEN.balanceOf(address(this));
    }

    function _burn(uint256 amount) private {
        ERC20Burnable(address(_TOKEN)).burn(amount);
    }

    function _minus(uint256 a, uint256 b) private pure returns (uint256) {
        return a > b ? a - b : 0;
    }
}
