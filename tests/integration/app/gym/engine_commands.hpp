#pragma once

// Shared by tests of the engine's commands: a small model, a text, JSON lines.

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "command.hpp"

namespace gym::testing {

namespace json = boost::json;

inline constexpr int kOk = 0, kFailed = 1, kUsage = 2, kMismatch = 3, kRejected = 5, kDiverged = 6,
                     kInterrupted = 130;

inline constexpr const char* kModel =
    "batch: 2\n"
    "model: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 16}\n"
    "optimizer: {learning_rate: 3.0e-3, warmup_steps: 5}\n";

inline std::string text() {
    std::string lines;
    for (int i = 0; i < 400; ++i)
        lines += "line " + std::to_string(i) + " of a text to learn\n";
    return lines;
}

inline std::vector<json::object> objects(const std::string& lines) {
    std::vector<json::object> found;
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);)
        found.push_back(json::parse(line).as_object());
    return found;
}

inline std::string text_of(const json::object& object, const char* key) {
    return std::string(object.at(key).as_string());
}

class EngineCommands : public ::testing::Test {
  protected:
    void SetUp() override {
        spill(place_ / "model.yaml", kModel);
        spill(place_ / "text", text());
        ASSERT_EQ(gym({"program", "build", path("model.yaml"), "-o", path("p.gym")}).exit_code,
                  kOk);
    }
    [[nodiscard]] std::string path(const char* name) const { return (place_ / name).string(); }
    [[nodiscard]] Outcome gym(std::vector<std::string> arguments) const {
        return run(place_, std::move(arguments));
    }
    Outcome run_unit() const {
        return gym({"unit", "run", path("p.gym"), "--data", path("text"), "--steps", "6",
                    "--checkpoint-every", "2", "-o", path("unit.json")});
    }
    Outcome verify_unit(const char* program = "p.gym") const {
        return gym({"unit", "verify", path("unit.json"), "--program", path(program), "--data",
                    path("text"), "--json"});
    }
    TemporaryFolder place_;
};

}  // namespace gym::testing
