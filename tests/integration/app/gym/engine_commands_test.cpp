// `gym data | program | unit | generate` as a user or a script sees them: output, exit codes, bad
// input, interruption.
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <string>

#include "engine_commands.hpp"

namespace gym::testing {
namespace {

TEST_F(EngineCommands, TheListOfModelsSaysWhatADefaultNetworkTakes) {
    const auto listed = gym({"model", "list", "--json"});
    ASSERT_EQ(listed.exit_code, kOk) << listed.err;
    std::map<std::string, bool> takes;
    for (const json::object& preset : objects(listed.out)) {
        EXPECT_TRUE(preset.at("network").as_bool()) << "every preset can be trained in a network";
        takes[text_of(preset, "name")] = preset.at("network_default").as_bool();
        EXPECT_GT(preset.at("gpu_memory_bytes").to_number<std::uint64_t>(), 0U);
    }
    EXPECT_TRUE(takes.at("gpt2")) << "124 million parameters";
    EXPECT_FALSE(takes.at("gpt2-medium")) << "355 million";
    EXPECT_FALSE(takes.at("llama-7b"));
    EXPECT_NE(gym({"model", "list"}).out.find("yes, if its blob_bytes_max is raised above 1 GiB"),
              std::string::npos);
}

TEST_F(EngineCommands, BuildPrintsWhatTheProgramIs) {
    const auto built = gym({"program", "build", path("model.yaml"), "-o", path("q.gym"), "--json"});
    ASSERT_EQ(built.exit_code, kOk) << built.err;
    const json::object summary = objects(built.out).at(0);
    EXPECT_EQ(text_of(summary, "program_root").size(), 66U);
    for (const char* key :
         {"ops", "parameters", "flops_per_step", "state_bytes", "memory_bytes", "gpu_memory_bytes"})
        EXPECT_GT(summary.at(key).to_number<std::uint64_t>(), 0U) << key;
    EXPECT_EQ(slurp(place_ / "q.gym"), slurp(place_ / "p.gym"));
    const auto shown = gym({"--json", "program", "show", path("q.gym")});
    EXPECT_EQ(text_of(objects(shown.out).at(0), "program_root"), text_of(summary, "program_root"));
    const auto plain = gym({"program", "show", path("q.gym")});
    EXPECT_NE(plain.out.find("token_embedding"), std::string::npos);
}

TEST_F(EngineCommands, RunPrintsEachRecordAndOneFinalRootForEveryEngine) {
    const auto once = gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "5",
                           "--records", path("records.jsonl"), "--json"});
    ASSERT_EQ(once.exit_code, kOk) << once.err;
    const auto lines = objects(once.out);
    ASSERT_EQ(lines.size(), 6U);
    EXPECT_EQ(objects(slurp(place_ / "records.jsonl")).size(), 5U);
    EXPECT_EQ(lines[4].at("state_root"), lines[5].at("final_state_root"));
    const auto scalar = gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps",
                             "5", "--threads", "2", "--isa", "scalar", "--json"});
    ASSERT_EQ(scalar.exit_code, kOk) << scalar.err;
    EXPECT_EQ(objects(scalar.out)[5].at("final_state_root"), lines[5].at("final_state_root"));
}

TEST_F(EngineCommands, ATokenFileAndItsTextTrainAlike) {
    const auto built =
        gym({"data", "build", "--text", path("text"), "-o", path("d.gymd"), "--json"});
    ASSERT_EQ(built.exit_code, kOk) << built.err;
    const json::object summary = objects(built.out).at(0);
    EXPECT_EQ(summary.at("tokens").to_number<std::size_t>(), text().size());
    const auto from = [&](const char* data) {
        return objects(gym({"program", "run", path("p.gym"), "--data", path(data), "--steps", "2",
                            "--json"})
                           .out)
            .at(2)
            .at("final_state_root");
    };
    EXPECT_EQ(from("text"), from("d.gymd"));
}

TEST_F(EngineCommands, AnHonestUnitVerifies) {
    ASSERT_EQ(run_unit().exit_code, kOk);
    const auto verified = verify_unit();
    EXPECT_EQ(verified.exit_code, kOk) << verified.err;
    EXPECT_TRUE(objects(verified.out).at(0).at("verified").as_bool());
}

