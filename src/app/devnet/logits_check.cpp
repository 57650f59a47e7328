#include "logits_check.hpp"

#include <boost/json.hpp>

#include "gym/common/json_fields.hpp"
#include "gym/common/subprocess.hpp"

namespace gym::devnet {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int kPythonTimeoutMs = 120'000;

Result<std::string> run(std::vector<std::string> argv) {
    SubprocessOptions command;
    command.argv = std::move(argv);
    return run_command(command, kPythonTimeoutMs);
}

struct Peer {
    std::string python;
    const char* script = nullptr;
    std::string why;  ///< it is not PyTorch
};

/// The first Python with PyTorch, else the first that starts.
std::optional<Peer> find_peer(const std::vector<std::string>& pythons) {
    std::optional<Peer> plain;
    for (const std::string& python : pythons) {
        if (run({python, "-c", "import torch"}).ok())
            return Peer{python, "exported_logits_torch.py", {}};
        if (!plain && run({python, "-c", ""}).ok())
            plain = Peer{python, "exported_logits.py", " (no python3 of this machine has PyTorch)"};
    }
    return plain;
}

LogitsComparison comparison_of(const json::object& found, const std::string& why) {
    LogitsComparison out;
    out.software = json_fields::text_of(found, "software") + why;
    out.count = json_fields::number_of<std::uint64_t>(found, "logits");
    out.relative_error = json_fields::number_of<double>(found, "relative_error");
    out.bound = json_fields::number_of<double>(found, "bound");
    if (found.contains("rounded_relative_error")) {
        out.rounded_error = json_fields::number_of<double>(found, "rounded_relative_error");
        out.rounded_bound = json_fields::number_of<double>(found, "rounded_bound");
    }
    return out;
}

}  // namespace

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

Status compare_logits(const fs::path& examples, const fs::path& folder, const fs::path& logits,
                      const std::vector<std::string>& pythons, ExportedModel& out) {
    const std::optional<Peer> peer = find_peer(pythons);
    if (!peer) {
        out.not_compared = "there is no python3 on this machine";
        return {};
    }
    const std::string script = (examples / peer->script).string();
    GYM_TRY(const std::string told, run({peer->python, script, folder.string(), logits.string()}));
    GYM_TRY(const json::object found, object_in(told, script));
    try {
        out.logits = comparison_of(found, peer->why);
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, script + ": " + error.what());
    }
    return {};
}

}  // namespace gym::devnet
