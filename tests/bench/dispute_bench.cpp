// Disputes on a private chain: what both sides send until a fault is proven, against the bounds
// that the game was designed for.
//
// Rows: dispute/MODEL/FAULTS/FIGURE. MODEL is the GPT of `make demo` (a unit of 64 steps) or the
// one of 124 million parameters. FAULTS are flipped bits: `op`, of what a random op writes in a
// random step (the tiny GPT: by a worker that computes the whole unit with the fault; the other:
// put into one step that was run), or `primitive`, of what any primitive of the expansion writes.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "dispute_chain.hpp"
#include "dispute_step_work.hpp"
#include "gpt_models.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/game/rerun_work.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/train_config_yaml.hpp"

namespace {

using namespace gym;
using bench::PlacedFault;
using bench::PlayedGame;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeafGasMax = 1 << 24;
constexpr std::uint64_t kSeed = 20260721;

/// At most, both sides together, in the median.
struct Targets {
    double transactions = 0;
    double gas = 0;
};
constexpr Targets kTiny{14, 2.2e6}, kLarge{18, 2.8e6};

using gym::bench::must;

blob::Dataset some_text() {
    Bytes text(1 << 18);
    std::uint32_t state = 1;
    for (std::uint8_t& byte : text) {
        state = state * 1664525U + 1013904223U;
        byte = static_cast<std::uint8_t>('a' + (state >> 24) % 26);
    }
    return must(blob::Dataset::build_from_text(text));
}

/// A unit with its inputs.
struct Job {
    Job(const program::TrainConfig& config, std::uint32_t steps, std::uint32_t checkpoint_every)
        : train(must(program::train_program(config))),
          trace(must(dispute::trace_program(train))),
          base(must(engine::base_of(train, must(engine::initial_state(train, Digest{}))))) {
        spec.round = 2;
        spec.slot = 1;
        spec.steps = steps;
        spec.checkpoint_every = checkpoint_every;
        spec.program_root = program::program_root(train);
        spec.dataset_root = dataset.root();
        spec.base_state_root = engine::state_root(base);
    }
    [[nodiscard]] engine::Unit unit() const { return {train, base, dataset, spec}; }

    program::Program train;
    dispute::TraceProgram trace;
    blob::Dataset dataset = some_text();
    engine::State base;
    engine::UnitSpec spec;
};

game::Facts facts_of(const Job& job, game::UnitWork& worker) {
    const dispute::UnitStates& states = *must(worker.states());
    game::Facts facts;
    facts.records_root = engine::records_root(states.records);
    facts.final_state_root = states.state_roots.back();
    facts.delta_root = job.spec.dataset_root;  // nobody asks about it: the records differ
    facts.job_seed = job.spec.job_seed;
    facts.trace_root = dispute::trace_root(job.trace.header);
    facts.initial_state_root = states.initial_root;
    facts.dataset_root = job.spec.dataset_root;
    facts.round = job.spec.round;
    facts.slot = job.spec.slot;
    facts.steps = job.spec.steps;
    facts.checkpoint_every = job.spec.checkpoint_every;
    return facts;
}

/// The output of an op, or of any of its primitives.
PlacedFault fault_of_op(const Job& job, std::mt19937_64& rng) {
    const dispute::MacroRange& range = job.trace.macros[rng() % job.trace.macros.size()];
    const auto leaf = static_cast<std::uint32_t>(range.first_leaf + rng() % range.leaves);
    const auto step = static_cast<std::uint32_t>(rng() % job.spec.steps);
    return {step, leaf, job.trace.leaves[leaf].writer, rng()};
}
/// The first output of its op that a primitive can have changed.
std::uint32_t leaf_after(const dispute::TraceProgram& trace, std::uint32_t primitive) {
    const auto range = std::ranges::find_if(trace.macros, [&](const auto& macro) {
        return primitive < macro.first_primitive + macro.primitives;
    });
    std::uint32_t leaf = range->first_leaf;
    while (trace.leaves[leaf].writer < primitive - range->first_primitive)
        ++leaf;
    return leaf;
}
PlacedFault fault_of_primitive(const Job& job, std::mt19937_64& rng) {
    const auto primitive = static_cast<std::uint32_t>(rng() % job.trace.primitives.size());
    const std::uint32_t leaf = leaf_after(job.trace, primitive);
    const auto step = static_cast<std::uint32_t>(rng() % job.spec.steps);
    return {step, leaf, primitive - job.trace.leaves[leaf].first, rng()};
}
std::uint32_t largest_primitive(const dispute::TraceProgram& trace) {
    const auto largest = std::ranges::max_element(
        trace.primitives, {},
        [](const dispute::PrimitiveRecord& record) { return dispute::size_bytes(record.output); });
    return static_cast<std::uint32_t>(largest - trace.primitives.begin());
}

class Figures {
  public:
    Figures(const bench::Options& options, std::string name, const Targets& targets, int threads)
        : options_(options), name_(std::move(name)), targets_(targets), threads_(threads) {}

