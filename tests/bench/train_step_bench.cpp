// A whole training step, ours against libtorch eager, in FP32 and under autocast to bf16: tokens a
// second, peak memory, and where our time goes, op by op, against what the machine could do at
// most.
//
// Rows: train_step/MODEL and /bf16 (tokens/s), train_step/MODEL/memory (MiB),
// train_step/MODEL/op/NAME (ms of a step against the op's bound: its multiply-adds at the integer
// peak or its bytes at the memory's bandwidth, whichever takes longer; ops below a thousandth of
// the step are left out).
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gpt_models.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/state.hpp"
#include "gym/kernels/memory_bandwidth.hpp"
#include "gym/program/opcode.hpp"
#include "gym/program/program.hpp"
#include "gym/program/train_program.hpp"
#include "machine_peaks.hpp"
#include "provenance.hpp"
#include "step_process.hpp"
#include "torch_gpt_peer.hpp"

namespace {

using namespace gym;
using program::Op;
using program::Opcode;
using program::Program;

using bench::Model;

using gym::bench::must;

std::vector<std::int32_t> random_tokens(const program::TrainConfig& config) {
    std::mt19937 random(1);
    std::vector<std::int32_t> tokens(std::size_t{config.batch} * (config.model.context + 1));
    for (std::int32_t& token : tokens)
        token = static_cast<std::int32_t>(random() % config.model.vocabulary);
    return tokens;
}

/// Our trainer without a dataset and without roots, as the peer has none.
class Trainer {
  public:
    Trainer(const program::TrainConfig& config, const bench::Options& options, int threads)
        : program(must(program::train_program(config))),
          engine(must(engine::Engine::create(
              program, {static_cast<unsigned>(threads), std::string(isa_name(options.isa))}))),
          state_(must(engine::initial_state(program, Digest{}))),
          tokens_(random_tokens(config)) {}

    void step() {
        const auto bytes = [](const auto& values) {
            return ByteView(reinterpret_cast<const std::uint8_t*>(values.data()),
                            values.size() * sizeof values[0]);
        };
        const std::array<std::int32_t, 2> clock{step_, step_};
        ++step_;
        const std::array<engine::NamedTensorView, 2> inputs{
            {{program::kBatchInput, bytes(tokens_)}, {program::kClockInput, bytes(clock)}}};
        must(engine.run(state_, inputs));
    }

    Program program;
    engine::Engine engine;