TEST_F(EngineCommands, AFalseRecordIsNamedByStepAndField) {
    ASSERT_EQ(run_unit().exit_code, kOk);
    const std::string honest = slurp(place_ / "unit.json");
    struct Lie {
        std::size_t step;
        const char* member;
        const char* field;
    };
    for (const Lie lie : {Lie{3, "loss_bits", "loss"}, Lie{5, "state_root", "state_root"},
                          Lie{0, "batch_root", "batch_root"}}) {
        json::value unit = json::parse(honest);
        json::object& record = unit.as_object().at("records").as_array().at(lie.step).as_object();
        std::string bits = text_of(record, lie.member);
        bits.back() = bits.back() == '0' ? '1' : '0';
        record[lie.member] = bits;
        spill(place_ / "unit.json", json::serialize(unit));
        const auto verdict = verify_unit();
        ASSERT_EQ(verdict.exit_code, kMismatch) << verdict.out << verdict.err;
        const json::object difference = objects(verdict.out).at(0);
        EXPECT_FALSE(difference.at("verified").as_bool());
        EXPECT_EQ(difference.at("step").to_number<std::size_t>(), lie.step);
        EXPECT_EQ(text_of(difference, "field"), lie.field);
    }
}

TEST_F(EngineCommands, AFalseDeltaRootIsAMismatch) {
    ASSERT_EQ(run_unit().exit_code, kOk);
    json::value unit = json::parse(slurp(place_ / "unit.json"));
    unit.as_object()["delta_root"] = "0x" + std::string(64, '7');
    spill(place_ / "unit.json", json::serialize(unit));
    const auto verdict = verify_unit();
    EXPECT_EQ(verdict.exit_code, kMismatch);
    EXPECT_EQ(text_of(objects(verdict.out).at(0), "field"), "delta_root");
}

TEST_F(EngineCommands, VerifyRefusesAnotherProgram) {
    ASSERT_EQ(run_unit().exit_code, kOk);
    spill(place_ / "wide.yaml",
          std::string(kModel).replace(std::string(kModel).find("width: 16"), 9, "width: 32"));
    ASSERT_EQ(gym({"program", "build", path("wide.yaml"), "-o", path("wide.gym")}).exit_code, kOk);
    EXPECT_EQ(verify_unit("wide.gym").exit_code, kUsage);
}

TEST_F(EngineCommands, AnotherDatasetIsWrongUsageAndNoFault) {
    ASSERT_EQ(run_unit().exit_code, kOk);
    spill(place_ / "other", text() + "and more\n");
    const auto refused = gym(
        {"unit", "verify", path("unit.json"), "--program", path("p.gym"), "--data", path("other")});
    EXPECT_EQ(refused.exit_code, kUsage) << refused.err;
    EXPECT_NE(refused.err.find("is not the dataset of this unit"), std::string::npos)
        << refused.err;
}

TEST_F(EngineCommands, APathThatCannotBeWrittenIsRefusedBeforeTheWork) {
    const std::string nowhere = path("nowhere/file");
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"program", "run", path("p.gym"), "--data", path("text"),
                                   "--steps", "3", "--records", nowhere},
          {"program", "run", path("p.gym"), "--data", path("text"), "--steps", "3", "--state",
           path(".")},
          {"unit", "run", path("p.gym"), "--data", path("text"), "--steps", "3", "-o", nowhere}}) {
        const auto refused = gym(arguments);
        EXPECT_EQ(refused.exit_code, kFailed) << refused.err;
        EXPECT_EQ(refused.out, "") << "no step was made";
        EXPECT_NE(refused.err.find("cannot write"), std::string::npos) << refused.err;
    }
}

TEST_F(EngineCommands, GenerateContinuesAPrompt) {
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "5",
                   "--state", path("state")})
                  .exit_code,
              kOk);
    const auto generated = gym({"generate", path("p.gym"), "--state", path("state"), "--prompt",
                                "line", "--tokens", "12", "--json"});
    ASSERT_EQ(generated.exit_code, kOk) << generated.err;
    EXPECT_EQ(objects(generated.out).at(0).at("tokens").as_array().size(), 12U);
    const auto evaluated = gym({"program", "evaluate", path("p.gym"), "--data", path("text"),
                                "--state", path("state"), "--json"});
    ASSERT_EQ(evaluated.exit_code, kOk) << evaluated.err;
    EXPECT_LT(objects(evaluated.out).at(0).at("validation_loss").as_double(), 6.0);
}

