#include "gym/dispute/trace_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <span>

#include "gym/codec/row_layout.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/dispute/network_limit.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/presets.hpp"
#include "gym/program/train_program.hpp"
#include "program_samples.hpp"
#include "sample_programs.hpp"

namespace gym::dispute {
namespace {

using program::Opcode;
using program::SlotId;
using testing::kSamples;
using testing::program_of;

class TraceProgramOf : public ::testing::TestWithParam<testing::Sample> {
  protected:
    program::Program program_ = program_of(GetParam());
    TraceProgram trace_ = trace_program(program_).value();

    [[nodiscard]] Result<StateRecord> decoded(const StateRecord& record) const {
        return decode_state_record(encode(record), trace_.header.delta_codec);
    }
};
INSTANTIATE_TEST_SUITE_P(Samples, TraceProgramOf, ::testing::ValuesIn(kSamples),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Later, TraceProgramOf, ::testing::ValuesIn(testing::kLaterSamples),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(TraceProgramOf, IsTheExpansionOfTheProgram) {
    const auto expanded = program::expand(program_).value();
    ASSERT_EQ(trace_.primitives.size(), expanded.ops().size());
    for (std::size_t i = 0; i < expanded.ops().size(); ++i) {
        const auto& op = expanded.ops()[i];
        const PrimitiveRecord& record = trace_.primitives[i];
        EXPECT_EQ(record.code, op.code) << i;
        EXPECT_EQ(record.attributes, op.attributes) << i;
        EXPECT_EQ(record.output, shape_of(expanded.slot(op.outputs[0]))) << i;
        ASSERT_EQ(record.inputs.size(), op.inputs.size()) << i;
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
            EXPECT_EQ(record.inputs[k].shape, shape_of(expanded.slot(op.inputs[k]))) << i;
    }
}

/// The slot of the expanded program that a source means: what it must be read from.
std::optional<SlotId> slot_of(const TraceProgram& trace, const program::Program& program,
                              const program::Program& expanded, const MacroRange& macro,
                              const Source& source) {
    switch (source.kind) {
        case Source::Kind::kPrimitive:
            return expanded.ops()[macro.first_primitive + source.index].outputs[0];
        case Source::Kind::kLeaf: {
            if (source.index < trace.header.input_leaves)
                return program.slots_of(program::SlotKind::kInput)[source.index];
            const LeafRecord& leaf = trace.leaves[source.index];
            return expanded.ops()[leaf.first + leaf.writer].outputs[0];
        }
        case Source::Kind::kState: {
            std::vector<SlotId> state;
            for (SlotId id = 0; id < program.slots().size(); ++id)
                if (program.slot(id).next != program::kNoSlot) state.push_back(id);
            return state[source.index];
        }
        case Source::Kind::kConstant:
            return std::nullopt;
    }
    return std::nullopt;
}

TEST_P(TraceProgramOf, NamesTheSourceOfEveryOperand) {
    const auto expanded = program::expand(program_).value();
    std::map<Source::Kind, std::size_t> seen;
    for (const MacroRange& macro : trace_.macros) {
        for (std::uint32_t i = 0; i < macro.primitives; ++i) {
            const auto& op = expanded.ops()[macro.first_primitive + i];
            const PrimitiveRecord& record = trace_.primitives[macro.first_primitive + i];
            for (std::size_t k = 0; k < op.inputs.size(); ++k) {
                const Source& source = record.inputs[k].source;
                ++seen[source.kind];
                EXPECT_TRUE(source.kind != Source::Kind::kPrimitive || source.index < i);
                EXPECT_TRUE(source.kind != Source::Kind::kLeaf || source.index < macro.first_leaf);
                const auto slot = slot_of(trace_, program_, expanded, macro, source);
                if (slot) {
                    EXPECT_EQ(*slot, op.inputs[k]);
                } else {
                    EXPECT_EQ(expanded.slot(op.inputs[k]).kind, program::SlotKind::kConstant);
                }
            }
        }
    }
    EXPECT_GT(seen[Source::Kind::kPrimitive], 0U);
    EXPECT_GT(seen[Source::Kind::kLeaf], 0U);
    EXPECT_GT(seen[Source::Kind::kState], 0U);
    EXPECT_GT(seen[Source::Kind::kConstant], 0U);
}

TEST_P(TraceProgramOf, LeavesAreInputsAndThenEveryOutput) {
    std::size_t leaf = trace_.header.input_leaves;
    EXPECT_EQ(leaf, program_.slots_of(program::SlotKind::kInput).size());
    ASSERT_EQ(trace_.macros.size(), program_.ops().size());
    for (std::size_t i = 0; i < program_.ops().size(); ++i) {
        EXPECT_EQ(trace_.macros[i].first_leaf, leaf);
        for (const SlotId id : program_.ops()[i].outputs) {
            EXPECT_EQ(trace_.leaves[leaf].shape, shape_of(program_.slot(id)));
            EXPECT_EQ(trace_.leaves[leaf].first, trace_.macros[i].first_primitive);
            EXPECT_EQ(trace_.leaves[leaf].count, trace_.macros[i].primitives);
            ++leaf;
        }
    }
    EXPECT_EQ(leaf, trace_.leaves.size());
    EXPECT_EQ(trace_.header.leaves, leaf);
}

TEST_P(TraceProgramOf, EveryRecordDecodesToItselfAndNothingElseDoes) {
    EXPECT_EQ(decode_trace_header(encode(trace_.header)).value(), trace_.header);
    for (const PrimitiveRecord& record : trace_.primitives)
        EXPECT_EQ(decode_primitive(encode(record)).value(), record);
    for (const LeafRecord& record : trace_.leaves)
        EXPECT_EQ(decode_leaf(encode(record)).value(), record);
    for (const StateRecord& record : trace_.state)
        EXPECT_EQ(decoded(record).value(), record);
}

template <class Record, class Decode>
void expect_strict(const Record& record, Decode decode) {
    const Bytes bytes = encode(record);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode(ByteView(bytes).first(size)).ok()) << size;
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(decode(longer).ok());
    // Whatever a changed byte decodes to, it encodes to these bytes.
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        Bytes changed = bytes;
        changed[at] ^= 0x81;
        const auto decoded = decode(changed);
        EXPECT_TRUE(!decoded.ok() || encode(*decoded) == changed) << at;
    }
}

TEST_P(TraceProgramOf, DecodersAreStrict) {
    expect_strict(trace_.primitives.front(), decode_primitive);
    expect_strict(trace_.primitives.back(), decode_primitive);
    expect_strict(trace_.leaves.front(), decode_leaf);
    expect_strict(trace_.leaves.back(), decode_leaf);
    expect_strict(trace_.state.front(), [&](ByteView bytes) {
        return decode_state_record(bytes, trace_.header.delta_codec);
    });
    expect_strict(trace_.header, decode_trace_header);
}

TEST_P(TraceProgramOf, RecordsAreProvenUnderTheHeader) {
    const TraceTrees trees(trace_);
    for (std::uint32_t i = 0; i < trace_.header.leaves; ++i)
        EXPECT_EQ(check_leaf(trace_.header, trees.leaf(i).value()).value(), trace_.leaves[i]);
    for (std::uint32_t i = 0; i < trace_.header.state_slots; ++i)
        EXPECT_EQ(check_state_record(trace_.header, trees.state(i).value()).value(),
                  trace_.state[i]);
    for (std::uint32_t i = 0; i < trace_.header.primitives; i += 37) {
        RecordProof proof = trees.primitive(i).value();
        EXPECT_EQ(check_primitive(trace_.header, proof).value(), trace_.primitives[i]);
        RecordProof wrong = proof;
        wrong.record[i % wrong.record.size()] ^= 1;
        EXPECT_FALSE(check_primitive(trace_.header, wrong).ok());
        wrong = proof;
        wrong.path[i % wrong.path.size()].data[3] ^= 1;
        EXPECT_FALSE(check_primitive(trace_.header, wrong).ok());
        wrong = proof;
        wrong.index ^= 1;
        EXPECT_FALSE(check_primitive(trace_.header, wrong).ok());
    }
    EXPECT_FALSE(trees.primitive(trace_.header.primitives).ok());
}

TEST_P(TraceProgramOf, HeaderSaysWhereTheRecordsFieldsAre) {
    const TraceHeader& h = trace_.header;
    const bool guarded = program_.find_output("skipped") != program::kNoSlot;
    EXPECT_EQ(h.skipped != kNoLeaf, guarded);
    for (const std::uint32_t leaf : {h.loss, h.grad_norm})
        EXPECT_EQ(element_count(trace_.leaves.at(leaf).shape), 1U);
    EXPECT_EQ(h.gradients, program_.slots_of(program::SlotKind::kParam).size());
    EXPECT_EQ(h.windows, GetParam().config().batch);
    EXPECT_EQ(h.window_tokens, GetParam().config().model.context);
    EXPECT_EQ(h.vocabulary, 256U);
    EXPECT_EQ(h.classes, testing::classes_of(GetParam().config()));
    EXPECT_EQ(h.stride, h.classes == 0 ? 1 : h.window_tokens + 1);
}

/// One after the other behind the head, as the engine writes them.
TEST_P(TraceProgramOf, ParametersLieInTheDeltaWhereTheirRecordsSay) {
    const TraceHeader& h = trace_.header;
    const auto params = program_.slots_of(program::SlotKind::kParam);
    EXPECT_EQ(h.parameters, params.size());
    const auto end = engine::initial_state(program_, Digest{}).value();
    engine::State zero = end;
    for (auto& tensor : zero.tensors)
        std::ranges::fill(tensor.bytes, std::uint8_t{0});
    const Bytes delta = engine::encode_delta(program_, zero, end).value();
    ASSERT_EQ(h.delta_bytes, delta.size());
    std::size_t found = 0;
    std::uint64_t next = codec::row_begin(1);
    for (std::uint32_t i = 0; i < h.state_slots; ++i) {
        const StateRecord& record = trace_.state[i];
        if (record.delta_offset == 0) {
            EXPECT_EQ(record.parameter, 0U);
            continue;
        }
        EXPECT_EQ(record.parameter, found);
        const Bytes& bytes = end.tensors.at(found++).bytes;
        ASSERT_EQ(size_bytes(record.shape), bytes.size());
        if (h.delta_codec == program::DeltaCodec::kDense) {
            const auto row = ByteView(delta).subspan(record.delta_offset, codec::kRowBytes);
            EXPECT_EQ(row[0] == 0, std::ranges::all_of(row, [](auto b) { return b == 0; }));
            EXPECT_EQ(record.delta_offset, next) << "behind the parameter before";
            next = delta_end(h.delta_codec, record);
            continue;
        }
        EXPECT_TRUE(
            std::ranges::equal(bytes, ByteView(delta).subspan(record.delta_offset, bytes.size())));
    }
    EXPECT_EQ(found, params.size());
}

TEST_P(TraceProgramOf, HeaderHasTheOuterStepsConstants) {
    const auto bits = [&](std::string_view name) {
        std::uint32_t value = 0;
        std::memcpy(&value, program_.slot(program_.find_slot(name)).value.data(), sizeof value);
        return value;
    };
    EXPECT_EQ(trace_.header.outer_learning_rate, bits(program::kOuterLearningRate));
    EXPECT_EQ(trace_.header.outer_momentum, bits(program::kOuterMomentum));
    EXPECT_NE(trace_.header.outer_learning_rate, trace_.header.outer_momentum);
    const auto evaluation = trace_program(program::evaluation_program(program_).value()).value();
    EXPECT_EQ(evaluation.header.outer_learning_rate, 0U);
    EXPECT_EQ(evaluation.header.outer_momentum, 0U);
}

TEST_P(TraceProgramOf, RefusesPlacesThatNoDeltaHas) {
    trace_.header.delta_codec = program::DeltaCodec::kFloat;
    trace_.header.update_codec = program::UpdateCodec::kNone;
    trace_.header.delta_bytes = kDeltaHeadBytes;
    StateRecord record = trace_.state.front();
    record.shape.dtype = program::DType::kF32;
    const std::uint64_t size = size_bytes(record.shape);
    for (const std::uint64_t offset :
         {std::uint64_t{16}, std::uint64_t{4096}, (std::uint64_t{1} << 32) - 4,
          std::uint64_t{1} << 32, kDeltaBytesMax - size}) {
        record.delta_offset = offset;
        EXPECT_TRUE(decoded(record).ok()) << offset;
    }
    for (const std::uint64_t offset :
         {std::uint64_t{12}, std::uint64_t{17}, kDeltaBytesMax - size + 4, kDeltaBytesMax,
          kDeltaBytesMax + 4, std::uint64_t{1} << 63, ~std::uint64_t{3}}) {
        record.delta_offset = offset;
        EXPECT_FALSE(decoded(record).ok()) << offset;
    }
    record.delta_offset = 0;
    record.parameter = 1;
    EXPECT_FALSE(decoded(record).ok());
    record.delta_offset = 16;
    EXPECT_TRUE(decoded(record).ok());
    record.shape.dtype = program::DType::kI32;
    EXPECT_FALSE(decoded(record).ok());
    for (const std::uint64_t bytes :
         {std::uint64_t{12}, std::uint64_t{18}, kDeltaBytesMax + 4, ~std::uint64_t{3}}) {
        TraceHeader header = trace_.header;
        header.delta_bytes = bytes;
        EXPECT_FALSE(decode_trace_header(encode(header)).ok()) << bytes;
    }
    for (const std::uint64_t bytes :
         {(std::uint64_t{1} << 32) - 4, std::uint64_t{1} << 32, kDeltaBytesMax}) {
        TraceHeader header = trace_.header;
        header.delta_bytes = bytes;
        EXPECT_EQ(decode_trace_header(encode(header)).value(), header) << bytes;
    }
    TraceHeader header = trace_.header;
    header.parameters = header.state_slots + 1;
    EXPECT_FALSE(decode_trace_header(encode(header)).ok());
}

/// Every row behind the head's, up to 2^40 bytes.
TEST(TraceProgram, RefusesPlacesThatNoDeltaOfRowsHas) {
    const TraceProgram trace = trace_program(program_of({"dense", testing::dense})).value();
    StateRecord record = trace.state.front();
    record.shape = {program::DType::kF32, {65}};  // two rows
    const auto is_legal = [&](std::uint64_t offset) {
        record.delta_offset = offset;
        return decode_state_record(encode(record), program::DeltaCodec::kDense).ok();
    };
    const std::uint64_t rows = kDeltaBytesMax / 1024 * 31;
    for (const std::uint64_t row :
         {std::uint64_t{1}, std::uint64_t{30}, std::uint64_t{31}, std::uint64_t{1} << 32, rows - 2})
        EXPECT_TRUE(is_legal(codec::row_begin(row))) << row;
    for (const std::uint64_t offset :
         {std::uint64_t{16}, std::uint64_t{32}, std::uint64_t{34}, std::uint64_t{1023},
          codec::row_begin(rows - 1), kDeltaBytesMax, kDeltaBytesMax + 33, ~std::uint64_t{0}})
        EXPECT_FALSE(is_legal(offset)) << offset;
    TraceHeader header = trace.header;
    for (const std::uint64_t bytes : {std::uint64_t{32}, kDeltaBytesMax + 1}) {
        header.delta_bytes = bytes;
        EXPECT_FALSE(decode_trace_header(encode(header)).ok()) << bytes;
    }
    header.delta_bytes = 33;
    EXPECT_TRUE(decode_trace_header(encode(header)).ok());
}

/// Programs of codec 0 keep the header that they had.
TEST(TraceProgram, TheHeaderEndsWithTheCodecIfThereIsOne) {
    const TraceProgram plain = trace_program(program_of({"mlp", testing::mlp})).value();
    const TraceProgram dense = trace_program(program_of({"dense", testing::dense})).value();
    Bytes bytes = encode(dense.header);
    EXPECT_EQ(encode(plain.header).size(), 204U);
    ASSERT_EQ(bytes.size(), 208U);
    EXPECT_EQ(bytes.back(), 1);
    for (const std::uint8_t codec : {std::uint8_t{0}, std::uint8_t{2}}) {
        bytes.back() = codec;
        EXPECT_FALSE(decode_trace_header(bytes).ok()) << +codec;
    }
    EXPECT_EQ(dense.primitives, plain.primitives) << "nothing but the delta differs";
    EXPECT_LT(4 * dense.header.delta_bytes, plain.header.delta_bytes);
}

TEST(TraceProgram, TheCodecOfUpdatesStandsAboveThatOfDeltas) {
    const TraceProgram dense = trace_program(program_of({"dense", testing::dense})).value();
    const TraceProgram update = trace_program(program_of(testing::kUpdateSample)).value();
    EXPECT_EQ(update.header.update_codec, program::UpdateCodec::kDense);
    Bytes bytes = encode(update.header);
    ASSERT_EQ(bytes.size(), 208U);
    EXPECT_EQ(decode_trace_header(bytes).value(), update.header);
    EXPECT_TRUE(std::ranges::equal(ByteView(bytes).last(4), Bytes{0, 1, 0, 1}));
    bytes[205] = 0;
    EXPECT_EQ(bytes, encode(dense.header)) << "nothing else differs";
    bytes[205] = 2;
    EXPECT_EQ(decode_trace_header(bytes).error().code, ErrorCode::kMalformed);
    bytes[205] = 1;
    bytes[207] = 0;
    EXPECT_EQ(decode_trace_header(bytes).error().code, ErrorCode::kMalformed) << "without rows";
    bytes[207] = 1;
    bytes[204] = 1;
    EXPECT_EQ(decode_trace_header(bytes).error().code, ErrorCode::kMalformed);
}

/// 6,738,415,616 parameters: nothing of them is in memory.
TEST(TraceProgram, OfSevenBillionParametersHasADeltaBeyond4GiB) {
    const auto program = program::train_program(program::find_preset("llama-7b")->config).value();
    EXPECT_EQ(network_limit(program), "");
    const TraceProgram trace = trace_program(program).value();
    EXPECT_EQ(trace.header.delta_bytes, 16 + 4 * program::parameter_count(program));
    EXPECT_EQ(trace.header.delta_bytes, 26'953'662'480U);
    EXPECT_EQ(decode_trace_header(encode(trace.header)).value(), trace.header);
    EXPECT_EQ(delta_shape(trace.header), (Shape{program::DType::kU8, {26'953'662'480U}}));
    std::uint64_t next = kDeltaHeadBytes;
    for (const StateRecord& record : trace.state) {
        EXPECT_EQ(decode_state_record(encode(record)).value(), record);
        if (record.delta_offset == 0) continue;
        EXPECT_EQ(record.delta_offset, next);
        next += size_bytes(record.shape);
    }
    EXPECT_EQ(next, trace.header.delta_bytes);
}

/// Lines "name root" of tests/vectors/trace_roots.txt. GYM_UPDATE_VECTORS=1 writes them anew after
/// a deliberate change of any record.
TEST(TraceRoot, IsTheGoldenOne) {
    const char* folder = std::getenv("GYM_SOURCE_DIR");
    const std::string path =
        std::string(folder != nullptr ? folder : ".") + "/tests/vectors/trace_roots.txt";
    std::map<std::string, std::string> found, expected;
    for (const auto samples : {std::span<const testing::Sample>(kSamples),
                               std::span<const testing::Sample>(testing::kLaterSamples)})
        for (const testing::Sample& sample : samples)
            found[sample.name] = trace_root(trace_program(program_of(sample)).value().header).hex();
    if (std::getenv("GYM_UPDATE_VECTORS") != nullptr) {
        std::ofstream file(path);
        for (const auto& [name, root] : found)
            file << name << " " << root << "\n";
    }
    std::ifstream file(path);
    for (std::string name, root; file >> name >> root;)
        expected[name] = root;
    EXPECT_EQ(found, expected);
}

TEST(TraceRoot, ChangesWithEveryPartOfTheHeader) {
    TraceHeader header = trace_program(program_of(kSamples[0])).value().header;
    const Digest root = trace_root(header);
    const Bytes bytes = encode(header);
    for (auto* number : {&header.loss, &header.stride, &header.classes, &header.primitives,
                         &header.parameters, &header.outer_learning_rate, &header.outer_momentum}) {
        *number ^= 1;
        EXPECT_NE(trace_root(header), root);
        *number ^= 1;
    }
    for (auto* part : {&header.gradients_root, &header.leaves_root, &header.primitives_root,
                       &header.state_root}) {
        part->data[31] ^= 1;
        EXPECT_NE(trace_root(header), root);
        part->data[31] ^= 1;
    }
    header.delta_bytes ^= 4;
    EXPECT_NE(trace_root(header), root);
    header.delta_bytes ^= 4;
    EXPECT_EQ(bytes.size(), 15U * 4 + 8 + 2 * 4 + 4 * 32);
    EXPECT_EQ(trace_root(header), root);
}

TEST(TraceProgram, ExistsForEveryOp) {
    program::testing::Rng rng(program::testing::test_seed());
    for (const auto& opcode : program::opcode_table()) {
        const auto program =
            program::Program::create(program::testing::sample(rng, opcode.code)).value();
        const auto trace = trace_program(program);
        ASSERT_TRUE(trace.ok()) << opcode.name;
        EXPECT_EQ(trace->primitives.size(), program::expand(program).value().ops().size());
        for (const PrimitiveRecord& record : trace->primitives)
            EXPECT_EQ(decode_primitive(encode(record)).value(), record) << opcode.name;
    }
}

TEST(TraceProgram, RefusesALossThatNothingComputes) {
    program::Builder builder;
    const auto p = builder.param("p", {1}, {program::Init::Kind::kConstant, 0});
    builder.set_next(p, builder.add(p, p));
    builder.output("loss", p);
    const auto trace = trace_program(builder.build().value());
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace gym::dispute
