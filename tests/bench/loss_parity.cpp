// Does training with exact ops learn as much as training with FP32? The same model, initial
// weights, batches, optimizer and schedule, ours and in libtorch FP32, step by step.
//
// A third run, FP32 again, shows where differences come from. By default it starts from the same
// weights rounded to TF32: how far it drifts away is what FP32 makes of a small difference. With
// `--third q14` the gradient of its logits is as coarse as our products see it (see
// TorchGptPeer::quantise_logit_gradients).
//
// Rows: loss_parity/NAME/training (mean of the last 50 steps), loss_parity/NAME/validation,
// loss_parity/NAME/same_weights (the validation loss of our last weights, by both sides). Ends with
// 1 if a final loss of ours is more than 0.5 % above or below libtorch's.
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/engine/batch.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "loss_curves.hpp"
#include "torch_gpt_peer.hpp"

namespace {

using namespace gym;

constexpr std::size_t kMeanSteps = 50;
constexpr std::uint32_t kValidateEvery = 100;
constexpr std::uint32_t kValidationWindows = 64, kFinalValidationWindows = 256;
constexpr double kLargestGap = 0.005;
constexpr const char *kRounded = "rounded", *kQ14 = "q14";

using gym::bench::must;

/// The learning rates of a run of one unit, from the program's own tables.
class Schedule {
  public:
    explicit Schedule(const program::Program& train)
        : rates_(table(train, "schedule")), warmup_(table(train, "inner_warmup")) {}
    [[nodiscard]] float rate(std::size_t step) const {
        return rates_[std::min(step, rates_.size() - 1)] *
               warmup_[std::min(step, warmup_.size() - 1)];
    }

  private:
    static std::vector<float> table(const program::Program& train, const char* name) {
        const program::SlotId id = train.find_slot(name);
        if (id == program::kNoSlot)
            gym::bench::give_up(std::string("the program has no constant ") + name);
        const auto& bytes = train.slot(id).value;
        std::vector<float> values(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }
    std::vector<float> rates_, warmup_;
};

struct Comparison {
    program::TrainConfig config;
    blob::Dataset data;
    std::uint32_t steps;
    int threads;
    std::string isa;
    std::string third;
};

double validation_loss(const Comparison& c, const bench::TorchGptPeer& peer,
                       std::uint32_t windows_max) {
    const std::uint32_t batches = std::max(1U, windows_max / c.config.batch);
    double sum = 0;
    for (std::uint32_t i = 0; i < batches; ++i) {
        const auto batch =
            must(engine::validation_batch(c.data, i * c.config.batch, c.config.batch,
                                          batches * c.config.batch, c.config.model.context));
        sum += peer.loss(batch.tokens);
    }
    return sum / batches;
}

class Runs {
  public:
    explicit Runs(const Comparison& comparison)
        : c_(comparison),
          program_(must(program::train_program(c_.config))),
          schedule_(program_),
          trainer_(must(engine::Trainer::create(program_, initial(), c_.data,
                                                {.key = key_, .steps = c_.steps}, options()))),
          fp32_(c_.config, c_.threads),
          third_(c_.config, c_.threads),
          curves{{.name = "exact", .training = {}, .validation = {}},
                 {.name = "fp32", .training = {}, .validation = {}},
                 {.name = "fp32_" + c_.third, .training = {}, .validation = {}}} {
        fp32_.load(initial());
        third_.load(initial());
        if (c_.third == kRounded) third_.round_parameters();
        if (c_.third == kQ14) third_.quantise_logit_gradients();
    }

    void step(std::uint32_t step) {
        const auto batch = must(
            engine::training_batch(c_.data, key_, step, c_.config.batch, c_.config.model.context));
        const double start = bench::seconds_now();
        const auto record = must(trainer_.step());
        seconds[0] += bench::seconds_now() - start;
        if (record.batch_root != batch.root) gym::bench::give_up("the two sides see other batches");
        curves[0].training.push_back(std::bit_cast<float>(record.loss_bits));
        std::size_t i = 0;
        for (bench::TorchGptPeer* const peer : {&fp32_, &third_}) {
            ++i;
            const double begin = bench::seconds_now();
            peer->set_learning_rate(schedule_.rate(step));
            curves[i].training.push_back(peer->step(batch.tokens));
            seconds[i] += bench::seconds_now() - begin;
        }
        const bool last = step + 1 == c_.steps;
        if ((step + 1) % kValidateEvery == 0 || last)
            validate(step, last ? kFinalValidationWindows : kValidationWindows);
    }

    const Comparison& c_;
    engine::BatchKey key_{
        .job_seed = commit::sha256(as_bytes("loss parity")), .round = 0, .slot = 0};
    program::Program program_;
    Schedule schedule_;
    engine::Trainer trainer_;
    bench::TorchGptPeer fp32_, third_;
    std::vector<bench::LossCurve> curves;
    std::vector<std::size_t> validated_steps;
    std::array<double, 3> seconds{};

    /// The validation loss of our last weights as libtorch computes it. The third run ends here.
    double validation_of_our_weights() {
        third_.load(*must(trainer_.state()));
        return validation_loss(c_, third_, kFinalValidationWindows);
    }

