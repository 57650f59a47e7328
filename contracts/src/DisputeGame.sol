// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DisputeTable} from "./dispute/DisputeTable.sol";
import {
    Cursor,
    DeltaProof,
    ElementProof,
    Facts,
    OpFrame,
    Pick,
    RecordProof,
    SlotProof,
    StepFrame,
    StepPick,
    TokenProof
} from "./dispute/DisputeTypes.sol";
import {IDisputeMoves} from "./dispute/IDisputeMoves.sol";
import {OuterMoves} from "./dispute/OuterMoves.sol";
import {IDisputeGame} from "./interfaces/IDisputeGame.sol";
import {IStake} from "./interfaces/IStake.sol";

/// @title Disputes about units of training and aggregation
/// @notice See IDisputeGame. Which contract of rules decides which move; the moves about aggregates are in OuterMoves, what all have
/// in common in DisputeTable, the money in DisputeBank.
contract DisputeGame is OuterMoves {
    address private immutable _TREES;
    address private immutable _STEPS;
    address private immutable _FAULTS;
    address private immutable _ELEMENTS;

    /// @notice Creates the game of one Stake, which must name it.
    /// @param terms_ See Terms. @param stake_ Stake.
    /// @param rules OpeningRules, TreeRules, StepRules, FaultRules, ElementRules, OuterRules, OuterProofs.
    constructor(Terms memory terms_, IStake stake_, address[7] memory rules)
        DisputeTable(terms_, stake_)
        OuterMoves(rules[0], rules[5], rules[6])
    {
        for (uint256 i = 0; i < rules.length; ++i) {
            if (rules[i].code.length == 0) revert BadTerms();
        }
        (_TREES, _STEPS) = (rules[1], rules[2]);
        (_FAULTS, _ELEMENTS) = (rules[3], rules[4]);
    }

    /// @inheritdoc IDisputeGame
    function open(
        bytes calldata,
        bytes calldata,
        SlotProof calldata,
        uint32,
        bytes32[] calldata,
        bytes32 salt
    ) external payable {
        _openBy(_OPENING, salt);
    }

    /// @inheritdoc IDisputeGame
    function openLate(
        bytes calldata,
        bytes calldata,
        SlotProof calldata,
        uint32,
        bytes32[] calldata,
        bytes32 salt
    ) external payable {
        _openBy(_OPENING, salt);
    }

    /// @inheritdoc IDisputeGame
    function openConflict(bytes calldata, bytes calldata, bytes calldata, bytes32 salt)
        external
        payable
    {
        _openBy(_OPENING, salt);
    }

    /// @inheritdoc IDisputeGame
    function openWithheld(
        bytes calldata,
        bytes calldata,
        SlotProof calldata,
        uint32,
        bytes32[] calldata,
        bytes32 salt
    ) external payable {
        _openBy(_OPENING, salt);
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
    function proveElement(bytes32 game, Cursor calldata cursor, ElementProof calldata) external {
        _prove(game, cursor, _ELEMENTS);
    }

    /// @inheritdoc IDisputeMoves
    function proveToken(bytes32 game, Cursor calldata cursor, TokenProof calldata) external {
        _prove(game, cursor, _ELEMENTS);
    }

    /// @inheritdoc IDisputeMoves
    function proveDelta(bytes32 game, Cursor calldata cursor, DeltaProof calldata) external {
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
    ) external {
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
    ) external {
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
    ) external {
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
    ) external {
        _prove(game, cursor, _FAULTS);
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
            address elements,
            address outer,
            address outerProofs
        )
    {
        (token, stake) = (address(_TOKEN), address(_STAKE));
        (opening, trees, steps) = (_OPENING, _TREES, _STEPS);
        (faults, elements) = (_FAULTS, _ELEMENTS);
        (outer, outerProofs) = (_OUTER, _OUTER_PROOFS);
    }
}
