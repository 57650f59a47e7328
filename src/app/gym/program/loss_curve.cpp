#include "program/loss_curve.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/common/temporary_folder.hpp"

namespace gym::app {
namespace {

constexpr int kDrawMsMax = 60'000;
constexpr std::uint64_t kSvgBytesMax = 64 << 20;
/// More points than this cannot be told apart on the picture.
constexpr std::size_t kPointsMax = 4'000;

void add_point(std::string& lines, std::uint64_t steps_done, std::uint32_t loss_bits) {
    const auto loss = static_cast<double>(std::bit_cast<float>(loss_bits));
    if (!std::isfinite(loss)) return;
    lines += std::to_string(steps_done) + " " + std::to_string(loss) + "\n";
}

/// gnuplot's quoting: in single quotes, a quote is written twice.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\n' || c == '\r') continue;
        out += c == '\'' ? std::string("''") : std::string(1, c);
    }
    return out + "'";
}

std::string training_points(const engine::SavedRun& run) {
    std::string lines;
    const std::size_t stride = run.records.size() / kPointsMax + 1;
    for (std::size_t i = 0; i < run.records.size(); i += stride)
        add_point(lines, run.records[i].step + 1, run.records[i].loss_bits);
    return lines;
}

std::string script_of(const std::string& title, const std::filesystem::path& folder,
                      bool with_validation) {
    std::string script =
        "set terminal svg size 900,480 font 'sans-serif,13' background 'white'\n"
        "set output " +
        quoted((folder / "curve.svg").string()) + "\nset title " + quoted(title) +
        " noenhanced\nset grid lc rgb '#dddddd'\nset key below\n"
        "set xlabel 'step'\nset ylabel 'loss, nats per token'\n"
        "plot " +
        quoted((folder / "training").string()) + " with lines lc rgb '#1f4e99' title 'training'";
    if (with_validation)
        script += ", " + quoted((folder / "validation").string()) +
                  " with linespoints pt 7 ps 0.5 lc rgb '#d06010' title 'validation'";
    return script + "\n";
}

Status with_gnuplot(std::string argument, const std::filesystem::path& folder) {
    const auto ran = run_command(
        {.argv = {"gnuplot", std::move(argument)}, .env = {}, .log_file = {}, .folder = folder},
        kDrawMsMax);
    if (!ran.ok() && ran.error().code == ErrorCode::kNotFound)
        return fail(ErrorCode::kNotFound,
                    "drawing a loss curve needs gnuplot: apt-get install gnuplot-nox");
    if (!ran.ok()) return ran.error();
    return {};
}

}  // namespace

Status check_gnuplot() {
    return with_gnuplot("--version", {});
}

Status draw_loss_curve(const engine::SavedRun& run, const std::string& title,
                       const std::filesystem::path& svg) {
    const std::string training = training_points(run);
    if (training.empty())
        return fail(ErrorCode::kInvalidArgument, "the run has no finite loss to draw");
    std::string validation;
    for (const engine::ValidationLoss& loss : run.validation)
        add_point(validation, loss.steps_done, loss.loss_bits);
    GYM_TRY(const TemporaryFolder folder, TemporaryFolder::create("gym-curve"));
    GYM_CHECK(write_file_atomic(folder / "training", as_bytes(training)));
    GYM_CHECK(write_file_atomic(folder / "validation", as_bytes(validation)));
    const std::string script = script_of(title, folder.path(), !validation.empty());
    GYM_CHECK(write_file_atomic(folder / "script", as_bytes(script)));
    GYM_CHECK(with_gnuplot((folder / "script").string(), folder.path()));
    GYM_TRY(const Bytes picture, read_file(folder / "curve.svg", kSvgBytesMax));
    return write_file_atomic(svg, picture);
}

}  // namespace gym::app