    /// @param prepared_s that the worker's roots took before the game.
    void add(const PlayedGame& game, double prepared_s) {
        games_.push_back(game);
        prepared_s_.push_back(prepared_s);
        std::printf("%s %zu: %llu transactions, %llu gas, %s, %.1f + %.1f s\n", name_.c_str(),
                    games_.size(),
                    static_cast<unsigned long long>(game.challenger.transactions +
                                                    game.worker.transactions),
                    static_cast<unsigned long long>(game.challenger.gas + game.worker.gas),
                    game.proof.c_str(), prepared_s, game.seconds);
        std::fflush(stdout);
    }

    void report() const {
        const auto both = [](auto field) {
            return [field](const PlayedGame& g) {
                return static_cast<double>(g.challenger.*field + g.worker.*field);
            };
        };
        const auto of = [](auto side, auto field) {
            return
                [side, field](const PlayedGame& g) { return static_cast<double>(g.*side.*field); };
        };
        using bench::Spent;
        const auto challenger = &PlayedGame::challenger, worker = &PlayedGame::worker;
        row("transactions", both(&Spent::transactions), "transactions", targets_.transactions);
        row("transactions_challenger", of(challenger, &Spent::transactions), "transactions");
        row("transactions_worker", of(worker, &Spent::transactions), "transactions");
        row("gas", both(&Spent::gas), "gas", targets_.gas);
        row("gas_challenger", of(challenger, &Spent::gas), "gas");
        row("gas_worker", of(worker, &Spent::gas), "gas");
        row("bytes_posted", both(&Spent::bytes), "bytes");
        row(
            "seconds", [](const PlayedGame& g) { return g.seconds; }, "s");
        row_of("preparation_seconds", prepared_s_, "s", kNone);
        row(
            "proof_gas", [](const PlayedGame& g) { return static_cast<double>(g.proof_gas); },
            "gas");
        double largest = 0;
        for (const PlayedGame& game : games_)
            largest = std::max(largest, static_cast<double>(game.proof_gas));
        write("proof_gas_largest", largest, "gas", kLeafGasMax, "2^24 gas", "");
        by_move();
    }