TEST_F(EngineCommands, GenerateTakesBytesAloneFromALargerModelOfBytes) {
    std::string wide = kModel;
    spill(place_ / "wide.yaml", wide.replace(wide.find("256"), 3, "5000"));
    ASSERT_EQ(gym({"program", "build", path("wide.yaml"), "-o", path("w.gym")}).exit_code, kOk);
    ASSERT_EQ(gym({"program", "run", path("w.gym"), "--data", path("text"), "--steps", "1",
                   "--state", path("state")})
                  .exit_code,
              kOk);
    const auto generate = [&](std::vector<std::string> extra) {
        std::vector<std::string> arguments{"generate",    path("w.gym"), "--state",
                                           path("state"), "--tokens",    "12"};
        arguments.insert(arguments.end(), extra.begin(), extra.end());
        return gym(std::move(arguments));
    };
    const auto refused = generate({});
    EXPECT_EQ(refused.exit_code, kUsage);
    EXPECT_NE(refused.err.find("--tokenizer bytes"), std::string::npos) << refused.err;
    const auto bytes = generate({"--tokenizer", "bytes"});
    ASSERT_EQ(bytes.exit_code, kOk) << bytes.err;
    const auto empty = generate({"--tokenizer", "bytes", "--prompt", ""});
    EXPECT_EQ(empty.exit_code, kOk) << empty.err;
    EXPECT_EQ(empty.out, bytes.out) << "as without a prompt";
}

TEST_F(EngineCommands, GenerateWritesTheSameForTheSameSeedHoweverItRuns) {
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "40",
                   "--state", path("state")})
                  .exit_code,
              kOk);
    const auto tokens = [&](std::vector<std::string> extra) {
        std::vector<std::string> arguments{"generate",    path("p.gym"), "--state",
                                           path("state"), "--prompt",    "line 1",
                                           "--tokens",    "24",          "--json"};
        arguments.insert(arguments.end(), extra.begin(), extra.end());
        const auto generated = gym(std::move(arguments));
        EXPECT_EQ(generated.exit_code, kOk) << generated.err;
        return json::serialize(objects(generated.out).at(0).at("tokens"));
    };
    const std::string first = tokens({"--seed", "a"});
    EXPECT_EQ(tokens({"--seed", "a", "--threads", "2", "--isa", "scalar"}), first);
    EXPECT_NE(tokens({"--seed", "b"}), first);
    EXPECT_NE(tokens({"--seed", "a", "--temperature", "5"}), first);
    const std::string greedy = tokens({"--temperature", "0"});
    EXPECT_EQ(tokens({"--top-k", "1", "--seed", "b"}), greedy);
    EXPECT_EQ(tokens({"--temperature", "0", "--seed", "b"}), greedy);
    const auto negative =
        gym({"generate", path("p.gym"), "--state", path("state"), "--temperature", "-1"});
    EXPECT_EQ(negative.exit_code, kUsage);
    EXPECT_NE(negative.err.find("temperature"), std::string::npos) << negative.err;
}

TEST_F(EngineCommands, GeneratedTextStandsInJsonIfItIsText) {
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "40",
                   "--state", path("state")})
                  .exit_code,
              kOk);
    const auto generated = [&](const std::string& prompt) {
        return objects(gym({"generate", path("p.gym"), "--state", path("state"), "--prompt", prompt,
                            "--tokens", "8", "--temperature", "0", "--json"})
                           .out)
            .at(0);
    };
    const json::object text = generated("line 1");
    ASSERT_TRUE(text.contains("text")) << json::serialize(text);
    std::string expected = "line 1";
    for (const json::value& token : text.at("tokens").as_array())
        expected += static_cast<char>(token.as_int64());
    EXPECT_EQ(text_of(text, "text"), expected);
}

