// The outer step of a round on one thread, nanoseconds a parameter and delta: the exact mean of the
// deltas, momentum, the next base, and the roots that commit to them. Peer, from the same run: mean
// and step in plain f32 over the same bytes, without roots, the least that any network does.
//
// Rows: aggregate/8, aggregate/64, aggregate/8_held (two of them at half weight).
#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
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
Job make_job() {
    auto config = must(program::preset_config("gpt-demo"));
    config.model.layers = 6;
    config.model.heads = 4;
    config.model.width = 256;
    Job job{must(program::train_program(config)), {}, {}, 0};
    const Digest seed = commit::sha256(as_bytes("aggregate"));
    job.base = must(engine::base_of(job.train, must(engine::initial_state(job.train, seed))));
    job.momentum = engine::zero_momentum(job.base);
    job.parameters = program::parameter_count(job.train);
    return job;
}

/// As a worker sends it.
engine::Delta make_delta(const Job& job, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> step(0.0F, 1e-3F);
    commit::Encoder out;
    out.raw(as_bytes("GYMDLTA1")).u32(0).u32(static_cast<std::uint32_t>(job.base.tensors.size()));
    Bytes bytes = out.take();
    bytes.reserve(bytes.size() + job.parameters * sizeof(float));
    for (std::uint64_t i = 0; i < job.parameters; ++i) {
        const float value = step(random);
        const auto* const raw = reinterpret_cast<const std::uint8_t*>(&value);
        bytes.insert(bytes.end(), raw, raw + sizeof value);
    }
    return must(engine::Delta::decode(job.train, blob::VerifiedBlob::hash(std::move(bytes))));
}

const float* floats(ByteView bytes) {
    return reinterpret_cast<const float*>(bytes.data());
}

/// Mean and Nesterov as they are usually written.
void plain_step(const Job& job, const std::vector<engine::Delta>& deltas, std::vector<float>& base,
                std::vector<float>& momentum, std::vector<float>& sum) {
    std::size_t first = 0;
    for (std::size_t t = 0; t < job.base.tensors.size(); ++t) {
        const std::size_t count = job.base.tensors[t].bytes.size() / sizeof(float);
        std::fill_n(sum.begin(), count, 0.0F);
        for (const engine::Delta& delta : deltas) {
            const float* const x = floats(delta.tensor(t));
            for (std::size_t i = 0; i < count; ++i)
                sum[i] += x[i];
        }
        const float share = 1.0F / static_cast<float>(deltas.size());
        for (std::size_t i = 0; i < count; ++i) {
            const float mean = sum[i] * share;
            momentum[first + i] = momentum[first + i] * 0.9F + mean;
            base[first + i] += 0.7F * (momentum[first + i] * 0.9F + mean);
        }
        first += count;
    }
}

void measure(const bench::Options& options, const Job& job, const std::string& name,
             std::size_t count, std::size_t held) {
    if (!options.wants(name)) return;
    std::vector<engine::Delta> deltas;
    for (std::size_t i = 0; i < count; ++i)
        deltas.push_back(make_delta(job, i));
    std::vector<float> base(job.parameters), momentum(job.parameters), sum(job.parameters);
    const std::vector<std::function<void()>> calls{
        [&] {
            if (must(engine::run_aggregate(job.train, job.base, job.momentum, deltas, held))
                    .records.empty())
                bench::give_up("no record");
        },
        [&] { plain_step(job, deltas, base, momentum, sum); }};
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
    const Job job = make_job();
    measure(options, job, "8", 8, 0);
    measure(options, job, "8_held", 8, 2);
    measure(options, job, "64", 64, 0);
    return 0;
}