  private:
    /// The gas of each kind of transaction.
    void by_move() const {
        std::map<std::string, std::vector<double>> gas;
        for (const PlayedGame& game : games_)
            for (const auto& [move, used] : game.gas)
                gas[move].push_back(static_cast<double>(used));
        for (const auto& [move, used] : gas) {
            char note[96];
            std::snprintf(note, sizeof note, "median of %zu; at most %.6g", used.size(),
                          *std::ranges::max_element(used));
            write("gas_of/" + move, bench::median(used), "gas", kNone, "", note);
        }
    }
    template <class F>
    void row(const std::string& figure, F f, const std::string& unit, double target = kNone) const {
        std::vector<double> values;
        for (const PlayedGame& game : games_)
            values.push_back(f(game));
        row_of(figure, std::move(values), unit, target);
    }
    void row_of(const std::string& figure, std::vector<double> values, const std::string& unit,
                double target) const {
        char note[96];
        std::snprintf(note, sizeof note, "median of %zu games; at most %.6g", values.size(),
                      *std::ranges::max_element(values));
        write(figure, bench::median(values), unit, target,
              std::isnan(target) ? "" : "the target for the median", note);
    }
    void write(const std::string& figure, double ours, const std::string& unit, double target,
               const std::string& peer, const std::string& note) const {
        bench::report(options_, {.name = "dispute/" + name_ + "/" + figure,
                                 .ours = ours,
                                 .peer = target,
                                 .ratio = target / ours,
                                 .unit = unit,
                                 .threads = threads_,
                                 .isa = std::string(isa_name(options_.isa)),
                                 .peer_name = peer,
                                 .note = note});
    }

    const bench::Options& options_;
    std::string name_;
    Targets targets_;
    int threads_;
    std::vector<PlayedGame> games_;
    std::vector<double> prepared_s_;
};

struct Setting {
    const bench::Options& options;
    bench::DisputeChain& chain;
    std::size_t games = 0;
    int threads = 1;

