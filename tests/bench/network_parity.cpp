// Does a network that sends compressed deltas learn as much as one that sends them in FP32? Plays
// the rounds of one setting (network_rounds.hpp) and writes the validation losses to
// FOLDER/NAME.json. FOLDER/NAME.state continues the run after an interruption: at most the round
// under way is lost. A run that is finished is not run again.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/common/file.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "network_rounds.hpp"

namespace {

using namespace gym;
using gym::bench::must;

constexpr std::uint32_t kWindows = 64, kFinalWindows = 512;

struct Point {
    std::uint32_t round = 0;
    float loss = 0;
};

struct Files {
    std::filesystem::path state, json;
};

double number(const bench::Options& options, const char* name) {
    return std::strtod(options.own.at(name).c_str(), nullptr);
}
std::uint32_t whole(const bench::Options& options, const char* name) {
    return static_cast<std::uint32_t>(std::strtoul(options.own.at(name).c_str(), nullptr, 10));
}

bench::NetworkSetting setting_of(const bench::Options& options) {
    bench::NetworkSetting s;
    const std::string& codec = options.own.at("--codec");
    s.trial = bench::parse_trial_code(codec);
    if (codec == "1" || codec == "2")
        s.codec = codec == "1" ? 1 : 2;
    else if (codec != "0" && !s.trial)
        bench::give_up("--codec is 0, 1, 2, top-K (K of 1,024) or sign-N (N rounds a turn)");
    s.packed_update = options.own.at("--update") == "4bit";
    s.slots = whole(options, "--slots");
    s.rounds = whole(options, "--rounds");
    s.steps = whole(options, "--steps");
    s.seed = whole(options, "--seed");
    s.outer_rate = number(options, "--outer-rate");
    s.momentum = number(options, "--momentum");
    s.divisor_min = number(options, "--divisor-min");
    s.reset_rounds = whole(options, "--reset");
    s.clip = options.own.at("--clip") == "1";
    s.held = number(options, "--held");
    s.churn = number(options, "--churn");
    s.reach = number(options, "--reach");
    s.overlap = options.own.at("--overlap") == "1";
    s.own_delta = number(options, "--own-delta");
    s.look_ahead = number(options, "--look-ahead");
    if (!s.overlap && (s.own_delta != 0 || s.look_ahead != 0))
        bench::give_up("--own-delta and --look-ahead need --overlap 1");
    s.poisoned = whole(options, "--poisoned");
    s.poison = options.own.at("--poison");
    if (s.poison != "shuffled" && s.poison != "rot13" && s.poison != "reversed")
        bench::give_up("--poison is shuffled, rot13 or reversed");
    if (s.poison == "reversed") s.reversed_by = number(options, "--reversed-by");
    if (s.slots < 1 || s.rounds < 1 || s.steps < 1)
        bench::give_up("--slots, --rounds and --steps are 1 or more");
    return s;
}

/// What poisoned slots train on: the text's bytes in random order, so that no byte says anything
/// about the next, or the text in a cipher, which contradicts the right text at every letter.
Bytes poisoned(Bytes text, const std::string& kind) {
    if (kind == "reversed") return text;
    if (kind == "shuffled") {
        std::mt19937_64 random(1);
        for (std::size_t i = text.size() - 1; i > 0; --i)
            std::swap(text[i], text[random() % (i + 1)]);
        return text;
    }
    for (std::uint8_t& byte : text) {
        const auto letter = static_cast<std::uint8_t>(byte | 0x20);
        if (letter >= 'a' && letter <= 'z')
            byte = static_cast<std::uint8_t>(letter < 'n' ? byte + 13 : byte - 13);
    }
    return text;
}

void save(const Files& files, const bench::NetworkRounds& run, const std::string& setting,
          const std::vector<Point>& points) {
    engine::State state = run.save();
    Bytes losses(points.size() * sizeof(Point));
    std::memcpy(losses.data(), points.data(), losses.size());
    const std::uint64_t losses_size = losses.size();
    state.tensors.push_back({"points", commit::DType::kU8, {losses_size}, std::move(losses)});
    const ByteView text = as_bytes(setting);
    state.tensors.push_back(
        {"setting", commit::DType::kU8, {text.size()}, {text.begin(), text.end()}});
    must(write_file_atomic(files.state, engine::encode_state(state)));
}

std::vector<Point> restore(const Files& files, bench::NetworkRounds& run,
                           const std::string& setting) {
    if (!std::filesystem::exists(files.state)) return {};
    const engine::State state = must(engine::decode_state(must(read_file(files.state))));
    const engine::StateTensor* const saved = state.find("setting");
    const engine::StateTensor* const losses = state.find("points");
    if (saved == nullptr || losses == nullptr ||
        std::string(saved->bytes.begin(), saved->bytes.end()) != setting)
        bench::give_up(files.state.string() + " is of another setting; choose another --name");
    run.restore(state);
    std::vector<Point> points(losses->bytes.size() / sizeof(Point));
    std::memcpy(points.data(), losses->bytes.data(), losses->bytes.size());
    return points;
}

void write_json(const Files& files, const bench::NetworkRounds& run, const bench::NetworkSetting& s,
                const std::string& setting, std::uint64_t parameters,
                const std::vector<Point>& points) {
    const auto per = [](std::uint64_t bytes, std::uint64_t elements) {
        return elements == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(elements);
    };
    std::string text = "{\"setting\": \"" + setting +
                       "\", \"parameters\": " + std::to_string(parameters) +
                       ", \"rounds\": " + std::to_string(s.rounds) +
                       ", \"finished\": " + (run.round() == s.rounds ? "true" : "false");
    char part[120];
    std::snprintf(part, sizeof part,
                  ", \"up_bytes_per_parameter\": %.5f, \"down_bytes_per_parameter\": %.5f",
                  per(run.wire().up, run.wire().up_parameters),
                  per(run.wire().down, run.wire().down_parameters));
    text += part;
    text += ", \"validation\": [";
    for (std::size_t i = 0; i < points.size(); ++i) {
        std::snprintf(part, sizeof part, "%s[%u, %.6f]", i == 0 ? "" : ", ", points[i].round,
                      static_cast<double>(points[i].loss));
        text += part;
    }
    text += "]}\n";
    must(write_file_atomic(files.json, as_bytes(text)));
}

bool is_finished(const Files& files, const std::string& setting) {
    if (!std::filesystem::exists(files.json)) return false;
    const Bytes bytes = must(read_file(files.json));
    const std::string text(bytes.begin(), bytes.end());
    if (text.find("\"finished\": true") == std::string::npos) return false;
    if (text.find("\"" + setting + "\"") == std::string::npos)
        bench::give_up(files.json.string() + " is of another setting; choose another --name");
    return true;
}

void print_qualities(const bench::NetworkRounds& run) {
    std::printf("deltas of round %" PRIu64 "\n%-8s %8s %8s\n", run.round() + 1, "code", "energy",
                "cosine");
    const std::vector<bench::DeltaTensors> deltas = run.deltas();
    for (const char* code : {"1", "2", "top-16", "top-64", "top-256", "sign-1", "sign-5"}) {
        const bench::CodeQuality quality = run.quality(code, deltas);
        std::printf("%-8s %7.1f%% %8.3f\n", code, 100 * quality.energy, quality.cosine);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv,
                                                        {{"--model", "examples/gpt-tiny.yaml"},
                                                         {"--text", ""},
                                                         {"--name", ""},
                                                         {"--folder", "build/parity-network"},
                                                         {"--codec", "0"},
                                                         {"--update", "f32"},
                                                         {"--slots", "8"},
                                                         {"--rounds", "40"},
                                                         {"--steps", "25"},
                                                         {"--seed", "1"},
                                                         {"--outer-rate", "0.7"},
                                                         {"--momentum", "0.9"},
                                                         {"--divisor-min", "1"},
                                                         {"--reset", "8"},
                                                         {"--clip", "1"},
                                                         {"--held", "0"},
                                                         {"--churn", "0"},
                                                         {"--reach", "0"},
                                                         {"--overlap", "0"},
                                                         {"--own-delta", "0"},
                                                         {"--look-ahead", "0"},
                                                         {"--poisoned", "0"},
                                                         {"--poison", "shuffled"},
                                                         {"--reversed-by", "4"},
                                                         {"--qualities", "0"},
                                                         {"--every", "5"}});
    const std::string& name = options.own.at("--name");
    if (name.empty()) bench::give_up("--name is needed: runs continue by it");
    const std::filesystem::path folder = options.own.at("--folder");
    std::filesystem::create_directories(folder);
    const Files files{folder / (name + ".state"), folder / (name + ".json")};
    const bench::NetworkSetting s = setting_of(options);
    const std::string setting =
        s.text() + ", " + std::to_string(s.rounds) + " rounds of " + options.own.at("--model");
    const bool qualities = options.own.at("--qualities") == "1";
    if (!qualities && is_finished(files, setting)) {
        std::printf("%s: finished before\n", name.c_str());
        return 0;
    }
    program::TrainConfig config = must(program::load_train_config(options.own.at("--model")));
    config.optimizer.total_steps = s.rounds * s.steps;
    if (s.codec == 1) config.compression = program::DeltaCodec::kDense;
    const program::Program train = must(program::train_program(config));
    const Bytes text = must(read_file(options.own.at("--text")));
    const blob::Dataset data = must(blob::Dataset::build_from_text(text));
    const blob::Dataset poison = must(blob::Dataset::build_from_text(poisoned(text, s.poison)));
    bench::NetworkRounds run(s, config, train, data, poison);
    std::vector<Point> points = restore(files, run, setting);
    if (qualities) {
        print_qualities(run);
        return 0;
    }
    std::uint64_t parameters = 0;
    for (const program::SlotId id : train.slots_of(program::SlotKind::kParam))
        parameters += program::element_count(train.slot(id).dims);
    while (run.round() < s.rounds) {
        const double start = bench::seconds_now();
        run.play_round();
        const bool last = run.round() == s.rounds;
        if (run.round() % whole(options, "--every") == 0 || last) {
            points.push_back({static_cast<std::uint32_t>(run.round()),
                              run.validation_loss(last ? kFinalWindows : kWindows)});
            std::printf("%s: round %" PRIu64 " validation %.5f (%.1f s a round)\n", name.c_str(),
                        run.round(), static_cast<double>(points.back().loss),
                        bench::seconds_now() - start);
            std::fflush(stdout);
        }
        save(files, run, setting, points);
        write_json(files, run, s, setting, parameters, points);
    }
    return 0;
}