TEST_F(EngineCommands, WeightsGoOutAndComeBack) {
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "3",
                   "--state", path("state")})
                  .exit_code,
              kOk);
    const auto exported = gym({"program", "export-weights", path("p.gym"), "--state", path("state"),
                               "-o", path("model.safetensors"), "--json"});
    ASSERT_EQ(exported.exit_code, kOk) << exported.err;
    const auto imported = gym({"program", "import-weights", path("p.gym"),
                               path("model.safetensors"), "-o", path("again"), "--json"});
    ASSERT_EQ(imported.exit_code, kOk) << imported.err;
    const json::object out = objects(exported.out).at(0), in = objects(imported.out).at(0);
    EXPECT_EQ(text_of(out, "names"), "gpt2");
    EXPECT_EQ(out.at("base_root"), in.at("base_root"));
    // Training continues from the state that came back.
    EXPECT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "1",
                   "--from", path("again")})
                  .exit_code,
              kOk);
    const std::string whole = slurp(place_ / "model.safetensors");
    spill(place_ / "short.safetensors", whole.substr(0, whole.size() - 1));
    const auto refused = gym({"program", "import-weights", path("p.gym"), path("short.safetensors"),
                              "-o", path("not-written")});
    EXPECT_EQ(refused.exit_code, kFailed);
    EXPECT_NE(refused.err.find("short.safetensors"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("truncated"), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(place_ / "not-written"));
    spill(place_ / "nan.safetensors", whole.substr(0, whole.size() - 4) + "\xFF\xFF\xFF\xFF");
    const auto nan = gym({"program", "import-weights", path("p.gym"), path("nan.safetensors"), "-o",
                          path("not-written")});
    EXPECT_NE(nan.exit_code, kOk);
    EXPECT_NE(nan.err.find("nan.safetensors"), std::string::npos) << nan.err;
    EXPECT_NE(nan.err.find("NaN or infinite, the first at byte"), std::string::npos) << nan.err;
    EXPECT_FALSE(std::filesystem::exists(place_ / "not-written"));
}

// Bad input: what fails, how, and that the message names it.

struct BadModel {
    const char* yaml;
    const char* names;
};

TEST_F(EngineCommands, BadModelFilesAreUsageErrorsThatNameTheKey) {
    for (const BadModel& bad :
         {BadModel{
              "batch: 2\nmodel: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 16, "
              "depth: 3}\n",
              "depth"},
          BadModel{
              "batch: 0\nmodel: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 16}\n",
              "batch"},
          BadModel{
              "batch: 2\nmodel: {vocabulary: 256, context: 16, layers: 1, heads: 3, width: 16}\n",
              "heads"}}) {
        spill(place_ / "bad.yaml", bad.yaml);
        const auto outcome =
            gym({"program", "build", path("bad.yaml"), "-o", path("bad.gym"), "--json"});
        EXPECT_EQ(outcome.exit_code, kUsage);
        const json::object error = objects(outcome.out).at(0).at("error").as_object();
        EXPECT_NE(text_of(error, "message").find(bad.names), std::string::npos) << outcome.out;
        EXPECT_FALSE(std::filesystem::exists(place_ / "bad.gym"));
    }
}

TEST_F(EngineCommands, ATextShorterThanAWindowIsSaidToBe) {
    spill(place_ / "short", "too short");
    const auto outcome =
        gym({"program", "run", path("p.gym"), "--data", path("short"), "--steps", "1"});
    EXPECT_EQ(outcome.exit_code, kUsage);
    EXPECT_NE(outcome.err.find("window"), std::string::npos) << outcome.err;
}

TEST_F(EngineCommands, TruncatedOrAlteredFilesAreErrors) {
    ASSERT_EQ(gym({"data", "build", "--text", path("text"), "-o", path("d.gymd")}).exit_code, kOk);
    const auto expect_failure = [&](const std::string& program, const std::string& data) {
        const auto outcome =
            gym({"program", "run", path("bad.gym"), "--data", path("bad.gymd"), "--steps", "1"});
        EXPECT_NE(outcome.exit_code, kOk) << program.size() << " and " << data.size();
        EXPECT_LT(outcome.exit_code, kSignal) << outcome.err;  // no crash
        EXPECT_FALSE(outcome.err.empty());
    };
    const std::string program = slurp(place_ / "p.gym"), data = slurp(place_ / "d.gymd");
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{11}, program.size() / 2, program.size() - 1}) {
        spill(place_ / "bad.gym", program.substr(0, size));
        spill(place_ / "bad.gymd", data);
        expect_failure(program.substr(0, size), data);
    }
    spill(place_ / "bad.gym", program);
    for (const std::size_t size : {std::size_t{10}, data.size() - 1}) {
        spill(place_ / "bad.gymd", data.substr(0, size));
        expect_failure(program, data.substr(0, size));
    }
    spill(place_ / "bad.gymd", data + "x");
    expect_failure(program, data + "x");
}

