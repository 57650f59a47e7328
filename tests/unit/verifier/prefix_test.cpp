// Prefixes: a verifier runs the first steps of a unit without knowing what its worker signed.
#include <gtest/gtest.h>

#include "gym/verifier/verifier.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::verifier {
namespace {

class VerifierPrefixTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey key_ = testing::test_key(7);
    testing::MemoryHandler handler_;
    testing::TinyJob job_ =
        testing::make_tiny_job({testing::test_key(1).address()}, handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, key_.address()};
    testing::TemporaryFolder dir_;
    std::vector<std::string> events_;
    std::unique_ptr<Verifier> verifier_ = open();

    std::unique_ptr<Verifier> open() {
        VerifierOptions options;
        options.data_dir = dir_.path();
        options.on_event = [this](const VerifierEvent& event) { events_.push_back(event.name); };
        return Verifier::open(coordinator_, key_, options).value();
    }
    records::PrefixTask task(std::uint32_t steps) {
        records::PrefixTask out;
        out.unit = job_.unit(0);
        out.record = protocol::unit_record(job_.record, 0);
        out.inputs = job_.inputs;
        out.steps = steps;
        return out;
    }
    void draw(records::PrefixTask task) { handler_.tasks[key_.address()] = std::move(task); }
    Result<bool> run_once() { return verifier_->run_once({}); }
};

TEST_F(VerifierPrefixTest, SignsWhatTheStepsGive) {
    const auto chain = engine::record_chain(job_.run(0).records);
    for (std::uint32_t steps = 1; steps <= chain.size(); ++steps) {
        draw(task(steps));
        ASSERT_TRUE(run_once().value()) << steps;
        ASSERT_EQ(handler_.prefixes.size(), steps);
        const protocol::SignedPrefix& found = handler_.prefixes.back();
        EXPECT_EQ(found.prefix, (protocol::UnitPrefix{protocol::hash(job_.record), 0, 0, steps,
                                                      chain[steps - 1]}));
        EXPECT_TRUE(protocol::verify_signature(testing::MemoryHandler::network_info().domain(),
                                               found, key_.address())
                        .ok());
    }
    EXPECT_EQ(verifier_->activity().phase, "idle");
}

TEST_F(VerifierPrefixTest, IsNotRunAgainForALostAnswer) {
    draw(task(3));
    handler_.failures["submit_prefix"] = fail(ErrorCode::kUnavailable, "gone");
    EXPECT_EQ(run_once().error().code, ErrorCode::kUnavailable);
    handler_.failures.clear();
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(handler_.prefixes.size(), 1U);
    EXPECT_EQ(events_, (std::vector<std::string>{"started", "reported"}));
}

TEST_F(VerifierPrefixTest, ATaskThatDoesNotHoldTogetherIsRefused) {
    const auto refused = [&](const auto& change) {
        records::PrefixTask changed = task(3);
        change(changed);
        draw(changed);
        const auto ran = run_once();
        return ran.ok() ? ErrorCode::kInternal : ran.error().code;
    };
    EXPECT_EQ(refused([](auto& t) { t.steps = 0; }), ErrorCode::kMismatch);
    EXPECT_EQ(refused([](auto& t) { t.steps = 5; }), ErrorCode::kMismatch);
    EXPECT_EQ(refused([](auto& t) { t.unit.slot = 1; }), ErrorCode::kMismatch);
    EXPECT_EQ(refused([](auto& t) { ++t.unit.round; }), ErrorCode::kMismatch);
    EXPECT_EQ(refused([](auto& t) { t.record.initial_state_root.data[0] ^= 1; }),
              ErrorCode::kMismatch)
        << "which the verifier computes itself";
    EXPECT_TRUE(handler_.prefixes.empty());
}

}  // namespace
}  // namespace gym::verifier
