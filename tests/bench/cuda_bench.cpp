// The engine on a CUDA device: products against cuBLAS, hashing against copying, training steps.
//
// Rows: cuda/product/SHAPE/f32|tf32|bf16 (TFLOP/s, quantising included, against cuBLAS) and /bound
// (three int8 products, as cuBLAS makes them), cuda/hash (GB/s against a copy on the device),
// cuda/train_step/MODEL (tokens/s), /graphs (against kernels launched one by one) and /mfu (percent
// of the fastest BF16 product measured here).
// Times are the device's own (events), medians of turns that alternate. Without a device every row
// is written with null figures and says why.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "cuda_bench_support.hpp"
#include "gpt_models.hpp"
#include "gym/engine/cuda_engine.hpp"
#include "gym/engine/state.hpp"
#include "gym/kernels/cuda/hash.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"

namespace {

using namespace gym;
namespace cuda = kernels::cuda;

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kPeakSize = 8192;
constexpr std::int64_t kHashBytes = std::int64_t{1} << 30;
constexpr const char* kNoTorchPeer = "libtorch CUDA: peer not available";

using gym::bench::must;

struct Shape {
    std::string name;
    std::int64_t m, n, k;
};

/// Squares, then products of GPT steps: d = 384 on 2,048 tokens, d = 768 on 8,192, its logits.
std::vector<Shape> shapes() {
    std::vector<Shape> all;
    for (const std::int64_t n : {1024, 2048, 4096, 8192})
        all.push_back({"n=" + std::to_string(n), n, n, n});
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{2048, 1152, 384},
                                  {2048, 1536, 384},
                                  {2048, 384, 1536},
                                  {1536, 384, 2048},
                                  {8192, 2304, 768},
                                  {8192, 3072, 768},
                                  {8192, 768, 3072},
                                  {3072, 768, 8192},
                                  {1024, 50256, 768}}) {
        all.push_back(
            {std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n), m, n, k});
    }
    return all;
}

using bench::Model;

/// With batches that keep a device busy; last, the step that docs/GPU.md counts.
std::vector<Model> models() {
    std::vector<Model> all = bench::gpt_models(32, 32);
    Model counted{"gpt-d768-t1024", all.back().config};
    counted.config.model.context = 1'024;
    counted.config.batch = 8;
    all.push_back(counted);
    return all;
}

bench::Row row_of(std::string name, std::string unit, std::string peer_name) {
    return {.name = "cuda/" + std::move(name),
            .ours = kNotMeasured,
            .peer = kNotMeasured,
            .ratio = kNotMeasured,
            .unit = std::move(unit),
            .threads = 1,
            .isa = "cuda",
            .peer_name = std::move(peer_name),
            .note = ""};
}

struct Peer {
    std::string suffix;
    std::string name;
    bench::Precision precision;
};

const std::array<Peer, 3> kPeers{
    {{"f32", "cuBLAS FP32", bench::Precision::kF32},
     {"tf32", "cuBLAS TF32", bench::Precision::kTf32},
     {"bf16", "cuBLAS BF16, operands converted before", bench::Precision::kBf16}}};

bench::Row product_row(const Shape& shape, const Peer& peer) {
    return row_of("product/" + shape.name + "/" + peer.suffix, "TFLOP/s", peer.name);
}

double teraflop(const Shape& shape) {
    return 2e-12 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
           static_cast<double>(shape.k);
}

void measure_products(const bench::Options& options, cuda::Device& device,
                      bench::CublasPeer& cublas) {
    for (const Shape& shape : shapes()) {
        if (!options.wants(shape.name)) continue;
        std::vector<std::function<void()>> calls{[&] {
            macro_matmul(device, {shape.m, shape.n, shape.k, false, false}, cublas.a(), cublas.b(),
                         cublas.out());
        }};
        for (const Peer& peer : kPeers)
            calls.push_back([&] { cublas.multiply(peer.precision, shape.m, shape.n, shape.k); });
        calls.push_back([&] {
            for (int i = 0; i < 3; ++i)
                cublas.multiply(bench::Precision::kI8, shape.m, shape.n, shape.k);
        });
        const auto seconds = bench::device_seconds(device, calls, options.repeats);
        const auto compare = [&](bench::Row row, double peer_seconds) {
            row.ours = teraflop(shape) / seconds[0];
            row.peer = teraflop(shape) / peer_seconds;
            row.ratio = peer_seconds / seconds[0];
            row.note = device.name();
            bench::report(options, row);
        };
        for (std::size_t i = 0; i < kPeers.size(); ++i)
            compare(product_row(shape, kPeers[i]), seconds[1 + i]);
        compare(
            row_of("product/" + shape.name + "/bound", "TFLOP/s", "three int8 products, cuBLAS"),
            seconds.back());
    }
}

bench::Row hash_row() {
    return row_of("hash", "GB/s", "copy on the device, GB of tensor");
}

void measure_hash(const bench::Options& options, cuda::Device& device) {
    std::byte* const data = device.allocate(kHashBytes);
    std::byte* const copy = device.allocate(kHashBytes);
    std::byte* const root = device.allocate(sizeof(cuda::HashBytes));
    device.clear(data, kHashBytes);
    const std::vector<std::function<void()>> calls{
        [&] {
            chunk_tree_roots(device, {{{data, kHashBytes}}}, {}, root);
        },
        [&] { device.copy(copy, data, kHashBytes); }};
    const auto seconds = bench::device_seconds(device, calls, options.repeats);
    bench::Row row = hash_row();
    row.ours = static_cast<double>(kHashBytes) * 1e-9 / seconds[0];
    row.peer = static_cast<double>(kHashBytes) * 1e-9 / seconds[1];
    row.ratio = seconds[1] / seconds[0];
    row.note = device.name() + ", 1 GiB, with the tree's inner nodes";
    bench::report(options, row);
}

