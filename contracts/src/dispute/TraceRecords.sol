// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IOneStep} from "../onestep/IOneStep.sol";
import {Descriptors} from "../onestep/Descriptors.sol";
import {DenseRow} from "../numerics/DenseRow.sol";
import {BigEndian} from "./BigEndian.sol";
import {DeltaRows} from "./DeltaRows.sol";
import {IDisputeErrors, RecordProof} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";

/// @notice The head of a trace program. Leaves that it does not have are NO_LEAF; the outer step's constants are bits of f32.
struct Header {
    uint256 inputLeaves;
    uint256 leaves;
    uint256 primitives;
    uint256 stateSlots;
    uint256 gradients;
    uint256 loss;
    uint256 gradNorm;
    uint256 skipped;
    uint256 windowTokens;
    uint256 stride;
    uint256 parameters;
    uint256 deltaBytes;
    uint256 outerRate;
    uint256 outerMomentum;
    bytes32 gradientsRoot;
    bytes32 leavesRoot;
    bytes32 primitivesRoot;
    bytes32 stateRoot;
    uint256 deltaCodec;
    uint256 updateCodec;
}

/// @notice Where a tensor comes from. @param kind 1 primitive, 2 trace leaf, 3 state, 4 constant.
struct Source {
    uint256 kind;
    uint256 index;
    bytes32 root;
}

/// @notice A trace leaf. @param kind 0 computed, 1 token windows, 2 clock, 3 random position.
struct LeafRecord {
    uint256 kind;
    uint256 shape;
    uint256 first;
    uint256 count;
    uint256 writer;
}

/// @notice A slot of the training state. @param source Of its value after a step: a trace leaf, or state before it.
/// @param deltaOffset Of its first byte in the delta, in codec 1 of its first row; 0: no parameter.
/// @param parameter Its number among the parameters.
struct StateRecord {
    uint256 shape;
    Source source;
    uint256 deltaOffset;
    uint256 parameter;
}