  private:
    [[nodiscard]] engine::EngineOptions options() const {
        return {.threads = static_cast<unsigned>(c_.threads), .isa = c_.isa};
    }
    engine::State initial() { return must(engine::initial_state(program_, key_.job_seed)); }
    void validate(std::size_t step, std::uint32_t windows) {
        const engine::State& state = *must(trainer_.state());
        const auto ours = must(engine::evaluate(program_, state, c_.data, windows, options()));
        curves[0].validation.push_back(ours.mean_loss);
        curves[1].validation.push_back(validation_loss(c_, fp32_, windows));
        curves[2].validation.push_back(validation_loss(c_, third_, windows));
        validated_steps.push_back(step);
        std::printf("step %5zu  training %.5f %.5f %.5f  validation %.5f %.5f %.5f\n", step + 1,
                    curves[0].mean_before(step, kMeanSteps),
                    curves[1].mean_before(step, kMeanSteps),
                    curves[2].mean_before(step, kMeanSteps), curves[0].validation.back(),
                    curves[1].validation.back(), curves[2].validation.back());
        std::fflush(stdout);
    }
};

std::string note_of(const Runs& runs, const std::array<double, 3>& losses) {
    const auto percent = [&](double loss) { return 100 * (loss - losses[1]) / losses[1]; };
    const Comparison& c = runs.c_;
    char note[320];
    std::snprintf(note, sizeof note,
                  "%+.4f %% from FP32; FP32 (%s) from itself: "
                  "%+.4f %%; %u steps of %u x %u tokens, vocabulary %u; %.0f s ours, %.0f s FP32",
                  percent(losses[0]), c.third.c_str(), percent(losses[2]), c.steps, c.config.batch,
                  c.config.model.context, c.config.model.vocabulary, runs.seconds[0],
                  runs.seconds[1]);
    return note;
}

std::string percent_note(double ours, double peers) {
    char note[40];
    std::snprintf(note, sizeof note, "%+.5f %%", 100 * (ours - peers) / peers);
    return note;
}

/// @return whether ours is within the bound.
bool report(const bench::Options& options, const Runs& runs, const std::string& name,
            const std::array<double, 3>& losses) {
    bench::report(options, {.name = "loss_parity/" + options.own.at("--name") + "/" + name,
                            .ours = losses[0],
                            .peer = losses[1],
                            .ratio = losses[1] / losses[0],
                            .unit = "nats per token",
                            .threads = runs.c_.threads,
                            .isa = std::string(isa_name(options.isa)),
                            .peer_name = "libtorch FP32 eager, AdamW, " + options.blas(),
                            .note = note_of(runs, losses)});
    return std::abs(losses[0] / losses[1] - 1) <= kLargestGap;
}

void report_gap(const bench::LossCurve& of, const bench::LossCurve& from) {
    const auto gap = bench::find_longest_gap(of, from, kMeanSteps);
    std::printf("longest gap, %s from %s: steps %zu to %zu, %+.4f %% in the mean\n",
                of.name.c_str(), from.name.c_str(), gap.first_step, gap.first_step + gap.steps - 1,
                100 * gap.mean_relative);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv,
                                                        {{"--model", "examples/gpt-tiny.yaml"},
                                                         {"--data", ""},
                                                         {"--name", "bytes"},
                                                         {"--steps", "2000"},
                                                         {"--third", kRounded},
                                                         {"--csv", "build/parity/bytes.csv"}});
    const int steps = std::atoi(options.own.at("--steps").c_str());
    if (steps < 1) gym::bench::give_up("--steps must be 1 or more");
    const Comparison comparison{
        .config = must(program::load_train_config(options.own.at("--model"))),
        .data = must(blob::Dataset::load(options.own.at("--data"), std::nullopt)),
        .steps = static_cast<std::uint32_t>(steps),
        .threads = options.threads.front(),
        .isa = std::string(isa_name(options.isa)),
        .third = options.own.at("--third")};
    if (comparison.third != kRounded && comparison.third != kQ14)
        gym::bench::give_up("--third must be rounded or q14");
    Runs runs(comparison);
    for (std::uint32_t step = 0; step < comparison.steps; ++step)
        runs.step(step);
    std::array<double, 3> training{}, validation{};
    for (std::size_t i = 0; i < training.size(); ++i) {
        training[i] = runs.curves[i].mean_before(comparison.steps - 1, kMeanSteps);
        validation[i] = runs.curves[i].validation.back();
    }
    const std::filesystem::path csv = options.own.at("--csv");
    if (csv.has_parent_path()) std::filesystem::create_directories(csv.parent_path());
    if (!bench::write_csv(csv, runs.curves, runs.validated_steps, kMeanSteps))
        gym::bench::give_up(csv.string() + " cannot be written");
    report_gap(runs.curves[0], runs.curves[1]);
    report_gap(runs.curves[2], runs.curves[1]);
    const bool training_equal = report(options, runs, "training", training);
    const bool validation_equal = report(options, runs, "validation", validation);
    const double same_weights = runs.validation_of_our_weights();
    bench::report(options, {.name = "loss_parity/" + options.own.at("--name") + "/same_weights",
                            .ours = validation[0],
                            .peer = same_weights,
                            .ratio = same_weights / validation[0],
                            .unit = "nats per token",
                            .threads = comparison.threads,
                            .isa = comparison.isa,
                            .peer_name = "libtorch FP32 eager, " + options.blas(),
                            .note = percent_note(validation[0], same_weights)});
    if (training_equal && validation_equal) return 0;
    std::fprintf(stderr, "bench_loss_parity: a final loss is more than %.1f %% from FP32's\n",
                 100 * kLargestGap);
    return 1;
}
