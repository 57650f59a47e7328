#include "gym/coordinator/adapters/engine_compute.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "gym/blob/dataset.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/coordinator/coordinator.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/engine/unit.hpp"
#include "gym/execution/run.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/report.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::coordinator {
namespace {

blob::Dataset text(std::size_t size) {
    Bytes bytes;
    for (Digest block = commit::sha256(as_bytes("text")); bytes.size() < size;
         block = commit::sha256(block.view()))
        bytes.insert(bytes.end(), block.data.begin(), block.data.end());
    bytes.resize(size);
    return blob::Dataset::build_from_text(bytes).value();
}

std::string job_yaml(const Digest& dataset, const std::string& model_lines) {
    return "name: tiny\ndataset: \"" + dataset.hex() +
           "\"\nrounds: 1\nslots: 2\nsteps_per_round: 3\nprice_per_pflop: \"1\"\nbudget: \"1\"\n"
           "model:\n  batch: 2\n  model:\n    vocabulary: 256\n    context: 16\n    layers: 1\n"
           "    heads: 2\n" +
           model_lines;
}

class EngineComputeTest : public ::testing::Test {
  protected:
    Result<Compute::Prepared> prepare(const blob::Dataset& dataset,
                                      const std::string& model_lines = "    width: 16\n",
                                      const std::optional<Compute::GivenState>& given = {}) {
        return compute->prepare(job_yaml(dataset.root(), model_lines), dataset.encode(),
                                dataset.root(), commit::sha256(as_bytes("seed")), given);
    }
    /// The base state that prepare() would draw, with every weight doubled.
    engine::State other_weights() {
        engine::State base = engine::decode_state(prepare(tokens)->base.bytes).value();
        for (engine::StateTensor& tensor : base.tensors) {
            for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
                float value = 0;
                std::memcpy(&value, tensor.bytes.data() + i, sizeof value);
                value *= 2;
                std::memcpy(tensor.bytes.data() + i, &value, sizeof value);
            }
        }
        return base;
    }
    /// The record of round 1 of a prepared job.
    protocol::RoundRecord record(const Compute::Prepared& prepared) const {
        protocol::RoundRecord out;
        out.round = 1;
        out.base_state_root = prepared.base.root;
        out.program_root = prepared.program.root;
        out.dataset_root = tokens.root();
        out.job_seed = commit::sha256(as_bytes("seed"));
        out.checkpoint_every = 2;
        for (std::uint32_t slot = 0; slot < 4; ++slot) {
            Address worker;
            worker.data[0] = static_cast<std::uint8_t>(slot + 1);
            out.slots.push_back({slot, worker, kPpm, 3});
        }
        return out;
    }
    /// A worker's result for a slot of that round.
    engine::UnitResult work(const Compute::Prepared& prepared, std::uint32_t slot,
                            const engine::RunOptions& options = {}) const {
        const protocol::RoundRecord round = record(prepared);
        const auto train = program::decode(prepared.program.bytes).value();
        const auto base = engine::decode_state(prepared.base.bytes).value();
        return engine::run_unit(
                   {train, base, tokens, execution::unit_spec(round, round.slots.at(slot))},
                   options)
            .value();
    }

    Result<Compute::DeltaPtr> check_delta(const Compute::Prepared& prepared, ByteView delta) {
        const Digest root = store.put(delta).value();
        return compute->check_delta(prepared.program.bytes, store, root);
    }

