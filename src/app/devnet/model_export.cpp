#include "model_export.hpp"

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "gym/common/file.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/common/subprocess.hpp"
#include "logits_check.hpp"

namespace gym::devnet {
namespace {

namespace json = boost::json;

constexpr int kCommandTimeoutMs = 120'000;
/// The first may be one of pyenv or conda, the second is Debian's.
const std::vector<std::string> kPythons = {"python3", "/usr/bin/python3"};
constexpr const char* kExportPrompt = "In the beginning";

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
                                 kExportPrompt, "--tokens", "160"}));
        return {};
    }

    Status compare_logits(ExportedModel& out) const {
        const std::string folder = wanted_.folder.string();
        const std::filesystem::path logits = layout_.config() / "logits.json";
        GYM_TRY(const std::string told, run({gym_, "generate", "--model", folder, "--prompt",
                                             kExportPrompt, "--logits", "--json"}));
        GYM_CHECK(write_file_atomic(logits, as_bytes(told)));
        return gym::devnet::compare_logits(wanted_.examples, wanted_.folder, logits, kPythons, out);
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
