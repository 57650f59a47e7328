#include "model_export.hpp"

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "gym/common/file.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/common/subprocess.hpp"

namespace gym::devnet {
namespace {

namespace json = boost::json;

constexpr int kCommandTimeoutMs = 120'000;
constexpr const char* kPrompt = "In the beginning";

/// The JSON line of an output in which notices may stand, too.
Result<json::object> object_in(const std::string& output, const std::string& what) {
    const std::size_t begin = output.starts_with('{') ? 0 : output.find("\n{");
    if (begin == std::string::npos) return fail(ErrorCode::kMalformed, what + " printed no JSON");
    const std::size_t at = begin == 0 ? 0 : begin + 1;
    json::error_code error;
    const json::value value = json::parse(output.substr(at, output.find('\n', at) - at), error);
    if (error || !value.is_object())
        return fail(ErrorCode::kMalformed, what + " printed no JSON object");
    return value.get_object();
}

class Exporter {
  public:
    Exporter(const Layout& layout, const Programs& programs, const ModelExport& wanted)
        : layout_(layout), gym_(programs.path("gym")), wanted_(wanted) {}

    Status take(const Digest& job_id, const std::string& key, ExportedModel& out) const {
        const std::string folder = wanted_.folder.string();
        GYM_TRY(const std::string output,
                run({gym_, "job", "export", job_id.hex(), "-o", folder, "--json"},
                    {{"GYM_API", layout_.api_url()},
                     {"GYM_API_KEY", key},
                     {"GYM_CHAIN", layout_.chain_url()},
                     {"GYM_DEPLOYMENT", layout_.deployment().string()}}));
        GYM_TRY(const json::object told, object_in(output, "gym job export"));
        try {
            out.folder = wanted_.folder;
            out.names = json_fields::text_of(told, "names");
            out.state_root = json_fields::fixed_of<Digest>(told, "state_root");
            out.checked = std::string(told.at("checks").as_array().at(0).as_string());
        } catch (const std::exception& error) {
            return fail(ErrorCode::kMalformed, std::string("gym job export: ") + error.what());
        }
        return {};
    }

    Status write_text(ExportedModel& out) const {
        GYM_TRY(out.sample, run({gym_, "generate", "--model", wanted_.folder.string(), "--prompt",
                                 kPrompt, "--tokens", "160"}));
        return {};
    }

    Status compare_logits(ExportedModel& out) const {
        const std::string folder = wanted_.folder.string();
        const std::filesystem::path logits = layout_.config() / "logits.json";
        GYM_TRY(const std::string told, run({gym_, "generate", "--model", folder, "--prompt",
                                             kPrompt, "--logits", "--json"}));
        GYM_CHECK(write_file_atomic(logits, as_bytes(told)));
        const auto compared = run({"python3", wanted_.script.string(), folder, logits.string()});
        if (!compared.ok() && compared.error().code == ErrorCode::kNotFound) {
            out.logits_skipped = "there is no python3 on this machine";
            return {};
        }
        if (!compared.ok()) return compared.error();
        GYM_TRY(const json::object found, object_in(*compared, wanted_.script.string()));
        try {
            out.logits = LogitsComparison{json_fields::number_of<std::uint64_t>(found, "logits"),
                                          json_fields::number_of<double>(found, "relative_error"),
                                          json_fields::number_of<double>(found, "bound")};
        } catch (const std::exception& error) {
            return fail(ErrorCode::kMalformed, wanted_.script.string() + ": " + error.what());
        }
        return {};
    }

  private:
    using Environment = std::vector<std::pair<std::string, std::string>>;
    static Result<std::string> run(std::vector<std::string> argv, Environment env = {}) {
        SubprocessOptions command;
        command.argv = std::move(argv);
        command.env = std::move(env);
        return run_command(command, kCommandTimeoutMs);
    }

    const Layout& layout_;
    const std::string gym_;
    const ModelExport& wanted_;
};

}  // namespace

Result<ExportedModel> export_model(const Layout& layout, const Programs& programs,
                                   const Digest& job_id, const ModelExport& wanted) {
    GYM_TRY(const std::string key, ensure_api_key(layout, programs, kJobOwner));
    const Exporter exporter(layout, programs, wanted);
    ExportedModel out;
    GYM_CHECK(exporter.take(job_id, key, out));
    GYM_CHECK(exporter.write_text(out));
    GYM_CHECK(exporter.compare_logits(out));
    return out;
}

}  // namespace gym::devnet
