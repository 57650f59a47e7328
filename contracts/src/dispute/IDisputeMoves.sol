// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    ColumnProof,
    Cursor,
    DataRequest,
    DeltaProof,
    ElementProof,
    Facts,
    OpFrame,
    OuterFacts,
    OuterFrame,
    OuterProof,
    Pick,
    RecordProof,
    SlotProof,
    StepFrame,
    StepPick,
    TensorProof,
    TokenProof,
    UpdateProof
} from "./DisputeTypes.sol";

/// @title The moves of a dispute
/// @notice Each names the game and brings its cursor, so that it means nothing in another game or at another node; what else it
/// brings is checked against hashes in the cursor. The contracts of rules have functions of the same name and arguments.
interface IDisputeMoves {
    // --- the asserter's moves ---

    /// @notice Declares the root over the states after each step, and answers the roots of records and states.
    /// @param records Children of the records root, 6 levels below at most; none if it is a leaf. @param states Same of statesRoot.
    function declareStates(
        bytes32 game,
        Cursor calldata cursor,
        Facts calldata facts,
        bytes32 statesRoot,
        bytes32[] calldata records,
        bytes32[] calldata states
    ) external;

    /// @notice Answers a node of both trees. Where the last step is a child, its state is the committed one.
    function answerSteps(
        bytes32 game,
        Cursor calldata cursor,
        Facts calldata facts,
        bytes32 statesRoot,
        bytes32[] calldata records,
        bytes32[] calldata states
    ) external;

    /// @notice Opens the step: its record, and the root over its trace leaves with the first children.
    function openStep(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata frame,
        Facts calldata facts,
        bytes calldata header,
        bytes calldata record,
        bytes32 trace,
        bytes32[] calldata children
    ) external;

    /// @notice Answers a node of any tree but the steps' with the nodes some levels below (Descent).
    function answer(bytes32 game, Cursor calldata cursor, bytes32[] calldata children) external;

    /// @notice Declares the root over the outputs of a macro op's primitives.
    /// @param writerPath From the leaf that is disputed; empty where `children` are the leaves.
    function openMacro(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata frame,
        bytes32 root,
        bytes32[] calldata writerPath,
        bytes32[] calldata children
    ) external;

    /// @notice Opens a tensor of two chunks and more: the root over its chunks.
    function openTensor(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata frame,
        bytes32 treeRoot,
        bytes32[] calldata children
    ) external;

    /// @notice Posts the chunk that is disputed, without padding.
    function postChunk(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata frame,
        bytes calldata content
    ) external;

    /// @notice Opens an aggregate: its only step record, the tree of the included deltas' roots, and the slots that they are from.
    /// @param record Of step 0, behind the records root. @param root Over the included deltas' roots; with how many there are, and are held, it
    /// gives the record's batch root. @param children Of the root, as an answer lists them.
    /// @param slots A set of those of the round's deltas, and one of those of the held ones, as long (SlotSets). Behind them two bytes of age and
    /// two of slot of each withdrawn one, ascending, and of each that was held when it went in, also ascending.
    /// @param held What the deltas count (DeltaGroups). Without withdrawn ones: how many, the last ones, are of the round before.
    function declareOuter(
        bytes32 game,
        Cursor calldata cursor,
        OuterFacts calldata facts,
        bytes calldata record,
        bytes32 root,
        bytes32[] calldata children,
        bytes calldata slots,
        uint32 held
    ) external;

    /// @notice Shows the commitment that an included delta is from: of the round's epoch, or, if the delta is held, of the epoch before.
    /// Of a withdrawn delta: the commitment that a game has proven wrong, and a posted record that has the delta among those that went in.
    /// @param index Of the commitment in its epoch. @param path From it to the epoch's root. @param commitment Of a withdrawn delta
    /// followed by the unit's id in records, and the heads of the aggregate's record and of the listing one; index and path are those of the
    /// delta in that one's list.
    /// @param included From its delta root to the root over the included deltas.
    /// @param late Of a held delta alone: its commitment came late and is in the round's epoch. If the record before takes none late, that
    /// is a fault (proveSigner).
    function showIncluded(
        bytes32 game,
        Cursor calldata cursor,
        OuterFacts calldata facts,
        uint32 index,
        bytes calldata commitment,
        bytes32[] calldata path,
        bytes32[] calldata included,
        bool late
    ) external;

