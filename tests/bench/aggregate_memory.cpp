#include "aggregate_memory.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "bench_must.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/engine/encoded_aggregate.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/presets.hpp"
#include "gym/vault/sealed_store.hpp"

namespace gym::bench {
namespace {

namespace fs = std::filesystem;

/// What `work` returns, by a process of its own.
template <class Work>
Bytes in_child(const Work& work) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) give_up("no pipe");
    const pid_t child = fork();
    if (child == 0) {
        const Bytes out = work();
        std::size_t sent = 0;
        for (ssize_t now = 1; sent < out.size() && now > 0;
             sent += static_cast<std::size_t>(std::max<ssize_t>(now, 0)))
            now = write(ends[1], out.data() + sent, out.size() - sent);
        _exit(sent == out.size() ? 0 : 1);
    }
    close(ends[1]);
    Bytes out, part(1 << 16);
    for (ssize_t now = 1; (now = read(ends[0], part.data(), part.size())) > 0;)
        out.insert(out.end(), part.begin(), part.begin() + now);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) give_up("a child failed");
    return out;
}

/// Of all threads of this process: other processes do not count.
double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Figures {
    double parameters = 0;
    double peak_mib = 0;
    double open_seconds = 0;  ///< to hash and check every delta once, and to take its norm
    double step_seconds = 0;
};

program::Program train_program() {
    auto config = must(program::preset_config("gpt-demo"));
    config.model.layers = 6;
    config.model.heads = 6;
    config.model.width = 384;
    config.compression = program::DeltaCodec::kDense;
    config.update = program::UpdateCodec::kDense;
    return must(program::train_program(config));
}

struct Folder {
    Folder() : path(fs::temp_directory_path() / ("gym-bench-" + std::to_string(getpid()))) {}
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        fs::remove_all(path);
        fs::remove(path.string() + ".key");
    }
    const fs::path path;
};

vault::SealedStore open_store(const fs::path& path) {
    return must(vault::SealedStore::open(path, fs::path()));
}

Bytes noisy_delta(const program::Program& train, const engine::State& base) {
    std::mt19937_64 random(1);
    std::normal_distribution<float> step(0.0F, 1e-3F);
    engine::State end = base;
    for (engine::StateTensor& tensor : end.tensors)
        for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
            float value = 0;
            std::memcpy(&value, &tensor.bytes[i], sizeof value);
            value += step(random);
            std::memcpy(&tensor.bytes[i], &value, sizeof value);
        }
    return must(engine::encode_delta(train, base, end));
}

/// Stores a base state and deltas, each with other rows swapped. @return their roots.
Bytes fill(const fs::path& path, std::size_t count) {
    auto store = open_store(path);
    const program::Program train = train_program();
    const Digest seed = commit::sha256(as_bytes("aggregate"));
    const auto base = must(engine::base_of(train, must(engine::initial_state(train, seed))));
    Bytes roots;
    const auto put = [&](ByteView bytes) {
        const Digest root = must(store.put(bytes));
        roots.insert(roots.end(), root.data.begin(), root.data.end());
    };
    put(engine::encode_state(base));
    Bytes delta = noisy_delta(train, base);
    for (std::size_t i = 0; i < count; ++i) {
        const auto row = [&](std::uint64_t at) {
            return delta.begin() + static_cast<std::ptrdiff_t>(codec::row_begin(1 + at));
        };
        std::swap_ranges(row(2 * i), row(2 * i) + codec::kRowBytes, row(2 * i + 1));
        put(delta);
    }
    return roots;
}

Figures aggregate(const fs::path& path, std::span<const Digest> roots, bool in_memory,
                  unsigned threads) {
    const auto store = open_store(path);
    const program::Program train = train_program();
    Figures out;
    out.parameters = static_cast<double>(program::parameter_count(train));
    Bytes base = must(store.get(roots.front()));
    Bytes outer = must(engine::encoded_zero_outer_state(train));
    std::vector<engine::Delta> deltas;
    double before = cpu_seconds();
    for (const Digest& root : roots.subspan(1)) {
        if (in_memory) {
            deltas.push_back(must(engine::Delta::decode(train, must(store.load(root)))));
            if (!(deltas.back().norm() > 0)) give_up("no norm");
        } else {
            deltas.push_back(must(engine::Delta::open(train, root, must(store.open_reader(root)))));
        }
    }
    out.open_seconds = cpu_seconds() - before;
    before = cpu_seconds();
    if (must(engine::run_encoded_aggregate(train, std::move(base), std::move(outer), deltas, 0,
                                           {.threads = threads}))
            .records.empty())
        give_up("no record");
    out.step_seconds = cpu_seconds() - before;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    out.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
    return out;
}

Figures in_process(const fs::path& path, std::span<const Digest> roots, bool in_memory,
                   unsigned threads) {
    const Bytes bytes = in_child([&] {
        const Figures out = aggregate(path, roots, in_memory, threads);
        Bytes raw(sizeof out);
        std::memcpy(raw.data(), &out, sizeof out);
        return raw;
    });
    Figures out;
    if (bytes.size() != sizeof out) give_up("a child said nothing");
    std::memcpy(&out, bytes.data(), sizeof out);
    return out;
}

void measure(const Options& options, const std::string& count, unsigned threads) {
    if (!options.wants("memory/" + count)) return;
    const Folder folder;
    const std::size_t deltas = std::stoul(count);
    const Bytes stored = in_child([&] { return fill(folder.path, deltas); });
    std::vector<Digest> roots(deltas + 1);
    if (stored.size() != roots.size() * Digest::kSize) give_up("no deltas");
    for (std::size_t i = 0; i < roots.size(); ++i)
        std::copy_n(stored.begin() + static_cast<std::ptrdiff_t>(i * Digest::kSize), Digest::kSize,
                    roots[i].data.begin());
    const Figures ours = in_process(folder.path, roots, false, threads);
    const Figures peer = in_process(folder.path, roots, true, threads);
    Row row{.name = "memory/" + count,
            .ours = ours.peak_mib,
            .peer = peer.peak_mib,
            .ratio = peer.peak_mib / ours.peak_mib,
            .unit = "MiB",
            .threads = static_cast<int>(threads),
            .isa = std::string(kernels::isa_name(options.isa)),
            .peer_name = "all deltas in memory",
            .note = std::to_string(static_cast<std::uint64_t>(ours.parameters)) +
                    " parameters, deltas and update of 4 bits"};
    report(options, row);
    const double values = ours.parameters * static_cast<double>(deltas);
    const auto time = [&](const std::string& name, double mine, double others) {
        row.name = name + count;
        row.ours = mine / values * 1e9;
        row.peer = others / values * 1e9;
        row.ratio = others / mine;
        row.unit = "CPU ns/(parameter*delta)";
        report(options, row);
    };
    time("stored/", ours.step_seconds, peer.step_seconds);
    time("opened/", ours.open_seconds, peer.open_seconds);
}

}  // namespace

void measure_memory(const Options& options) {
    const auto threads = static_cast<unsigned>(options.threads.front());
    for (const char* count : {"64", "512", "1024"})
        measure(options, count, threads);
}

}  // namespace gym::bench
