#include "job/job_init.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "cli/find_id.hpp"
#include "gym/common/memory.hpp"
#include "gym/owner/upload_weights.hpp"
#include "gym/program/train_program.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::app {
namespace {

/// A line on standard error: redrawn in a terminal, repeated now and then elsewhere.
class UploadLine {
  public:
    void show(std::uint64_t sent_bytes, std::uint64_t size_bytes) {
        const auto now = Clock::now();
        const bool whole = sent_bytes == size_bytes;
        if (!whole && now - last_ < (terminal_ ? kRedraw : kRepeat)) return;
        last_ = now;
        (void)std::fprintf(
            stderr, terminal_ ? "\r%s\033[K" : "%s\n",
            ("uploading the weights: " + memory_text(sent_bytes) + " of " + memory_text(size_bytes))
                .c_str());
        open_ = terminal_;
    }
    ~UploadLine() {
        if (open_) (void)std::fputc('\n', stderr);
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr Clock::duration kRedraw = std::chrono::milliseconds(100);
    static constexpr Clock::duration kRepeat = std::chrono::seconds(5);
    const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    Clock::time_point last_{};
    bool open_ = false;
};

/// "job:ab12@3" with the whole id.
Result<std::string> complete_job(const client::ApiClient& api, const std::string& init) {
    const std::string rest = init.substr(registry::kInitJobPrefix.size());
    const std::size_t at = rest.find('@');
    GYM_TRY(const Digest id, find_job(api, rest.substr(0, at)));
    const std::string whole = std::string(registry::kInitJobPrefix) + id.hex() +
                              (at == std::string::npos ? "" : rest.substr(at));
    GYM_TRY(const auto parsed, registry::parse_init(whole));
    return to_string(parsed);
}

/// @return the root of the uploaded state.
Result<Digest> upload_weights(const client::ApiClient& api, const ResolvedJob& job) {
    GYM_TRY(const auto program, program::train_program(job.config));
    UploadLine line;  // nothing of it is seen if gym-api has the state
    return owner::upload_weights(
        api, program, {.weights = job.init, .progress = [&](std::uint64_t done, std::uint64_t all) {
                           line.show(done, all);
                       }});
}

}  // namespace

Status resolve_init(const client::ApiClient& api, ResolvedJob& job) {
    if (job.init.empty() || registry::parse_init(job.init).ok()) return {};
    std::string init;
    if (job.init.starts_with(registry::kInitJobPrefix)) {
        GYM_TRY(init, complete_job(api, job.init));
    } else {
        GYM_TRY(const Digest root, upload_weights(api, job));
        init = root.hex();
    }
    return begin_from(job, init);
}

}  // namespace gym::app