    blob::Dataset tokens = text(2'000);
    blob::MemoryStore store;
    std::unique_ptr<Compute> compute = make_engine_compute({1, "auto"});
};

TEST_F(EngineComputeTest, RootsForDisputesFollowFromProgramAndBaseState) {
    const auto prepared = prepare(tokens);
    ASSERT_TRUE(prepared.ok());
    const auto roots = compute->round_roots(prepared->program.bytes, prepared->base.bytes);
    ASSERT_TRUE(roots.ok()) << roots.error().message;
    const auto train = program::decode(prepared->program.bytes).value();
    const auto base = engine::decode_state(prepared->base.bytes).value();
    EXPECT_EQ(roots->initial_state_root,
              engine::state_root(engine::with_fresh_optimizer(train, base).value()));
    const auto trace = dispute::trace_program(train).value();
    EXPECT_EQ(roots->trace_root, dispute::trace_root(trace.header));
    EXPECT_FALSE(compute->round_roots(prepared->program.bytes, prepared->program.bytes).ok());
}

TEST_F(EngineComputeTest, PreparesWhatHashesToItsRoots) {
    const auto prepared = prepare(tokens);
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    EXPECT_EQ(program::program_root(program::decode(prepared->program.bytes).value()),
              prepared->program.root);
    EXPECT_EQ(engine::state_root(engine::decode_state(prepared->base.bytes).value()),
              prepared->base.root);
    EXPECT_EQ(prepared->tokens_per_step, 32U);
    EXPECT_GT(prepared->flops_per_step, 0U);
    EXPECT_EQ(prepare(tokens)->base.root, prepared->base.root) << "the seed fixes the start";
}

TEST_F(EngineComputeTest, RefusesJobsThatCannotRun) {
    EXPECT_EQ(prepare(tokens, "    width: 15\n").error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(prepare(tokens, "    width: 16\n    colour: red\n").error().code,
              ErrorCode::kInvalidArgument);
    const auto too_short = prepare(text(100));
    EXPECT_FALSE(too_short.ok()) << "the validation split is shorter than a window";
    Bytes altered = tokens.encode();
    altered[altered.size() - 2] ^= 1;  // the low byte: still a token of the vocabulary
    EXPECT_EQ(compute
                  ->prepare(job_yaml(tokens.root(), "    width: 16\n"), altered, tokens.root(),
                            Digest{}, {})
                  .error()
                  .code,
              ErrorCode::kMismatch);
}

TEST_F(EngineComputeTest, AJobBeginsFromTheGivenWeights) {
    const engine::State weights = other_weights();
    const Bytes bytes = engine::encode_state(weights);
    const Digest root = engine::state_root(weights);
    const auto prepared = prepare(tokens, "    width: 16\n", Compute::GivenState{root, bytes});
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    EXPECT_EQ(prepared->base.root, root);
    EXPECT_EQ(prepared->base.bytes, bytes);
    EXPECT_NE(prepared->base.root, prepare(tokens)->base.root);
    EXPECT_EQ(prepared->program.root, prepare(tokens)->program.root);
    // A worker's unit from them, and the referee's.
    const protocol::RoundRecord round = record(*prepared);
    EXPECT_EQ(round.base_state_root, root);
    const auto again = compute->run_unit(round, 1, prepared->program.bytes, prepared->base.bytes,
                                         tokens.encode(), nullptr, {});
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->roots.delta, work(*prepared, 1).delta.root());
}

TEST_F(EngineComputeTest, RefusesWeightsThatDoNotFit) {
    const std::string width = "    width: 16\n";
    engine::State weights = other_weights();
    const auto error = [&](const engine::State& state, const Digest& root) {
        const Bytes bytes = engine::encode_state(state);
        const auto prepared = prepare(tokens, width, Compute::GivenState{root, bytes});
        return prepared.ok() ? Error{} : prepared.error();
    };
    const Digest root = engine::state_root(weights);
    EXPECT_EQ(error(weights, commit::sha256(as_bytes("another"))).code, ErrorCode::kMismatch);
    engine::State nan = weights;
    nan.tensors[2].bytes[3] = 0x7F;
    nan.tensors[2].bytes[2] = 0xC0;
    EXPECT_NE(
        error(nan, engine::state_root(nan))
            .message.find("'" + nan.tensors[2].name + "' has 1 value that is NaN or infinite"),
        std::string::npos);
    engine::State wrong = weights;
    std::swap(wrong.tensors[0].dims[0], wrong.tensors[0].dims[1]);
    wrong.tensors.pop_back();
    const Error two = error(wrong, root);
    EXPECT_EQ(two.code, ErrorCode::kShapeMismatch);
    EXPECT_NE(two.message.find("in 2 places"), std::string::npos) << two.message;
    EXPECT_NE(two.message.find(weights.tensors.front().name), std::string::npos) << two.message;
    EXPECT_NE(two.message.find(weights.tensors.back().name), std::string::npos) << two.message;
}

/// A class that the model lacks would stop a round that evaluates the row, and workers that draw
/// it.
TEST_F(EngineComputeTest, RefusesAClassifiersDatasetWithOneBadRow) {
    const auto rows = [](std::uint16_t last_class) {
        std::vector<std::uint16_t> data;
        for (std::uint16_t i = 0; i < 17 * 40; ++i)
            data.push_back(i % 17 == 16 ? i / 17 % 4 : i % 251);
        data.back() = last_class;
        return blob::Dataset::from_tokens(std::move(data), 256).value();
    };
    const std::string four = "    width: 16\n    classes: 4\n";
    const auto good = prepare(rows(3), four);
    EXPECT_TRUE(good.ok()) << good.error().message;
    const auto bad = prepare(rows(4), four);
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(bad.error().message.find("label 4"), std::string::npos) << bad.error().message;
}

TEST_F(EngineComputeTest, TheRefereeGetsTheWorkersBits) {
    const auto prepared = prepare(tokens).value();
    const engine::UnitResult mine = work(prepared, 1);
    const auto again = compute->run_unit(record(prepared), 1, prepared.program.bytes,
                                         prepared.base.bytes, tokens.encode(), nullptr, {});
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->roots.records, mine.records_root);
    EXPECT_EQ(again->roots.final_state, mine.final_state_root);
    EXPECT_EQ(again->roots.delta, mine.delta.root());
    EXPECT_EQ(*compute->records_root(engine::encode_records(mine.records)), mine.records_root);
}