/// @title The records of a trace program
/// @notice Byte formats of src/dispute/include/gym/dispute/trace_program.hpp; big-endian, strict.
library TraceRecords {
    uint32 internal constant NO_LEAF = 0xFFFFFFFF;
    uint256 internal constant COMPUTED = 0;
    uint256 internal constant BATCH = 1;
    uint256 internal constant CLOCK = 2;
    uint256 internal constant RANDOM = 3;
    uint256 internal constant FROM_PRIMITIVE = 1;
    uint256 internal constant FROM_LEAF = 2;
    uint256 internal constant FROM_STATE = 3;
    uint256 internal constant CONSTANT = 4;
    uint256 internal constant OPERANDS_MAX = 12;
    /// @notice The codec whose rows numerics/DenseRow.sol knows. The other one, 0, is the elements as they are.
    uint256 internal constant DENSE = 1;
    /// @dev Of a program of codec 0; another one names its codecs behind them.
    uint256 private constant HEADER_BYTES = 204;
    uint256 private constant CODECS_BYTES = 4;
    /// @dev Where the codec of its updates stands among these, above that of its deltas.
    uint256 private constant UPDATE_CODEC_BIT = 16;
    uint256 private constant OPS_MAX = 65_536;
    uint256 private constant DELTA_HEAD_BYTES = 16;
    uint256 private constant DELTA_BYTES_MAX = 2 ** 40;
    uint256 private constant FLOAT_BYTES = 4;

    /// @notice The header whose hash is `program`.
    function header(bytes calldata data, bytes32 program) internal pure returns (Header memory h) {
        bool named = data.length == HEADER_BYTES + CODECS_BYTES;
        if (data.length != HEADER_BYTES && !named) revert IDisputeErrors.Malformed(data.length);
        if (sha256(abi.encodePacked("gym.trace_program.v1", data)) != program) {
            revert IDisputeErrors.WrongFrame();
        }
        h.inputLeaves = BigEndian.number(data, 4, 4);
        h.leaves = BigEndian.number(data, 8, 4);
        h.primitives = BigEndian.number(data, 12, 4);
        h.stateSlots = BigEndian.number(data, 16, 4);
        h.gradients = BigEndian.number(data, 20, 4);
        h.loss = BigEndian.number(data, 24, 4);
        h.gradNorm = BigEndian.number(data, 28, 4);
        h.skipped = BigEndian.number(data, 32, 4);
        h.windowTokens = BigEndian.number(data, 40, 4);
        h.stride = BigEndian.number(data, 44, 4);
        h.parameters = BigEndian.number(data, 56, 4);
        h.deltaBytes = BigEndian.number(data, 60, 8);
        h.outerRate = BigEndian.number(data, 68, 4);
        h.outerMomentum = BigEndian.number(data, 72, 4);
        h.gradientsRoot = bytes32(BigEndian.number(data, 76, 32));
        h.leavesRoot = bytes32(BigEndian.number(data, 108, 32));
        h.primitivesRoot = bytes32(BigEndian.number(data, 140, 32));
        h.stateRoot = bytes32(BigEndian.number(data, 172, 32));
        if (!named) return h;
        uint256 codecs = BigEndian.number(data, HEADER_BYTES, CODECS_BYTES);
        h.updateCodec = codecs >> UPDATE_CODEC_BIT;
        h.deltaCodec = codecs - (h.updateCodec << UPDATE_CODEC_BIT);
        // An update has the rows of deltas.
        bool legal = h.deltaCodec == DENSE && h.updateCodec <= DENSE;
        if (!legal) revert IDisputeErrors.Malformed(HEADER_BYTES);
    }

    /// @notice The trace leaf that a proof shows.
    function leaf(Header memory h, RecordProof calldata proof)
        internal
        view
        returns (LeafRecord memory record)
    {
        bytes32 digest = sha256(abi.encodePacked("gym.trace_leaf.v1", proof.data));
        MerkleSha256.verify(h.leavesRoot, proof.index, h.leaves, digest, proof.path);
        bytes calldata data = proof.data;
        uint256 offset;
        record.kind = BigEndian.number(data, 0, 1);
        (record.shape, offset) = shape(data, 1);
        if (record.kind == COMPUTED) {
            record.first = BigEndian.number(data, offset, 4);
            record.count = BigEndian.number(data, offset + 4, 4);
            record.writer = BigEndian.number(data, offset + 8, 4);
            offset += 12;
            if (record.first + record.count > OPS_MAX || record.writer >= record.count) {
                revert IDisputeErrors.Malformed(offset);
            }
        }
        _end(data, offset);
    }

    /// @notice The digest of a primitive record, once the proof is checked. @param index It must have.
    function primitive(Header memory h, RecordProof calldata proof, uint256 index)
        internal
        view
        returns (bytes32 digest)
    {
        if (proof.index != index) revert IDisputeErrors.BadRecord(proof.index);
        digest = primitiveDigest(proof.data);
        MerkleSha256.verify(h.primitivesRoot, index, h.primitives, digest, proof.path);
    }

    function primitiveDigest(bytes calldata data) internal pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.primitive.v1", data));
    }

    /// @notice The record of slot `proof.index` of the state.
    function state(Header memory h, RecordProof calldata proof)
        internal
        view
        returns (StateRecord memory record)
    {
        bytes32 digest = stateDigest(proof.data);
        MerkleSha256.verify(h.stateRoot, proof.index, h.stateSlots, digest, proof.path);
        return stateRecord(h, proof.data);
    }

    /// @notice A record of the state that is known to be the program's.
    function stateRecord(Header memory h, bytes calldata data)
        internal
        pure
        returns (StateRecord memory record)
    {
        uint256 offset;
        (record.shape, offset) = shape(data, 0);
        (record.source, offset) = _source(data, offset);
        if (record.source.kind != FROM_LEAF && record.source.kind != FROM_STATE) {
            revert IDisputeErrors.Malformed(offset);
        }
        record.deltaOffset = BigEndian.number(data, offset, 8);
        record.parameter = BigEndian.number(data, offset + 8, 4);
        _end(data, offset + 12);
        if (record.deltaOffset == 0) {
            if (record.parameter != 0) revert IDisputeErrors.Malformed(offset + 8);
            return record;
        }
        bool inside = record.deltaOffset >= deltaHeadBytes(h)
            && (h.deltaCodec == DENSE ? _isInRows(record) : _isInWords(record));
        if (!inside || Shapes.dtype(record.shape) != Descriptors.F32) {
            revert IDisputeErrors.Malformed(offset);
        }
    }

    function stateDigest(bytes calldata data) internal pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.state_slot.v1", data));
    }

    /// @notice Bytes of a delta before its first parameter.
    function deltaHeadBytes(Header memory h) internal pure returns (uint256) {
        return h.deltaCodec == DENSE ? DenseRow.BYTES : DELTA_HEAD_BYTES;
    }

    /// @notice The delta as a tensor: u8 [size].
    function deltaShape(Header memory h) internal pure returns (uint256 packed) {
        bool legal = h.deltaBytes >= deltaHeadBytes(h) && h.deltaBytes <= DELTA_BYTES_MAX
            && (h.deltaCodec == DENSE || h.deltaBytes % FLOAT_BYTES == 0);
        if (!legal) revert IDisputeErrors.Malformed(h.deltaBytes);
        return Shapes.ofBytes(h.deltaBytes);
    }

    /// @notice The trace leaf that is gradient number `proof.index`.
    function gradientLeaf(Header memory h, RecordProof calldata proof)
        internal
        view
        returns (uint256)
    {
        if (proof.data.length != 4) revert IDisputeErrors.Malformed(proof.data.length);
        bytes32 digest = sha256(abi.encodePacked("gym.gradient_leaf.v1", proof.data));
        MerkleSha256.verify(h.gradientsRoot, proof.index, h.gradients, digest, proof.path);
        return BigEndian.number(proof.data, 0, 4);
    }

    /// @notice A primitive without its data. @return d For OneStep. @return sources Of its operands.
    function descriptor(bytes calldata data)
        internal
        pure
        returns (IOneStep.Descriptor memory d, Source[] memory sources)
    {
        uint256 offset;
        uint256 packed;
        d.opcode = uint16(BigEndian.number(data, 0, 2));
        (packed, offset) = shape(data, 2);
        _unpack(packed, d.output);
        for (uint256 i = 0; i < 8; ++i) {
            d.attributes[i] = uint64(BigEndian.number(data, offset, 8));
            offset += 8;
        }
        uint256 inputs = BigEndian.number(data, offset++, 1);
        if (inputs > OPERANDS_MAX) revert IDisputeErrors.Malformed(offset);
        d.inputs = new IOneStep.Shape[](inputs);
        sources = new Source[](inputs);
        for (uint256 k = 0; k < inputs; ++k) {
            (sources[k], offset) = _source(data, offset);
            (packed, offset) = shape(data, offset);
            _unpack(packed, d.inputs[k]);
        }
        _end(data, offset);
    }

    /// @notice Where a primitive's output shape is in its record.
    function outputShape(bytes calldata data) internal pure returns (uint256 packed) {
        (packed,) = shape(data, 2);
    }

    /// @notice A record's shape in one word, see Shapes.
    /// @return packed The word. @return next Position of the next byte.
    function shape(bytes calldata data, uint256 offset)
        internal
        pure
        returns (uint256 packed, uint256 next)
    {
        uint256 dtype = BigEndian.number(data, offset, 1);
        uint256 rank = BigEndian.number(data, offset + 1, 1);
        if (Descriptors.sizeOf(dtype) == 0 || rank == 0 || rank > Descriptors.RANK_MAX) {
            revert IDisputeErrors.Malformed(offset);
        }
        packed = (dtype << 168) | (rank << 160);
        next = offset + 2;
        uint256 count = 1;
        for (uint256 i = 0; i < rank; ++i) {
            uint256 dim = BigEndian.number(data, next, 4);
            count *= dim; // below 2^160
            packed |= dim << (32 * (4 - i));
            next += 4;
        }
        if (count == 0 || count > Descriptors.ELEMENTS_MAX) {
            revert IDisputeErrors.Malformed(offset);
        }
    }

    /// @dev Whether a parameter can have this place in a delta of codec 0.
    function _isInWords(StateRecord memory record) private pure returns (bool) {
        return record.deltaOffset % FLOAT_BYTES == 0
            && record.deltaOffset + Shapes.size(record.shape) <= DELTA_BYTES_MAX;
    }

    /// @dev The same of codec 1: a row begins there, and the parameter's last one ends in time.
    function _isInRows(StateRecord memory record) private pure returns (bool) {
        uint256 row = DeltaRows.rowOf(record.deltaOffset);
        uint256 behind = row + DeltaRows.count(Shapes.count(record.shape));
        return DeltaRows.beginOf(row) == record.deltaOffset
            && DeltaRows.beginOf(behind) <= DELTA_BYTES_MAX;
    }

    function _unpack(uint256 packed, IOneStep.Shape memory to) private pure {
        // forge-lint: disable-next-line(unsafe-typecast)
        to.dtype = uint8(packed >> 168);
        // forge-lint: disable-next-line(unsafe-typecast)
        to.rank = uint8(packed >> 160);
        for (uint256 i = 0; i < 5; ++i) {
            // forge-lint: disable-next-line(unsafe-typecast)
            to.dims[i] = uint32(packed >> (32 * (4 - i)));
        }
    }

    function _source(bytes calldata data, uint256 offset)
        private
        pure
        returns (Source memory source, uint256 next)
    {
        source.kind = BigEndian.number(data, offset, 1);
        if (source.kind < FROM_PRIMITIVE || source.kind > CONSTANT) {
            revert IDisputeErrors.Malformed(offset);
        }
        if (source.kind == CONSTANT) {
            source.root = bytes32(BigEndian.number(data, offset + 1, 32));
            return (source, offset + 33);
        }
        source.index = BigEndian.number(data, offset + 1, 4);
        return (source, offset + 5);
    }

    function _end(bytes calldata data, uint256 offset) private pure {
        if (offset != data.length) revert IDisputeErrors.Malformed(offset);
    }
}

