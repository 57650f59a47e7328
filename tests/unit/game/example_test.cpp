#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "gym/game/calldata.hpp"
#include "players.hpp"

// The game that docs/PROTOCOL.md shows is the one that is played.

namespace gym::game {
namespace {

using testing::must;

/// Bit 30 of the first element that this op of this step writes is another.
constexpr testing::Fault kFault{37, 0, 0, 30};
constexpr std::uint32_t kLeaf = 32;

class Specification {
  public:
    Specification() {
        const char* folder = std::getenv("GYM_SOURCE_DIR");
        std::ifstream file(std::string(folder != nullptr ? folder : ".") + "/docs/PROTOCOL.md");
        std::stringstream all;
        all << file.rdbuf();
        text_ = all.str();
    }
    /// The rest of the line behind `begin`.
    [[nodiscard]] std::string behind(const std::string& begin) const {
        const std::size_t at = text_.find(begin);
        if (at == std::string::npos) return "no such line: " + begin;
        const std::size_t end = text_.find('\n', at);
        return text_.substr(at + begin.size(), end - at - begin.size());
    }
    [[nodiscard]] bool has(const std::string& part) const {
        return text_.find(part) != std::string::npos;
    }

  private:
    std::string text_;
};

std::string cut(const Digest& digest) {
    return digest.hex().substr(2, 8);
}
/// 1,636.
std::string grouped(std::size_t number) {
    std::string digits = std::to_string(number);
    if (digits.size() > 3) digits.insert(digits.size() - 3, ",");
    return digits;
}

TEST(Example, IsTheSpecifications) {
    dispute::testing::SampleUnit unit(testing::kSamples[0]);
    unit.spec.steps = 100;
    unit.spec.checkpoint_every = 10;
    const auto own = testing::rerun(unit), honest = testing::rerun(unit);
    testing::Fault fault = kFault;
    while (unit.trace.macros[fault.op].first_leaf != kLeaf)
        ++fault.op;
    testing::FaultyWork faulty(*own, fault, unit.trace.macros[fault.op].leaves);
    const Facts facts = testing::facts_of(unit, faulty, must(honest->states())->initial_root);
    GameTranscript transcript = testing::transcript_of(facts);
    const Specification document;
    for (const Digest& part :
         {hash_of(facts), facts.records_root, facts.final_state_root, facts.delta_root,
          facts.job_seed, facts.trace_root, facts.initial_state_root, facts.dataset_root,
          transcript.at().node, hash_of(transcript.at())})
        EXPECT_TRUE(document.has("`" + part.hex() + "`")) << part.hex();
    for (int moves = 0; moves < 20; ++moves) {
        const auto move = must(transcript.at().answered ? plan_challenge(*honest, transcript)
                                                        : plan_answer(faulty, transcript));
        const std::string name(name_of(move));
        const std::string bytes = grouped(encode_call({Digest{}, transcript.at(), move}).size());
        const std::string row = document.behind("| `" + name + "` | " + bytes + " |");
        if (is_proof(move)) {
            const Finding found = std::get<Finding>(must(decide(transcript.at(), move)));
            EXPECT_NE(row.find("claimed 0x" + found.claimed.hex().substr(58)), std::string::npos)
                << found.claimed.hex() << row;
            EXPECT_NE(row.find("computed 0x" + found.computed.hex().substr(58)), std::string::npos)
                << found.computed.hex() << row;
            return;
        }
        ASSERT_TRUE(transcript.play(move).ok());
        const std::string end =
            " | " + cut(transcript.at().node) + " | " + cut(hash_of(transcript.at())) + " |";
        EXPECT_TRUE(row.ends_with(end))
            << "| `" << name << "` | " << bytes << " | .." << end << "\n"
            << row;
        if (name == "declareStates" || name == "pickStep" || name == "openStep") {
            EXPECT_TRUE(document.has(transcript.at().frame.hex()))
                << name << " " << transcript.at().frame.hex();
        }
    }
    ADD_FAILURE() << "no proof";
}

}  // namespace
}  // namespace gym::game
