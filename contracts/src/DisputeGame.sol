// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DisputeBank} from "./dispute/DisputeBank.sol";
import {
    Cursor,
    DeltaProof,
    ElementProof,
    Facts,
    Finding,
    Frames,
    OpFrame,
    OpeningResult,
    Pick,
    RecordProof,
    Stage,
    StepFrame,
    StepPick,
    TokenProof
} from "./dispute/DisputeTypes.sol";
import {IDisputeMoves} from "./dispute/IDisputeMoves.sol";
import {IDisputeGame} from "./interfaces/IDisputeGame.sol";
import {IStake} from "./interfaces/IStake.sol";

/// @title Disputes about units of training
/// @notice See IDisputeGame. What a move may be is decided by contracts without state, which get the very call that the game got
/// and answer with the next cursor, or with a fault; the game knows whose turn it is, where it stands and who is paid.
contract DisputeGame is DisputeBank {
    using Frames for Cursor;

    /// @dev More than the largest answer: 128 children with all that comes with them.
    uint256 private constant ANSWER_BYTES_MAX = 8192;
    /// @dev Calldata of an answer beside its list or chunk, in bytes that are not zero.
    uint256 private constant FRAME_BYTES = 512;

    address private immutable _OPENING;
    address private immutable _TREES;
    address private immutable _STEPS;
    address private immutable _FAULTS;
    address private immutable _ELEMENTS;

    /// What followed a cursor that the asserter answered: the same in every game of the unit.
    mapping(bytes32 unit => mapping(bytes32 cursor => bytes32)) private _answers;

    /// @notice Creates the game of one Stake, which must name it.
    /// @param terms_ See Terms. @param stake_ Stake. @param rules OpeningRules, TreeRules, StepRules, FaultRules, ElementRules.
    constructor(Terms memory terms_, IStake stake_, address[5] memory rules)
        DisputeBank(terms_, stake_)
    {
        for (uint256 i = 0; i < rules.length; ++i) {
            if (rules[i].code.length == 0) revert BadTerms();
        }
        (_OPENING, _TREES, _STEPS) = (rules[0], rules[1], rules[2]);
        (_FAULTS, _ELEMENTS) = (rules[3], rules[4]);
    }

    /// @inheritdoc IDisputeGame
    function open(bytes calldata, bytes calldata, uint32, bytes32[] calldata, bytes32 salt)
        external
        payable
        nonReentrant
    {
        uint256 gasAtStart = gasleft();
        OpeningResult memory r = abi.decode(_decide(_OPENING), (OpeningResult));
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
        _markFaulty(g);
        _end(game, g, Status.FaultProven);
    }

    /// @inheritdoc IDisputeMoves
    function declareStates(
        bytes32 game,
        Cursor calldata cursor,
        Facts calldata,
        bytes32,
        bytes32[] calldata records,
        bytes32[] calldata
    ) external {
        _answer(game, cursor, _TREES, 64 * records.length);
    }

    /// @inheritdoc IDisputeMoves
    function answerSteps(
        bytes32 game,
        Cursor calldata cursor,
        Facts calldata,
        bytes32,
        bytes32[] calldata records,
        bytes32[] calldata
    ) external {
        _answer(game, cursor, _TREES, 64 * records.length);
    }

    /// @inheritdoc IDisputeMoves
    function openStep(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata,
        Facts calldata,
        bytes calldata,
        bytes calldata,
        bytes32,
        bytes32[] calldata children
    ) external {
        _answer(game, cursor, _STEPS, FRAME_BYTES + 32 * children.length);
    }

    /// @inheritdoc IDisputeMoves
    function answer(bytes32 game, Cursor calldata cursor, bytes32[] calldata children) external {
        _answer(game, cursor, _TREES, 32 * children.length);
    }

    /// @inheritdoc IDisputeMoves
    function openMacro(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata,
        bytes32,
        bytes32[] calldata writerPath,
        bytes32[] calldata children
    ) external {
        _answer(game, cursor, _STEPS, 32 * (writerPath.length + children.length));
    }

    /// @inheritdoc IDisputeMoves
    function openTensor(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata,
        bytes32,
        bytes32[] calldata children
    ) external {
        _answer(game, cursor, _STEPS, 32 * children.length);
    }

    /// @inheritdoc IDisputeMoves
    function postChunk(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata,
        bytes calldata content
    ) external {
        _answer(game, cursor, _STEPS, content.length);
    }

    /// @inheritdoc IDisputeMoves
    function pick(bytes32 game, Cursor calldata cursor, Pick calldata) external {
        _challenge(game, cursor, _TREES);
    }

    /// @inheritdoc IDisputeMoves
    function pickStep(bytes32 game, Cursor calldata cursor, Facts calldata, StepPick calldata)
        external
    {
        _challenge(game, cursor, _TREES);
    }

    /// @inheritdoc IDisputeMoves
    function pickDelta(
        bytes32 game,
        Cursor calldata cursor,
        Facts calldata,
        bytes32,
        bytes calldata
    ) external {
        _challenge(game, cursor, _TREES);
    }

    /// @inheritdoc IDisputeMoves
    function pickTree(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata,
        bytes calldata,
        bytes calldata
    ) external {
        _challenge(game, cursor, _STEPS);
    }

    /// @inheritdoc IDisputeMoves
    function pickLeaf(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata,
        bytes calldata,
        Pick calldata,
        RecordProof calldata
    ) external {
        _challenge(game, cursor, _STEPS);
    }

    /// @inheritdoc IDisputeMoves
    function pickPrimitive(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata,
        bytes calldata,
        Pick calldata,
        RecordProof calldata
    ) external {
        _challenge(game, cursor, _STEPS);
    }

    /// @inheritdoc IDisputeMoves
    function proveElement(bytes32 game, Cursor calldata cursor, ElementProof calldata)
        external
        nonReentrant
    {
        _prove(game, cursor, _ELEMENTS);
    }

    /// @inheritdoc IDisputeMoves
    function proveToken(bytes32 game, Cursor calldata cursor, TokenProof calldata)
        external
        nonReentrant
    {
        _prove(game, cursor, _ELEMENTS);
    }

    /// @inheritdoc IDisputeMoves
    function proveDelta(bytes32 game, Cursor calldata cursor, DeltaProof calldata)
        external
        nonReentrant
    {
        _prove(game, cursor, _ELEMENTS);
    }

    /// @inheritdoc IDisputeMoves
    function proveRecord(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata,
        bytes calldata,
        bytes calldata,
        uint8,
        Pick calldata,
        RecordProof calldata
    ) external nonReentrant {
        _prove(game, cursor, _FAULTS);
    }

    /// @inheritdoc IDisputeMoves
    function proveInput(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata,
        Facts calldata,
        bytes calldata,
        Pick calldata,
        RecordProof calldata
    ) external nonReentrant {
        _prove(game, cursor, _FAULTS);
    }

    /// @inheritdoc IDisputeMoves
    function proveSlot(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata,
        bytes calldata,
        Pick calldata,
        RecordProof calldata,
        Pick calldata
    ) external nonReentrant {
        _prove(game, cursor, _FAULTS);
    }

    /// @inheritdoc IDisputeMoves
    function proveGradient(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata,
        bytes calldata,
        Pick calldata,
        RecordProof calldata,
        Pick calldata
    ) external nonReentrant {
        _prove(game, cursor, _FAULTS);
    }

    /// @inheritdoc IDisputeGame
    function answerTo(bytes32 unit, bytes32 cursor) external view returns (bytes32) {
        return _answers[unit][cursor];
    }

    /// @inheritdoc IDisputeGame
    function contracts()
        external
        view
        returns (
            address token,
            address stake,
            address opening,
            address trees,
            address steps,
            address faults,
            address elements
        )
    {
        (token, stake) = (address(_TOKEN), address(_STAKE));
        (opening, trees, steps) = (_OPENING, _TREES, _STEPS);
        (faults, elements) = (_FAULTS, _ELEMENTS);
    }

    /// @dev A move of the asserter, whose answer serves every game that comes to this cursor.
    /// @param payload Bytes of calldata that the rules have looked at, beside the usual: only these are paid for.
    function _answer(bytes32 game, Cursor calldata cursor, address rules, uint256 payload) private {
        uint256 gasAtStart = gasleft();
        if (msg.data.length > ANSWER_BYTES_MAX) revert TooMuchData(msg.data.length);
        Game storage g = _games[game];
        bytes32 unit = g.unit;
        address asserter = _units[unit].asserter;
        bytes32 here = _takeTurn(game, g, cursor, Status.AsserterMoves, asserter);
        Cursor memory next = abi.decode(_decide(rules), (Cursor));
        bytes32 position = _goOn(g, next);
        _answers[unit][here] = position;
        emit Moved(game, unit, true, next, position, msg.data);
        uint256 gasUsed = _gasOf(gasAtStart, payload + FRAME_BYTES) + _gasOfCredit(asserter);
        // forge-lint: disable-next-line(unsafe-typecast)
        g.asserterGas += uint32(gasUsed);
        emit GasPaid(game, asserter, _payGas(g, asserter, gasUsed));
    }

    /// @dev A move of the challenger. What was answered before is not asked again.
    function _challenge(bytes32 game, Cursor calldata cursor, address rules) private {
        uint256 gasAtStart = gasleft();
        Game storage g = _games[game];
        _takeTurn(game, g, cursor, Status.ChallengerMoves, g.challenger);
        Cursor memory next = abi.decode(_decide(rules), (Cursor));
        bytes32 position = _goOn(g, next);
        emit Moved(game, g.unit, false, next, position, msg.data);
        g.challengerGas += uint32(_gasOf(gasAtStart, msg.data.length));
    }

    /// @dev A proof of the challenger: the rules revert where there is no fault.
    function _prove(bytes32 game, Cursor calldata cursor, address rules) private {
        uint256 gasAtStart = gasleft();
        Game storage g = _games[game];
        _takeTurn(game, g, cursor, Status.ChallengerMoves, g.challenger);
        Finding memory found = abi.decode(_decide(rules), (Finding));
        emit FaultFound(game, g.unit, msg.sig, found.element, found.claimed, found.computed);
        _markFaulty(g);
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
        if (g.status != turn || msg.sender != mover) revert NotYourTurn(game);
        here = cursor.hash();
        if (here != g.position) revert WrongCursor(here, g.position);
        _stopClock(game, g, turn == Status.AsserterMoves);
    }

    /// @dev The game is at `next`, or where its answer led before. @return position What the game is at.
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
