// The outer step of a round on one thread, nanoseconds a parameter and delta: the exact mean of the
// deltas, momentum, the next base, and the roots that commit to them. Peer, from the same run: mean
// and step in plain f32 over the same bytes, without roots, the least that any network does.
//
// Rows: aggregate/8, aggregate/64, aggregate/8_held (two of them at half weight); 8_dense and
// 64_dense of deltas in 4 bits, which the peer has decoded already; 8_update and 64_update of such
// deltas, where the round publishes its update in rows, too. Those of aggregate_memory.hpp: many
// deltas in a store, and the memory that they take.
#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "aggregate_memory.hpp"
#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/presets.hpp"

namespace {

using namespace gym;
using gym::bench::must;

struct Job {
    program::Program train;
    engine::State base, momentum;
    std::uint64_t parameters = 0;
};

/// 4.9 million parameters.
Job make_job(program::DeltaCodec codec, program::UpdateCodec update = program::UpdateCodec::kNone) {
    auto config = must(program::preset_config("gpt-demo"));
    config.model.layers = 6;
    config.model.heads = 4;
    config.model.width = 256;
    config.compression = codec;
    config.update = update;
    Job job{must(program::train_program(config)), {}, {}, 0};
    const Digest seed = commit::sha256(as_bytes("aggregate"));
    job.base = must(engine::base_of(job.train, must(engine::initial_state(job.train, seed))));
    job.momentum = must(engine::zero_outer_state(job.train, job.base));
    job.parameters = program::parameter_count(job.train);
    return job;
}

/// As a worker sends it, and its elements.
struct Sent {
    engine::Delta delta;
    std::vector<float> values;
};
Sent make_delta(const Job& job, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> step(0.0F, 1e-3F);
    engine::State end = job.base;
    for (engine::StateTensor& tensor : end.tensors)
        for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
            float value = 0;
            std::memcpy(&value, &tensor.bytes[i], sizeof value);
            value += step(random);
            std::memcpy(&tensor.bytes[i], &value, sizeof value);
        }
    Bytes bytes = must(engine::encode_delta(job.train, job.base, end));
    Sent sent{must(engine::Delta::decode(job.train, blob::VerifiedBlob::hash(std::move(bytes)))),
              std::vector<float>(job.parameters)};
    std::size_t first = 0;
    for (std::size_t t = 0; t < sent.delta.parameters(); ++t) {
        const std::size_t count = sent.delta.elements(t);
        sent.delta.read(t, 0, {sent.values.data() + first, count});
        first += count;
    }
    return sent;
}

/// Mean and Nesterov as they are usually written.
void plain_step(const std::vector<Sent>& deltas, std::vector<float>& base,
                std::vector<float>& momentum, std::vector<float>& sum) {
    std::ranges::fill(sum, 0.0F);
    for (const Sent& sent : deltas)
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += sent.values[i];
    const float share = 1.0F / static_cast<float>(deltas.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const float mean = sum[i] * share;
        momentum[i] = momentum[i] * 0.9F + mean;
        base[i] += 0.7F * (momentum[i] * 0.9F + mean);
    }
}

void measure(const bench::Options& options, const Job& job, const std::string& name,
             std::size_t count, std::size_t held) {
    if (!options.wants(name)) return;
    std::vector<Sent> sent;
    std::vector<engine::Delta> deltas;
    for (std::size_t i = 0; i < count; ++i) {
        sent.push_back(make_delta(job, i));
        deltas.push_back(sent.back().delta);
    }
    std::vector<float> base(job.parameters), momentum(job.parameters), sum(job.parameters);
    const std::vector<std::function<void()>> calls{
        [&] {
            if (must(engine::run_aggregate(job.train, job.base, job.momentum, deltas, held))
                    .records.empty())
                bench::give_up("no record");
        },
        [&] { plain_step(sent, base, momentum, sum); }};
    const auto seconds = bench::interleaved_seconds(calls, options.repeats);
    const double values = static_cast<double>(job.parameters * count);
    bench::report(options, {.name = "aggregate/" + name,
                            .ours = seconds[0] / values * 1e9,
                            .peer = seconds[1] / values * 1e9,
                            .ratio = seconds[1] / seconds[0],
                            .unit = "ns/(parameter*delta)",
                            .threads = 1,
                            .isa = std::string(kernels::isa_name(options.isa)),
                            .peer_name = "f32 mean and step, no roots",
                            .note = std::to_string(job.parameters) + " parameters"});
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    bench::measure_memory(options);  // first, while this process is small
    const Job job = make_job(program::DeltaCodec::kFloat);
    measure(options, job, "8", 8, 0);
    measure(options, job, "8_held", 8, 2);
    measure(options, job, "64", 64, 0);
    const Job dense = make_job(program::DeltaCodec::kDense);
    measure(options, dense, "8_dense", 8, 0);
    measure(options, dense, "64_dense", 64, 0);
    const Job updated = make_job(program::DeltaCodec::kDense, program::UpdateCodec::kDense);
    measure(options, updated, "8_update", 8, 0);
    measure(options, updated, "64_update", 64, 0);
    return 0;
}