    /// @notice Shows what a game about withheld data asks for.
    /// @param head dtype, rank and dims of the tensor, as they are hashed into its root; empty for the head of a dataset, and where
    /// a state has no such tensor. Of a commitment: 1 if it is in the next round's epoch, else 0 (1 byte), and its index there (4).
    /// @param content The chunk, without padding; empty if the tensor has no such chunk. Of a commitment its 226 bytes, or those of
    /// another one that its worker has signed for the same unit.
    /// @param path From the chunk to the root of the tensor's tree, or that root alone if the tensor has no such chunk. Of a commitment
    /// to the epoch's root.
    /// @param above From the tensor to the root that is asked about.
    function showWithheld(
        bytes32 game,
        Cursor calldata cursor,
        DataRequest calldata request,
        bytes calldata head,
        bytes calldata content,
        bytes32[] calldata path,
        bytes32[] calldata above
    ) external;

    /// @notice Posts the disputed element of every included delta, four bytes each as they are in the deltas. Of more than 1,024 deltas what
    /// each 1,024 of them add (ColumnParts); at a part that was picked its values.
    function postColumn(bytes32 game, Cursor calldata cursor, bytes calldata values) external;

    /// @notice Posts the residuals of a row of an update. @param op The frame of the residual's tensor. @param residual The chunk that has
    /// them; path up to the root of the outer state.
    function postRow(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata op,
        TensorProof calldata residual
    ) external;

    // --- the challenger's moves ---

    /// @notice Goes down to a node that was answered, or whose way is known from another game.
    function pick(bytes32 game, Cursor calldata cursor, Pick calldata to) external;

    /// @notice Names the first step that differs.
    function pickStep(
        bytes32 game,
        Cursor calldata cursor,
        Facts calldata facts,
        StepPick calldata to
    ) external;

    /// @notice Goes from the steps to the delta, whose root the commitment has. @param statesRoot That was declared.
    function pickDelta(
        bytes32 game,
        Cursor calldata cursor,
        Facts calldata facts,
        bytes32 statesRoot,
        bytes calldata header
    ) external;

    /// @notice Goes from the trace leaves to the state after the step or, with the record, to its gradients.
    function pickTree(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata frame,
        bytes calldata header,
        bytes calldata record
    ) external;

    /// @notice Names the first trace leaf that differs. @param leafRecord Of the trace program.
    function pickLeaf(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata frame,
        bytes calldata header,
        Pick calldata to,
        RecordProof calldata leafRecord
    ) external;

    /// @notice Names the first primitive that differs.
    function pickPrimitive(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata frame,
        bytes calldata header,
        Pick calldata to,
        RecordProof calldata primitive
    ) external;

    /// @notice Goes to a tree of an aggregate's result. @param tree 1 the next base, 2 the next momentum or outer state, 3 both as in the record.
    function pickOuter(
        bytes32 game,
        Cursor calldata cursor,
        OuterFrame calldata frame,
        OuterFacts calldata facts,
        bytes calldata header,
        uint8 tree
    ) external;

    /// @notice Asks for the commitment of an included delta, whose root the challenger need not know. @param slots All that were declared.
    /// @param position Of the delta among those that are included.
    function pickIncluded(
        bytes32 game,
        Cursor calldata cursor,
        OuterFrame calldata frame,
        bytes calldata slots,
        uint32 position
    ) external;

    /// @notice Names the first tensor of the next base or outer state that differs. @param slot The parameter's state record; empty for the
    /// update.
    function pickOuterTensor(
        bytes32 game,
        Cursor calldata cursor,
        OuterFrame calldata frame,
        bytes calldata header,
        Pick calldata to,
        RecordProof calldata slot
    ) external;

    /// @notice Names a part of a column of which was posted what each part adds. @param added That was posted. @param part From 0.
    function pickPart(bytes32 game, Cursor calldata cursor, bytes calldata added, uint8 part)
        external;

    /// @notice Names an element of the posted chunk of an aggregate's tensor, or of the posted residuals of a row. @param element Row-major.
    /// @param chunk That was posted.
    function pickElement(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata op,
        OuterFrame calldata outer,
        uint64 element,
        bytes calldata chunk
    ) external;