TEST_F(EngineComputeTest, ARunThatNobodyNeedsAnyMoreEnds) {
    const auto prepared = prepare(tokens).value();
    std::stop_source stop;
    stop.request_stop();
    const auto run =
        compute->run_unit(record(prepared), 1, prepared.program.bytes, prepared.base.bytes,
                          tokens.encode(), nullptr, stop.get_token());
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().code, ErrorCode::kCancelled);
}

TEST_F(EngineComputeTest, AnAuditGetsTheTraceOfWhoRanTheUnit) {
    const auto prepared = prepare(tokens).value();
    const protocol::RoundRecord round = record(prepared);
    const crypto::Signature challenge =
        crypto::PrivateKey::generate().sign_digest(commit::sha256(as_bytes("beacon")));
    std::vector<Digest> leaves;
    engine::RunOptions run;
    run.trace_step = protocol::trace_step(round.slots[1].steps);
    run.trace = [&](const engine::TraceEntry& entry) {
        const auto chunks = commit::chunk_leaves(entry.output);
        leaves.insert(leaves.end(), chunks.begin(), chunks.end());
    };
    ASSERT_EQ(work(prepared, 1, run).records.size(), round.slots[1].steps);
    const auto audited = compute->run_unit(round, 1, prepared.program.bytes, prepared.base.bytes,
                                           tokens.encode(), &challenge, {});
    ASSERT_TRUE(audited.ok()) << audited.error().message;
    ASSERT_FALSE(leaves.empty());
    EXPECT_EQ(audited->trace, protocol::trace_at(challenge, round.slots[1].steps, leaves));
    leaves.pop_back();
    EXPECT_NE(audited->trace, protocol::trace_at(challenge, round.slots[1].steps, leaves));
}

