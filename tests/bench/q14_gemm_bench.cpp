// The Q14 product, quantising both operands included, against oneDNN's f32 matrix product.
//
//     bench_q14_gemm [--output FILE] [--threads N] [--isa LEVEL]
//
// Writes a JSON array of rows; each figure is the median of five timings.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dnnl.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "gym/kernels/q14_product.hpp"

namespace {

using namespace gym::kernels;

struct Options {
    std::string output = "build/bench/engine.json";
    int threads = 1;
    Isa isa = detect_isa();
    std::string command;
};

struct Shape {
    int64_t m;
    int64_t n;
    int64_t k;
};

// The products of one training step of examples/gpt-demo.yaml's size, then larger ones.
constexpr Shape kShapes[] = {
    {1024, 384, 128}, {1024, 128, 128}, {1024, 512, 128}, {1024, 128, 512},   {1024, 256, 128},
    {128, 512, 1024}, {128, 128, 32},   {128, 32, 128},   {1024, 1024, 1024}, {2048, 2048, 2048}};

constexpr int kRepeats = 5;
constexpr double kSecondsPerTiming = 0.05;

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Median over kRepeats timings of the seconds of one call; short calls are repeated within a
/// timing.
template <typename Call>
double median_seconds(Call call) {
    call();
    const double start = seconds_now();
    call();
    const double once = std::max(seconds_now() - start, 1e-7);
    const int calls = std::max(1, static_cast<int>(kSecondsPerTiming / once));
    std::array<double, kRepeats> timings{};
    for (double& timing : timings) {
        const double begin = seconds_now();
        for (int i = 0; i < calls; ++i)
            call();
        timing = (seconds_now() - begin) / calls;
    }
    std::sort(timings.begin(), timings.end());
    return timings[kRepeats / 2];
}

double ours_seconds(const Options& options, Shape shape, const std::vector<float>& a,
                    const std::vector<float>& b, std::vector<float>& c) {
    const Context context(options.isa, options.threads);
    QuantisedMatrix qa, qb;
    return median_seconds([&] {
        quantise(context, {a.data(), shape.m, shape.k, shape.k}, Along::kRows, qa);
        quantise(context, {b.data(), shape.n, shape.k, shape.k}, Along::kRows, qb);
        q14_product(context, qa, qb, {c.data(), shape.n});
    });
}

double onednn_seconds(Shape shape, std::vector<float>& a, std::vector<float>& b,
                      std::vector<float>& c) {
    using Type = dnnl::memory::data_type;
    using Tag = dnnl::memory::format_tag;
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const dnnl::memory::desc a_desc({shape.m, shape.k}, Type::f32, Tag::ab);
    const dnnl::memory::desc b_desc({shape.k, shape.n}, Type::f32, Tag::ba);
    const dnnl::memory::desc c_desc({shape.m, shape.n}, Type::f32, Tag::ab);
    const dnnl::matmul matmul(
        dnnl::matmul::primitive_desc(dnnl::matmul::desc(a_desc, b_desc, c_desc), engine));
    const dnnl::memory a_memory(a_desc, engine, a.data()), b_memory(b_desc, engine, b.data()),
        c_memory(c_desc, engine, c.data());
    return median_seconds([&] {
        matmul.execute(
            stream,
            {{DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, b_memory}, {DNNL_ARG_DST, c_memory}});
        stream.wait();
    });
}

std::string row(const Options& options, Shape shape) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    std::vector<float> a(static_cast<size_t>(shape.m * shape.k)),
        b(static_cast<size_t>(shape.n * shape.k)), c(static_cast<size_t>(shape.m * shape.n));
    for (float& x : a)
        x = normal(generator);
    for (float& x : b)
        x = normal(generator);
    const double flops = 2.0 * static_cast<double>(shape.m * shape.n * shape.k);
    const double ours = flops / ours_seconds(options, shape, a, b, c) * 1e-9;
    const double peer = flops / onednn_seconds(shape, a, b, c) * 1e-9;
    char text[512];
    std::snprintf(text, sizeof text,
                  "{\"name\": \"q14_gemm %lldx%lldx%lld against oneDNN f32\", \"ours\": %.2f, "
                  "\"peer\": %.2f, "
                  "\"ratio\": %.3f, \"unit\": \"GFLOP/s\", \"threads\": %d, \"isa\": \"%s\", "
                  "\"command\": \"%s\"}",
                  static_cast<long long>(shape.m), static_cast<long long>(shape.n),
                  static_cast<long long>(shape.k), ours, peer, ours / peer, options.threads,
                  std::string(isa_name(options.isa)).c_str(), options.command.c_str());
    return text;
}

bool parse(int argc, char** argv, Options& options) {
    for (int i = 0; i < argc; ++i)
        options.command += (i > 0 ? " " : "") + std::string(argv[i]);
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--output") {
            options.output = value;
        } else if (name == "--threads") {
            options.threads = std::atoi(value.c_str());
        } else if (name == "--isa" && parse_isa(value)) {
            options.isa = *parse_isa(value);
        } else {
            return false;
        }
    }
    return argc % 2 == 1 && options.threads >= 1 && options.isa <= detect_isa();
}

/// oneDNN's threads are OpenMP's; the peer gets as many as we do.
void limit_peer_threads(int threads) {
    using SetThreads = void (*)(int);
    const auto set_threads =
        reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (set_threads != nullptr) set_threads(threads);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr,
                     "usage: %s [--output FILE] [--threads N] [--isa scalar|avx2|avx512|amx]\n",
                     argv[0]);
        return 2;
    }
    set_process_isa_max(options.isa);
    limit_peer_threads(options.threads);
    std::string json = "[\n";
    for (const Shape& shape : kShapes) {
        const std::string line = row(options, shape);
        std::printf("%s\n", line.c_str());
        json += (json.size() > 2 ? ",\n" : "") + line;
    }
    json += "\n]\n";
    const std::filesystem::path path(options.output);
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << json;
    return std::filesystem::exists(path) ? 0 : 1;
}
