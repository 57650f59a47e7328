#include "gym/program/codec.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "gym/program/train_program.hpp"
#include "program_samples.hpp"

namespace gym::program {
namespace {

using testing::Rng;

Program small_gpt() {
    TrainConfig config;
    config.batch = 2;
    config.model = {.vocabulary = 7, .context = 3, .layers = 1, .heads = 1, .width = 2};
    config.optimizer.total_steps = 4;
    config.optimizer.warmup_steps = 1;
    auto program = train_program(config);
    GYM_ASSERT(program.ok(), "the test's own program");
    return *std::move(program);
}

TEST(Codec, RoundTripsEveryOpcode) {
    Rng rng(testing::test_seed());
    for (const OpcodeInfo& op : opcode_table()) {
        const auto program = Program::create(testing::sample(rng, op.code));
        ASSERT_TRUE(program.ok()) << op.name << ": " << program.error().message;
        const Bytes bytes = encode(*program);
        const auto back = decode(bytes);
        ASSERT_TRUE(back.ok()) << op.name << ": " << back.error().message;
        EXPECT_EQ(*back, *program) << op.name;
        EXPECT_EQ(encode(*back), bytes) << op.name;
        EXPECT_EQ(program_root(*back), program_root(*program)) << op.name;
    }
}

TEST(Codec, RefusesEveryTruncationAndAnyExtension) {
    const Bytes bytes = encode(small_gpt());
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode(ByteView(bytes).first(size)).ok()) << size;
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(decode(longer).ok());
}

// A changed byte is refused or changes the program and its root; nothing decodes to two encodings.
TEST(Codec, NoChangedByteGoesUnnoticed) {
    Rng rng(testing::test_seed());
    const Program program = small_gpt();
    const Bytes bytes = encode(program);
    const Digest root = program_root(program);
    const std::size_t stride = testing::test_scale() > 1 ? 1 : 13;
    int accepted = 0;
    for (std::size_t at = rng() % stride; at < bytes.size(); at += stride) {
        Bytes changed = bytes;
        changed[at] ^= static_cast<std::uint8_t>(1U << (rng() % 8));
        const auto back = decode(changed);
        if (!back.ok()) continue;
        ++accepted;
        EXPECT_NE(program_root(*back), root) << "byte " << at;
        EXPECT_EQ(encode(*back), changed) << "byte " << at;
    }
    std::cout << accepted << " of the changes gave another legal program\n";
    EXPECT_GT(accepted, 0);
}

TEST(Codec, RefusesGarbage) {
    Rng rng(testing::test_seed());
    const Bytes start = encode(small_gpt());
    for (int round = 0; round < 2000 * testing::test_scale(); ++round) {
        Bytes bytes(start.begin(), start.begin() + 24);
        bytes.resize(24 + rng() % 4096);
        for (std::size_t i = 24; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::uint8_t>(rng() % 4 == 0 ? rng() : 0);
        EXPECT_FALSE(decode(bytes).ok());
    }
}

TEST(Codec, RefusesCountsBeyondTheBoundsWithoutAllocating) {
    Bytes bytes = encode(small_gpt());
    for (const std::size_t at : {12U, 16U, 20U}) {
        Bytes changed = bytes;
        for (std::size_t i = 0; i < 4; ++i)
            changed[at + i] = 0xFF;
        EXPECT_FALSE(decode(changed).ok());
    }
}

TEST(Codec, ReportsAForeignVersion) {
    Bytes bytes = encode(small_gpt());
    bytes[11] = 9;
    const auto back = decode(bytes);
    ASSERT_FALSE(back.ok());
    EXPECT_NE(back.error().message.find("numerics version 9"), std::string::npos);
}

TEST(ProgramRoot, ChangesWithEveryPart) {
    const ProgramParts parts = small_gpt().parts();
    const auto root_of = [](const ProgramParts& p) {
        const auto program = Program::create(p);
        GYM_ASSERT(program.ok(), "the test's own change");
        return program_root(*program);
    };
    const Digest root = root_of(parts);
    ProgramParts changed = parts;
    changed.slots[0].name = "tokens";
    EXPECT_NE(root_of(changed), root);
    changed = parts;
    changed.outputs.pop_back();
    EXPECT_NE(root_of(changed), root);
    changed = parts;
    for (Slot& slot : changed.slots)
        if (slot.kind == SlotKind::kConstant) slot.value[0] ^= 1;
    EXPECT_NE(root_of(changed), root);
    changed = parts;
    for (Op& op : changed.ops)
        if (op.code == Opcode::kAdamw) op.attributes[5] ^= 1;
    EXPECT_NE(root_of(changed), root);
}

// tests/vectors/program_roots.txt: a change of any committed root is a change of the protocol.
TEST(ProgramRoot, MatchesTheCommittedVectors) {
    std::map<std::string, std::string> now;
    now["small_gpt"] = program_root(small_gpt()).hex();
    now["small_gpt.evaluation"] = program_root(*evaluation_program(small_gpt())).hex();
    now["small_gpt.aggregate3"] = program_root(*aggregate_program(small_gpt(), 3)).hex();
    now["default"] = program_root(*train_program(TrainConfig{})).hex();
    TrainConfig untied;
    untied.model.tied_embeddings = false;
    untied.model.bias = true;
    now["untied_bias"] = program_root(*train_program(untied)).hex();
    std::ifstream file(std::string(std::getenv("GYM_SOURCE_DIR")) +
                       "/tests/vectors/program_roots.txt");
    ASSERT_TRUE(file.good());
    std::map<std::string, std::string> committed;
    for (std::string name, root; file >> name >> root;)
        committed[name] = root;
    EXPECT_EQ(now, committed);
}

}  // namespace
}  // namespace gym::program
