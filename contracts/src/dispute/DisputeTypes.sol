// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// @notice Where a game is: a node of one of the trees of docs/adr/0004-dispute-game.md, or an answer that is due. The game stores
/// its keccak256 only; every move brings it.
/// @param stage One of Stage. @param answered False: the asserter must answer; true: the challenger moves.
/// @param height Levels from the leaves up to the node. @param index Of the node among those of its height.
/// @param leaves Of the whole tree. @param node The digest that is disputed.
/// @param twin At STEPS the node of the states tree in the same place, at STEP the state after the step, at COLUMN keccak256 of the
/// values once they are posted; else 0. At INCLUDED the node is the root over the included deltas until the commitment to number `index` is
/// shown, then that commitment's leaf; `height` is 1 if the delta is held, 2 once its commitment is shown to be late, 3 if it is withdrawn, 4 if
/// it is withdrawn and was held when it went in, else 0; `twin` is its slot, of a withdrawn one with 2^16 times its age.
/// At ROW `index` is the row's number within its parameter, `height` its place in its chunk, `leaves` the tensors of the outer state, `node` the
/// leaf of the update's chunk, `twin` the root of the outer state until the row's residuals are posted, then keccak256 of these.
/// At PART `index` is the element, `height` which part of its column, `leaves` the deltas, `node` what the part adds and to which exponent
/// (ColumnParts), `twin` keccak256 of the part's values once they are posted.
/// @param frame keccak256 of what else is fixed: of (Facts' hash, states root) at STEPS, of StepFrame down to GRADIENTS, of OpFrame
/// below, of Facts at UNIT; of DataRequest in a game about withheld data, which stays there. Of an aggregate: OuterFacts at UNIT and INCLUDED, OuterFrame at OUTER and OUTER_STATE, OpFrame below; at ROW
/// that of the residual.
struct Cursor {
    uint8 stage;
    bool answered;
    uint8 height;
    uint64 index;
    uint64 leaves;
    bytes32 node;
    bytes32 twin;
    bytes32 frame;
}

/// @notice Facts about a unit from the commitment and its round record.
/// @param recordsRoot Over the chain of records, committed to. @param finalStateRoot Committed to.
/// @param deltaRoot Of the delta's bytes as a tensor u8 [size], committed to.
/// @param jobSeed Of the round record, as what follows. @param traceRoot Of the program.
/// @param initialStateRoot Of the training state before step 0. @param datasetRoot Of the tokens.
/// @param round Its number. @param slot The unit's. @param steps Of the unit. @param checkpointEvery Steps between state roots.
struct Facts {
    bytes32 recordsRoot;
    bytes32 finalStateRoot;
    bytes32 deltaRoot;
    bytes32 jobSeed;
    bytes32 traceRoot;
    bytes32 initialStateRoot;
    bytes32 datasetRoot;
    uint64 round;
    uint32 slot;
    uint32 steps;
    uint32 checkpointEvery;
}

/// @notice The same about an aggregate unit of the coordinator (slot 0xFFFFFFFF).
/// @param recordsRoot Committed to: the link of its only step record. @param finalStateRoot Committed to: the next base state.
/// @param momentumAfter Committed to in the place of a delta root: the next outer momentum, of a program with an update the next outer
/// state: p momenta, p residuals and the update.
/// @param roundRecord Its hash. @param traceRoot Of the train program, of the round record as what follows.
/// @param baseRoot Of the parameters before. @param momentumRoot Of the outer momentum before.
/// @param epochRoot Over the commitments of the round. @param epochLeaves Their number.
/// @param previousRecord Hash of the round record before, where the log has it and an epoch of its round; else 0, as what follows.
/// @param previousEpochRoot Over the commitments of that round. @param previousEpochLeaves Their number.
struct OuterFacts {
    bytes32 recordsRoot;
    bytes32 finalStateRoot;
    bytes32 momentumAfter;
    bytes32 roundRecord;
    bytes32 traceRoot;
    bytes32 baseRoot;
    bytes32 momentumRoot;
    bytes32 epochRoot;
    uint32 epochLeaves;
    bytes32 previousRecord;
    bytes32 previousEpochRoot;
    uint32 previousEpochLeaves;
}

