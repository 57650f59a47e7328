// SHA-256 of roots against OpenSSL's streaming SHA-256 (what `openssl speed -evp sha256` runs, on
// 16 KiB a call) on as many threads, and the share of roots in a unit's time.
//
// Rows: hash/sha256 (MB/s of chunk trees, inner nodes included), hash/unit_share/checkpoint_every=N
// (percent of a unit of H = 32 steps of the benchmark's GPT that goes into state and gradient
// roots; the peer is the bound of 1 % for one checkpoint a unit).
#include <openssl/evp.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/train_program.hpp"

namespace {

using namespace gym;

constexpr std::size_t kBytes = std::size_t{64} << 20;
constexpr std::uint32_t kUnitSteps = 32;

using gym::bench::must;

/// Every thread hashes its share in calls of 16 KiB.
void openssl_sha256(const Bytes& data, int threads) {
    constexpr std::size_t kCallBytes = 16384;
    const std::size_t share = data.size() / static_cast<std::size_t>(threads);
    std::vector<std::jthread> pool;
    for (int t = 0; t < threads; ++t) {
        pool.emplace_back([&, t] {
            EVP_MD_CTX* context = EVP_MD_CTX_new();
            std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
            for (std::size_t i = 0; i + kCallBytes <= share; i += kCallBytes) {
                EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
                EVP_DigestUpdate(context, data.data() + static_cast<std::size_t>(t) * share + i,
                                 kCallBytes);
                EVP_DigestFinal_ex(context, digest.data(), nullptr);
            }
            EVP_MD_CTX_free(context);
        });
    }
}

void hash_rate(const bench::Options& options, int threads) {
    Bytes data(kBytes);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::uint8_t>(i * 2654435761U >> 13);
    Digest root;
    const std::vector<std::function<void()>> calls{
        [&] { root = commit::chunk_tree_root(data, static_cast<unsigned>(threads)); },
        [&] { openssl_sha256(data, threads); }};
    const auto seconds = bench::interleaved_seconds(calls, options.repeats);
    bench::report(options, {.name = "hash/sha256",
                            .ours = kBytes / seconds[0] * 1e-6,
                            .peer = kBytes / seconds[1] * 1e-6,
                            .ratio = seconds[1] / seconds[0],
                            .unit = "MB/s",
                            .threads = threads,
                            .isa = std::string(isa_name(options.isa)),
                            .peer_name = "OpenSSL EVP SHA-256, 16 KiB a call",
                            .note = "with the trees' inner nodes"});
}

blob::Dataset some_text() {
    Bytes text(1 << 18);
    std::uint32_t state = 1;
    for (std::uint8_t& byte : text) {
        state = state * 1664525U + 1013904223U;
        byte = static_cast<std::uint8_t>('a' + (state >> 24) % 26);
    }
    return must(blob::Dataset::build_from_text(text));
}

/// Seconds of `steps` steps, every one a checkpoint or none.
double step_seconds(engine::Trainer& trainer, int steps) {
    const double start = bench::seconds_now();
    for (int i = 0; i < steps; ++i)
        (void)must(trainer.step());
    return (bench::seconds_now() - start) / steps;
}

void unit_share(const bench::Options& options, int threads) {
    program::TrainConfig config;
    config.model = {.vocabulary = 256, .context = 256, .layers = 6, .heads = 6, .width = 384};
    config.batch = 8;
    const auto program = must(program::train_program(config));
    const blob::Dataset dataset = some_text();
    const auto trainer = [&](std::uint32_t checkpoint_every) {
        return must(engine::Trainer::create(
            program, must(engine::initial_state(program, Digest{})), dataset,
            {{Digest{}, 0, 0}, 1U << 16, checkpoint_every},
            {static_cast<unsigned>(threads), std::string(isa_name(options.isa))}));
    };
    auto plain = trainer(0), checked = trainer(1);
    std::vector<double> plain_seconds, checked_seconds;
    for (int i = 0; i <= options.repeats; ++i) {
        const double a = step_seconds(plain, 1), b = step_seconds(checked, 1);
        if (i == 0) continue;  // first touch
        plain_seconds.push_back(a);
        checked_seconds.push_back(b);
    }
    const double step = bench::median(plain_seconds);
    // A difference of two noisy figures can come out below nothing.
    const double roots = std::max(bench::median(checked_seconds) - step, 0.0);
    for (const std::uint32_t every : {1U, kUnitSteps}) {
        const double hashing = roots * kUnitSteps / every;
        const double percent = 100 * hashing / (hashing + step * kUnitSteps);
        bench::report(options, {.name = "hash/unit_share/checkpoint_every=" + std::to_string(every),
                                .ours = percent,
                                .peer = 1,
                                .ratio = 1 / std::max(percent, 1e-3),
                                .unit = "% of a unit",
                                .threads = threads,
                                .isa = std::string(isa_name(options.isa)),
                                .peer_name = "bound for one checkpoint a unit",
                                .note = ""});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    for (const int threads : options.threads) {
        if (options.wants("sha256")) hash_rate(options, threads);
        if (options.wants("unit_share")) unit_share(options, threads);
    }
    return 0;
}
