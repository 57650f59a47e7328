#include "job/machine_speed.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <system_error>
#include <thread>

#include "gym/common/file.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/node/benchmark.hpp"
#include "gym/node/node_config.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::int64_t kBenchmarkMs = 1'500;
constexpr UnixMs kValidForMs = UnixMs{30} * 24 * 3600 * 1000;
constexpr std::uint64_t kNoteBytesMax = 4'096;

unsigned cores() {
    return std::max(1U, std::thread::hardware_concurrency());
}

/// Nothing if there is no note, or one that no longer counts.
std::optional<MachineSpeed> noted(const std::filesystem::path& file, UnixMs now_ms) {
    const auto bytes = read_file(file, kNoteBytesMax);
    if (!bytes.ok()) return std::nullopt;
    try {
        const json::object note =
            json::parse(std::string(bytes->begin(), bytes->end())).as_object();
        const MachineSpeed out{json_fields::number_of(note, "flops_per_second"),
                               json_fields::number_of<UnixMs>(note, "measured_at_ms")};
        const bool counts = out.flops_per_second > 0 && out.measured_at_ms <= now_ms &&
                            now_ms - out.measured_at_ms < kValidForMs &&
                            json_fields::number_of<unsigned>(note, "cores") == cores();
        if (counts) return out;
    } catch (const std::exception&) {  // measured again
    }
    return std::nullopt;
}

void write_note(const std::filesystem::path& file, const MachineSpeed& speed) {
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    const json::object note{{"flops_per_second", speed.flops_per_second},
                            {"measured_at_ms", speed.measured_at_ms},
                            {"cores", cores()}};
    (void)write_file_atomic(file, as_bytes(json::serialize(note) + "\n"));
}

}  // namespace

Result<MachineSpeed> machine_speed(const std::filesystem::path& file, UnixMs now_ms) {
    if (const auto known = noted(file, now_ms)) return *known;
    engine::EngineOptions options;
    options.threads = cores();
    GYM_TRY(const node::Benchmark measured, node::run_benchmark(options, kBenchmarkMs));
    const MachineSpeed out{measured.flops_per_second, now_ms};
    write_note(file, out);
    return out;
}

Result<std::filesystem::path> machine_speed_file() {
    GYM_TRY(const node::NodeConfig config, node::load_node_config(""));
    return config.data_dir / "speed.json";
}

}  // namespace gym::app