    /// @notice Names the first row that differs in the posted chunk of an update. @param row Its number within the parameter.
    /// @param slot The parameter's state record.
    function pickRow(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata op,
        OuterFrame calldata outer,
        OuterFacts calldata facts,
        bytes calldata header,
        uint64 row,
        RecordProof calldata slot
    ) external;

    // --- the challenger's proofs, which end the game ---

    /// @notice The element differs from the primitive's result.
    function proveElement(bytes32 game, Cursor calldata cursor, ElementProof calldata proof)
        external;

    /// @notice The token is not the dataset's.
    function proveToken(bytes32 game, Cursor calldata cursor, TokenProof calldata proof) external;

    /// @notice A word of the delta is neither its head's nor the difference of final and initial parameter; in codec 1 a byte is not its
    /// head's, a chunk's last one, nor of the row that such differences make.
    function proveDelta(bytes32 game, Cursor calldata cursor, DeltaProof calldata proof) external;

    /// @notice A field of the record is not its trace leaf. @param field 0 batch root, 1 loss, 2 gradient norm, 3 skipped.
    function proveRecord(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata frame,
        bytes calldata header,
        bytes calldata record,
        uint8 field,
        Pick calldata leaf,
        RecordProof calldata leafRecord
    ) external;

    /// @notice The clock, or the random position, is not the round's.
    function proveInput(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata frame,
        Facts calldata facts,
        bytes calldata header,
        Pick calldata leaf,
        RecordProof calldata leafRecord
    ) external;

    /// @notice A tensor of the state after the step is not the leaf, or the tensor before, that its record names.
    function proveSlot(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata frame,
        bytes calldata header,
        Pick calldata slot,
        RecordProof calldata slotRecord,
        Pick calldata source
    ) external;

    /// @notice A gradient under the record's gradient root is not the trace leaf that it must be.
    function proveGradient(
        bytes32 game,
        Cursor calldata cursor,
        StepFrame calldata frame,
        bytes calldata header,
        Pick calldata gradient,
        RecordProof calldata gradientRecord,
        Pick calldata source
    ) external;

    /// @notice The values of a part do not add what was posted that they add.
    function provePart(
        bytes32 game,
        Cursor calldata cursor,
        OpFrame calldata op,
        OuterFrame calldata outer,
        bytes calldata values
    ) external;

    /// @notice A value of the posted column, or of the posted part of one, is not the delta's.
    function proveColumn(bytes32 game, Cursor calldata cursor, ColumnProof calldata proof) external;

    /// @notice The element of an aggregate differs from the outer step over the posted column.
    function proveOuter(bytes32 game, Cursor calldata cursor, OuterProof calldata proof) external;

    /// @notice A tensor of the record's state is not the committed base's or momentum's.
    /// @param leaf Number i, for p parameters. @param source Number i of the base, or i - p of the momentum or outer state.
    function proveOuterSlot(
        bytes32 game,
        Cursor calldata cursor,
        OuterFrame calldata frame,
        OuterFacts calldata facts,
        bytes calldata header,
        Pick calldata leaf,
        Pick calldata source
    ) external;

    /// @notice A row of an update is not the one that its elements make together with the posted residuals.
    /// @param place Of the byte in the row. @param chunk Of the update, with the row. @param residuals That were posted.
    function proveRow(
        bytes32 game,
        Cursor calldata cursor,
        uint8 place,
        bytes calldata chunk,
        bytes calldata residuals
    ) external;

    /// @notice At a column: a residual is not what the row leaves of the outer step. At a posted chunk: an element of the base is not the
    /// one before and the row's, or a byte of the update that no parameter's row has is another.
    function proveUpdate(bytes32 game, Cursor calldata cursor, UpdateProof calldata proof) external;

    /// @notice The commitment that was shown for an included delta has no valid signature (found as element 7), contradicts the round
    /// record (IDisputeGame.open), or was shown as late, and the record takes none late (element 8). @param record The bytes of the head of its round's record. @param slot What it fixes for the
    /// commitment's slot, as in open(). @param commitment That was shown.
    function proveSigner(
        bytes32 game,
        Cursor calldata cursor,
        OuterFacts calldata facts,
        bytes calldata record,
        SlotProof calldata slot,
        bytes calldata commitment
    ) external;
}