/// @notice An aggregate whose deltas are declared.
/// @param facts keccak256 of the unit's OuterFacts. @param program The trace root. @param deltasRoot Over the included deltas' roots.
/// @param deltas Their number. @param held What they count, packed (DeltaGroups): how many are of the round before, and are withdrawn.
/// @param slots keccak256 of theirs, as declared. @param stateRoot Over all parameters after the step,
/// then all tensors of momentumAfter. @param tree 0 until one is picked; then 1 the next base, 2 momentumAfter, 3 stateRoot.
struct OuterFrame {
    bytes32 facts;
    bytes32 program;
    bytes32 deltasRoot;
    uint32 deltas;
    uint32 held;
    bytes32 slots;
    bytes32 stateRoot;
    uint8 tree;
}

/// @notice One step that is disputed.
/// @param facts keccak256 of the unit's Facts. @param program The trace root. @param step Counted from 0.
/// @param hashBefore h of the step before, 0 for step 0. @param hashAfter h of the step.
/// @param stateBefore Root of the training state before. @param stateAfter And after the step.
/// @param trace Root over the step's trace leaves; 0 until the asserter declares it.
struct StepFrame {
    bytes32 facts;
    bytes32 program;
    uint32 step;
    bytes32 hashBefore;
    bytes32 hashAfter;
    bytes32 stateBefore;
    bytes32 stateAfter;
    bytes32 trace;
}

/// @notice One macro op, then one of its primitives; or the token windows of a step; or the unit's delta; or a tensor of an aggregate.
/// @param step keccak256 of the StepFrame; of Facts for the delta; of OuterFrame in an aggregate. @param program The trace root.
/// @param leaf The trace leaf that was picked; NO_LEAF for the delta and in an aggregate.
/// @param first The macro op's first primitive. @param count Its primitives; 0: token windows, the delta. @param writer Which writes the leaf.
/// @param macroRoot Root over the primitives' outputs; 0 until the asserter declares it.
/// @param primitive Counted within the macro op; in an aggregate the tensor's number in the tree that was picked.
/// @param record The primitive record's digest; 0 until one is picked. In an aggregate the parameter's state record's; 0 of the update.
/// @param shape Of the tensor that is disputed, see Shapes.
struct OpFrame {
    bytes32 step;
    bytes32 program;
    uint32 leaf;
    uint32 first;
    uint32 count;
    uint32 writer;
    bytes32 macroRoot;
    uint32 primitive;
    bytes32 record;
    uint256 shape;
}

/// @notice A record of the trace program with its path to its list's root.
/// @param index In the list. @param data Its bytes. @param path One sibling a level.
struct RecordProof {
    uint32 index;
    bytes data;
    bytes32[] path;
}

/// @notice What a round record fixes for one slot, with its path to the record's slots root. Empty: the record has no such slot.
/// @param terms Worker (20 bytes), sampling rate (4), steps (4). @param path One sibling a level.
struct SlotProof {
    bytes terms;
    bytes32[] path;
}

/// @notice A node below the cursor's.
/// @param index Among the nodes of its height. @param node Its digest. @param path From it up to the cursor's node.
/// @param twin At STEPS only, as twinPath: the node of the states tree.
struct Pick {
    uint64 index;
    bytes32 node;
    bytes32[] path;
    bytes32 twin;
    bytes32[] twinPath;
}

/// @notice The step whose record or state differs first, and what was agreed on before it.
/// @param statesRoot That was declared. @param after_ Leaf `step` of both trees, below the cursor's node.
/// @param before Leaf `step - 1` of both trees, with paths to the roots; all zero and empty for step 0.
struct StepPick {
    bytes32 statesRoot;
    Pick after_;
    Pick before;
}

/// @notice A chunk of a tensor. @param content Without padding. @param path Up to the tensor's tree root.
struct Chunk {
    bytes content;
    bytes32[] path;
}

/// @notice The part of an operand that an element reads: `ChunksOpening` of src/dispute.
/// @param chunks All that its range touches; none where it reads nothing. @param treeRoot Over the tensor's chunks.
/// @param path From the tensor's root up to the root of the list that has it; empty for constants.
struct TensorProof {
    Chunk[] chunks;
    bytes32 treeRoot;
    bytes32[] path;
}

/// @notice One element with all that it is computed from.
/// @param op The cursor's frame. @param step That it names. @param header Of the trace program. @param primitive Its record.
/// @param element Row-major. @param chunk That the asserter posted. @param operands In the record's order.
struct ElementProof {
    OpFrame op;
    StepFrame step;
    bytes header;
    bytes primitive;
    uint64 element;
    bytes chunk;
    TensorProof[] operands;
}