/// A program file with one rule broken, and the rule.
struct BadProgram {
    std::string rule;
    std::string file;
};

std::vector<BadProgram> bad_programs(const std::string& good) {
    const auto number = [&](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < 4; ++i)
            value = value << 8 | static_cast<unsigned char>(good[at + i]);
        return std::size_t{value};
    };
    constexpr std::size_t kHead = 24, kSlot = 128, kOp = 128, kOutput = 64;
    const std::size_t slots = number(12), ops = number(16), outputs = number(20);
    const std::size_t first_output = good.size() - outputs * kOutput;
    const std::size_t first_op = first_output - ops * kOp;
    const std::size_t constants = kHead + slots * kSlot;
    const auto with = [&](std::size_t at, const std::string& bytes) {
        return std::string(good).replace(at, bytes.size(), bytes);
    };
    const std::string most(4, '\xff'), large("\xff\xff\xff\xfe", 4), zero(4, '\0');
    return {{"the magic", with(0, "X")},
            {"no bytes", ""},
            {"a part of the head", good.substr(0, 11)},
            {"half of it", good.substr(0, good.size() / 2)},
            {"all but a byte", good.substr(0, good.size() - 1)},
            {"a byte more", good + "x"},
            {"the numerics version", with(8, zero)},
            {"the number of slots", with(12, most)},
            {"no slots", with(12, zero)},
            {"the number of ops", with(16, most)},
            {"the number of outputs", with(20, most)},
            {"a slot's kind", with(kHead, "\x09")},
            {"a slot's dtype", with(kHead + 1, "\x63")},
            {"a slot's rank", with(kHead + 2, "\x06")},
            {"a dim of 0", with(kHead + 4, zero)},
            {"a dim of 2^32 - 1", with(kHead + 4, most)},
            {"a dim of its own", with(kHead + 4, std::string("\0\0\0\x01", 4))},
            {"a next slot", with(kHead + 24, large)},
            {"a name", with(kHead + 32, "A")},
            {"a constant's bytes", with(constants, "\x5a")},
            {"an opcode", with(first_op, most)},
            {"an op's inputs", with(first_op + 2, "\x0d")},
            {"an op's outputs", with(first_op + 3, std::string(1, '\0'))},
            {"an input slot", with(first_op + 4, large)},
            {"an output slot", with(first_op + 52, large)},
            {"an attribute that the op does not have", with(first_op + 64 + 56, most)},
            {"an output's name", with(first_output, "A")},
            {"an output's slot", with(first_output + 48, large)}};
}

TEST_F(EngineCommands, EveryMalformedProgramEndsWithTheSameExitCode) {
    for (const BadProgram& bad : bad_programs(slurp(place_ / "p.gym"))) {
        spill(place_ / "bad.gym", bad.file);
        for (const std::vector<std::string>& arguments :
             {std::vector<std::string>{"program", "show", path("bad.gym")},
              {"program", "run", path("bad.gym"), "--data", path("text"), "--steps", "1"}}) {
            const auto outcome = gym(arguments);
            EXPECT_EQ(outcome.exit_code, kUsage) << bad.rule << ": " << outcome.err;
            EXPECT_EQ(outcome.out, "") << bad.rule;
            EXPECT_NE(outcome.err.find("bad.gym: "), std::string::npos) << bad.rule << outcome.err;
        }
    }
}

TEST_F(EngineCommands, WrongUsageIsExitCodeTwo) {
    EXPECT_EQ(gym({}).exit_code, kUsage);
    EXPECT_EQ(gym({"program", "run", path("p.gym")}).exit_code, kUsage);
    EXPECT_EQ(
        gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "0"}).exit_code,
        kUsage);
    EXPECT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "1", "--isa",
                   "mmx"})
                  .exit_code,
              kUsage);
    EXPECT_EQ(gym({"program", "show", path("nothing.gym")}).exit_code, kFailed);
    EXPECT_EQ(gym({"--help"}).exit_code, kOk);
}

}  // namespace
}  // namespace gym::testing
