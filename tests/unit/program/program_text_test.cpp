#include "gym/program/program_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "gym/program/builder.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/train_config_yaml.hpp"

namespace gym::program {
namespace {

/// A forward pass as an import writes it: a table of scores, looked up.
Program forward(std::uint32_t windows = 2) {
    Builder b;
    const SlotId tokens = b.input("input0", DType::kI32, {windows, 4});
    const SlotId table = b.param("table", {6, 6}, {Init::Kind::kNormal, 0x3DCCCCCD});
    b.output("output", b.gather_rows(table, tokens));
    return b.build().value();
}

std::string model_file(const std::string& keys, std::uint32_t batch = 2) {
    return "batch: " + std::to_string(batch) + "\nmodel: {architecture: imported, " + keys + "}\n";
}

std::string refusal(const std::string& keys) {
    const auto config = parse_train_config(model_file(keys), "text");
    return config.ok() ? "" : config.error().message;
}

TEST(ProgramText, ReadsAsTheProgram) {
    const Program program = forward();
    const auto text = program_text(program);
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_LT(text->size(), encode(program).size()) << "records are mostly zeros";
    EXPECT_EQ(*parse_program_text(*text), program);
}

TEST(ProgramText, WithOtherLettersIsNoOtherProgram) {
    const Program original = forward();
    const std::string text = *program_text(original);
    std::size_t refused = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string changed = text;
        changed[at] = changed[at] == 'A' ? 'B' : 'A';
        const auto program = parse_program_text(changed);
        // Some bits between compressed blocks mean nothing.
        EXPECT_TRUE(!program.ok() || *program == original) << at;
        refused += program.ok() ? 0 : 1;
    }
    EXPECT_GT(refused, text.size() - 3);
    for (std::size_t size = 0; size < text.size(); ++size)
        EXPECT_FALSE(parse_program_text(text.substr(0, size)).ok()) << size;
    EXPECT_FALSE(parse_program_text(text + "AAAA").ok());
    EXPECT_FALSE(parse_program_text(text + "\n").ok());
    EXPECT_EQ(parse_program_text(std::string(kProgramTextBytesMax + 4, 'A')).error().code,
              ErrorCode::kOutOfRange);
}

TEST(ProgramText, OfALargeProgramSaysWhatIsLarge) {
    Builder b;
    std::vector<float> noise(300'000);
    std::uint32_t word = 1;
    for (float& value : noise) {
        word = word * 1664525U + 1013904223U;
        value = static_cast<float>(word) * 0x1p-32F;
    }
    const SlotId table = b.constant("noise", {1, 300'000}, noise);
    b.output("output", b.row_sum(table));
    const auto text = program_text(b.build().value());
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(text.error().message.find("1200000 bytes of constants"), std::string::npos)
        << text.error().message;
}

TEST(ImportedModelFile, HoldsTheProgramAndChecksWhatIsSaidOfIt) {
    const Program program = forward();
    const std::string text = "program: \"" + *program_text(program) + "\"";
    const std::string root = ", root: \"" + program_root(program).hex() + "\"";
    const auto config =
        parse_train_config(model_file(text + root + ", context: 4, forward: m.pt"), "text");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->model.vocabulary, 6U);
    EXPECT_EQ(config->model.context, 4U);
    EXPECT_EQ(*config->model.forward, program);
    EXPECT_TRUE(train_program(*config).ok());
    const std::string other = ", root: \"" + program_root(forward(3)).hex() + "\"";
    EXPECT_NE(refusal(text + other).find("the program's is"), std::string::npos);
    EXPECT_NE(refusal(text + ", context: 5").find("reads 4 tokens"), std::string::npos);
    EXPECT_NE(refusal(text + ", layers: 5").find("layers"), std::string::npos);
    EXPECT_NE(refusal("program: AAAA").find("damaged"), std::string::npos);
    EXPECT_NE(refusal("forward: m.pt").find("`gym job submit` imports m.pt"), std::string::npos);
    EXPECT_NE(refusal("context: 4").find("names `forward`"), std::string::npos);
    const auto windows = parse_train_config(model_file(text, 3), "text");
    ASSERT_TRUE(windows.ok());
    EXPECT_NE(train_program(*windows).error().message.find("set batch to that"), std::string::npos);
}

}  // namespace
}  // namespace gym::program