/// @notice One token of a step's windows with the one that it must be.
/// @param op The cursor's frame. @param step That it names. @param facts That the step names. @param header Of the trace program.
/// @param element Row-major. @param chunk That the asserter posted. @param tokens Of the dataset.
/// @param dataset The chunk that has the right one, and the dataset's tree root; the path is the leaf of its head, if it has one.
struct TokenProof {
    OpFrame op;
    StepFrame step;
    Facts facts;
    bytes header;
    uint64 element;
    bytes chunk;
    uint64 tokens;
    TensorProof dataset;
}

/// @notice One word of the delta with what it must be: its head's, or the difference of a parameter's element at the unit's end and at
/// its beginning. In codec 1 one byte: its head's, a chunk's last one, or of the row that such differences make.
/// @param op The cursor's frame. @param facts That it names. @param header Of the trace program.
/// @param word Number of four bytes of the delta; in codec 1 of a byte. @param chunk That the asserter posted.
/// @param slot The parameter's state record. @param final_ Its element, in codec 1 all elements of the row, under the final state's root.
/// @param base Under the initial state's root. All three are empty for what no parameter has.
struct DeltaProof {
    OpFrame op;
    Facts facts;
    bytes header;
    uint64 word;
    bytes chunk;
    RecordProof slot;
    TensorProof final_;
    TensorProof base;
}

/// @notice One value of a posted column, or of a part of it, with the delta that it must be from.
/// @param op The cursor's frame. @param outer That it names. @param header Of the trace program.
/// @param values That the asserter posted. @param position Of the delta among those that are included.
/// @param slot The parameter's state record. @param delta The chunk with its word, in codec 1 with its row; path up to the root over the
/// deltas.
struct ColumnProof {
    OpFrame op;
    OuterFrame outer;
    bytes header;
    bytes values;
    uint32 position;
    RecordProof slot;
    TensorProof delta;
}

/// @notice One element of an aggregate with all that it is computed from.
/// @param op The cursor's frame. @param outer That it names. @param facts That this one names. @param header Of the trace program.
/// @param values The posted column, or what its parts add. @param base The element before, under the base root. @param momentum Under the momentum root.
struct OuterProof {
    OpFrame op;
    OuterFrame outer;
    OuterFacts facts;
    bytes header;
    bytes values;
    TensorProof base;
    TensorProof momentum;
}

/// @notice One element of an aggregate with an update, with all that it is computed from: of a residual at COLUMN, of the base at a
/// posted chunk; there also a byte of the update that no row has.
/// @param op The cursor's frame. @param outer That it names. @param facts That this one names. @param header Of the trace program.
/// @param record The parameter's state record; empty for a byte of the update.
/// @param element Row-major. @param posted The column or what its parts add, or the chunk. @param operands Of a residual: the momentum and the residual before,
/// and the chunk of the update that has the element's row; of the base: the element before, and that chunk; of a byte: none.
struct UpdateProof {
    OpFrame op;
    OuterFrame outer;
    OuterFacts facts;
    bytes header;
    bytes record;
    uint64 element;
    bytes posted;
    TensorProof[] operands;
}

/// @notice Result of a proof. @param element Of the tensor, or which leaf, slot or field. @param claimed By the asserter.
/// @param computed By the contract; another one.
struct Finding {
    uint256 element;
    bytes32 claimed;
    bytes32 computed;
}

/// @notice Content of opening evidence.
/// @param unit keccak256 of the commitment's EIP-712 digest and the asserter. @param asserter Who signed it.
/// @param facts keccak256 of Facts or, of an aggregate, OuterFacts; 0 of a conflict.
/// @param fault 0, or 1 + the number of the field that contradicts the round record (IDisputeGame.open, openConflict).
/// @param deadline Last block in which a game can be opened.
struct OpeningResult {
    bytes32 unit;
    address asserter;
    bytes32 facts;
    uint256 fault;
    uint256 deadline;
}

/// @notice What a game about withheld data asks for.
/// @param what One of Wanted. @param root Over it: the epoch's, the delta's, the state's, the dataset's.
/// @param tensor Its number in the state, or the leaf of the dataset. @param chunk Its number in the tensor.
/// @param leaves Of a commitment, as what follows; else 0: how many the epoch has.
/// @param nextRoot That of the next round's epoch, which may have it, too, if the round takes late ones; else 0.
/// @param nextLeaves How many that one has. @param leaf Of the commitment. @param roundRecord That it names.
/// @param slot Its slot. @param worker Its signer.
struct DataRequest {
    uint8 what;
    bytes32 root;
    uint32 tensor;
    uint64 chunk;
    uint32 leaves;
    bytes32 nextRoot;
    uint32 nextLeaves;
    bytes32 leaf;
    bytes32 roundRecord;
    uint32 slot;
    address worker;
}