TEST_F(EngineComputeTest, TheFirstDifferingStepIsFound) {
    const auto prepared = prepare(tokens).value();
    auto records = work(prepared, 0).records;
    const Bytes honest = engine::encode_records(records);
    EXPECT_FALSE(compute->first_difference(honest, honest)->has_value());
    records[2].loss_bits ^= 1;
    const auto difference = compute->first_difference(engine::encode_records(records), honest);
    ASSERT_TRUE(difference.ok() && *difference);
    EXPECT_EQ((*difference)->step, 2U);
    EXPECT_EQ((*difference)->field, "loss");
    EXPECT_EQ(compute->records_root(ByteView(honest).first(honest.size() - 1)).error().code,
              ErrorCode::kMalformed);
}

TEST_F(EngineComputeTest, AggregatesDeltasIntoTheNextBase) {
    const auto prepared = prepare(tokens).value();
    std::vector<Compute::DeltaPtr> deltas;
    for (const std::uint32_t slot : {0U, 1U})
        deltas.push_back(check_delta(prepared, work(prepared, slot).delta.bytes()).value());
    const auto next = compute->aggregate(prepared.program.bytes, prepared.base.bytes,
                                         prepared.momentum.bytes, deltas, {});
    ASSERT_TRUE(next.ok()) << next.error().message;
    EXPECT_NE(next->base.root, prepared.base.root);
    EXPECT_NE(next->momentum.root, prepared.momentum.root);
    EXPECT_EQ(*compute->records_root(next->records), next->records_root);
    EXPECT_EQ(engine::state_root(engine::decode_state(next->base.bytes).value()), next->base.root);
    const auto loss = compute->evaluate(prepared.evaluate_program.bytes, next->base.bytes,
                                        tokens.encode(), tokens.root(), 4, {});
    ASSERT_TRUE(loss.ok()) << loss.error().message;
    EXPECT_NEAR(loss->mean_loss, std::log(256.0), 0.5);
    EXPECT_EQ(*compute->records_root(loss->records), loss->records_root);
    EXPECT_EQ(loss->flops, compute->evaluation_flops(prepared.evaluate_program.bytes, 4).value());
    EXPECT_EQ(loss->tokens, loss->steps * prepared.tokens_per_step);
    std::stop_source stopped;
    stopped.request_stop();
    EXPECT_EQ(compute
                  ->evaluate(prepared.evaluate_program.bytes, next->base.bytes, tokens.encode(),
                             tokens.root(), 4, stopped.get_token())
                  .error()
                  .code,
              ErrorCode::kCancelled);
}

TEST_F(EngineComputeTest, DeltasThatDoNotFitAreRefused) {
    const auto prepared = prepare(tokens).value();
    Bytes delta = work(prepared, 0).delta.take();
    const auto check = [&](const Bytes& bytes) { return check_delta(prepared, bytes); };
    const auto checked = check(delta);
    ASSERT_TRUE(checked.ok());
    EXPECT_GT((*checked)->norm(), 0.0);
    delta.push_back(0);
    EXPECT_FALSE(check(delta).ok());
    delta.resize(delta.size() - 2);
    EXPECT_TRUE(Compute::is_no_delta(check(delta).error().code));
    const Digest nowhere = commit::sha256(as_bytes("nowhere"));
    EXPECT_EQ(compute->check_delta(prepared.program.bytes, store, nowhere).error().code,
              ErrorCode::kNotFound);
}

TEST(Records, OfTheLargestUnitFitIntoACommitment) {
    engine::StepRecord record;
    record.gradient_root = record.state_root = Digest{};
    const std::vector<engine::StepRecord> records(32'768, record);
    EXPECT_LE(engine::encode_records(records).size(), Options().records_bytes_max);
    const std::string job = "name: n\ndataset: \"" + Digest{}.hex() +
                            "\"\nrounds: 1\nslots: 1\nsteps_per_round: 32769\n"
                            "price_per_pflop: \"1\"\nbudget: \"1\"\nmodel: {}\n";
    const auto spec = registry::parse_job_spec(job, "job.yaml");
    ASSERT_FALSE(spec.ok());
    EXPECT_NE(spec.error().message.find("32768"), std::string::npos) << spec.error().message;
}

}  // namespace
}  // namespace gym::coordinator
