// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeGame} from "../interfaces/IDisputeGame.sol";
import {IStake} from "../interfaces/IStake.sol";
import {DisputeBank} from "./DisputeBank.sol";
import {Cursor, Finding, Frames, OpeningResult, Stage} from "./DisputeTypes.sol";

/// @title How a game is opened and moved
/// @notice Stateless contracts decide which moves are legal; they get the very call that the game got and answer with the
/// next cursor, or with a fault; this contract knows the turns, the positions of games, and earlier answers.
abstract contract DisputeTable is DisputeBank {
    using Frames for Cursor;

    /// @dev More than any move has but proofs, which are not logged: 128 children, or the values of a column, with all that comes with them.
    uint256 private constant MOVE_BYTES_MAX = 8192;
    /// @dev Calldata of an opening, which all players have to read: with the longest paths it is less.
    uint256 private constant OPEN_BYTES_MAX = 4096;
    /// @dev Calldata of an answer beside its list or chunk, in bytes that are not zero.
    uint256 internal constant FRAME_BYTES = 512;

    /// The answer of the asserter at a cursor: the same in every game of the unit.
    mapping(bytes32 unit => mapping(bytes32 cursor => bytes32)) private _answers;

    constructor(Terms memory terms_, IStake stake_) DisputeBank(terms_, stake_) {}

    /// @inheritdoc IDisputeGame
    function answerTo(bytes32 unit, bytes32 cursor) external view returns (bytes32) {
        return _answers[unit][cursor];
    }

    /// @dev Begins a game, or wins it, by what the rules say about the call.
    function _openBy(address rules, bytes32 salt) internal nonReentrant {
        uint256 gasAtStart = gasleft();
        if (msg.data.length > OPEN_BYTES_MAX) revert TooMuchData(msg.data.length);
        OpeningResult memory r = abi.decode(_decide(rules), (OpeningResult));
        bytes32 game = announcementOf(msg.sender, r.unit, salt);
        Game storage g = _begin(game, r.unit, r.deadline);
        _join(r.unit, r.asserter);
        Cursor memory start;
        (start.stage, start.node, start.frame) = (Stage.UNIT, r.unit, r.facts);
        emit Opened(game, r.unit, r.asserter, msg.sender, start, msg.data);
        if (r.fault == 0) {
            _goOn(g, start);
            g.challengerGas = uint32(_gasOf(gasAtStart, msg.data.length));
            return;
        }
        emit FaultFound(game, r.unit, msg.sig, r.fault - 1, 0, 0);
        _markFaulty(g, 0, false);
        _end(game, g, Status.FaultProven);
    }

    /// @dev A move of the asserter, whose answer serves every game that comes to this cursor.
    /// @param payload Bytes of calldata that the rules have looked at, beside the usual: only these are paid for.
    function _answer(bytes32 game, Cursor calldata cursor, address rules, uint256 payload)
        internal
    {
        uint256 gasAtStart = gasleft();
        if (msg.data.length > MOVE_BYTES_MAX) revert TooMuchData(msg.data.length);
        Game storage g = _games[game];
        bytes32 unit = g.unit;
        address asserter = _units[unit].asserter;
        bytes32 here = _takeTurn(game, g, cursor, Status.AsserterMoves, asserter);
        _answers[unit][here] = _move(game, g, rules, true);
        // Its delegate pays for the gas of its own answers.
        uint256 gasUsed = _gasOf(gasAtStart, payload + FRAME_BYTES) + _gasOfCredit(msg.sender);
        // forge-lint: disable-next-line(unsafe-typecast)
        g.asserterGas += uint32(gasUsed);
        emit GasPaid(game, msg.sender, _payGas(g, msg.sender, gasUsed));
    }

    /// @dev A move of the challenger. A position that was answered before is not asked about again.
    function _challenge(bytes32 game, Cursor calldata cursor, address rules) internal {
        uint256 gasAtStart = gasleft();
        if (msg.data.length > MOVE_BYTES_MAX) revert TooMuchData(msg.data.length);
        Game storage g = _games[game];
        _takeTurn(game, g, cursor, Status.ChallengerMoves, g.challenger);
        _move(game, g, rules, false);
        g.challengerGas += uint32(_gasOf(gasAtStart, msg.data.length));
    }

    /// @dev A proof of the challenger: the rules revert unless there is a fault.
    function _prove(bytes32 game, Cursor calldata cursor, address rules) internal nonReentrant {
        uint256 gasAtStart = gasleft();
        Game storage g = _games[game];
        _takeTurn(game, g, cursor, Status.ChallengerMoves, g.challenger);
        Finding memory found = abi.decode(_decide(rules), (Finding));
        emit FaultFound(game, g.unit, msg.sig, found.element, found.claimed, found.computed);
        _markFaulty(g, PROOF_MOVES, false);
        g.challengerGas += uint32(_gasOf(gasAtStart, msg.data.length));
        _end(game, g, Status.FaultProven);
    }

    /// @dev Checks that the caller is on turn, in time, and where the game is; its clock stops. @return here Hash of the cursor.
    function _takeTurn(
        bytes32 game,
        Game storage g,
        Cursor calldata cursor,
        Status turn,
        address mover
    ) private returns (bytes32 here) {
        if (g.status != turn) revert NotYourTurn(game);
        if (msg.sender != mover && !_defends(turn, mover)) revert NotYourTurn(game);
        here = cursor.hash();
        if (here != g.position) revert WrongCursor(here, g.position);
        _stopClock(game, g, turn == Status.AsserterMoves);
    }

    /// @dev Whether it is the turn of an asserter who lets the caller answer.
    function _defends(Status turn, address asserter) private view returns (bool) {
        return turn == Status.AsserterMoves && _STAKE.defenderOf(asserter) == msg.sender;
    }

    /// @dev The game continues where the rules say. @return position Its position.
    function _move(bytes32 game, Game storage g, address rules, bool byAsserter)
        private
        returns (bytes32 position)
    {
        Cursor memory next = abi.decode(_decide(rules), (Cursor));
        position = _goOn(g, next);
        emit Moved(game, g.unit, byAsserter, next, position, msg.data);
    }

    /// @dev The game is at `next`, or where an earlier answer led. @return position Its position.
    function _goOn(Game storage g, Cursor memory next) private returns (bytes32 position) {
        position = next.hash();
        bool answered = next.answered;
        if (!answered) {
            bytes32 known = _answers[g.unit][position];
            if (known != 0) (position, answered) = (known, true);
        }
        g.position = position;
        g.status = answered ? Status.ChallengerMoves : Status.AsserterMoves;
        (g.stage, g.height) = (next.stage, next.height);
        ++g.moves;
    }

    /// @dev The same call to a contract of rules; its refusal is this one's.
    function _decide(address rules) private view returns (bytes memory) {
        (bool ok, bytes memory out) = rules.staticcall(msg.data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(out, 32), mload(out))
            }
        }
        return out;
    }
}