/// @title What can be asked for
library Wanted {
    /// @notice A published commitment, under the root of an epoch.
    uint8 internal constant COMMITMENT = 1;
    /// @notice A chunk of the delta of a commitment that is in the epoch of its round, or in that of the next one.
    uint8 internal constant DELTA = 2;
    uint8 internal constant LATE_DELTA = 3;
    /// @notice A chunk of what a round begins with, and trains on.
    uint8 internal constant BASE = 4;
    uint8 internal constant OUTER = 5;
    uint8 internal constant DATASET = 6;
}

/// @title Stages of a game, from the unit down to one element
library Stage {
    uint8 internal constant UNIT = 1;
    uint8 internal constant STEPS = 2;
    uint8 internal constant STEP = 3;
    uint8 internal constant TRACE = 4;
    uint8 internal constant STATE = 5;
    uint8 internal constant GRADIENTS = 6;
    uint8 internal constant MACRO = 7;
    uint8 internal constant PRIMITIVES = 8;
    uint8 internal constant TENSOR = 9;
    uint8 internal constant CHUNKS = 10;
    uint8 internal constant OUTER = 11;
    uint8 internal constant OUTER_STATE = 12;
    uint8 internal constant COLUMN = 13;
    uint8 internal constant INCLUDED = 14;
    uint8 internal constant ROW = 15;
    uint8 internal constant PART = 16;
}

/// @title Refusals that several rules have
interface IDisputeErrors {
    /// @notice The move does not belong to this stage, or is not this side's.
    error WrongStage(uint8 stage);
    /// @notice The arguments do not match the game's hash.
    error WrongFrame();
    /// @notice A digest of zero is none.
    error ZeroDigest();
    /// @notice Bytes that are no record, or too many.
    error Malformed(uint256 offset);
    /// @notice The record, or its field, does not satisfy the rule.
    error BadRecord(uint256 field);
    /// @notice There is no fault: both sides are equal.
    error NoFault();
}

/// @title Hashes of the arguments of moves
library Frames {
    /// @notice Height of a cursor at INCLUDED, if the delta is held.
    uint8 internal constant HELD = 1;
    /// @notice The same once a held delta's commitment is shown under the root of the aggregate's own round.
    uint8 internal constant LATE = 2;
    /// @notice Height of a cursor at INCLUDED, if the delta is withdrawn.
    uint8 internal constant WITHDRAWN = 3;
    /// @notice The same of one that was held when it went in.
    uint8 internal constant WITHDRAWN_HELD = 4;

    function hash(Cursor memory c) internal pure returns (bytes32) {
        return keccak256(abi.encode(c));
    }

    function hash(Facts calldata f) internal pure returns (bytes32) {
        return keccak256(abi.encode(f));
    }

    function hash(OuterFacts memory f) internal pure returns (bytes32) {
        return keccak256(abi.encode(f));
    }

    function hash(OuterFrame memory f) internal pure returns (bytes32) {
        return keccak256(abi.encode(f));
    }

    function hash(StepFrame memory f) internal pure returns (bytes32) {
        return keccak256(abi.encode(f));
    }

    function hash(OpFrame memory f) internal pure returns (bytes32) {
        return keccak256(abi.encode(f));
    }

    /// @notice With a tag in front, so that its bytes are as long as those of no other frame.
    function hash(DataRequest memory r) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked("gym.data_request.v1", abi.encode(r)));
    }

    /// @notice The frame of STEPS.
    function ofSteps(bytes32 facts, bytes32 statesRoot) internal pure returns (bytes32) {
        return keccak256(abi.encode(facts, statesRoot));
    }

    /// @notice Reverts unless `hash_` is the hash of the cursor's frame.
    function check(Cursor calldata c, bytes32 hash_) internal pure {
        if (c.frame != hash_) revert IDisputeErrors.WrongFrame();
    }

    /// @notice Reverts unless the game is at `stage`, with this side to move.
    function expect(Cursor calldata c, uint8 stage, bool answered) internal pure {
        if (c.stage != stage || c.answered != answered) {
            revert IDisputeErrors.WrongStage(c.stage);
        }
    }

    function nonZero(bytes32 digest) internal pure {
        if (digest == 0) revert IDisputeErrors.ZeroDigest();
    }
}
