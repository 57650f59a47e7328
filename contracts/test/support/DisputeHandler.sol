// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeGame} from "../../src/interfaces/IDisputeGame.sol";
import {DisputePlay} from "./DisputePlay.sol";

/// Three challengers and one asserter with random moves and delays; counts what must add up. Who is right, the asserter of an honest
/// unit or challenger 0 of a cheat's, is prompt: it moves before time passes.
abstract contract DisputeHandler is DisputePlay {
    uint256 public constant CHALLENGERS = 3;
    uint256 private constant SUPPLY = 1e30;
    uint256 private constant GAMES_MAX = 8;
    uint256 private constant MOVES_MAX = 20;

    bytes32[] public ids;
    mapping(bytes32 id => IDisputeGame.Status) private _ended;
    bytes32[] private _pending;
    mapping(bytes32 id => bytes32) private _saltOf;
    mapping(bytes32 id => address) private _ownerOf;
    uint256 private _forfeits;
    /// Of the slash: burned, and left to provers beside the finder.
    uint256 private _slashBurns;
    uint256 private _compensation;
    uint256 private _left; // of the stake, once the unit is settled
    uint256 public compensated;
    uint256 public deposited;
    uint256 public withdrawn;
    uint256 public outOfTurn;
    uint256 public changedVerdicts;
    uint256 public provenAgainstTheRight;
    uint256 public lostByTheRight;
    bool public honest;

    /// @param honest_ Whether the asserter is right; else the challengers are.
    constructor(bool honest_) {
        honest = honest_;
    }

    // --- what the unit is and how its games are played ---

    /// Posts the unit, if there is none yet. @param seed What is wrong with it.
    function _commit(uint256 seed) internal virtual;

    /// A game was opened.
    function _begin(bytes32 id, address challenger) internal virtual;

    /// Plans the next move of a game, and makes it if _isDue().
    function _moveIn(bytes32 id, bool tried) internal virtual returns (bool made);

    function who(uint256 i) public pure returns (address) {
        return address(uint160(0x50000 + i % CHALLENGERS));
    }

    // --- what forge calls ---

    function pass(uint256 seconds_, uint256 blocks) external {
        _wait(0, 0);
        _movePrompt();
        _wait(bound(seconds_, 0, 40 minutes), bound(blocks, 0, 8));
    }

    function announce(uint256 i, bytes32 salt) external {
        _wait(0, 0);
        _commit(uint256(salt));
        bytes32 id = _game.announcementOf(who(i), _unit, salt);
        (uint256 order,) = _game.announced(id);
        if (order != 0 || _game.gameOf(id).challenger != address(0)) return;
        if (_pending.length >= GAMES_MAX) return;
        vm.prank(who(i));
        _game.announce(id);
        // The same one can be announced again when its bond is gone.
        if (_ownerOf[id] == address(0)) _pending.push(id);
        (_saltOf[id], _ownerOf[id]) = (salt, who(i));
    }

    function open(uint256 i) external {
        _wait(0, 0);
        if (_pending.length == 0) return;
        bytes32 id = _pending[i % _pending.length];
        vm.prank(_ownerOf[id]);
        try _game.open{value: 1 ether}(_commitment, _record, _slot, _index, _path, _saltOf[id]) {
            deposited += 1 ether;
            ids.push(id);
            _begin(id, _ownerOf[id]);
        } catch {} // not in its time, reclaimed, forfeit, or the unit is settled
    }

    /// The next move of a game, by whoever must make it; the others try it first.
    function move(uint256 i) external {
        _wait(0, 0);
        if (ids.length == 0) return;
        bytes32 id = ids[i % ids.length];
        if (_isOpen(id)) _moveIn(id, true);
    }

    function timeout(uint256 i) external {
        _wait(0, 0);
        if (ids.length == 0) return;
        try _game.timeout(ids[i % ids.length]) {} catch {} // its clock runs, or it is over
    }

    function close(uint256 i) external {
        _wait(0, 0);
        if (ids.length == 0) return;
        bytes32 id = ids[i % ids.length];
        vm.prank(_ownerOf[id]);
        try _game.close(id) {} catch {} // over, or no fault is known
    }

    function settle() external {
        _wait(0, 0);
        uint256 lost = _game.unitOf(_unit).byClock ? STAKE * MISSED_PPM / 1e6 : STAKE;
        uint256 part = _hasOtherProvers() ? lost / 10 : 0;
        try _game.settle(_unit) {
            (_slashBurns, _compensation) = (lost * 6 / 10 - part, part);
            _left = STAKE - lost;
        } catch {} // not faulty, too early, or done
    }

    function compensate(uint256 i) public {
        _wait(0, 0);
        if (ids.length == 0) return;
        bytes32 id = ids[i % ids.length];
        try _stake.compensate(_game.gameOf(id).order) returns (uint256 amount) {
            compensated += amount;
        } catch {} // the finder's, not won in time, paid, or the unit is not settled
    }

    function endAnnouncement(uint256 i, bool burn) external {
        _wait(0, 0);
        if (_pending.length == 0) return;
        bytes32 id = _pending[i % _pending.length];
        if (burn) {
            try _game.forfeit(id) {
                ++_forfeits;
            } catch {} // opened, gone, or still to come
            return;
        }
        vm.prank(_ownerOf[id]);
        try _game.reclaim(_unit, _saltOf[id]) {} catch {} // the same
    }

    function withdrawEther(uint256 i) external {
        _wait(0, 0);
        vm.prank(who(i));
        try _game.withdrawEther() returns (uint256 amount) {
            withdrawn += amount;
        } catch {} // nothing to take
    }

    /// A verdict stays what it was, and is never against who is right.
    function look() public {
        for (uint256 i = 0; i < ids.length; ++i) {
            if (_isOpen(ids[i])) continue;
            IDisputeGame.Status status = _game.gameOf(ids[i]).status;
            bool upheld = status == IDisputeGame.Status.Upheld;
            if (_ended[ids[i]] == IDisputeGame.Status.None) {
                _ended[ids[i]] = status;
                if (honest ? !upheld : upheld && _ownerOf[ids[i]] == who(0)) ++lostByTheRight;
            }
            if (_ended[ids[i]] != status) ++changedVerdicts;
        }
    }

    // --- what must hold ---

    function statusOf(uint256 i) external view returns (IDisputeGame.Status) {
        return _game.gameOf(ids[i]).status;
    }

    /// What the last planned move is called.
    function lastMove() external view returns (string memory) {
        return _name;
    }

    function bondsDue() external view returns (uint256 due) {
        for (uint256 i = 0; i < _pending.length; ++i) {
            (uint256 order,) = _game.announced(_pending[i]);
            if (order != 0 || _isOpen(_pending[i])) due += BOND;
        }
    }

    function bondsHeld() external view returns (uint256) {
        return _token.balanceOf(address(_game));
    }

    /// Tokens that are gone: half of lost bonds, announcements that were not opened, six tenths of a slash, or five if there are provers
    /// beside the finder.
    function burnsDue() external view returns (uint256 due) {
        due = _forfeits * BOND;
        for (uint256 i = 0; i < ids.length; ++i) {
            bool upheld = _game.gameOf(ids[i]).status == IDisputeGame.Status.Upheld;
            if (upheld) due += BOND - BOND / 2;
        }
        due += _slashBurns;
    }

    /// What the stakes' contract holds beside the stake.
    function compensationHeld() external view returns (uint256) {
        (uint256 active,,) = _stake.stakeOf(_asserter);
        return _token.balanceOf(address(_stake)) - active;
    }

    function compensationDue() external view returns (uint256) {
        return _compensation - compensated;
    }

    function burned() external view returns (uint256) {
        return SUPPLY - _token.totalSupply();
    }

    function etherDue() external view returns (uint256 due) {
        for (uint256 i = 0; i < ids.length; ++i) {
            due += _game.gameOf(ids[i]).escrow;
        }
        for (uint256 i = 0; i < CHALLENGERS; ++i) {
            due += _game.etherOf(who(i));
        }
        due += _game.etherOf(_asserter);
    }

    function etherHeld() external view returns (uint256) {
        return address(_game).balance;
    }

    /// The unit's stake: all there, or taken once it was settled, as far as its fault goes.
    function stakeIsWhole() external view returns (bool) {
        (uint256 active,, uint256 locks) = _stake.stakeOf(_asserter);
        IDisputeGame.Unit memory u = _game.unitOf(_unit);
        bool locked = u.games != 0 || u.provenAt != 0;
        return u.settled
            ? active == _left && locks == 0
            : active == STAKE && locks == (locked ? 1 : 0) && u.locked == locked;
    }

    function openGames() external view returns (uint256 count) {
        for (uint256 i = 0; i < ids.length; ++i) {
            if (_isOpen(ids[i])) ++count;
        }
        assertEq(_game.unitOf(_unit).games, count, "games");
    }

    /// Whatever state the games are in, time ends them.
    function everythingEnds() external {
        _wait(0, 0);
        _movePrompt();
        _wait(CLOCK + 1, 1000);
        for (uint256 i = 0; i < ids.length; ++i) {
            if (_isOpen(ids[i])) _game.timeout(ids[i]);
        }
        if (_game.unitOf(_unit).provenAt != 0 && !_game.unitOf(_unit).settled) {
            _wait(SETTLING + 1, 1);
            this.settle();
            assertTrue(_game.unitOf(_unit).settled, "settled");
        }
        for (uint256 i = 0; i < ids.length; ++i) {
            compensate(i);
        }
        for (uint256 i = 0; i < _pending.length; ++i) {
            (uint256 order,) = _game.announced(_pending[i]);
            if (order == 0) continue;
            _game.forfeit(_pending[i]);
            ++_forfeits;
        }
        look();
    }

    // --- helpers ---

    /// Whether a game was won in time beside the finder's.
    function _hasOtherProvers() private view returns (bool) {
        for (uint256 i = 0; i < ids.length; ++i) {
            uint256 order = _game.gameOf(ids[i]).order;
            (address prover,) = _stake.compensationOf(order);
            if (prover != address(0) && order != _game.unitOf(_unit).order) return true;
        }
        return false;
    }

    function _movePrompt() private {
        for (uint256 i = 0; i < ids.length; ++i) {
            bytes32 id = ids[i];
            if (!honest && _ownerOf[id] != who(0)) continue;
            IDisputeGame.Status turn =
                honest ? IDisputeGame.Status.AsserterMoves : IDisputeGame.Status.ChallengerMoves;
            for (uint256 moves = 0; moves < MOVES_MAX; ++moves) {
                if (_game.gameOf(id).status != turn || !_moveIn(id, false)) break;
            }
        }
    }

    function _fundChallengers() internal {
        for (uint256 i = 0; i < CHALLENGERS; ++i) {
            _fund(who(i));
        }
    }

    /// Whether the planned move can be made: there is time for it, and it is not the proof that ends a game against who is right. That
    /// one is tried here. @param tried Whether others than its mover try it first.
    function _isDue(bytes32 id, bool tried) internal returns (bool) {
        IDisputeGame.Game memory g = _game.gameOf(id);
        if (tried) {
            _tryAs(_mover == _asserter ? g.challenger : _asserter);
            _tryAs(address(0xbad));
        }
        (uint256 challengers, uint256 asserters) = _game.clocksOf(id);
        if ((_mover == _asserter ? asserters : challengers) == 0) return false;
        if (!honest || !_isProof()) return true;
        vm.prank(g.challenger);
        (bool ok,) = address(_game).call(_call);
        if (ok) ++provenAgainstTheRight;
        return false;
    }

    function _isProof() private view returns (bool) {
        return bytes(_name).length > 5 && bytes5(bytes(_name)) == "prove";
    }

    function _tryAs(address mover) private {
        vm.prank(mover);
        (bool ok,) = address(_game).call(_call);
        if (ok) ++outOfTurn;
    }
}