/// @title Shapes in one word
/// @notice dtype, rank, then five dims of 32 bits, the first highest, 0 behind the rank. The only dim of rank 1 has 64 bits, for
/// deltas, whose elements are bytes: the place of the second dim holds its upper half.
library Shapes {
    uint256 private constant U8 = 5;

    /// @notice A tensor u8 [size].
    function ofBytes(uint256 size_) internal pure returns (uint256 packed) {
        return (U8 << 168) | (1 << 160) | ((size_ & 0xFFFFFFFF) << 128) | ((size_ >> 32) << 96);
    }

    /// @notice Elements. @param packed See above.
    function count(uint256 packed) internal pure returns (uint256 n) {
        uint256 dims = rank(packed);
        if (dims == 1) return _onlyDim(packed);
        n = 1;
        for (uint256 i = 0; i < dims; ++i) {
            // forge-lint: disable-next-line(unsafe-typecast)
            n *= uint32(packed >> (32 * (4 - i)));
        }
    }

    function rank(uint256 packed) internal pure returns (uint256) {
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint8(packed >> 160);
    }

    function dtype(uint256 packed) internal pure returns (uint256) {
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint8(packed >> 168);
    }

    /// @notice Bytes of the tensor.
    function size(uint256 packed) internal pure returns (uint256) {
        return count(packed) * Descriptors.sizeOf(dtype(packed));
    }

    function chunks(uint256 packed) internal pure returns (uint256) {
        return (size(packed) + MerkleSha256.CHUNK_BYTES - 1) / MerkleSha256.CHUNK_BYTES;
    }

    /// @notice The tensor's root by the root of its chunks.
    function digest(uint256 packed, bytes32 treeRoot) internal pure returns (bytes32) {
        uint64[] memory dims = new uint64[](rank(packed));
        for (uint256 i = 0; i < dims.length; ++i) {
            // forge-lint: disable-next-line(unsafe-typecast)
            dims[i] = uint32(packed >> (32 * (4 - i)));
        }
        if (dims.length == 1) dims[0] = _onlyDim(packed);
        return MerkleSha256.tensorDigest(uint8(dtype(packed)), dims, treeRoot);
    }

    /// @notice Bytes of chunk `index`; the tensor has it.
    function chunkBytes(uint256 packed, uint256 index) internal pure returns (uint256) {
        uint256 rest = size(packed) - index * MerkleSha256.CHUNK_BYTES;
        return rest < MerkleSha256.CHUNK_BYTES ? rest : MerkleSha256.CHUNK_BYTES;
    }

    /// @dev Of rank 1.
    function _onlyDim(uint256 packed) private pure returns (uint64) {
        // forge-lint: disable-next-line(unsafe-typecast)
        return (uint64(uint32(packed >> 96)) << 32) | uint32(packed >> 128);
    }
}
