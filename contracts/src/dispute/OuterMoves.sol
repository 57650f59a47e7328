// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DisputeTable} from "./DisputeTable.sol";
import {
    Chunk,
    ColumnProof,
    Cursor,
    DataRequest,
    Frames,
    OpFrame,
    OuterFacts,
    OuterFrame,
    OuterProof,
    Pick,
    RecordProof,
    SlotProof,
    TensorProof,
    UpdateProof
} from "./DisputeTypes.sol";
import {IDisputeMoves} from "./IDisputeMoves.sol";

/// @title The moves of games about aggregates and withheld data
/// @notice Which contract of rules decides which.
abstract contract OuterMoves is DisputeTable {
    address internal immutable _OPENING;
    address internal immutable _OUTER;
    address internal immutable _OUTER_PROOFS;

    /// @notice Fixes the rules. @param opening OpeningRules. @param outer OuterRules. @param outerProofs OuterProofs.
    constructor(address opening, address outer, address outerProofs) {
        (_OPENING, _OUTER, _OUTER_PROOFS) = (opening, outer, outerProofs);
    }

    /// @inheritdoc IDisputeMoves
    function declareOuter(
        bytes32 game,
        Cursor calldata cursor,
        OuterFacts calldata,
        bytes calldata record,
        bytes32,
        bytes32[] calldata children,
        bytes calldata slots,
        uint32
    ) external {
        _answer(game, cursor, _OUTER, record.length + 32 * children.length + slots.length);
    }

    /// @inheritdoc IDisputeMoves
    function showIncluded(
        bytes32 game,
        Cursor calldata cursor,
        OuterFacts calldata,
        uint32,
        bytes calldata commitment,
        bytes32[] calldata path,
        bytes32[] calldata included,
        bool
    ) external {
        uint256 paths = 32 * (path.length + included.length);
        // OpeningRules reads the log and this contract's units.
        address rules = cursor.height < Frames.WITHDRAWN ? _OUTER : _OPENING;
        _answer(game, cursor, rules, commitment.length + paths);
    }

    /// @inheritdoc IDisputeMoves
    function showWithheld(
        bytes32 game,
        Cursor calldata cursor,
        DataRequest calldata,
        bytes calldata head,
        bytes calldata content,
        bytes32[] calldata path,
        bytes32[] calldata above
    ) external {
        uint256 paths = 32 * (path.length + above.length);
        _answer(game, cursor, _OPENING, head.length + content.length + paths);
    }

    /// @inheritdoc IDisputeMoves
    function postColumn(bytes32 game, Cursor calldata cursor, bytes calldata values) external {
        _answer(game, cursor, _OUTER, values.length);
    }

    /// @inheritdoc IDisputeMoves
    function postRow(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata,
        TensorProof calldata residual
    ) external {
        // The rules take one chunk alone.
        Chunk calldata chunk = residual.chunks[0];
        uint256 paths = 32 * (chunk.path.length + residual.path.length);
        _answer(game, cursor, _OUTER, chunk.content.length + paths);
    }

    /// @inheritdoc IDisputeMoves
    function pickRow(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata,
        OuterFrame calldata,
        OuterFacts calldata,
        bytes calldata,
        uint64,
        RecordProof calldata
    ) external {
        _challenge(game, cursor, _OUTER);
    }

    /// @inheritdoc IDisputeMoves
    function pickOuter(
        bytes32 game,
        Cursor calldata cursor,
        OuterFrame calldata,
        OuterFacts calldata,
        bytes calldata,
        uint8
    ) external {
        _challenge(game, cursor, _OUTER);
    }

    /// @inheritdoc IDisputeMoves
    function pickIncluded(
        bytes32 game,
        Cursor calldata cursor,
        OuterFrame calldata,
        bytes calldata,
        uint32
    ) external {
        _challenge(game, cursor, _OUTER);
    }

    /// @inheritdoc IDisputeMoves
    function pickOuterTensor(
        bytes32 game,
        Cursor calldata cursor,
        OuterFrame calldata,
        bytes calldata,
        Pick calldata,
        RecordProof calldata
    ) external {
        _challenge(game, cursor, _OUTER);
    }

    /// @inheritdoc IDisputeMoves
    function pickElement(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata,
        OuterFrame calldata,
        uint64,
        bytes calldata
    ) external {
        _challenge(game, cursor, _OUTER);
    }

    /// @inheritdoc IDisputeMoves
    function pickPart(bytes32 game, Cursor calldata cursor, bytes calldata, uint8) external {
        _challenge(game, cursor, _OUTER);
    }

    /// @inheritdoc IDisputeMoves
    function provePart(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata,
        OuterFrame calldata,
        bytes calldata
    ) external {
        _prove(game, cursor, _OUTER_PROOFS);
    }

    /// @inheritdoc IDisputeMoves
    function proveColumn(bytes32 game, Cursor calldata cursor, ColumnProof calldata) external {
        _prove(game, cursor, _OUTER_PROOFS);
    }

    /// @inheritdoc IDisputeMoves
    function proveOuter(bytes32 game, Cursor calldata cursor, OuterProof calldata) external {
        _prove(game, cursor, _OUTER_PROOFS);
    }

    /// @inheritdoc IDisputeMoves
    function proveOuterSlot(
        bytes32 game,
        Cursor calldata cursor,
        OuterFrame calldata,
        OuterFacts calldata,
        bytes calldata,
        Pick calldata,
        Pick calldata
    ) external {
        _prove(game, cursor, _OUTER_PROOFS);
    }

    /// @inheritdoc IDisputeMoves
    function proveRow(bytes32 game, Cursor calldata cursor, uint8, bytes calldata, bytes calldata)
        external
    {
        _prove(game, cursor, _OUTER_PROOFS);
    }

    /// @inheritdoc IDisputeMoves
    function proveUpdate(bytes32 game, Cursor calldata cursor, UpdateProof calldata) external {
        _prove(game, cursor, _OUTER_PROOFS);
    }

    /// @inheritdoc IDisputeMoves
    function proveSigner(
        bytes32 game,
        Cursor calldata cursor,
        OuterFacts calldata,
        bytes calldata,
        SlotProof calldata,
        bytes calldata
    ) external {
        _prove(game, cursor, _OPENING);
    }
}