    [[nodiscard]] engine::EngineOptions engine() const {
        return {static_cast<unsigned>(threads), std::string(isa_name(options.isa))};
    }
    PlayedGame play(const Job& job, game::UnitWork& worker, game::UnitWork& challenger) const {
        return chain.play({worker, challenger, facts_of(job, worker), job.spec.program_root,
                           job.spec.base_state_root});
    }
};

Job tiny_job() {
    return {must(program::load_train_config(GYM_BENCH_SOURCE_DIR "/examples/gpt-demo.yaml")), 64,
            16};
}

/// Workers that compute a whole unit with a broken device.
void tiny_ops(const Setting& setting) {
    const Job job = tiny_job();
    game::RerunWorkOptions options;
    options.engine = setting.engine();
    const auto rerun = [&] { return must(game::RerunWork::create(job.unit(), options)); };
    const auto honest = rerun();
    const game::Facts right = facts_of(job, *honest);
    std::mt19937_64 rng(kSeed);
    Figures figures(setting.options, "tiny/op", kTiny, setting.threads);
    for (std::size_t games = 0; games < setting.games;) {
        const PlacedFault place = fault_of_op(job, rng);
        const auto op = std::ranges::find_if(job.trace.macros, [&](const auto& macro) {
            return place.leaf < macro.first_leaf + macro.leaves;
        });
        const game::testing::Fault fault{place.step,
                                         static_cast<std::uint32_t>(op - job.trace.macros.begin()),
                                         place.leaf - op->first_leaf, place.bit};
        const double start = bench::seconds_now();
        const auto own = rerun();
        game::testing::FaultyWork worker(*own, fault, op->leaves);
        if (facts_of(job, worker) == right) continue;  // the bit changes nothing
        const double prepared_s = bench::seconds_now() - start;
        figures.add(setting.play(job, worker, *honest), prepared_s);
        ++games;
    }
    figures.report();
}

void tiny_primitives(const Setting& setting) {
    const Job job = tiny_job();
    game::RerunWorkOptions options;
    options.engine = setting.engine();
    const auto honest = must(game::RerunWork::create(job.unit(), options));
    std::mt19937_64 rng(kSeed);
    Figures figures(setting.options, "tiny/primitive", kTiny, setting.threads);
    for (std::size_t games = 0; games < setting.games; ++games) {
        const PlacedFault fault = fault_of_primitive(job, rng);
        const double start = bench::seconds_now();
        bench::PlacedFaultWork worker(*honest, fault, rng(), options.spill);
        const double prepared_s = bench::seconds_now() - start;
        figures.add(setting.play(job, worker, *honest), prepared_s);
    }
    figures.report();
}

void large(const Setting& setting) {
    constexpr std::uint32_t kSteps = 32, kStep = 17;
    const Job job(bench::gpt_models(8, 8).back().config, kSteps, 8);
    std::mt19937_64 rng(kSeed);
    std::vector<PlacedFault> of_ops, of_primitives;
    for (std::size_t i = 0; i < setting.games; ++i) {
        of_ops.push_back(fault_of_op(job, rng));
        of_primitives.push_back(fault_of_primitive(job, rng));
    }
    const std::uint32_t largest = largest_primitive(job.trace);
    const std::uint32_t largest_leaf = leaf_after(job.trace, largest);
    std::set<std::uint32_t> wanted{largest_leaf};
    for (auto* faults : {&of_ops, &of_primitives}) {
        for (PlacedFault& fault : *faults) {
            fault.step = kStep;
            wanted.insert(fault.leaf);
        }
        // One after the other through the ops, whose expansions then are kept.
        std::ranges::sort(*faults, {}, &PlacedFault::leaf);
    }
    const dispute::MacroOptions options{
        setting.engine(), {.folder = "/tmp", .heap_bytes_max = std::uint64_t{1} << 20}, false};
    const double start = bench::seconds_now();
    const auto honest = bench::StepWork::run(job.unit(), job.trace, kStep, wanted, options);
    const double step_s = bench::seconds_now() - start;
    std::printf("124m: %u primitives, %u outputs of ops\n", job.trace.header.primitives,
                job.trace.header.leaves);
    for (const auto& [name, faults] :
         {std::pair{"124m/op", of_ops}, {"124m/primitive", of_primitives}}) {
        Figures figures(setting.options, name, kLarge, setting.threads);
        for (const PlacedFault& fault : faults) {
            const double begin = bench::seconds_now();
            bench::PlacedFaultWork worker(*honest, fault, rng(), options.spill);
            const double prepared_s = bench::seconds_now() - begin;
            figures.add(setting.play(job, worker, *honest), prepared_s);
        }
        figures.report();
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto figure = [&](const char* name, double value, const char* unit, const char* note) {
        bench::report(setting.options, {.name = std::string("dispute/124m/") + name,
                                        .ours = value,
                                        .peer = kNone,
                                        .ratio = kNone,
                                        .unit = unit,
                                        .threads = setting.threads,
                                        .isa = std::string(isa_name(setting.options.isa)),
                                        .peer_name = "",
                                        .note = note});
    };
    const double begin = bench::seconds_now();
    (void)must(honest->primitives(kStep, largest_leaf));
    const double roots_s = bench::seconds_now() - begin;
    (void)must(honest->tensor(kStep, largest_leaf, largest - job.trace.leaves[largest_leaf].first));
    figure("largest_op_seconds", roots_s, "s",
           "roots of the primitives of the op with the largest tensor");
    figure("largest_tensor_seconds", bench::seconds_now() - begin - roots_s, "s",
           "that tensor and the leaves of its chunks, once its op was opened");
    figure("step_seconds", step_s, "s", "one step of 2,048 tokens with the roots of its outputs");
    figure("memory", static_cast<double>(usage.ru_maxrss) / 1024, "MiB",
           "largest resident size, mapped files included");
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv, {{"--games", "50"}});
    bench::DisputeChain chain;
    const Setting setting{options, chain,
                          static_cast<std::size_t>(std::atoi(options.own.at("--games").c_str())),
                          *std::ranges::max_element(options.threads)};
    if (setting.games == 0) {
        std::fprintf(stderr, "bench_dispute: --games needs a number from 1 on\n");
        return 2;
    }
    if (options.wants("tiny/op")) tiny_ops(setting);
    if (options.wants("tiny/primitive")) tiny_primitives(setting);
    if (options.wants("124m")) large(setting);
    return 0;
}