bench::Row step_row(const Model& model) {
    return row_of("train_step/" + model.name, "tokens/s", kNoTorchPeer);
}

bench::Row graphs_row(const Model& model) {
    return row_of("train_step/" + model.name + "/graphs", "tokens/s", "without CUDA graphs");
}

bench::Row mfu_row(const Model& model) {
    return row_of("train_step/" + model.name + "/mfu", "percent",
                  "the fastest product, cuBLAS BF16 at n=" + std::to_string(kPeakSize));
}

/// Seconds of a step, the median of turns of several; the host waits once a turn.
double step_seconds(const program::Program& program, const program::TrainConfig& config,
                    int repeats, bool graphs = true) {
    constexpr std::int32_t kStepsPerTurn = 10;
    auto engine = must(engine::CudaEngine::create(program, {.graphs = graphs}));
    must(engine.load(must(engine::initial_state(program, Digest{}))));
    std::mt19937 random(1);
    std::vector<std::int32_t> tokens(std::size_t{config.batch} * (config.model.context + 1));
    for (std::int32_t& token : tokens)
        token = static_cast<std::int32_t>(random() % config.model.vocabulary);
    const auto bytes = [](const auto& values) {
        return ByteView(reinterpret_cast<const std::uint8_t*>(values.data()),
                        values.size() * sizeof values[0]);
    };
    std::int32_t step = 0;
    std::vector<double> turns;
    for (int repeat = -1; repeat < repeats; ++repeat) {  // the first one warms up
        const double start = bench::seconds_now();
        for (std::int32_t i = 0; i < kStepsPerTurn; ++i, ++step) {
            const std::array<std::int32_t, 2> clock{step, step};
            const std::array<engine::NamedTensorView, 2> inputs{
                {{program::kBatchInput, bytes(tokens)}, {program::kClockInput, bytes(clock)}}};
            must(engine.run(inputs));
        }
        (void)must(engine.output(program::kLossOutput));
        if (repeat >= 0) turns.push_back((bench::seconds_now() - start) / kStepsPerTurn);
    }
    return bench::median(turns);
}

void measure_steps(const bench::Options& options, const std::string& device_name,
                   double peak_flops) {
    for (const Model& model : models()) {
        if (!options.wants(model.name)) continue;
        const auto program = must(program::train_program(model.config));
        const double seconds = step_seconds(program, model.config, options.repeats);
        bench::Row row = step_row(model);
        row.ours = static_cast<double>(model.config.batch) * model.config.model.context / seconds;
        row.note = device_name + ", batch " + std::to_string(model.config.batch);
        bench::report(options, row);
        const double without = step_seconds(program, model.config, options.repeats, false);
        row.name = graphs_row(model).name;
        row.peer_name = graphs_row(model).peer_name;
        row.peer = row.ours * seconds / without;
        row.ratio = without / seconds;
        bench::report(options, row);
        const double flops = static_cast<double>(program::flops_per_step(program)) / seconds;
        row = mfu_row(model);
        row.ours = 100 * flops / peak_flops;
        row.peer = 100;
        row.ratio = flops / peak_flops;
        row.note = device_name + ", peak " + std::to_string(peak_flops * 1e-12) + " TFLOP/s";
        bench::report(options, row);
    }
}

void report_not_measured(const bench::Options& options, const std::string& reason) {
    std::vector<bench::Row> rows;
    for (const Shape& shape : shapes()) {
        for (const Peer& peer : kPeers)
            rows.push_back(product_row(shape, peer));
    }
    rows.push_back(hash_row());
    for (const Model& model : models()) {
        rows.push_back(step_row(model));
        rows.push_back(graphs_row(model));
        rows.push_back(mfu_row(model));
    }
    std::printf("bench_cuda: SKIPPED, nothing is measured: %s\n", reason.c_str());
    for (bench::Row& row : rows) {
        row.note = "not measured: " + reason;
        bench::report(options, row);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    const std::string reason = engine::cuda_unavailable_reason();
    if (!reason.empty()) {
        report_not_measured(options, reason);
        return 0;
    }
    std::string error;
    const auto device = cuda::Device::open(0, error);
    if (!device) {
        std::fprintf(stderr, "bench_cuda: %s\n", error.c_str());
        return 1;
    }
    double peak_flops = 0;
    {
        bench::CublasPeer cublas(*device, kPeakSize * kPeakSize);
        const std::vector<std::function<void()>> peak{
            [&] { cublas.multiply(bench::Precision::kBf16, kPeakSize, kPeakSize, kPeakSize); }};
        const double seconds = bench::device_seconds(*device, peak, options.repeats).front();
        peak_flops = 1e12 * teraflop({"peak", kPeakSize, kPeakSize, kPeakSize}) / seconds;
        measure_products(options, *device, cublas);
    }
    if (options.wants("hash")) measure_hash(options, *device);
    measure_steps(options, device->name(), peak_flops);
    return 0;
}