  private:
    engine::State state_;
    std::vector<std::int32_t> tokens_;
    std::int32_t step_ = 0;
};

void compare(const bench::Options& options, const Model& model, int threads) {
    bench::StepProcess ours([&] {
        auto trainer = std::make_shared<Trainer>(model.config, options, threads);
        return [trainer] { trainer->step(); };
    });
    bench::StepProcess peer([&] {
        auto trainer = std::make_shared<bench::TorchGptPeer>(model.config, threads);
        return [trainer, tokens = random_tokens(model.config)] { trainer->step(tokens); };
    });
    std::optional<bench::StepProcess> bf16_peer;
    if (bench::cpu_has_bf16() && options.isa >= kernels::Isa::kAvx512 && !options.blas_as_installed)
        bf16_peer.emplace([&] {
            auto trainer = std::make_shared<bench::TorchGptPeer>(model.config, threads);
            trainer->autocast_to_bf16();
            return [trainer, tokens = random_tokens(model.config)] { trainer->step(tokens); };
        });
    ours.step();  // first touch of all memory
    peer.step();
    if (bf16_peer) bf16_peer->step();
    std::vector<double> ours_seconds, peer_seconds, bf16_seconds;
    for (int i = 0; i < options.repeats; ++i) {
        ours_seconds.push_back(ours.step());
        peer_seconds.push_back(peer.step());
        if (bf16_peer) bf16_seconds.push_back(bf16_peer->step());
    }
    const double tokens = static_cast<double>(model.config.batch) * model.config.model.context;
    const std::string suffix = options.blas_as_installed ? "/blas_as_installed" : "";
    bench::Row row{.name = "train_step/" + model.name + suffix,
                   .ours = tokens / bench::median(ours_seconds),
                   .peer = tokens / bench::median(peer_seconds),
                   .ratio = bench::median(peer_seconds) / bench::median(ours_seconds),
                   .unit = "tokens/s",
                   .threads = threads,
                   .isa = std::string(isa_name(options.isa)),
                   .peer_name = "libtorch FP32 eager, AdamW, " + options.blas(),
                   .note = ""};
    bench::report(options, row);
    if (bf16_peer) {
        bench::Row bf16 = row;
        bf16.name += "/bf16";
        bf16.peer = tokens / bench::median(bf16_seconds);
        bf16.ratio = bench::median(bf16_seconds) / bench::median(ours_seconds);
        bf16.peer_name = "libtorch eager, autocast to bf16, AdamW";
        bench::report(options, bf16);
    }
    row.name += "/memory";
    row.unit = "MiB";
    row.ours = static_cast<double>(ours.peak_bytes()) / 1048576;
    row.peer = static_cast<double>(peer.peak_bytes()) / 1048576;
    row.ratio = row.peer / row.ours;
    bench::report(options, row);
}

double elements(const program::Slot& slot) {
    return static_cast<double>(program::element_count(slot.dims));
}

/// Multiply-adds that an op's result depends on: a causal product needs half of its square.
double multiply_adds(const Program& program, const Op& op) {
    if (op.code == Opcode::kMatmul) {
        const auto& a = program.slot(op.inputs[0]).dims;
        const double k = a[op.attributes[0] == 1 ? 0 : 1];
        return elements(program.slot(op.outputs[0])) * k;
    }
    const double products =
        op.code == Opcode::kAttention ? 2 : (op.code == Opcode::kAttentionGrad ? 5 : 0);
    if (products == 0) return 0;
    const auto context = static_cast<double>(op.attributes[0]);
    return products * elements(program.slot(op.inputs[0])) / 3 * context / 2;
}

double bytes_touched(const Program& program, const Op& op) {
    std::uint64_t bytes = 0;
    for (const auto& ids : {op.inputs, op.outputs}) {
        for (const program::SlotId id : ids)
            bytes += program::size_bytes(program.slot(id));
    }
    return static_cast<double>(bytes);
}

struct OpTotal {
    double seconds = 0, bound_seconds = 0;
};

void break_down(const bench::Options& options, const Model& model, int threads) {
    Trainer trainer(model.config, options, threads);
    const kernels::Context context(options.isa, threads);
    const double peak = bench::integer_peak(context);
    const double bandwidth = kernels::copy_bandwidth(context);
    trainer.step();
    const auto& ops = trainer.program.ops();
    std::vector<std::vector<double>> timings(ops.size());
    trainer.engine.set_op_timer(
        [&](std::uint32_t op, double seconds) { timings[op].push_back(seconds); });
    for (int i = 0; i < options.repeats; ++i)
        trainer.step();
    std::map<std::string, OpTotal> totals;
    double step_seconds = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        OpTotal& total = totals[std::string(program::to_string(ops[i].code))];
        const double seconds = bench::median(timings[i]);
        step_seconds += seconds;
        total.seconds += seconds;
        const double work = multiply_adds(trainer.program, ops[i]);
        total.bound_seconds += std::max(bytes_touched(trainer.program, ops[i]) / bandwidth,
                                        work > 0 && peak > 0 ? work / peak : 0);
    }
    constexpr double kSmallestShare = 1e-3;
    for (const auto& [name, total] : totals) {
        if (total.seconds < kSmallestShare * step_seconds) continue;
        char note[120];
        std::snprintf(note, sizeof note,
                      "%.1f %% of the step; machine: %.0f G multiply-adds/s, %.1f GB/s",
                      100 * total.seconds / step_seconds, peak * 1e-9, bandwidth * 1e-9);
        bench::report(options, {.name = "train_step/" + model.name + "/op/" + name,
                                .ours = total.seconds * 1e3,
                                .peer = total.bound_seconds * 1e3,
                                .ratio = total.bound_seconds / total.seconds,
                                .unit = "ms",
                                .threads = threads,
                                .isa = std::string(isa_name(options.isa)),
                                .peer_name = "the op's bound on this machine",
                                .note = note});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    for (const Model& model : bench::gpt_models(8, 4)) {
        if (!options.wants(model.name)) continue;
        for (const int threads : options.threads)
            compare(options, model, threads);
    }
    if (options.blas_as_installed) return 0;  // the rest is ours alone
    // Last, since the processes above are forked while there are no threads.
    for (const Model& model : bench::gpt_models(8, 4)) {
        if (!options.wants(model.name)) continue;
        for (const int threads : options.threads)
            break_down(options, model, threads);
    }
    return 0;
}
